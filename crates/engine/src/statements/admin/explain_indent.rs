//! EXPLAIN in the formats of DataFusion: indent, pgjson and graphviz, with what is noted of pipelines.

use crate::session::{Outcome, StatementContext};
use crate::sql::ignored::refuse_ignored;
use crate::statements::{Statement, parse_single};
use crate::{Error, Result};
use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ParamValues;
use datafusion::common::format::ExplainFormat;
use datafusion::logical_expr::{Analyze, Explain, LogicalPlan, PlanType, ToStringifiedPlan};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::{ExplainStatement, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{Query, Statement as Sql};
use futures::StreamExt;
use std::sync::Arc;

/// Runs EXPLAIN and EXPLAIN ANALYZE of a query, in one of DataFusion's formats.
pub(crate) async fn run(
    context: &StatementContext,
    mut statement: ExplainStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    match statement.statement.as_mut() {
        DataFusionStatement::Statement(inner) => match inner.as_mut() {
            Sql::Query(query) => refuse_ignored(query)?,
            other => return Err(refusal(&other.to_string())),
        },
        other => return Err(refusal(&other.to_string())),
    }
    // DataFusion takes VERBOSE without the format's name alone, which is this one then.
    let is_indent = statement.options.format == Some(ExplainFormat::Indent);
    statement.options.format = statement.options.format.filter(|_| !(is_indent && statement.options.verbose));
    let (context, notes) = context.noting();
    let plan = explained(&context, statement, parameters).await?;
    let rows = context.rows(plan).await?;
    let schema = rows.schema();
    let columns = schema.fields().iter().map(|field| (field.name().as_str(), field.data_type())).collect::<Vec<_>>();
    if columns != [("plan_type", &DataType::Utf8), ("plan", &DataType::Utf8)] {
        return Ok(Outcome::Rows(rows));
    }
    // Some are known only when the query has run.
    let of_notes = Arc::clone(&schema);
    let noted = futures::stream::once(async move { noted(of_notes, &notes.take()).transpose() });
    let rows = rows.chain(noted.filter_map(futures::future::ready));
    Ok(Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

/// The plan of EXPLAIN: DataFusion's for a query without a table, with the plan of the query that is explained in the place
/// of that.
async fn explained(
    context: &StatementContext,
    mut statement: ExplainStatement,
    parameters: Option<ParamValues>,
) -> Result<LogicalPlan> {
    let plan = Arc::new(context.bind(query_of(*statement.statement)?, parameters).await?.plan);
    let Statement::Sql(one) = parse_single("SELECT 1")? else { return Err(no_query()) };
    statement.statement = one;
    Ok(match context.plan(DataFusionStatement::Explain(statement), None).await? {
        LogicalPlan::Analyze(analyze) => LogicalPlan::Analyze(Analyze { input: plan, ..analyze }),
        LogicalPlan::Explain(explain) => {
            let stringified_plans = vec![plan.to_stringified(PlanType::InitialLogicalPlan)];
            LogicalPlan::Explain(Explain { plan, stringified_plans, ..explain })
        }
        _ => return Err(no_query()),
    })
}

/// The query that EXPLAIN is of.
fn query_of(statement: DataFusionStatement) -> Result<Query> {
    match statement {
        DataFusionStatement::Statement(inner) => match *inner {
            Sql::Query(query) => Ok(*query),
            _ => Err(no_query()),
        },
        _ => Err(no_query()),
    }
}

fn no_query() -> Error {
    Error::Internal("EXPLAIN of no query".into())
}

/// Notes as rows of EXPLAIN; nothing where there are none.
fn noted(schema: SchemaRef, notes: &[(String, String)]) -> datafusion::error::Result<Option<RecordBatch>> {
    if notes.is_empty() {
        return Ok(None);
    }
    let names = StringArray::from_iter_values(notes.iter().map(|(name, _)| name));
    let texts = StringArray::from_iter_values(notes.iter().map(|(_, text)| text));
    Ok(Some(RecordBatch::try_new(schema, vec![Arc::new(names), Arc::new(texts)])?))
}

fn refusal(text: &str) -> Error {
    let first: Vec<&str> = text.split_whitespace().take(2).collect();
    Error::Unsupported(format!(
        "EXPLAIN of {} with a FORMAT of DataFusion's is not supported; FORMAT text explains it",
        first.join(" ")
    ))
}
