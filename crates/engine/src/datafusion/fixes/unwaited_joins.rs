//! Joins that would wait for a partition that nobody runs.
//!
//! A hash join that hands its keys down as a filter does so when each of its partitions has seen the build side, and each waits for
//! the others. One that collects its build side is not told when a partition is dropped (DataFusion 55, `BuildReportHandle`):
//! so it waits forever where a join above ends a partition whose own build side is empty, without ever asking for the
//! rows below. There it hands nothing down.

use crate::compile::CompiledExec;
use datafusion::common::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode, SortMergeJoinExec};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// Takes the filters off joins some of whose partitions may never be run; behind the rule that hands filters down.
#[derive(Debug)]
pub(crate) struct UnwaitedJoins;

impl PhysicalOptimizerRule for UnwaitedJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        unwaited(plan, false)
    }

    fn name(&self) -> &str {
        "unwaited_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan; `may_end` says that an operator above may leave some of its partitions alone.
fn unwaited(plan: Arc<dyn ExecutionPlan>, may_end: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let join = plan.downcast_ref::<HashJoinExec>();
    let collects = join.is_some_and(|join| *join.partition_mode() == PartitionMode::CollectLeft);
    let hands_down = !plan.dynamic_expressions_produced().is_empty();
    let parted = plan.is::<SortMergeJoinExec>() || join.is_some() && !collects;
    // These run all of what is below them, whoever asks.
    let runs_all = plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<CompiledExec>();
    let below = !runs_all && (may_end || parted);
    let children = plan.children().into_iter().map(|child| {
        let own = below && child.output_partitioning().partition_count() > 1;
        unwaited(Arc::clone(child), own)
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let plan = replace_children_if_necessary(plan, children)?;
    if may_end && collects && hands_down { plan.reset_state() } else { Ok(plan) }
}
