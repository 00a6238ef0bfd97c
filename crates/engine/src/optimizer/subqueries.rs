//! Subqueries as values: `SELECT EXISTS (SELECT …)`, `sum(CASE WHEN a > ALL (SELECT …) THEN 1 END)`,
//! `WHERE a NOT IN (SELECT …) OR b = 1`.
//!
//! DataFusion has none outside filters, and in a filter takes what is no conjunct of it for true or false, where it may be NULL.
//! Here each becomes what EXISTS can say (`three_valued`), when the types of all expressions are known, before DataFusion checks a
//! plan and its rules see it, and those outside filters become marks of the rows below: columns that say whether a row has partners
//! (docs/decisions/0051-subqueries-as-values.md).

use super::correlated::with_groups;
use super::seldom::has;
use super::three_valued::{conjunct, has_subquery, is_subquery, subquery_of, value};
use arrow::datatypes::FieldRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::SortExpr;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, Window,
};
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::{AnalyzerRule, OptimizerConfig, OptimizerContext, OptimizerRule};
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub(crate) struct SubqueryValues;

impl AnalyzerRule for SubqueryValues {
    fn name(&self) -> &str {
        "subquery_values"
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        if !has(&plan, is_any_subquery)? {
            return Ok(plan);
        }
        let config = names_of_our_own(options);
        let changed = plan.transform_up_with_subqueries(|node| {
            let changed = if has_subquery_in(&node)? { rewritten(&node, &config)? } else { None };
            Ok(changed.map_or_else(|| Transformed::no(node), Transformed::yes))
        })?;
        let changed = changed.data.transform_up_with_subqueries(|node| {
            let changed = with_groups(&node, &config)?;
            Ok(changed.map_or_else(|| Transformed::no(node), Transformed::yes))
        })?;
        Ok(changed.data)
    }
}

/// What DataFusion's rules look at, with numbers in names that none of theirs will have.
fn names_of_our_own(options: &ConfigOptions) -> OptimizerContext {
    let context = OptimizerContext::new_with_config_options(Arc::new(options.clone()));
    context.alias_generator().update_min_id(1 << 20);
    context
}

/// Whether there are subqueries in an operator's expressions for which something is to be done here. DataFusion knows what to
/// do with scalar ones but in windows and sorts, and in aggregations if they are about outer columns.
fn has_subquery_in(node: &LogicalPlan) -> Result<bool> {
    let wanted = |part: &Expr| match (node, part) {
        (LogicalPlan::Window(_) | LogicalPlan::Sort(_), Expr::ScalarSubquery(_)) => true,
        (LogicalPlan::Aggregate(_), Expr::ScalarSubquery(subquery)) => !subquery.outer_ref_columns.is_empty(),
        _ => is_subquery(part),
    };
    let mut any = false;
    node.apply_expressions(|expression| {
        any = any || expression.exists(|part| Ok(wanted(part)))?;
        Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(any)
}

fn is_any_subquery(expression: &Expr) -> bool {
    is_subquery(expression) || matches!(expression, Expr::ScalarSubquery(_))
}

fn has_any_subquery(expression: &Expr) -> bool {
    expression.exists(|part| Ok(is_any_subquery(part))).unwrap_or(true)
}

/// An operator with subqueries in its expressions as others that give the same; `None` for one that is left to DataFusion's
/// rules.
fn rewritten(node: &LogicalPlan, config: &dyn OptimizerConfig) -> Result<Option<LogicalPlan>> {
    match node {
        LogicalPlan::Filter(filter) => filtered(filter.predicate.clone(), Arc::clone(&filter.input)).map(Some),
        LogicalPlan::Projection(projection) => {
            let Some((expressions, input)) = marked(&projection.expr, &projection.input, config)? else {
                return Ok(None);
            };
            let names = projection.schema.iter();
            let named = |(expression, (qualifier, field)): (Expr, (Option<&_>, &FieldRef))| {
                under_name(expression, qualifier, field)
            };
            let expressions = expressions.into_iter().zip(names).map(named).collect();
            Ok(Some(LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(input))?)))
        }
        LogicalPlan::Aggregate(aggregate) => {
            let all = [aggregate.group_expr.as_slice(), &aggregate.aggr_expr].concat();
            let Some((mut keys, input)) = beforehand(all, &aggregate.input, config)? else { return Ok(None) };
            let calls = keys.split_off(aggregate.group_expr.len());
            let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), keys, calls)?);
            let columns = 0..aggregate.schema.fields().len();
            under_names_of(&aggregate.schema, plan, columns).map(Some)
        }
        LogicalPlan::Window(window) => {
            let calls = window.window_expr.clone();
            let Some((calls, input)) = beforehand(calls, &window.input, config)? else { return Ok(None) };
            let (rows, more) = (window.input.schema().fields().len(), input.schema().fields().len());
            let plan = LogicalPlan::Window(Window::try_new(calls, Arc::new(input))?);
            let columns = (0..rows).chain(more..plan.schema().fields().len());
            under_names_of(&window.schema, plan, columns).map(Some)
        }
        LogicalPlan::Sort(sort) => {
            let keys = sort.expr.iter().map(|key| key.expr.clone()).collect();
            let Some((keys, input)) = beforehand(keys, &sort.input, config)? else { return Ok(None) };
            let order = sort.expr.iter().zip(keys).map(|(key, expr)| SortExpr { expr, ..key.clone() });
            let columns = sort.input.schema().columns().into_iter().map(Expr::Column);
            LogicalPlanBuilder::from(input).sort_with_limit(order, sort.fetch)?.project(columns)?.build().map(Some)
        }
        LogicalPlan::Join(join) => joined(join, config),
        _ => Ok(None),
    }
}

fn filtered(predicate: Expr, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
    let schema = Arc::clone(input.schema());
    let conjuncts = split_conjunction_owned(predicate).into_iter().map(|own| conjunct(own, &schema));
    let predicate = conjunction(conjuncts.collect::<Result<Vec<_>>>()?).unwrap_or(datafusion::logical_expr::lit(true));
    Ok(LogicalPlan::Filter(Filter::try_new(predicate, input)?))
}

/// The keys and calls of an operator over rows to which what has subqueries in them has been added.
fn beforehand(
    expressions: Vec<Expr>,
    input: &Arc<LogicalPlan>,
    config: &dyn OptimizerConfig,
) -> Result<Option<(Vec<Expr>, LogicalPlan)>> {
    let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let mut added: Vec<(Expr, Column)> = Vec::new();
    let mut add = |part: Expr| {
        if !has_any_subquery(&part) {
            return Ok(Transformed::no(part));
        }
        if let Some((_, column)) = added.iter().find(|(known, _)| *known == part) {
            return Ok(Transformed::yes(Expr::Column(column.clone())));
        }
        let name = config.alias_generator().next("__subquery_value");
        let column = Column::new_unqualified(name.clone());
        columns.push(part.clone().alias(name));
        added.push((part, column.clone()));
        Ok(Transformed::yes(Expr::Column(column)))
    };
    let apart = |expression: Expr| match expression.unalias() {
        call @ (Expr::AggregateFunction(_) | Expr::WindowFunction(_) | Expr::GroupingSet(_)) => {
            call.map_children(&mut add)
        }
        key => add(key),
    };
    let expressions = expressions.into_iter().map(apart).collect::<Result<Vec<_>>>()?;
    let expressions = expressions.into_iter().map(|changed| changed.data).collect();
    let projection = LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(input))?);
    let rows = if has_subquery_in(&projection)? { rewritten(&projection, config)? } else { Some(projection) };
    Ok(rows.map(|rows| (expressions, rows)))
}

/// Expressions over rows to which a column has been added for each of their subqueries; `None` where DataFusion can't make
/// joins of these. It makes them for a filter, so this asks for one by each expression, and takes what is below.
fn marked(
    expressions: &[Expr],
    input: &Arc<LogicalPlan>,
    config: &dyn OptimizerConfig,
) -> Result<Option<(Vec<Expr>, LogicalPlan)>> {
    let mut input = input.as_ref().clone();
    let mut marked = Vec::new();
    for expression in expressions {
        if !has_subquery(expression) {
            marked.push(expression.clone());
            continue;
        }
        let asked = Expr::IsNull(Box::new(value(expression.clone(), input.schema())?));
        let filter = LogicalPlan::Filter(Filter::try_new(asked, Arc::new(input))?);
        let filter = match DecorrelatePredicateSubquery::new().rewrite(filter, config)?.data {
            LogicalPlan::Projection(projection) => Arc::unwrap_or_clone(projection.input),
            other => other,
        };
        let LogicalPlan::Filter(Filter { predicate: Expr::IsNull(own), input: below, .. }) = filter else {
            return Ok(None);
        };
        if has_subquery(&own) {
            return Ok(None);
        }
        marked.push(*own);
        input = Arc::unwrap_or_clone(below);
    }
    Ok(Some((marked, input)))
}

/// An expression under the name of a column.
pub(super) fn under_name(expression: Expr, qualifier: Option<&TableReference>, field: &FieldRef) -> Expr {
    let (own, name) = expression.qualified_name();
    if own.as_ref() == qualifier && name == *field.name() {
        return expression;
    }
    expression.unalias().alias_qualified(qualifier.cloned(), field.name())
}

/// Some columns of a plan, under the names of a schema.
fn under_names_of(schema: &DFSchema, plan: LogicalPlan, columns: impl Iterator<Item = usize>) -> Result<LogicalPlan> {
    let own = Arc::clone(plan.schema());
    let named = |(position, (qualifier, field)): (usize, (Option<&_>, &FieldRef))| {
        under_name(Expr::Column(Column::from(own.qualified_field(position))), qualifier, field)
    };
    let expressions: Vec<Expr> = columns.zip(schema.iter()).map(named).collect();
    LogicalPlanBuilder::from(plan).project(expressions)?.build()
}

/// A join with subqueries in its condition. An inner one is filtered afterwards; another one beforehand, where a part of the
/// condition is about one side alone: its rows are marked.
fn joined(join: &Join, config: &dyn OptimizerConfig) -> Result<Option<LogicalPlan>> {
    let conditions = join.filter.iter().cloned().flat_map(split_conjunction_owned);
    let (with, mut others): (Vec<Expr>, Vec<Expr>) = conditions.partition(has_subquery);
    let mut sides = [Arc::clone(&join.left), Arc::clone(&join.right)];
    if join.join_type == JoinType::Inner {
        let [left, right] = sides;
        let plan = over(join, left, right, conjunction(others))?;
        let Some(predicate) = conjunction(with) else { return Ok(None) };
        return filtered(predicate, Arc::new(plan)).map(Some);
    }
    for condition in with {
        let columns = columns_of(&condition)?;
        let about = |side: &&mut Arc<LogicalPlan>| columns.iter().all(|column| side.schema().has_column(column));
        let Some(side) = sides.iter_mut().find(about) else { return Ok(None) };
        let Some((mut own, input)) = marked(&[condition], side, config)? else { return Ok(None) };
        others.append(&mut own);
        *side = Arc::new(input);
    }
    let [left, right] = sides;
    let plan = over(join, left, right, conjunction(others))?;
    let columns = join.schema.columns().into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(plan).project(columns)?.build().map(Some)
}

/// A join of the same kind and by the same keys.
fn over(join: &Join, left: Arc<LogicalPlan>, right: Arc<LogicalPlan>, filter: Option<Expr>) -> Result<LogicalPlan> {
    let (kind, by, nulls) = (join.join_type, join.join_constraint, join.null_equality);
    Join::try_new(left, right, join.on.clone(), filter, kind, by, nulls, join.null_aware).map(LogicalPlan::Join)
}

/// The columns that an expression and its subqueries are about.
fn columns_of(expression: &Expr) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> = expression.column_refs().into_iter().cloned().collect();
    expression.apply(|part| {
        let outer = subquery_of(part).into_iter().flat_map(|subquery| &subquery.outer_ref_columns);
        columns.extend(outer.filter_map(|column| match column {
            Expr::OuterReferenceColumn(_, column) => Some(column.clone()),
            _ => None,
        }));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(columns)
}
