//! A query whose WITH changes records, or which is such a change with RETURNING, as what CREATE TABLE AS and COPY … TO read: it
//! is run first, and its rows take its place, in one transaction.

use crate::session::{Outcome, StatementContext, StatementTables};
use crate::sql::ignored::writes;
use crate::sql::parse::{Statement, query_of};
use crate::sql::quoted::quoted;
use crate::statements::dml::parts;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use datafusion::common::ParamValues;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::sql::parser::{CopyToSource, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{Query, Statement as Sql};
use futures::TryStreamExt;
use futures::future::BoxFuture;
use gingham_storage::scan::batch_bytes;
use std::sync::Arc;

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

/// Runs the statement: `query` changes records, and `with_rows` makes the statement that reads its rows instead.
pub(crate) async fn run(
    context: &StatementContext,
    mut statement: DataFusionStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let query = source(&mut statement).ok_or_else(|| Error::Internal("a source that changes nothing".into()))?;
    let store = parts::first_target(context, query)?.store;
    let work = move |context: StatementContext| async move {
        let mut statement = statement;
        if let Some(query) = source(&mut statement) {
            let (tables, rows) = rows_of(&context, query, parameters).await?;
            *query = rows;
            return run_source(&context.with_tables(tables), statement).await;
        }
        Err(Error::Internal("a source that changes nothing".into()))
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
) -> Result<(StatementTables, Box<Query>)> {
    let Outcome::Rows(rows) = parts::rows(context, query, parameters).await? else {
        let text = "a change without RETURNING, where its rows are to be taken, is not supported";
        return Err(Error::Unsupported(text.to_owned()));
    };
    let schema = rows.schema();
    // Several columns may have one name.
    let fields = schema.fields().iter().enumerate();
    let numbered: Vec<Field> = fields.map(|(at, field)| field.as_ref().clone().with_name(format!("c{at}"))).collect();
    let numbered = Arc::new(Schema::new(numbered));
    let reservation = MemoryConsumer::new("rows of a change").register(context.task().memory_pool());
    let mut batches = vec![RecordBatch::new_empty(Arc::clone(&numbered))];
    for batch in rows.try_collect::<Vec<_>>().await? {
        reservation.try_grow(batch_bytes(&batch))?;
        batches.push(RecordBatch::try_new(Arc::clone(&numbered), batch.columns().to_vec())?);
    }
    let mut tables = context.tables.clone();
    tables.insert(ROWS, batches)?;
    let items: Vec<String> =
        schema.fields().iter().enumerate().map(|(at, field)| format!("c{at} AS {}", quoted(field.name()))).collect();
    Ok((tables, Box::new(query_of(&format!("SELECT {} FROM {ROWS}", items.join(", ")))?)))
}
