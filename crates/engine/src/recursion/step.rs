//! A step from round to round: which of its operators begin anew, and which tables of joins serve all steps.

use crate::datafusion::cancellation::StoppableExec;
use crate::recursion::round::{RoundExec, RoundId};
use datafusion::error::Result;
use datafusion::logical_expr::JoinType;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use std::sync::Arc;

/// Whether a plan reads rounds of that recursive query.
pub(super) fn reads(plan: &Arc<dyn ExecutionPlan>, id: RoundId) -> bool {
    plan.downcast_ref::<RoundExec>().is_some_and(|round| round.id() == id)
        || plan.children().into_iter().any(|child| reads(child, id))
}

/// Whether a join of this type only looks up what its other side gives: no row of the build side is given for itself, so that
/// nothing is noted of it.
pub(super) fn serves_again(join_type: JoinType) -> bool {
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

/// Steps, and parts of them, by what they are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepKind {
    /// Operators that look at one row after the other and remember none, and tables that serve all steps: it may run again as it is.
    Plain,
    /// Operators that read nothing but rounds and tables that serve all steps: for few rows they are done in no time.
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
