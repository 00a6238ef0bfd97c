//! A query: WITH before it, ORDER BY and LIMIT behind it.

use crate::Result;
use crate::bind::binder::{Binder, Bound, QueryContext};
use crate::bind::expression::NameContext;
use crate::bind::order::{OrderKey, OrderValue};
use crate::bind::scope::{FromRelation, NameScope};
use crate::bind::select::once;
use crate::bind::{error, pipe, with};
use crate::sql::walk::{SyntaxTree, Visit};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Sort};
use datafusion::sql::sqlparser::ast::{Distinct, Expr, LimitClause, OrderBy, OrderByKind, Query, SetExpr};
use std::sync::Arc;

impl Binder<'_> {
    /// Binds a query.
    pub(super) fn query(&mut self, query: &Query, place: &QueryContext) -> Result<Bound> {
        self.ordered_by(query, query.order_by.as_ref(), place)
    }

    /// Binds a query of whose rows the order does not matter: it is heeded only where it says which rows there are.
    pub(super) fn unordered(&mut self, query: &Query, place: &QueryContext) -> Result<Bound> {
        let chooses = query.limit_clause.is_some()
            || query.fetch.is_some()
            || !query.pipe_operators.is_empty()
            || matches!(query.body.as_ref(), SetExpr::Select(select) if matches!(select.distinct, Some(Distinct::On(_))));
        let order = match &query.order_by {
            Some(order) if chooses || self.calls_aggregates(order)? => Some(order),
            _ => None,
        };
        self.ordered_by(query, order, place)
    }

    /// Whether an order is by aggregates, which make one group of rows that have no GROUP BY.
    fn calls_aggregates(&self, order: &OrderBy) -> Result<bool> {
        struct FindsCall<'s>(&'s SessionState, bool);
        impl Visit for FindsCall<'_> {
            fn expression(&mut self, expression: &mut Expr) -> Result<()> {
                if let Expr::Function(call) = expression
                    && call.over.is_none()
                {
                    self.1 |= self.0.aggregate_functions().contains_key(&call.name.to_string().to_ascii_lowercase());
                }
                Ok(())
            }
        }
        let mut calls = FindsCall(self.state, false);
        if let OrderByKind::Expressions(keys) = &order.kind {
            for key in keys {
                key.expr.clone().walk(&mut calls)?;
            }
        }
        Ok(calls.1)
    }

    fn ordered_by(&mut self, query: &Query, order: Option<&OrderBy>, place: &QueryContext) -> Result<Bound> {
        let behind;
        let place = match &query.with {
            None => place,
            Some(with) => {
                behind = with::behind(with, place)?;
                &behind
            }
        };
        let mut bound = match query.body.as_ref() {
            SetExpr::Select(select) => self.select(select, order, place)?,
            other => {
                let bound = self.body(other, place)?;
                match order {
                    None => bound,
                    Some(order) => self.order_rows(bound, order, place)?,
                }
            }
        };
        if let Some(with) = &query.with {
            self.unnamed(with.cte_tables.len(), place)?;
        }
        bound.plan = match (&query.fetch, &query.limit_clause) {
            (Some(fetch), limit) => self.fetch(bound.plan, fetch, limit.as_ref(), place)?,
            (None, Some(limit)) => self.limit(bound.plan, limit, place)?,
            (None, None) => bound.plan,
        };
        pipe::all(self, bound, &query.pipe_operators, place)
    }

    /// Binds what stands between WITH and ORDER BY.
    pub(super) fn body(&mut self, body: &SetExpr, place: &QueryContext) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.select(select, None, place),
            SetExpr::Query(query) => self.query(query, place),
            SetExpr::SetOperation { .. } => self.set_operations(body, place),
            SetExpr::Values(values) => self.values(values, place),
            SetExpr::Table(table) => self.whole_table(table, place),
            other => Err(error::unsupported(format!("{other} as a query"))),
        }
    }

    /// Puts the rows of VALUES, of UNION and the like in order, by their columns.
    pub(super) fn order_rows(&mut self, bound: Bound, order: &OrderBy, place: &QueryContext) -> Result<Bound> {
        let scope = scope_of(&bound);
        let items: Vec<_> = bound.columns.iter().map(crate::bind::items::OutputItem::of).collect();
        let keys = self.order(order, &[], &items, NameContext::of(&scope, place))?;
        let mut columns: Vec<_> = items.iter().map(|item| item.expression.clone()).collect();
        let listed = columns.len();
        let mut sort = Vec::with_capacity(keys.len());
        for OrderKey { by, ascending, nulls_first } in keys {
            let value = match by {
                OrderValue::Item(at) => columns[at].clone(),
                OrderValue::Value(value) => {
                    let named = self.named(value, "order");
                    columns.push(named.clone());
                    datafusion::logical_expr::Expr::Column(crate::bind::binder::column_of(&named))
                }
            };
            sort.push(value.sort(ascending, nulls_first));
        }
        let input = self.project(bound.plan, columns.clone())?;
        let sorted = LogicalPlan::Sort(Sort { expr: once(sort), input: Arc::new(input), fetch: None });
        columns.truncate(listed);
        Ok(Bound { plan: self.project(sorted, columns)?, columns: bound.columns })
    }

    pub(super) fn limit(
        &mut self,
        plan: LogicalPlan,
        limit: &LimitClause,
        place: &QueryContext,
    ) -> Result<LogicalPlan> {
        let (limit, offset) = match limit {
            LimitClause::LimitOffset { limit, offset, limit_by: _ } => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            LimitClause::OffsetCommaLimit { offset, limit } => (Some(limit), Some(offset)),
        };
        if limit.is_none() && offset.is_none() {
            return Ok(plan);
        }
        let scope = NameScope::empty();
        let mut number = |text: Option<&Expr>| match text {
            None => Ok(None),
            Some(text) => self.condition(text, NameContext::of(&scope, place), "LIMIT").map(Some),
        };
        let (skip, fetch) = (number(offset)?, number(limit)?);
        Ok(LogicalPlanBuilder::from(plan).limit_by_expr(skip, fetch)?.build()?)
    }
}

/// The columns of a query as a scope of their own.
pub(super) fn scope_of(bound: &Bound) -> NameScope {
    NameScope::of(FromRelation { columns: bound.columns.clone(), ..FromRelation::default() }, &bound.plan)
}
