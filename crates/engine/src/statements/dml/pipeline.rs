//! From a plan's partitions to the lanes of a table's writer, side by side.

use crate::datafusion::in_order::as_they_come;
use crate::session::{StatementContext, blocking};
use crate::statements::dml::ingest::Ingest;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream_partitioned};
use futures::StreamExt;
use gingham_storage::TableDefinition;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Runs `plan` and hands partition i to lane i. Encoding and writing happen off the threads that drive the query. The
/// first error ends all partitions.
pub(crate) async fn fill(context: &StatementContext, plan: Arc<dyn ExecutionPlan>, ingest: Ingest) -> Result<Ingest> {
    let ingest = Arc::new(ingest);
    let into = Arc::clone(&ingest);
    each(context, plan, move |lane, batch| into.batch(lane, &batch, None)).await?;
    Arc::into_inner(ingest).ok_or_else(|| Error::Internal("a lane of a writer is still at work".into()))
}

/// Runs `plan` and does `work` with the batches of each partition, whose number it is told. It may block.
pub(crate) async fn each(
    context: &StatementContext,
    plan: Arc<dyn ExecutionPlan>,
    work: impl Fn(usize, RecordBatch) -> Result<()> + Send + Sync + 'static,
) -> Result<()> {
    let work = Arc::new(work);
    // A table keeps no order of its records.
    let plan = as_they_come(plan);
    context.starts(&plan);
    let streams = execute_stream_partitioned(plan, context.task())?;
    let mut lanes = JoinSet::new();
    for (lane, mut stream) in streams.into_iter().enumerate() {
        let work = Arc::clone(&work);
        let cancel = context.cancel.clone();
        lanes.spawn(async move {
            while let Some(batch) = stream.next().await {
                let batch = batch?;
                cancel.check()?;
                let work = Arc::clone(&work);
                blocking(move || work(lane, batch)).await?;
            }
            Ok::<(), Error>(())
        });
    }
    while let Some(ended) = lanes.join_next().await {
        ended.unwrap_or_else(|error| Err(Error::of_task(error)))?;
    }
    Ok(())
}

/// The plan with its rows in the order that the table's sort_by asks for. `given` names the table columns that the
/// plan's columns fill, in order; all of them when it is `None`.
pub(crate) fn sorted(plan: LogicalPlan, definition: &TableDefinition, given: Option<&[String]>) -> Result<LogicalPlan> {
    let columns = plan.schema().columns();
    let position = |name: &str| match given {
        Some(given) => given.iter().position(|given| given == name),
        None => definition.columns.iter().position(|column| column.name == name),
    };
    // Columns that the statement leaves out have one value for all rows, as far as their order matters.
    let keys: Vec<_> = definition
        .sort_by
        .iter()
        .filter_map(|id| definition.column_by_id(*id))
        .filter_map(|column| columns.get(position(&column.name)?).cloned())
        .map(|column: Column| Expr::Column(column).sort(true, true))
        .collect();
    if keys.is_empty() {
        return Ok(plan);
    }
    Ok(LogicalPlanBuilder::from(plan).sort(keys)?.build()?)
}
