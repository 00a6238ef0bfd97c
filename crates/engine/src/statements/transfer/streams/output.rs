//! The rows of COPY … TO STDOUT, for whoever writes them as the statement's options say.

use crate::session::{Outcome, Severity, StatementContext};
use crate::sql::copy::{CopyToStream, columns_of};
use crate::sql::ignored::writes;
use crate::sql::parse::all_of;
use crate::statements::dml::{generated, parts};
use crate::statements::targets::table_reference;
use crate::statements::transfer::streams::options::{Direction, StreamOptions};
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::CopyToSource;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query};
use futures::{TryStreamExt, stream};
use gingham_storage::{Generation, SqlState};

/// Gives the rows.
pub(crate) async fn rows(
    context: &StatementContext,
    copy: CopyToStream,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    if StreamOptions::of(&copy.options, Direction::To)?.freeze {
        let text = "COPY … TO (FREEZE) has no effect: FREEZE is an option of COPY … FROM";
        context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
    }
    let mut query = match copy.source {
        CopyToSource::Query(query) => *query,
        CopyToSource::Relation(table) => of_table(context, &table, &copy.columns)?,
    };
    if writes(&query) {
        return changed(context, query, parameters).await;
    }
    crate::sql::ignored::refuse_ignored(&mut query)?;
    let bound = context.bind(query, parameters).await?;
    let plan = context.physical_plan(bound.plan).await?;
    Ok(Outcome::Rows(bound.columns.give(context.execute(plan)?)))
}

/// The query of a table's columns: those of the list, or all that are not generated.
fn of_table(context: &StatementContext, table: &ObjectName, listed: &[Ident]) -> Result<Query> {
    let Some(target) = context.find(&table_reference(table)?)? else {
        return if listed.is_empty() { all_of(table) } else { columns_of(table, listed) };
    };
    let definition = &target.table.definition;
    let is_generated = |name: &str| {
        let column = definition.column(name);
        column.is_some_and(|column| matches!(column.generation, Some(Generation::Stored(_))))
    };
    if let Some(column) = listed.iter().find(|ident| is_generated(&crate::sql::names::fold(ident))) {
        let text = format!("column {column} is a generated column, which COPY leaves out; use COPY (SELECT …) TO");
        return Err(Error::invalid(SqlState::InvalidColumnReference, text));
    }
    let names = generated::loaded(definition);
    match listed {
        [] if names.len() == definition.columns.len() => all_of(table),
        [] => columns_of(table, &names.into_iter().map(|name| Ident::with_quote('"', name)).collect::<Vec<_>>()),
        listed => columns_of(table, listed),
    }
}

/// The rows that a change returns, which is done whole before the first is given.
async fn changed(context: &StatementContext, query: Query, parameters: Option<ParamValues>) -> Result<Outcome> {
    let store = parts::first_target(context, &query)?.store;
    let work = move |context: StatementContext| async move {
        let Outcome::Rows(rows) = parts::rows(&context, &query, parameters).await? else {
            return Err(Error::Unsupported(
                "COPY of a change without RETURNING is not supported: it gives no rows".into(),
            ));
        };
        let schema = rows.schema();
        let batches: Vec<_> = rows.try_collect().await?;
        let rows = stream::iter(batches.into_iter().map(Ok::<_, DataFusionError>));
        Ok(Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
    };
    context.all_or_nothing(&store, work).await
}
