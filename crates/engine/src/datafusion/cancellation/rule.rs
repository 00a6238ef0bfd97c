//! The rule that chooses the operators that can be stopped, and lets the conditions of joins ask.

use crate::datafusion::cancellation::exec::StoppableExec;
use crate::datafusion::cancellation::filter;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use std::sync::Arc;

/// Lets joins, windows, sorts and aggregations be stopped; behind all rules that look for them.
#[derive(Debug)]
pub(crate) struct StoppableOperators;

impl PhysicalOptimizerRule for StoppableOperators {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let stoppable = plan.transform_up(|plan| {
            if let [input] = plan.children()[..]
                && plan.is::<StoppableExec>()
                && let Some(own) = input.downcast_ref::<StoppableExec>()
            {
                // It was above the operator before.
                let below = own.children().into_iter().cloned().collect();
                return Ok(Transformed::yes(replace_children_if_necessary(Arc::clone(&plan), below)?));
            }
            let Some(own) = asking(&plan)? else { return Ok(Transformed::no(plan)) };
            Ok(Transformed::yes(Arc::new(StoppableExec::new(own)) as Arc<dyn ExecutionPlan>))
        });
        Ok(stoppable?.data)
    }

    fn name(&self) -> &str {
        "stoppable_operators"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// An operator that may work for long, with parts that ask where it has some; `None` for others.
fn asking(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return Ok(Some(match join.filter().and_then(filter::asking) {
            Some(own) => Arc::new(NestedLoopJoinExecBuilder::from(join).with_filter(Some(own)).build()?),
            None => Arc::clone(plan),
        }));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Ok(Some(match join.filter().and_then(filter::asking) {
            Some(own) => Arc::new(HashJoinExecBuilder::from(join).with_filter(Some(own)).build()?),
            None => Arc::clone(plan),
        }));
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        return Ok(Some(match join.filter().as_ref().and_then(filter::asking) {
            Some(own) => Arc::new(SortMergeJoinExec::try_new(
                Arc::clone(join.left()),
                Arc::clone(join.right()),
                join.on().to_vec(),
                Some(own),
                join.join_type(),
                join.sort_options().to_vec(),
                join.null_equality(),
            )?),
            None => Arc::clone(plan),
        }));
    }
    let works_long = plan.is::<CrossJoinExec>()
        || plan.is::<WindowAggExec>()
        || plan.is::<BoundedWindowAggExec>()
        || plan.is::<SortExec>()
        || plan.is::<AggregateExec>();
    Ok(works_long.then(|| Arc::clone(plan)))
}
