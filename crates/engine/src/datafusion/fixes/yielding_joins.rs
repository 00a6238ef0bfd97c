//! Joins that give way: one batch of a join's input may become millions of rows, and a task that never pauses can't be
//! cancelled and keeps other statements from running.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use std::sync::Arc;

/// Lets the task pause between the batches that a join gives. DataFusion sees to the leaves only.
#[derive(Debug)]
pub(crate) struct YieldingJoins;

impl PhysicalOptimizerRule for YieldingJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let yielding = plan.transform_up(|plan| {
            let multiplies = plan.is::<CrossJoinExec>()
                || plan.is::<NestedLoopJoinExec>()
                || plan.is::<HashJoinExec>()
                || plan.is::<SortMergeJoinExec>();
            if multiplies {
                Ok(Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>))
            } else {
                Ok(Transformed::no(plan))
            }
        });
        Ok(yielding?.data)
    }

    fn name(&self) -> &str {
        "yielding_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
