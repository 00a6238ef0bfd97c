//! The first rows of a union in an order whose first key is another constant in each input, as in `SELECT 2 AS a, 5 AS b … UNION ALL
//! SELECT p, 1 … ORDER BY b, a LIMIT 2`. DataFusion sorts each partition by the other keys alone, which is enough there, but all
//! partitions share what the last of the best rows has for these keys, and leave out rows behind it: a row with a smaller `b` too.
//! Such a sort is by all keys of the merge above, or keeps all rows.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::equivalence::AcrossPartitions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary};
use std::sync::Arc;

/// Runs after plans are distributed over partitions, before filters are handed down.
#[derive(Debug)]
pub(crate) struct SharedThresholds;

impl PhysicalOptimizerRule for SharedThresholds {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let by_all_keys = plan.transform_up(|plan| {
            let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() else { return Ok(Transformed::no(plan)) };
            let Some(sort) = merge.input().downcast_ref::<SortExec>().filter(|sort| is_misled(sort)) else {
                return Ok(Transformed::no(plan));
            };
            let whole = SortExec::new(merge.expr().clone(), Arc::clone(sort.input()))
                .with_preserve_partitioning(true)
                .with_fetch(sort.fetch());
            Ok(Transformed::yes(replace_children_if_necessary(Arc::clone(&plan), vec![Arc::new(whole)])?))
        })?;
        let without = by_all_keys.data.transform_up(|plan| {
            Ok(match plan.downcast_ref::<SortExec>().filter(|sort| is_misled(sort)) {
                Some(sort) => Transformed::yes(Arc::new(sort.with_fetch(None)) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        });
        Ok(without?.data)
    }

    fn name(&self) -> &str {
        "shared_thresholds"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether a sort gives the first rows of several partitions, and is not by something that differs from partition to partition
/// alone.
fn is_misled(sort: &SortExec) -> bool {
    let partitions = sort.input().output_partitioning().partition_count();
    if sort.fetch().is_none() || !sort.preserve_partitioning() || partitions < 2 {
        return false;
    }
    let constants = sort.input().equivalence_properties().constants();
    constants.iter().any(|constant| {
        let differs = matches!(constant.across_partitions, AcrossPartitions::Heterogeneous);
        differs && !sort.expr().iter().any(|key| key.expr.eq(&constant.expr))
    })
}
