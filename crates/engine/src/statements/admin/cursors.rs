//! DECLARE, FETCH, MOVE and CLOSE.

use crate::Result;
use crate::session::{CursorOptions, Outcome, StatementContext};
use crate::sql::ignored as query;
use crate::sql::session::{Declare, Fetch};
use crate::statements::admin::transaction;
use datafusion::common::ParamValues;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;

/// Runs DECLARE.
pub(crate) async fn declare(
    context: &StatementContext,
    declare: Declare,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let Declare { name, hold, scroll, mut query } = declare;
    let depth = match (&context.transaction, hold) {
        (None, true) => None,
        _ => Some(transaction::require_open(context, "DECLARE CURSOR without HOLD")?.savepoints()),
    };
    query::refuse_ignored(&mut query)?;
    let bound = context.bind(query, parameters).await?;
    let plan = context.physical_plan(bound.plan).await?;
    let rows = bound.columns.give(context.execute(plan)?);
    let options = CursorOptions { hold, scroll, depth };
    context.session.cursors.declare(&context.session, name, options, rows)?;
    Ok(Outcome::Done)
}

/// Runs FETCH, or MOVE, which tells the number of rows alone.
pub(crate) async fn fetch(context: &StatementContext, fetch: &Fetch) -> Result<Outcome> {
    let (schema, batches) = context.session.cursors.fetch(&fetch.cursor, fetch.count).await?;
    if fetch.moves {
        return Ok(Outcome::Affected(batches.iter().map(|batch| batch.num_rows() as u64).sum()));
    }
    let rows = futures::stream::iter(batches.into_iter().map(Ok));
    Ok(Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

/// Runs CLOSE of a cursor, or of all.
pub(crate) fn close(context: &StatementContext, name: Option<&str>) -> Result<Outcome> {
    match name {
        Some(name) => context.session.cursors.close(name)?,
        None => context.session.cursors.close_all(),
    }
    Ok(Outcome::Done)
}
