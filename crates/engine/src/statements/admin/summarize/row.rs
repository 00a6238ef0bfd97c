//! The row that an aggregate without groups gives.

use crate::session::StatementContext;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;

/// The only row that a plan gives.
pub(super) async fn only_row(context: &StatementContext, plan: LogicalPlan) -> Result<RecordBatch> {
    let mut rows = context.rows(plan).await?;
    let mut found = None;
    while let Some(batch) = rows.next().await {
        found = Some(batch?).filter(|batch| batch.num_rows() > 0).or(found);
    }
    found.ok_or_else(|| Error::Internal("an aggregate without groups gives a row".into()))
}
