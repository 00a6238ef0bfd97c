//! `query |> WHERE … |> SELECT …`: each operator is a SELECT over the rows of what stands before it.

use crate::bind::binder::{Binder, Bound, QueryContext};
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::from::{From, FromContext};
use crate::bind::query::scope_of;
use crate::bind::scope::{FromRelation, NameScope};
use crate::sql::names::fold;
use crate::statements::query_of;
use crate::{Error, Result};
use datafusion::logical_expr::{Filter, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    ExprWithAliasAndOrderBy, GroupByExpr, LimitClause, Offset, OffsetRows, OrderBy, OrderByKind, PipeOperator, Query,
    Select, SelectItem, SetExpr, SetOperator, SetQuantifier,
};
use std::sync::Arc;

/// Applies the operators behind a query.
pub(super) fn all(
    binder: &mut Binder<'_>,
    mut bound: Bound,
    operators: &[PipeOperator],
    place: &QueryContext,
) -> Result<Bound> {
    let mut name = None;
    for operator in operators {
        if let PipeOperator::As { alias } = operator {
            name = Some(fold(alias));
            continue;
        }
        bound = one(binder, bound, name.take(), operator, place)?;
    }
    Ok(bound)
}

/// Applies one operator to rows that go by a name, if they were given one.
fn one(
    binder: &mut Binder<'_>,
    bound: Bound,
    name: Option<String>,
    operator: &PipeOperator,
    place: &QueryContext,
) -> Result<Bound> {
    match operator {
        PipeOperator::Where { expr } => {
            let from = as_from(bound.clone(), name);
            let condition = binder.condition(expr, NameContext::of(&from.scope, place), "WHERE")?;
            let plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(bound.plan))?);
            Ok(Bound { plan, columns: bound.columns })
        }
        PipeOperator::OrderBy { exprs } => {
            let order = OrderBy { kind: OrderByKind::Expressions(exprs.clone()), interpolate: None };
            binder.order_rows(bound, &order, place)
        }
        PipeOperator::Limit { expr, offset } => {
            let offset = offset.clone().map(|value| Offset { value, rows: OffsetRows::None });
            let limit = LimitClause::LimitOffset { limit: Some(expr.clone()), offset, limit_by: Vec::new() };
            let plan = binder.limit(bound.plan, &limit, place)?;
            Ok(Bound { plan, columns: bound.columns })
        }
        PipeOperator::Select { exprs } => {
            let select = Select { projection: exprs.clone(), ..all_columns()? };
            binder.select_from(as_from(bound, name), &select, None, place)
        }
        PipeOperator::Extend { exprs } => {
            let mut select = all_columns()?;
            select.projection.extend(exprs.iter().cloned());
            binder.select_from(as_from(bound, name), &select, None, place)
        }
        PipeOperator::Aggregate { full_table_exprs, group_by_expr } => {
            let projection = group_by_expr.iter().chain(full_table_exprs).map(item).collect::<Result<Vec<_>>>()?;
            let keys = group_by_expr.iter().map(|key| key.expr.expr.clone()).collect();
            let group_by = GroupByExpr::Expressions(keys, Vec::new());
            let select = Select { projection, group_by, ..all_columns()? };
            binder.select_from(as_from(bound, name), &select, None, place)
        }
        PipeOperator::Union { set_quantifier, queries } => {
            combined(binder, bound, SetOperator::Union, *set_quantifier, queries, place)
        }
        PipeOperator::Intersect { set_quantifier, queries } => {
            combined(binder, bound, SetOperator::Intersect, *set_quantifier, queries, place)
        }
        PipeOperator::Except { set_quantifier, queries } => {
            combined(binder, bound, SetOperator::Except, *set_quantifier, queries, place)
        }
        PipeOperator::Join(join) => {
            let joined =
                binder.join(as_from(bound, name), join, FromContext { place, before: None, is_whole: true })?;
            Ok(Bound { plan: joined.plan, columns: joined.scope.shown })
        }
        other => Err(error::unsupported(format!("|> {other}"))),
    }
}

fn as_from(bound: Bound, name: Option<String>) -> From {
    let scope = match name {
        None => scope_of(&bound),
        Some(name) => {
            let relation = FromRelation { name: Some(name), columns: bound.columns, ..FromRelation::default() };
            NameScope::of(relation, &bound.plan)
        }
    };
    From { plan: bound.plan, scope }
}

fn combined(
    binder: &mut Binder<'_>,
    mut bound: Bound,
    operator: SetOperator,
    quantifier: SetQuantifier,
    queries: &[Query],
    place: &QueryContext,
) -> Result<Bound> {
    for query in queries {
        let right = binder.unordered(query, place)?;
        bound = binder.combined(bound, right, operator, quantifier)?;
    }
    Ok(bound)
}

/// `SELECT *`, to be made another SELECT.
fn all_columns() -> Result<Select> {
    match *query_of("SELECT *")?.body {
        SetExpr::Select(select) => Ok(*select),
        _ => Err(Error::Internal("SELECT * has no list".into())),
    }
}

fn item(text: &ExprWithAliasAndOrderBy) -> Result<SelectItem> {
    let own = text.expr.clone();
    Ok(match own.alias {
        None => SelectItem::UnnamedExpr(own.expr),
        Some(alias) => SelectItem::ExprWithAlias { expr: own.expr, alias },
    })
}
