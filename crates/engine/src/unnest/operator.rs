//! The operators of a plan whose expressions have subqueries, from the leaves up.

use crate::unnest::Unnesting;
use crate::unnest::free::{has_queries, has_query, outer_columns};
use crate::unnest::join::joined;
use crate::unnest::pull::keys_of;
use crate::unnest::rows::{UnnestedRows, columns_of, named, project, under_names};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::error::Result;
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Sort, SortExpr, Window,
};
use std::sync::Arc;

impl Unnesting<'_> {
    /// A plan that looks at nothing around it, without subqueries but for values that are the same for all rows.
    pub(super) fn whole(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if !has_queries(&plan)? {
            return Ok(plan);
        }
        if let LogicalPlan::Join(join) = &plan {
            return self.whole_join(join);
        }
        if let LogicalPlan::Subquery(query) = plan {
            return self.whole(Arc::unwrap_or_clone(query.subquery));
        }
        if let LogicalPlan::Filter(filter) = &plan
            && let Some(sooner) = before_lateral(filter)?
        {
            return self.whole(sooner);
        }
        let plan = plan.map_children(|child| Ok(Transformed::yes(self.whole(child)?)))?.data;
        let mut any = false;
        plan.apply_expressions(|expression| {
            any |= has_query(expression);
            Ok(TreeNodeRecursion::Continue)
        })?;
        if any { self.operator(plan) } else { plan.recompute_schema() }
    }

    /// An operator over plans without subqueries.
    fn operator(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        match plan {
            LogicalPlan::Filter(filter) => {
                let columns = columns_of(&filter.input).collect();
                let mut rows = UnnestedRows::of(Arc::unwrap_or_clone(filter.input));
                self.filtered(&mut rows, vec![filter.predicate])?;
                project(rows.plan, columns)
            }
            LogicalPlan::Projection(projection) => {
                let mut rows = UnnestedRows::of(Arc::unwrap_or_clone(projection.input));
                let values = self.values(&mut rows, projection.expr, &[])?;
                project(rows.plan, under_names(values, &projection.schema))
            }
            LogicalPlan::Aggregate(aggregate) => {
                let mut rows = UnnestedRows::of(aggregate.input.as_ref().clone());
                let keys = self.prepared(&mut rows, aggregate.group_expr)?;
                let calls = self.prepared(&mut rows, aggregate.aggr_expr)?;
                let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(rows.plan), keys, calls)?);
                let shown = under_names(columns_of(&plan).collect(), &aggregate.schema);
                project(plan, shown)
            }
            LogicalPlan::Window(window) => {
                let rows = UnnestedRows::of(window.input.as_ref().clone());
                let columns = window.schema.columns().into_iter().map(Expr::Column).collect();
                let plan = self.windows(rows, &[], &window)?;
                project(plan, columns)
            }
            LogicalPlan::Sort(sort) => {
                let columns = columns_of(&sort.input).collect();
                let mut rows = UnnestedRows::of(sort.input.as_ref().clone());
                let keys = sort.expr.iter().map(|key| key.expr.clone()).collect();
                let keys = self.prepared(&mut rows, keys)?;
                let expr = sort.expr.into_iter().zip(keys).map(|(key, expr)| SortExpr { expr, ..key }).collect();
                let sorted = LogicalPlan::Sort(Sort { expr, input: Arc::new(rows.plan), fetch: sort.fetch });
                project(sorted, columns)
            }
            LogicalPlan::Limit(limit) => {
                let columns = columns_of(&limit.input).collect();
                // The order that rows come in is kept.
                let number = Column::new_unqualified(self.fresh("position"));
                let numbered = row_number().alias(&number.name);
                let input = LogicalPlan::Window(Window::try_new(vec![numbered], Arc::clone(&limit.input))?);
                let by_position = Expr::Column(number).sort(true, false);
                let rows = self.limited(UnnestedRows::of(input), &[], vec![by_position.clone()], &limit)?;
                let sorted = LogicalPlanBuilder::from(rows).sort([by_position])?.build()?;
                project(sorted, columns)
            }
            other => {
                let expressions = other.expressions();
                let inputs = other.inputs().into_iter().cloned().collect::<Vec<_>>();
                // What is computed without rows, as of VALUES, has nothing around it.
                let mut rows = UnnestedRows::of(LogicalPlanBuilder::empty(true).build()?);
                let values = self.values(&mut rows, expressions, &[])?;
                other.with_new_exprs(values, inputs)
            }
        }
    }

    fn whole_join(&mut self, join: &Join) -> Result<LogicalPlan> {
        let mut left = UnnestedRows::of(self.whole(join.left.as_ref().clone())?);
        let columns = join.schema.columns();
        if outer_columns(&join.right)?.iter().any(|column| left.schema().has_column(column)) {
            return Ok(self.lateral(left, join)?.plan);
        }
        let mut right = UnnestedRows::of(self.whole(join.right.as_ref().clone())?);
        let holds = join.filter.iter().cloned().flat_map(split_conjunction_owned).collect();
        let held = self.conditions(&mut left, &mut right, holds, join.join_type)?;
        let mut condition = keys_of(join);
        condition.same.extend(held.same);
        condition.holds.extend(held.before);
        let plan = joined(left.plan, right.plan, join.join_type, condition)?;
        let mut rows = UnnestedRows::of(plan);
        self.filtered(&mut rows, held.behind)?;
        project(rows.plan, columns.into_iter().map(|column| named(Expr::Column(column.clone()), &column)).collect())
    }
}

/// A filter above a LATERAL member of FROM, of which the conditions about what stands before that come first: fewer rows ask. They go
/// down through joins to where that is. `None` where there are none.
fn before_lateral(filter: &Filter) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Join(join) = filter.input.as_ref() else { return Ok(None) };
    let (left, right) = (join.left.schema(), join.right.schema());
    let is_lateral = outer_columns(&join.right)?.iter().any(|column| left.has_column(column));
    let of_left = is_lateral || matches!(join.join_type, JoinType::Inner | JoinType::Left) && has_queries(&join.left)?;
    let of_right =
        !is_lateral && matches!(join.join_type, JoinType::Inner | JoinType::Right) && has_queries(&join.right)?;
    let (mut sooner, mut later) = ([Vec::new(), Vec::new()], Vec::new());
    for condition in split_conjunction_owned(filter.predicate.clone()) {
        let columns = condition.column_refs();
        let is_about = |side: &DFSchema| columns.iter().all(|column| side.has_column(column));
        if has_query(&condition) || condition.is_volatile() {
            later.push(condition);
        } else if of_left && is_about(left) {
            sooner[0].push(condition);
        } else if of_right && is_about(right) {
            sooner[1].push(condition);
        } else {
            later.push(condition);
        }
    }
    if sooner.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let filtered = |side: &Arc<LogicalPlan>, conditions: Vec<Expr>| -> Result<Arc<LogicalPlan>> {
        Ok(match conjunction(conditions) {
            None => Arc::clone(side),
            Some(all) => Arc::new(LogicalPlan::Filter(Filter::try_new(all, Arc::clone(side))?)),
        })
    };
    let [of_left, of_right] = sooner;
    let (left, right) = (filtered(&join.left, of_left)?, filtered(&join.right, of_right)?);
    let join = LogicalPlan::Join(Join { left, right, ..join.clone() });
    Ok(Some(match conjunction(later) {
        Some(later) => LogicalPlan::Filter(Filter::try_new(later, Arc::new(join))?),
        None => join,
    }))
}
