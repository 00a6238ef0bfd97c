//! Outer joins of which DataFusion says that what is equal on one side is equal in the rows of the join, constants among them, as in
//! `SELECT y FROM t LEFT JOIN (SELECT 1 AS y) AS u ON f ORDER BY y`. It is not in rows without a partner, where all of that side
//! is NULL; yet a sort by it is left out (DataFusion 55, `EquivalenceGroup::join`). Neither is a key of groups that some grouping sets
//! leave out, as in `SELECT c FROM t WHERE c = 'x' GROUP BY ROLLUP (c) ORDER BY c DESC` (`AggregateExec::compute_properties`). What is
//! above such an operator is not told.

use crate::datafusion::cancellation::StoppableExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::JoinType;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// Runs before sorts are put in and left out.
#[derive(Debug)]
pub(crate) struct OuterConstants;

impl PhysicalOptimizerRule for OuterConstants {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| {
            let is_outer =
                join_type(&plan).is_some_and(|kind| matches!(kind, JoinType::Left | JoinType::Right | JoinType::Full));
            let has_sets = plan.downcast_ref::<AggregateExec>().is_some_and(|own| !own.group_expr().is_single());
            if !is_outer && !has_sets || plan.equivalence_properties().eq_group().is_empty() {
                return Ok(Transformed::no(plan));
            }
            Ok(Transformed::yes(Arc::new(StoppableExec::without_equalities(plan)) as Arc<dyn ExecutionPlan>))
        });
        Ok(hidden?.data)
    }

    fn name(&self) -> &str {
        "outer_constants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn join_type(plan: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return Some(*join.join_type());
    }
    plan.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type)
}
