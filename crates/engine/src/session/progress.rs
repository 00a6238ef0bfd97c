//! How far a query is: the records that its scans have read, of those that they are to read.
//!
//! The operators count while they run anyway; whoever asks adds them up, so that a query that nobody asks about pays nothing.

use crate::compile::CompiledExec;
use crate::session::StatementProgress;
use crate::table::ScanExec;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// How far a plan is that was started; `None` for one that reads no table.
pub(super) fn of_plan(plan: &Arc<dyn ExecutionPlan>) -> Option<StatementProgress> {
    let (mut done, mut total) = (0, 0);
    add(plan, &mut done, &mut total);
    (total > 0).then_some(StatementProgress { done, total, records: done })
}

fn add(plan: &Arc<dyn ExecutionPlan>, done: &mut u64, total: &mut u64) {
    let (own, below) = if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        (scan.progress(), Vec::new())
    } else if let Some(compiled) = plan.downcast_ref::<CompiledExec>() {
        // It reads the tables of its scans itself.
        (compiled.progress(), compiled.given())
    } else {
        ((0, 0), plan.children())
    };
    *done += own.0.min(own.1);
    *total += own.1;
    below.into_iter().for_each(|plan| add(plan, done, total));
}
