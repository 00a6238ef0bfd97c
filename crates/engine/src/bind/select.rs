//! SELECT: FROM, WHERE, GROUP BY, HAVING, windows, QUALIFY, the list, DISTINCT and ORDER BY, in that order.

use crate::Result;
use crate::bind::binder::{Binder, Bound, QueryContext, column_of};
use crate::bind::expression::{NameContext, refuse_calls};
use crate::bind::from::From;
use crate::bind::group::replaced;
use crate::bind::items::{OutputItem, inner_names};
use crate::bind::order::{OrderKey, OrderValue};
use crate::bind::scope::Named;
use crate::bind::{error, keys, window};
use datafusion::common::Column;
use datafusion::common::tree_node::TreeNode;
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::utils::find_aggregate_exprs;
use datafusion::logical_expr::{
    Expr as Planned, ExprFunctionExt, Filter, LogicalPlan, LogicalPlanBuilder, Sort, SortExpr, lit,
};
use datafusion::sql::sqlparser::ast::{Distinct, OrderBy, Select};
use gingham_storage::SqlState;
use std::collections::HashSet;
use std::sync::Arc;

/// What a SELECT computes of its rows.
#[derive(Debug)]
pub(super) struct SelectParts {
    pub(super) items: Vec<OutputItem>,
    pub(super) having: Option<Planned>,
    pub(super) qualify: Option<Planned>,
    pub(super) order: Vec<OrderKey>,
    /// DISTINCT ON.
    pub(super) on: Vec<OrderValue>,
    /// What WINDOW defines windows by, whether a function names them or not.
    pub(super) windows: Vec<Planned>,
}

impl SelectParts {
    /// Every expression.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Planned> {
        let values = self.order.iter().map(|key| &key.by).chain(&self.on).filter_map(|by| match by {
            OrderValue::Item(_) => None,
            OrderValue::Value(value) => Some(value),
        });
        let items = self.items.iter().map(|item| &item.expression);
        items.chain(&self.having).chain(&self.qualify).chain(values).chain(&self.windows)
    }

    /// Puts columns in the place of what was computed already.
    pub(super) fn replace(&mut self, computed: &[(Planned, Column)]) -> Result<()> {
        let keys = self.order.iter_mut().map(|key| &mut key.by).chain(&mut self.on).filter_map(|by| match by {
            OrderValue::Item(_) => None,
            OrderValue::Value(value) => Some(value),
        });
        let items = self.items.iter_mut().map(|item| &mut item.expression);
        for own in items.chain(&mut self.having).chain(&mut self.qualify).chain(keys).chain(&mut self.windows) {
            *own = replaced(std::mem::take(own), computed)?;
        }
        Ok(())
    }
}

impl Binder<'_> {
    /// Binds a SELECT.
    pub(super) fn select(&mut self, select: &Select, order: Option<&OrderBy>, place: &QueryContext) -> Result<Bound> {
        let from = self.from(select, place)?;
        self.select_from(from, select, order, place)
    }

    /// Binds what a SELECT makes of the rows of its FROM.
    pub(super) fn select_from(
        &mut self,
        from: From,
        select: &Select,
        order: Option<&OrderBy>,
        place: &QueryContext,
    ) -> Result<Bound> {
        refuse_clauses(select)?;
        let of_query_around = std::mem::take(&mut self.calls);
        let bound = self.select_over(from, select, order, place);
        self.calls = of_query_around;
        bound
    }

    fn select_over(
        &mut self,
        from: From,
        select: &Select,
        order: Option<&OrderBy>,
        place: &QueryContext,
    ) -> Result<Bound> {
        window::check(&select.named_window)?;
        let From { mut plan, scope } = from;
        let place_of_list = QueryContext { instead: std::rc::Rc::from([]), ..place.clone() };
        let around = NameContext { windows: &select.named_window, ..NameContext::of(&scope, &place_of_list) };
        if let Some(condition) = &select.selection {
            let condition = self.condition(condition, around, "WHERE")?;
            plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?);
        }
        let mut parts = self.parts(select, order, around)?;
        let grouping = self.grouping(select, &parts.items, around)?;
        let calls = find_aggregate_exprs(parts.expressions());
        let is_grouped = grouping.is_some() || !calls.is_empty() || parts.having.is_some() || !self.calls.is_empty();
        let has_windows = parts.expressions().any(|own| own.exists(is_window).unwrap_or(false));
        if !place.instead.is_empty() && (is_grouped || has_windows) {
            return Err(error::unsupported(format!("{} with aggregates or window functions", place.verb)));
        }
        if !calls.is_empty() && scope.reads_round() {
            return Err(crate::Error::invalid(
                SqlState::InvalidRecursion,
                "an aggregate of the rows of a recursive query can't stand in the part that reads them: no round would be without rows",
            ));
        }
        if is_grouped {
            plan = self.grouped(plan, grouping.unwrap_or_default(), calls, &mut parts, &scope)?;
            if let Some(having) = parts.having.take() {
                plan = LogicalPlan::Filter(Filter::try_new(having, Arc::new(plan))?);
            }
        }
        if has_windows {
            let (computed, columns) = self.windows(plan, parts.expressions())?;
            plan = computed;
            parts.replace(&columns)?;
        } else if parts.qualify.is_some() {
            return Err(crate::Error::invalid(
                SqlState::WindowingError,
                "QUALIFY is about window functions, and neither it nor the select list has one; use WHERE or HAVING",
            ));
        }
        if let Some(qualify) = parts.qualify.take() {
            plan = LogicalPlan::Filter(Filter::try_new(qualify, Arc::new(plan))?);
        }
        self.listed(plan, parts, select.distinct.as_ref(), place.is_top)
    }

    fn parts(&mut self, select: &Select, order: Option<&OrderBy>, around: NameContext<'_>) -> Result<SelectParts> {
        let list = &select.projection;
        let items = self.items(list, around)?;
        let with_aliases = NameContext { aliases: &items, ..around };
        let having = select.having.as_ref().map(|having| self.expression(having, with_aliases)).transpose()?;
        let qualify = select.qualify.as_ref().map(|qualify| self.expression(qualify, with_aliases)).transpose()?;
        if let (Some(planned), Some(text)) = (&having, &select.having) {
            refuse_windows(planned, text)?;
        }
        let order = match order {
            None => Vec::new(),
            Some(order) => self.order(order, list, &items, around)?,
        };
        let mut on = Vec::new();
        if let Some(Distinct::On(values)) = &select.distinct {
            for value in values {
                on.push(self.by(value, list, &items, around, "DISTINCT ON")?);
            }
        }
        let mut windows = Vec::new();
        for value in window::values(&select.named_window) {
            windows.push(self.expression(value, around)?);
        }
        Ok(SelectParts { items, having, qualify, order, on, windows })
    }

    /// The select list over `plan`, without rows that are there twice where DISTINCT says so, in order.
    fn listed(
        &mut self,
        plan: LogicalPlan,
        parts: SelectParts,
        distinct: Option<&Distinct>,
        is_top: bool,
    ) -> Result<Bound> {
        let SelectParts { items, having: _, qualify: _, order, on, windows: _ } = parts;
        let names = if is_top {
            items.iter().map(|item| item.name.clone()).collect()
        } else {
            inner_names(&items, self.column_names)
        };
        let (plan, groups) = self.unnest(plan, items.iter().map(|item| item.expression.clone()).collect())?;
        let mut list: Vec<Planned> = Vec::new();
        let mut columns: Vec<Named> = Vec::new();
        let mut taken: HashSet<Column> = HashSet::new();
        // Where each item begins among the columns.
        let mut starts = Vec::with_capacity(items.len());
        for ((item, group), name) in items.iter().zip(groups).zip(names) {
            starts.push(columns.len());
            let is_struct = group.len() > 1;
            for expression in group {
                let other = item.other.clone().filter(|other| !is_struct && *other != name);
                let name = match (&expression, is_struct) {
                    (Planned::Column(column), true) => {
                        let field = column.name.split_once('.').map_or(column.name.as_str(), |(_, field)| field);
                        format!("{name}.{field}")
                    }
                    _ => name.clone(),
                };
                let listed = self.item(expression, &name, item.has_alias, &taken);
                let column = column_of(&listed);
                taken.insert(column.clone());
                columns.push(Named { name, other, column });
                list.push(listed);
            }
        }
        let width = list.len();
        let mut place_of = |binder: &mut Self, by: &OrderValue| match by {
            OrderValue::Item(number) => Planned::Column(columns[starts[*number]].column.clone()),
            OrderValue::Value(value) => match list.iter().find(|listed| *listed == value) {
                Some(listed) => Planned::Column(column_of(listed)),
                None => {
                    let hidden = match value {
                        Planned::Column(_) => value.clone(),
                        other => binder.named(other.clone(), "order"),
                    };
                    list.push(hidden.clone());
                    Planned::Column(column_of(&hidden))
                }
            },
        };
        let on: Vec<Planned> = on.iter().map(|by| place_of(self, by)).collect();
        let sort: Vec<_> =
            order.iter().map(|key| place_of(self, &key.by).sort(key.ascending, key.nulls_first)).collect();
        let sort = once(sort);
        let is_distinct = matches!(distinct, Some(Distinct::Distinct));
        if is_distinct && list.len() > width {
            return Err(crate::Error::invalid(
                SqlState::InvalidColumnReference,
                "ORDER BY of SELECT DISTINCT can only be about what is in the select list",
            ));
        }
        let hidden = list.len() > width || matches!(distinct, Some(Distinct::On(_)));
        let mut plan = self.project(plan, list)?;
        let own = || columns.iter().map(|own| Planned::Column(own.column.clone())).collect::<Vec<_>>();
        if is_distinct {
            plan = LogicalPlanBuilder::from(keys::forgotten(plan)?).distinct()?.build()?;
        }
        if let Some(Distinct::On(_)) = distinct {
            plan = self.firsts(plan, on, &sort)?;
        }
        if !sort.is_empty() {
            plan = LogicalPlan::Sort(Sort { expr: sort, input: Arc::new(plan), fetch: None });
        }
        if hidden {
            plan = self.project(plan, own())?;
        }
        Ok(Bound { plan, columns })
    }

    /// Keeps the first of the rows that are equal in `on`, in the order of `sort`.
    fn firsts(&mut self, plan: LogicalPlan, on: Vec<Planned>, sort: &[SortExpr]) -> Result<LogicalPlan> {
        let leads = |(key, at): (&SortExpr, usize)| at >= on.len() || on.contains(&key.expr);
        if !sort.iter().zip(0..).all(leads) {
            return Err(crate::Error::invalid(
                SqlState::InvalidColumnReference,
                "ORDER BY of SELECT DISTINCT ON must begin with what DISTINCT ON has",
            ));
        }
        let number = row_number().partition_by(on);
        // In no order there is no frame either.
        let number = if sort.is_empty() { number.build()? } else { number.order_by(sort.to_vec()).build()? };
        let (plan, columns) = self.windows(plan, [&number])?;
        let number = columns.into_iter().map(|(_, column)| Planned::Column(column)).next();
        let is_first = number.map_or(lit(true), |number| number.eq(lit(1_u64)));
        Ok(LogicalPlan::Filter(Filter::try_new(is_first, Arc::new(plan))?))
    }

    /// One column of a select list, under a name that no other has.
    fn item(&mut self, expression: Planned, name: &str, has_alias: bool, taken: &HashSet<Column>) -> Planned {
        match &expression {
            Planned::Column(column) => {
                if !taken.contains(column) && (!has_alias || column.name == name) {
                    return expression;
                }
                self.renamed(expression, name)
            }
            _ if has_alias => self.renamed(expression, name),
            _ => self.named(expression, name),
        }
    }
}

/// Keys of a sort without those that are there before them.
pub(super) fn once(keys: Vec<SortExpr>) -> Vec<SortExpr> {
    let mut kept: Vec<SortExpr> = Vec::with_capacity(keys.len());
    for key in keys {
        if !kept.iter().any(|other| other.expr == key.expr) {
            kept.push(key);
        }
    }
    kept
}

fn is_window(part: &Planned) -> datafusion::error::Result<bool> {
    Ok(matches!(part, Planned::WindowFunction(_)))
}

/// Refuses window functions in HAVING, which is there before they are.
fn refuse_windows(planned: &Planned, text: &datafusion::sql::sqlparser::ast::Expr) -> Result<()> {
    if planned.exists(is_window)? {
        let windows = datafusion::logical_expr::utils::find_window_exprs([planned]);
        return windows.first().map_or(Ok(()), |window| refuse_calls(window, "HAVING", text));
    }
    Ok(())
}

/// Refuses the clauses of SELECT that nothing here reads.
fn refuse_clauses(select: &Select) -> Result<()> {
    let clauses = [
        (select.top.is_some(), "TOP (use LIMIT)"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW (use unnest)"),
        (!select.sort_by.is_empty(), "SORT BY (use ORDER BY)"),
        (select.exclude.is_some(), "EXCLUDE behind the list (write it behind *)"),
    ];
    match clauses.iter().find(|(given, _)| *given) {
        Some((_, clause)) => Err(error::unsupported(clause)),
        None => Ok(()),
    }
}
