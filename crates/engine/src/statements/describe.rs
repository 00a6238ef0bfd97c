//! DESCRIBE and EXPLAIN.

use super::{query, unsupported};
use crate::session::{Outcome, StatementContext};
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::sql::parser::{ExplainStatement, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::Statement as Sql;

/// Runs DESCRIBE t and DESCRIBE SELECT ….
pub(super) async fn describe(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    match &statement {
        Sql::ExplainTable { hive_format: None, .. } => {}
        Sql::Explain { statement: inner, .. } => only_queries(inner)?,
        other => return Err(unsupported(other.to_string())),
    }
    let plan = context.plan(DataFusionStatement::Statement(Box::new(statement)), None).await?;
    Ok(Outcome::Rows(context.rows(&plan).await?))
}

/// Runs EXPLAIN and EXPLAIN ANALYZE of a query.
pub(super) async fn explain(
    context: &StatementContext,
    statement: ExplainStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    match statement.statement.as_ref() {
        DataFusionStatement::Statement(inner) => only_queries(inner)?,
        DataFusionStatement::Explain(_) => return Err(Error::InvalidInput("EXPLAIN of EXPLAIN makes no sense".into())),
        other => return Err(refusal(&other.to_string())),
    }
    let plan = context.plan(DataFusionStatement::Explain(statement), parameters).await?;
    Ok(Outcome::Rows(context.rows(&plan).await?))
}

fn only_queries(statement: &Sql) -> Result<()> {
    match statement {
        Sql::Query(_) => query::refuse_ignored(statement),
        other => Err(refusal(&other.to_string())),
    }
}

fn refusal(text: &str) -> Error {
    let first: Vec<&str> = text.split_whitespace().take(2).collect();
    Error::Unsupported(format!("EXPLAIN of {} is not supported; it explains queries", first.join(" ")))
}
