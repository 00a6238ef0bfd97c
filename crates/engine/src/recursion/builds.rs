//! Joins in a step of a recursive query. A side that reads no round is the same with each step: it is the build side where it may
//! be, and its hash table serves all steps of a run.

use crate::datafusion::cancellation::StoppableExec;
use crate::recursion::exec::RecursionExec;
use crate::recursion::round::{RoundExec, RoundId};
use crate::settings::Settings;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::JoinType;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, PartitionMode,
};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
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

/// Whether a plan reads rounds of that recursive query.
fn reads(plan: &Arc<dyn ExecutionPlan>, id: RoundId) -> bool {
    plan.downcast_ref::<RoundExec>().is_some_and(|round| round.id() == id)
        || plan.children().into_iter().any(|child| reads(child, id))
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

/// Whether a join of this type only looks up what its other side gives: no row of the build side is given for itself, so that
/// nothing is noted of it.
fn serves_again(join_type: JoinType) -> bool {
    use JoinType::{Inner, Right, RightAnti, RightMark, RightSemi};
    matches!(join_type, Inner | Right | RightSemi | RightAnti | RightMark)
}

/// A join whose table serves all steps.
fn built_once(plan: &Arc<dyn ExecutionPlan>, id: RoundId) -> Option<&HashJoinExec> {
    plan.downcast_ref::<HashJoinExec>().filter(|join| {
        *join.partition_mode() == PartitionMode::CollectLeft
            && serves_again(*join.join_type())
            && !reads(join.left(), id)
            && reads(join.right(), id)
    })
}

/// A part of a step for the next round: each operator as if it had not run, but for tables that serve all steps.
pub(super) fn renewed(plan: &Arc<dyn ExecutionPlan>, id: RoundId) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is::<RoundExec>() {
        return Ok(Arc::clone(plan));
    }
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    if let Some(join) = built_once(plan, id) {
        // Its copy has the same table.
        let children = vec![Arc::clone(join.left()), renewed(join.right(), id)?];
        return Arc::clone(plan).replace_children(children, options);
    }
    let children = plan.children().into_iter().map(|child| renewed(child, id)).collect::<Result<Vec<_>>>()?;
    let plan =
        if children.is_empty() { Arc::clone(plan) } else { Arc::clone(plan).replace_children(children, options)? };
    plan.reset_state()
}

/// What a step, or a part of one, is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepKind {
    /// Operators that look at one row after the other and remember none, and tables that serve all steps: it may run again as it is.
    Plain,
    /// It reads nothing but rounds and tables that serve all steps: it is done in no time for few rows.
    Light,
    Any,
}

impl StepKind {
    /// The kind of a part of a step.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>, id: RoundId) -> Self {
        if let Some(join) = built_once(plan, id) {
            return Self::of(join.right(), id);
        }
        let own = match plan {
            plan if plan.is::<RoundExec>() || plan.is::<PlaceholderRowExec>() || plan.is::<EmptyExec>() => Self::Plain,
            plan if plan.children().is_empty() => Self::Any,
            plan if plan.is::<ProjectionExec>() || plan.is::<FilterExec>() || plan.is::<StoppableExec>() => Self::Plain,
            _ => Self::Light,
        };
        plan.children().into_iter().map(|child| Self::of(child, id)).fold(own, Self::max)
    }
}
