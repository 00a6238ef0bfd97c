//! What the joins of a physical plan have in common, whichever operator was chosen for them: one that hashes keys, one that
//! looks at all pairs, or one that gives them all.

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use std::sync::Arc;

/// A join that pipelines may do.
#[derive(Clone, Copy)]
pub(super) struct Joined<'p> {
    pub(super) left: &'p Arc<dyn ExecutionPlan>,
    pub(super) right: &'p Arc<dyn ExecutionPlan>,
    /// What equals what; nothing where all pairs are looked at.
    pub(super) on: &'p [(PhysicalExprRef, PhysicalExprRef)],
    pub(super) filter: Option<&'p JoinFilter>,
    pub(super) join_type: JoinType,
    pub(super) projection: Option<&'p [usize]>,
    /// An anti join that is a NOT IN.
    pub(super) null_aware: bool,
    /// NULL equals NULL, as in INTERSECT and EXCEPT.
    pub(super) nulls_equal: bool,
}

impl<'p> Joined<'p> {
    /// The join that `plan` is; `None` for another operator, and for joins that pipelines don't have.
    pub(super) fn of(plan: &'p Arc<dyn ExecutionPlan>) -> Option<Self> {
        if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            // Which rows a NOT IN with a further condition may give is nobody's to guess.
            let known = !join.null_aware || (join.on().len() == 1 && join.filter().is_none());
            return (known && join.fetch().is_none()).then(|| Self {
                left: join.left(),
                right: join.right(),
                on: join.on(),
                filter: join.filter(),
                join_type: *join.join_type(),
                projection: join.projection.as_deref(),
                null_aware: join.null_aware,
                nulls_equal: join.null_equality() == NullEquality::NullEqualsNull,
            });
        }
        if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
            return Some(Self {
                left: join.left(),
                right: join.right(),
                on: &[],
                filter: join.filter(),
                join_type: *join.join_type(),
                projection: join.projection().as_deref(),
                null_aware: false,
                nulls_equal: false,
            });
        }
        let join = plan.downcast_ref::<CrossJoinExec>()?;
        Some(Self {
            left: join.left(),
            right: join.right(),
            on: &[],
            filter: None,
            join_type: JoinType::Inner,
            projection: None,
            null_aware: false,
            nulls_equal: false,
        })
    }

    /// The condition over the columns of both sides, the left one's first, and their schema.
    pub(super) fn condition(&self) -> Option<(PhysicalExprRef, Schema)> {
        let (left, right) = (self.left.schema(), self.right.schema());
        let filter = self.filter?;
        let renumbered = Arc::clone(filter.expression()).transform(|part| {
            let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
            let index = &filter.column_indices()[column.index()];
            let number = if index.side == JoinSide::Left { index.index } else { left.fields().len() + index.index };
            let renumbered: PhysicalExprRef = Arc::new(Column::new(column.name(), number));
            Ok(Transformed::yes(renumbered))
        });
        let fields: Vec<_> = left.fields().iter().chain(right.fields()).cloned().collect();
        Some((renumbered.ok()?.data, Schema::new(fields)))
    }
}
