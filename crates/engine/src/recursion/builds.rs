//! Joins in a step of a recursive query. A side that reads no round is the same with each step: it is the build side where it may
//! be, and its hash table serves all steps of a run.

use crate::recursion::exec::RecursionExec;
use crate::recursion::round::RoundId;
use crate::recursion::step::{reads, serves_again};
use crate::settings::Settings;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, PartitionMode,
};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use std::sync::Arc;

/// Chooses the build sides, behind the choice of joins and before plans are distributed over threads.
#[derive(Debug)]
pub(crate) struct BuildOnce;

impl PhysicalOptimizerRule for BuildOnce {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let most = Settings::of(config).memory_limit / 2;
        let chosen = plan.transform_up(|plan| {
            let Some(recursion) = plan.downcast_ref::<RecursionExec>() else { return Ok(Transformed::no(plan)) };
            let children = recursion.children();
            let (first, step) = (Arc::clone(children[0]), Arc::clone(children[1]));
            let step = chosen(step, recursion.id(), most)?;
            Ok(Transformed::yes(replace_children_if_necessary(plan, vec![first, step])?))
        });
        Ok(chosen?.data)
    }

    fn name(&self) -> &str {
        "build_once"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A part of a step, with joins that build their tables of the side that reads no round, if it is not known to have more bytes
/// than `most`.
fn chosen(plan: Arc<dyn ExecutionPlan>, id: RoundId, most: usize) -> Result<Arc<dyn ExecutionPlan>> {
    // Another one's step has joins of its own.
    if plan.is::<RecursionExec>() || !reads(&plan, id) {
        return Ok(plan);
    }
    let children = plan.children().into_iter().map(|child| chosen(Arc::clone(child), id, most));
    let children = children.collect::<Result<Vec<_>>>()?;
    let plan = replace_children_if_necessary(plan, children)?;
    let [left, right] = plan.children()[..] else { return Ok(plan) };
    let same = match (reads(left, id), reads(right, id)) {
        (false, true) => left,
        (true, false) => right,
        _ => return Ok(plan),
    };
    let statistics = StatisticsContext::new().compute(same.as_ref(), &StatisticsArgs::new())?;
    if statistics.total_byte_size.get_value().is_some_and(|bytes| *bytes > most) {
        return Ok(plan);
    }
    let is_right = Arc::ptr_eq(same, right);
    match (plan.downcast_ref(), plan.downcast_ref(), plan.downcast_ref()) {
        (Some(join), ..) => Ok(hashed(join, is_right)?.unwrap_or(plan)),
        // These keep their left side, and go through it for each batch of the other one.
        (_, Some(join), _) if is_right => CrossJoinExec::swap_inputs(join),
        (.., Some(join)) if is_right => NestedLoopJoinExec::swap_inputs(join),
        _ => Ok(plan),
    }
}

/// A join that builds its table of the side that reads no round, `None` where it can't serve several steps.
fn hashed(join: &HashJoinExec, is_right: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    Ok(match is_right {
        true if serves_again(join.join_type().swap()) && !join.null_aware => {
            Some(join.swap_inputs(PartitionMode::CollectLeft)?)
        }
        false if serves_again(*join.join_type()) => {
            Some(Arc::new(HashJoinExecBuilder::from(join).with_partition_mode(PartitionMode::CollectLeft).build()?))
        }
        _ => None,
    })
}
