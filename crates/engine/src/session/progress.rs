//! How far a query is: the records that its scans have read, of those that they are to read.
//!
//! The operators count while they run anyway; whoever asks adds them up, so that a query that nobody asks about pays nothing.

use crate::compile::CompiledExec;
use crate::session::cancel::CancelToken;
use crate::table::ScanExec;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Lets the plan that a statement runs tell by the statement's token how far it is.
pub(crate) fn watch(cancel: &CancelToken, plan: &Arc<dyn ExecutionPlan>) {
    let plan = Arc::clone(plan);
    cancel.count_by(Box::new(move || {
        let (mut done, mut total) = (0, 0);
        add(&plan, &mut done, &mut total);
        (done, total)
    }));
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
