//! A tree of joins as a plan: each condition at the lowest join where it can be evaluated, and no column carried further
//! than it is needed.

use crate::optimizer::cluster::{Cluster, Filtering, RelationExpression, Relations};
use crate::optimizer::model::Model;
use crate::optimizer::search::JoinTree;
use datafusion::common::{Column, DFSchemaRef, HashSet, JoinType, NullEquality, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Join, JoinConstraint, LogicalPlan, Projection};
use std::sync::Arc;

/// What joins have to give.
pub(super) enum WantedColumns {
    /// The columns that they gave before, in their order.
    AsBefore,
    /// These columns, in any order and among others.
    These(HashSet<Column>),
    /// These columns and no others, in any order.
    TheseAlone(HashSet<Column>),
}

/// The joins of a cluster as `tree` says. Fails when the tree leaves out a relation, and for columns that can't stand side
/// by side.
pub(super) fn assemble(
    cluster: &Cluster,
    model: &Model,
    tree: &JoinTree,
    wanted: &WantedColumns,
) -> Result<LogicalPlan> {
    if tree.relations().count_ones() as usize != cluster.relations.len() {
        return internal_err!("a tree of joins leaves out a relation");
    }
    let assembly = Assembly { cluster, model };
    let joined = match wanted {
        WantedColumns::AsBefore => {
            let joined = assembly.join(tree, &cluster.schema.columns().into_iter().collect())?;
            return Ok(restored(Arc::unwrap_or_clone(joined), &cluster.schema));
        }
        WantedColumns::These(columns) => assembly.join(tree, columns)?,
        WantedColumns::TheseAlone(columns) => assembly.plan(tree, columns)?,
    };
    Ok(Arc::unwrap_or_clone(joined))
}

/// The columns of `schema` of a plan, in their order.
pub(super) fn restored(plan: LogicalPlan, schema: &DFSchemaRef) -> LogicalPlan {
    if plan.schema().columns() == schema.columns() {
        return plan;
    }
    LogicalPlan::Projection(Projection::new_from_schema(Arc::new(plan), Arc::clone(schema)))
}

struct Assembly<'a> {
    cluster: &'a Cluster,
    model: &'a Model,
}

/// What a join is made with.
struct Conditions {
    /// Expressions of the build side and of the probe side.
    on: Vec<(Expr, Expr)>,
    filter: Option<Expr>,
    join_type: JoinType,
}

impl Assembly<'_> {
    /// A tree with no columns but those needed above it.
    fn plan(&self, tree: &JoinTree, needed: &HashSet<Column>) -> Result<Arc<LogicalPlan>> {
        let join = self.join(tree, needed)?;
        let columns = join.schema().columns();
        let kept: Vec<_> =
            columns.iter().filter(|column| needed.contains(*column)).cloned().map(Expr::Column).collect();
        // A relation gives what it gave.
        if matches!(tree, JoinTree::Leaf(_)) || kept.len() == columns.len() {
            return Ok(join);
        }
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(kept, join)?)))
    }

    /// A tree with those needed above it, and the columns of its last conditions.
    fn join(&self, tree: &JoinTree, needed: &HashSet<Column>) -> Result<Arc<LogicalPlan>> {
        let (build, probe) = match tree {
            JoinTree::Leaf(relation) => return Ok(Arc::clone(&self.cluster.relations[*relation].plan)),
            JoinTree::Join(build, probe) => (build, probe),
        };
        let conditions = match (self.filtering(build), self.filtering(probe)) {
            (None, None) => self.inner(build.relations(), probe.relations()),
            (None, Some(filtering)) => Conditions {
                on: filtering.on.clone(),
                filter: filtering.condition.clone(),
                join_type: if filtering.anti { JoinType::LeftAnti } else { JoinType::LeftSemi },
            },
            (Some(filtering), _) => Conditions {
                on: filtering.on.iter().map(|(kept, own)| (own.clone(), kept.clone())).collect(),
                filter: filtering.condition.clone(),
                join_type: if filtering.anti { JoinType::RightAnti } else { JoinType::RightSemi },
            },
        };
        let mut below = needed.clone();
        for expression in conditions.on.iter().flat_map(|(a, b)| [a, b]).chain(&conditions.filter) {
            below.extend(expression.column_refs().into_iter().cloned());
        }
        let (left, right) = (self.plan(build, &below)?, self.plan(probe, &below)?);
        let Conditions { on, filter, join_type } = conditions;
        let nulls = NullEquality::NullEqualsNothing;
        let join = Join::try_new(left, right, on, filter, join_type, JoinConstraint::On, nulls, false)?;
        Ok(Arc::new(LogicalPlan::Join(join)))
    }

    fn filtering(&self, tree: &JoinTree) -> Option<&Filtering> {
        match tree {
            JoinTree::Leaf(relation) => self.cluster.relations[*relation].filtering.as_ref(),
            JoinTree::Join(..) => None,
        }
    }

    fn inner(&self, build: Relations, probe: Relations) -> Conditions {
        let reached = self.model.reached(build, probe).unwrap_or(0);
        let mut on: Vec<(Expr, Expr)> =
            self.cluster.classes.iter().flat_map(|class| self.keys(class, build, probe, reached)).collect();
        let is_new = |of: Relations| of & !(build | probe) == 0 && of & !build != 0 && of & !probe != 0;
        let mut conditions = Vec::new();
        for equality in &self.cluster.equalities {
            match equality.between(build, probe) {
                Some((left, right)) => on.push((left.clone(), right.clone())),
                None if is_new(equality.left_of | equality.right_of) => {
                    conditions.push(equality.left.clone().eq(equality.right.clone()));
                }
                None => {}
            }
        }
        let residuals = self.cluster.residuals.iter().filter(|(_, of)| is_new(*of));
        conditions.extend(residuals.map(|(condition, _)| condition.clone()));
        Conditions { on, filter: conjunction(conditions), join_type: JoinType::Inner }
    }

    /// The pairs that make the members of a class on both sides equal. Those of a side of several relations are equal
    /// already; those of a single relation are not.
    fn keys(
        &self,
        class: &[RelationExpression],
        build: Relations,
        probe: Relations,
        reached: Relations,
    ) -> Vec<(Expr, Expr)> {
        let members = |side: Relations| {
            let mut members: Vec<&RelationExpression> =
                class.iter().filter(|member| side & (1 << member.relation) != 0).collect();
            // First the one whose scan the keys reach.
            members.sort_by_key(|member| reached & (1 << member.relation) == 0);
            if members.iter().any(|member| member.relation != members[0].relation) {
                members.truncate(1);
            }
            members.into_iter().map(|member| &member.expression).cloned()
        };
        let (mut built, probed) = (members(build), members(probe));
        let (Some(first), probed) = (built.next(), probed.collect::<Vec<_>>()) else { return Vec::new() };
        let Some(other) = probed.first().cloned() else { return Vec::new() };
        let mut keys: Vec<_> = probed.into_iter().map(|probed| (first.clone(), probed)).collect();
        keys.extend(built.map(|built| (built, other.clone())));
        keys
    }
}
