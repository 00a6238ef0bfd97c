//! A query whose WITH changes records, or which is such a change with RETURNING, as what CREATE TABLE AS and COPY … TO read: it
//! is run first, and its rows take its place, in one transaction.

use crate::session::{Outcome, StatementContext, StatementTables};
use crate::sql::ignored::writes;
use crate::sql::parse::{Statement, query_of};
use crate::sql::quoted::quoted;
use crate::statements::dml::parts;
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::sql::parser::{CopyToSource, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{Query, Statement as Sql};
use futures::TryStreamExt;
use futures::future::BoxFuture;

/// The table that has the rows of the query.
const ROWS: &str = "\"rows of a change\"";

/// The query of a CREATE TABLE AS or COPY … TO, if it changes records.
pub(crate) fn source(statement: &mut DataFusionStatement) -> Option<&mut Box<Query>> {
    let query = match statement {
        DataFusionStatement::Statement(own) => match own.as_mut() {
            Sql::CreateTable(create) => create.query.as_mut(),
            _ => None,
        },
        DataFusionStatement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => Some(query),
            CopyToSource::Relation(_) => None,
        },
        _ => None,
    };
    query.filter(|query| writes(query))
}

/// Runs a statement whose [`source`] is `query`: as one that reads the rows which that returns.
pub(crate) async fn run(
    context: &StatementContext,
    mut statement: DataFusionStatement,
    query: Query,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let store = parts::first_target(context, &query)?.store;
    let work = move |context: StatementContext| async move {
        // Held until the rows were read.
        let reservation = MemoryConsumer::new("rows of a change").register(context.task().memory_pool());
        let (tables, rows) = rows_of(&context, &query, parameters, &reservation).await?;
        if let Some(source) = source(&mut statement) {
            **source = rows;
        }
        run_source(&context.with_tables(tables), statement).await
    };
    context.all_or_nothing(&store, work).await
}

/// Runs what reads plain rows.
fn run_source(context: &StatementContext, statement: DataFusionStatement) -> BoxFuture<'_, Result<Outcome>> {
    Box::pin(crate::statements::run(context, Statement::Sql(Box::new(statement)), None))
}

/// The rows that the query returns, as a table of the statement, and a query of them.
async fn rows_of(
    context: &StatementContext,
    query: &Query,
    parameters: Option<ParamValues>,
    reservation: &MemoryReservation,
) -> Result<(StatementTables, Query)> {
    let Outcome::Rows(rows) = parts::rows(context, query, parameters).await? else {
        let text = "a change without RETURNING, where its rows are to be taken, is not supported";
        return Err(Error::Unsupported(text.to_owned()));
    };
    let schema = rows.schema();
    let mut tables = context.tables.clone();
    tables.insert(ROWS, parts::numbered(&schema, rows.try_collect().await?, reservation)?)?;
    let items: Vec<String> =
        schema.fields().iter().enumerate().map(|(at, field)| format!("c{at} AS {}", quoted(field.name()))).collect();
    Ok((tables, query_of(&format!("SELECT {} FROM {ROWS}", items.join(", ")))?))
}
