//! Scalar subqueries that aggregate what other comparisons than equality with outer columns leave, and those that give the first row
//! of an order: `SELECT (SELECT count(*) FROM b WHERE b.x < a.x), (SELECT y FROM b WHERE b.x = a.x ORDER BY t LIMIT 1) FROM a`.
//! DataFusion groups such a subquery by its columns that are equal to outer ones, and refuses others. Here the outer columns' values,
//! each once, are joined with the subquery's rows and grouped by, and the rows join the groups of their values, as unnesting of
//! arbitrary queries does (Neumann and Kemper, BTW 2015).

use super::subqueries::under_name;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, NullEquality};
use datafusion::error::Result;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Aggregate, Expr, ExprFunctionExt, FetchType, Join, JoinConstraint, JoinType, LogicalPlan, LogicalPlanBuilder,
    SkipType, Subquery, lit,
};
use datafusion::optimizer::OptimizerConfig;
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;
use std::sync::Arc;

/// A projection or a filter over rows that have the results of its subqueries for columns; `None` where nothing is to be done.
pub(super) fn with_groups(node: &LogicalPlan, config: &dyn OptimizerConfig) -> Result<Option<LogicalPlan>> {
    if !matches!(node, LogicalPlan::Projection(_) | LogicalPlan::Filter(_)) {
        return Ok(None);
    }
    let mut input = node.inputs()[0].clone();
    let mut expressions = Vec::new();
    let mut any = false;
    for expression in node.expressions() {
        let changed = expression.transform_up(|part| {
            let Expr::ScalarSubquery(subquery) = &part else { return Ok(Transformed::no(part)) };
            if subquery.outer_ref_columns.is_empty() || is_datafusions(subquery)? || !gives_the_same(&input)? {
                return Ok(Transformed::no(part));
            }
            let Some((rows, value)) = attached(&input, subquery, config)? else { return Ok(Transformed::no(part)) };
            input = rows;
            Ok(Transformed::yes(value))
        })?;
        any |= changed.transformed;
        expressions.push(changed.data);
    }
    if !any {
        return Ok(None);
    }
    let schema = node.schema();
    if let LogicalPlan::Filter(_) = node {
        let columns = schema.columns().into_iter().map(Expr::Column);
        return LogicalPlanBuilder::from(node.with_new_exprs(expressions, vec![input])?)
            .project(columns)?
            .build()
            .map(Some);
    }
    let named = expressions.into_iter().zip(schema.iter());
    let named = named.map(|(expression, (qualifier, field))| under_name(expression, qualifier, field)).collect();
    node.with_new_exprs(named, vec![input]).map(Some)
}

/// Whether DataFusion makes a join of a subquery.
fn is_datafusions(subquery: &Subquery) -> Result<bool> {
    let mut pulled = PullUpCorrelatedExpr::new().with_need_handle_count_bug(true);
    subquery.subquery.as_ref().clone().rewrite(&mut pulled)?;
    Ok(pulled.can_pull_up)
}

/// Whether a plan gives the same rows when it runs twice.
fn gives_the_same(plan: &LogicalPlan) -> Result<bool> {
    let mut same = true;
    plan.apply_with_subqueries(|node| {
        same &= !matches!(node, LogicalPlan::Limit(_));
        node.apply_expressions(|expression| {
            same &= !expression.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if same { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(same)
}

/// The distinct values of outer columns, and how these columns are called there.
struct Domain {
    rows: LogicalPlan,
    columns: Vec<(Column, Column)>,
}

impl Domain {
    fn of(input: &LogicalPlan, subquery: &Subquery, config: &dyn OptimizerConfig) -> Result<Self> {
        let alias = config.alias_generator().next("__outer_values");
        let mut columns: Vec<(Column, Column)> = Vec::new();
        for outer in &subquery.outer_ref_columns {
            if let Expr::OuterReferenceColumn(_, column) = outer
                && !columns.iter().any(|(known, _)| known == column)
            {
                let name = format!("value_{}", columns.len());
                columns.push((column.clone(), Column::new(Some(alias.clone()), name)));
            }
        }
        let keys = columns.iter().map(|(column, _)| Expr::Column(column.clone()));
        let shown = columns
            .iter()
            .map(|(column, own)| Expr::Column(column.clone()).alias_qualified(own.relation.clone(), own.name.clone()));
        let none: [Expr; 0] = [];
        let rows = LogicalPlanBuilder::from(input.clone()).aggregate(keys, none)?.project(shown)?.build()?;
        Ok(Self { rows, columns })
    }

    fn keys(&self) -> Vec<Expr> {
        self.columns.iter().map(|(_, own)| Expr::Column(own.clone())).collect()
    }

    /// An expression of the subquery with these columns for the outer ones. Where `pulled`, they are no longer told apart from others.
    fn inside(&self, expression: Expr, pulled: bool) -> Result<Expr> {
        let changed = expression.transform_up(|part| {
            let column = match &part {
                Expr::OuterReferenceColumn(_, column) => column,
                Expr::Column(column) if pulled => column,
                _ => return Ok(Transformed::no(part)),
            };
            let own = self.columns.iter().find(|(outer, _)| outer == column);
            Ok(own
                .map_or_else(|| Transformed::no(part.clone()), |(_, own)| Transformed::yes(Expr::Column(own.clone()))))
        })?;
        Ok(changed.data)
    }
}

/// Rows with the result of a subquery for each, and the column in which it is.
fn attached(
    input: &LogicalPlan,
    subquery: &Subquery,
    config: &dyn OptimizerConfig,
) -> Result<Option<(LogicalPlan, Expr)>> {
    let domain = Domain::of(input, subquery, config)?;
    let Some(groups) = over_groups(&subquery.subquery, &domain, config)? else { return Ok(None) };
    let value = Column::new_unqualified(config.alias_generator().next("__subquery_result"));
    let result = Expr::Column(Column::from(groups.schema().qualified_field(domain.columns.len())));
    let shown = domain.keys().into_iter().chain([result.alias(value.name.clone())]);
    let groups = LogicalPlanBuilder::from(groups).project(shown)?.build()?;
    let on = domain.columns.iter().map(|(outer, own)| (Expr::Column(outer.clone()), Expr::Column(own.clone())));
    let (left, by, nulls) = (JoinType::Left, JoinConstraint::On, NullEquality::NullEqualsNull);
    let rows = Join::try_new(Arc::new(input.clone()), Arc::new(groups), on.collect(), None, left, by, nulls, false)?;
    Ok(Some((LogicalPlan::Join(rows), Expr::Column(value))))
}

/// A subquery's plan with a row for each of the outer columns' values, which are its first columns.
fn over_groups(plan: &LogicalPlan, domain: &Domain, config: &dyn OptimizerConfig) -> Result<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let Some(input) = over_groups(&projection.input, domain, config)? else { return Ok(None) };
            let own = projection.expr.iter().map(|expression| domain.inside(expression.clone(), false));
            let shown = domain.keys().into_iter().map(Ok).chain(own).collect::<Result<Vec<_>>>()?;
            LogicalPlanBuilder::from(input).project(shown)?.build().map(Some)
        }
        LogicalPlan::Filter(filter) => {
            let Some(input) = over_groups(&filter.input, domain, config)? else { return Ok(None) };
            let condition = domain.inside(filter.predicate.clone(), false)?;
            LogicalPlanBuilder::from(input).filter(condition)?.build().map(Some)
        }
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => groups(aggregate, domain, config),
        LogicalPlan::Limit(limit) => match (limit.get_skip_type()?, limit.get_fetch_type()?) {
            (SkipType::Literal(0), FetchType::Literal(Some(1))) => first(&limit.input, domain, config),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The rows of a subquery, joined with the outer columns' values that they are for; `None` where its conditions can't be those
/// of a join.
fn pulled_up(plan: &LogicalPlan, domain: &Domain) -> Result<Option<(LogicalPlan, Option<Expr>)>> {
    let mut pulled = PullUpCorrelatedExpr::new();
    let inner = plan.clone().rewrite(&mut pulled)?.data;
    if !pulled.can_pull_up || inner.contains_outer_reference() {
        return Ok(None);
    }
    let conditions = pulled.join_filters.into_iter().map(|condition| domain.inside(condition, true));
    Ok(Some((inner, conjunction(conditions.collect::<Result<Vec<_>>>()?))))
}

/// The first row of a subquery, for each of the outer columns' values that there is one for.
fn first(plan: &LogicalPlan, domain: &Domain, config: &dyn OptimizerConfig) -> Result<Option<LogicalPlan>> {
    let (input, order) = match plan {
        // Without the columns that it was sorted by.
        LogicalPlan::Projection(projection) if matches!(projection.input.as_ref(), LogicalPlan::Sort(_)) => {
            let Some(rows) = first(&projection.input, domain, config)? else { return Ok(None) };
            let shown = domain.keys().into_iter().chain(projection.expr.iter().cloned());
            return LogicalPlanBuilder::from(rows).project(shown)?.build().map(Some);
        }
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => (sort.input.as_ref(), sort.expr.clone()),
        other => (other, Vec::new()),
    };
    let Some((inner, condition)) = pulled_up(input, domain)? else { return Ok(None) };
    let number = config.alias_generator().next("__row_number");
    let rows = LogicalPlanBuilder::from(domain.rows.clone()).join_on(inner, JoinType::Inner, condition)?;
    let numbered = row_number().partition_by(domain.keys()).order_by(order).build()?.alias(number.clone());
    let is_first = Expr::Column(Column::new_unqualified(number)).eq(lit(1u64));
    let shown = domain.keys().into_iter().chain(plan.schema().columns().into_iter().map(Expr::Column));
    rows.window([numbered])?.filter(is_first)?.project(shown)?.build().map(Some)
}

/// An aggregation without keys of a subquery, by the outer columns' values: each of these has a row that says whether there is
/// another one, so that there is a group of none, too.
fn groups(aggregate: &Aggregate, domain: &Domain, config: &dyn OptimizerConfig) -> Result<Option<LogicalPlan>> {
    let Some((inner, condition)) = pulled_up(&aggregate.input, domain)? else { return Ok(None) };
    let there = config.alias_generator().next("__is_there");
    let columns = inner.schema().columns().into_iter().map(Expr::Column);
    let inner = LogicalPlanBuilder::from(inner).project(columns.chain([lit(true).alias(there.clone())]))?.build()?;
    let there = Expr::Column(Column::new_unqualified(there));
    let rows = LogicalPlanBuilder::from(domain.rows.clone()).join_on(inner, JoinType::Left, condition)?;
    let mut calls = Vec::new();
    for call in &aggregate.aggr_expr {
        let Expr::AggregateFunction(AggregateFunction { func, params }) =
            domain.inside(call.clone().unalias(), false)?
        else {
            return Ok(None);
        };
        let filter = match params.filter {
            Some(filter) => there.clone().and(*filter),
            None => there.clone(),
        };
        let params = AggregateFunctionParams { filter: Some(Box::new(filter)), ..params };
        calls.push(Expr::AggregateFunction(AggregateFunction { func, params }));
    }
    let groups = rows.aggregate(domain.keys(), calls)?.build()?;
    let (keys, schema) = (domain.columns.len(), Arc::clone(groups.schema()));
    let results = aggregate.schema.iter().enumerate().map(|(number, (qualifier, field))| {
        under_name(Expr::Column(Column::from(schema.qualified_field(keys + number))), qualifier, field)
    });
    let shown: Vec<Expr> = domain.keys().into_iter().chain(results).collect();
    LogicalPlanBuilder::from(groups).project(shown)?.build().map(Some)
}
