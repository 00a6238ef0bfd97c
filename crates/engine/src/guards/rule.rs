//! The expressions of a physical plan that are guarded: those with conditions, and arguments of aggregates with FILTER.

use crate::guards::careful::has_conditions;
use crate::guards::guarded::{Guarded, Wanted};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use std::sync::Arc;

/// The rule; it runs last, since rules behind it would not know what a guarded expression is.
#[derive(Debug)]
pub(crate) struct GuardExpressions;

impl PhysicalOptimizerRule for GuardExpressions {
    fn name(&self) -> &str {
        "guard_expressions"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let guarded = plan.transform_up(|plan| {
            let guarded = guarded(&plan)?;
            Ok(guarded.map_or_else(|| Transformed::no(plan), Transformed::yes))
        });
        Ok(guarded?.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The operator with guarded expressions; `None` when it has none to guard.
fn guarded(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let Some(predicate) = guard(filter.predicate(), Wanted::Condition) else { return Ok(None) };
        return Ok(Some(Arc::new(FilterExecBuilder::from(filter).with_predicate(predicate).build()?)));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return in_projection(projection);
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return in_aggregate(aggregate);
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let Some(filter) = join.filter().and_then(in_join_filter) else { return Ok(None) };
        return Ok(Some(Arc::new(HashJoinExecBuilder::from(join).with_filter(Some(filter)).build()?)));
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let Some(filter) = join.filter().and_then(in_join_filter) else { return Ok(None) };
        return Ok(Some(Arc::new(NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter)).build()?)));
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return in_sort(sort);
    }
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        return Ok(in_merge(merge));
    }
    Ok(None)
}

/// The expression with a guard, where it needs one.
fn guard(expression: &Arc<dyn PhysicalExpr>, wanted: Wanted) -> Option<Arc<dyn PhysicalExpr>> {
    let needs = !expression.is::<Guarded>() && has_conditions(expression) && may_fail(expression);
    needs.then(|| Arc::new(Guarded::new(Arc::clone(expression), wanted)) as Arc<dyn PhysicalExpr>)
}

/// An expression that is evaluated outside of a plan, with a guard where it needs one.
pub(crate) fn guarded_alone(expression: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    guard_value(&expression).unwrap_or(expression)
}

/// The expression with a guard of its value, where it needs one.
fn guard_value(expression: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    guard(expression, Wanted::Value)
}

/// Whether evaluating an expression may be an error: anything but what is known to answer for all values.
fn may_fail(expression: &Arc<dyn PhysicalExpr>) -> bool {
    let answers = expression.is::<Column>()
        || expression.is::<Literal>()
        || expression.is::<CaseExpr>()
        || expression.is::<NotExpr>()
        || expression.is::<IsNullExpr>()
        || expression.is::<IsNotNullExpr>()
        || expression.is::<LikeExpr>()
        || expression.downcast_ref::<CastExpr>().is_some_and(|cast| cast.cast_options().safe)
        || expression.downcast_ref::<BinaryExpr>().is_some_and(|binary| {
            let operator = binary.op();
            operator.is_logic_operator() || operator.supports_propagation()
        });
    !answers || expression.children().into_iter().any(may_fail)
}

fn in_projection(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let guards: Vec<_> = projection.expr().iter().map(|own| guard_value(&own.expr)).collect();
    if guards.iter().all(Option::is_none) {
        return Ok(None);
    }
    let own = projection.expr().iter().zip(guards);
    let expressions = own.map(|(own, guard)| ProjectionExpr {
        expr: guard.unwrap_or_else(|| Arc::clone(&own.expr)),
        alias: own.alias.clone(),
    });
    let (schema, input) = (projection.schema(), Arc::clone(projection.input()));
    Ok(Some(Arc::new(ProjectionExec::try_new_with_schema_metadata(expressions, input, &schema)?)))
}

fn in_join_filter(filter: &JoinFilter) -> Option<JoinFilter> {
    let guard = guard(filter.expression(), Wanted::Condition)?;
    Some(JoinFilter::new(guard, filter.column_indices().to_vec(), Arc::clone(filter.schema())))
}

fn in_sort(sort: &SortExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(order) = in_order(sort.expr()) else { return Ok(None) };
    let own = SortExec::new(order, Arc::clone(sort.input())).with_fetch(sort.fetch());
    Ok(Some(Arc::new(own.with_preserve_partitioning(sort.preserve_partitioning()))))
}

/// It computes what it orders by once more.
fn in_merge(merge: &SortPreservingMergeExec) -> Option<Arc<dyn ExecutionPlan>> {
    let order = in_order(merge.expr())?;
    let own = SortPreservingMergeExec::new(order, Arc::clone(merge.input())).with_fetch(merge.fetch());
    Some(Arc::new(own))
}

/// The order with guards, where it needs some.
fn in_order(order: &LexOrdering) -> Option<LexOrdering> {
    let guards: Vec<_> = order.iter().map(|term| guard_value(&term.expr)).collect();
    if guards.iter().all(Option::is_none) {
        return None;
    }
    let terms = order.iter().zip(guards).map(|(term, guard)| PhysicalSortExpr {
        expr: guard.unwrap_or_else(|| Arc::clone(&term.expr)),
        options: term.options,
    });
    LexOrdering::new(terms)
}

/// Only an aggregation that reads rows: the others read what these gave.
fn in_aggregate(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let reads_rows =
        matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned);
    if !reads_rows {
        return Ok(None);
    }
    let filters: Vec<_> = aggregate.filter_expr().iter().map(|filter| filter.as_ref().and_then(guard_value)).collect();
    let mut changed = filters.iter().any(Option::is_some);
    let filters: Vec<_> =
        filters.into_iter().zip(aggregate.filter_expr()).map(|(own, old)| own.or(old.clone())).collect();
    let mut calls = Vec::new();
    for (call, filter) in aggregate.aggr_expr().iter().zip(&filters) {
        let guarded = call_guarded(call, filter.as_ref());
        changed |= guarded.is_some();
        calls.push(guarded.unwrap_or_else(|| Arc::clone(call)));
    }
    let groups = groups_guarded(aggregate.group_expr());
    if !changed && groups.is_none() {
        return Ok(None);
    }
    let own = AggregateExec::try_new(
        *aggregate.mode(),
        groups.unwrap_or_else(|| aggregate.group_expr().clone()),
        calls,
        filters,
        Arc::clone(aggregate.input()),
        aggregate.input_schema(),
    )?;
    Ok(Some(Arc::new(own.with_limit_options(aggregate.limit_options()))))
}

fn groups_guarded(groups: &PhysicalGroupBy) -> Option<PhysicalGroupBy> {
    let guards: Vec<_> = groups.expr().iter().map(|(group, _)| guard_value(group)).collect();
    guards.iter().any(Option::is_some).then(|| {
        let own = groups.expr().iter().zip(guards);
        let own = own.map(|((group, name), guard)| (guard.unwrap_or_else(|| Arc::clone(group)), name.clone()));
        PhysicalGroupBy::new(
            own.collect(),
            groups.null_expr().to_vec(),
            groups.groups().to_vec(),
            groups.has_grouping_set(),
        )
    })
}

/// The call of an aggregate with guarded arguments; FILTER is a guard too.
fn call_guarded(
    call: &Arc<AggregateFunctionExpr>,
    filter: Option<&Arc<dyn PhysicalExpr>>,
) -> Option<Arc<AggregateFunctionExpr>> {
    let all = call.all_expressions();
    let mut changed = false;
    let mut put = |expression: Arc<dyn PhysicalExpr>| {
        let guarded = match filter {
            Some(filter) if may_fail(&expression) => {
                let wanted = Wanted::Filtered(Arc::clone(filter));
                Some(Arc::new(Guarded::new(Arc::clone(&expression), wanted)) as Arc<dyn PhysicalExpr>)
            }
            _ => guard_value(&expression),
        };
        changed |= guarded.is_some();
        guarded.unwrap_or(expression)
    };
    let args = all.args.into_iter().map(&mut put).collect();
    let orders = all.order_by_exprs.into_iter().map(&mut put).collect();
    let rewritten = call.with_new_expressions(args, orders);
    rewritten.filter(|_| changed).map(Arc::new)
}
