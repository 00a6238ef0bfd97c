//! Conditions with subqueries: of a filter, where they become semi and anti joins if nothing but the truth is asked for; and of a
//! join, where they are values of one side, or of both.

use crate::unnest::Unnesting;
use crate::unnest::domain::{may_be_null, pairs};
use crate::unnest::free::{has_query, outer_columns_in};
use crate::unnest::inline::{first_rows, is_one_row};
use crate::unnest::join::{Condition, joined};
use crate::unnest::rows::{UnnestedRows, columns_of};
use crate::unnest::value::both;
use datafusion::common::{Column, JoinType, NullEquality};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Distinct, Expr, Join, JoinConstraint, LogicalPlan, Operator, Subquery, binary_expr};
use std::sync::Arc;

/// Whether a row of a subquery is there, or none.
struct Asked {
    /// What its rows are compared with, and how.
    compared: Option<(Expr, Operator)>,
    query: Subquery,
    /// No row may be there; of those that are compared, none for which that is not false.
    none: bool,
}

impl Asked {
    fn of(condition: Expr) -> std::result::Result<Self, Expr> {
        match condition {
            Expr::Exists(Exists { subquery, negated }) => Ok(Self { compared: None, query: subquery, none: negated }),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                Ok(Self { compared: Some((*expr, Operator::Eq)), query: subquery, none: negated })
            }
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => match (quantifier, op.negate()) {
                (SetQuantifier::Any, _) => Ok(Self { compared: Some((*expr, op)), query: subquery, none: false }),
                (SetQuantifier::All, Some(op)) => Ok(Self { compared: Some((*expr, op)), query: subquery, none: true }),
                (SetQuantifier::All, None) => {
                    Err(Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }))
                }
            },
            Expr::Not(inner) => match Self::of(*inner) {
                Ok(asked) => Ok(Self { none: !asked.none, ..asked }),
                Err(inner) => Err(Expr::Not(Box::new(inner))),
            },
            other => Err(other),
        }
    }
}

/// The conditions of a join, as its sides know them.
#[derive(Default)]
pub(super) struct JoinConditions {
    /// Over the columns of both sides.
    pub(super) before: Vec<Expr>,
    /// What must be the same on both sides.
    pub(super) same: Vec<(Expr, Expr)>,
    /// For the rows of the join.
    pub(super) behind: Vec<Expr>,
}

impl Unnesting<'_> {
    /// Keeps the rows for which all conditions hold. Those without subqueries come first.
    pub(super) fn filtered(&mut self, rows: &mut UnnestedRows, conditions: Vec<Expr>) -> Result<()> {
        let all = conditions.into_iter().flat_map(split_conjunction_owned);
        let (with, plain): (Vec<Expr>, Vec<Expr>) = all.partition(has_query);
        let plain = plain.into_iter().map(|condition| rows.bind(condition)).collect::<Result<Vec<_>>>()?;
        rows.keep(plain)?;
        let mut values = Vec::new();
        for condition in with {
            match Asked::of(condition) {
                Ok(asked) => self.semi(rows, asked)?,
                Err(condition) => values.push(condition),
            }
        }
        for condition in values {
            let value = self.value(rows, condition, &[])?;
            rows.keep(vec![value])?;
        }
        Ok(())
    }

    /// Keeps rows by whether a subquery has a row for them.
    fn semi(&mut self, rows: &mut UnnestedRows, asked: Asked) -> Result<()> {
        let compared = match asked.compared {
            Some((value, operator)) => Some((self.value(rows, value, &[])?, operator)),
            None => None,
        };
        let query = self.called(&asked.query.subquery)?;
        let plan = bare(&query, compared.is_none())?;
        if is_one_row(plan)? {
            let inlined = self.inline(rows, plan, &[])?;
            let holds = compared.map(|(value, operator)| binary_expr(value, operator, inlined.first()));
            let condition = match (asked.none, holds, inlined.present) {
                (false, holds, present) => both(present, holds),
                (true, None, present) => {
                    Some(present.map_or_else(|| datafusion::logical_expr::lit(false), Expr::is_not_true))
                }
                (true, Some(holds), None) => Some(holds.is_false()),
                (true, Some(holds), Some(present)) => Some(present.is_not_true().or(holds.is_false())),
            };
            return rows.keep(condition.into_iter().collect());
        }
        let kind = if asked.none { JoinType::LeftAnti } else { JoinType::LeftSemi };
        if let Some(pulled) = self.pull(plan)? {
            let mut holds = Vec::new();
            for condition in &pulled.conditions {
                holds.push(rows.bind(condition.clone())?);
            }
            let right = pulled.first().map(|own| rows.bind(own)).transpose()?;
            if let (Some((value, operator)), Some(own)) = (compared, right) {
                if asked.none && holds.is_empty() && is_not_in(&value, operator, &own, &rows.plan, &pulled.plan) {
                    let (left, right) = (Arc::new(std::mem::take(&mut rows.plan)), Arc::new(pulled.plan));
                    let (on, by, nulls) = (vec![(value, own)], JoinConstraint::On, NullEquality::NullEqualsNothing);
                    rows.plan = LogicalPlan::Join(Join::try_new(left, right, on, None, kind, by, nulls, true)?);
                    return Ok(());
                }
                let is_known = !may_be_null(&value, &rows.plan) && !is_nullable(&own, &rows.plan, &pulled.plan);
                holds.push(comparison(value, operator, own, asked.none && !is_known));
            }
            rows.plan = joined(std::mem::take(&mut rows.plan), pulled.plan, kind, Condition::holds(holds))?;
            return Ok(());
        }
        let domain = self.domain_of(rows, plan, &[])?;
        let inner = self.push(plan, &domain)?;
        let mut condition = Condition::same(pairs(domain.outer(), rows, &inner)?);
        if let (Some((value, operator)), Some(own)) = (compared, columns_of(plan).next()) {
            let is_known = !may_be_null(&value, &rows.plan) && !may_be_null(&own, &inner.plan);
            condition.holds.push(comparison(value, operator, own, asked.none && !is_known));
        }
        rows.plan = joined(std::mem::take(&mut rows.plan), inner.plan, kind, condition)?;
        Ok(())
    }

    /// The conditions of a join as expressions over its sides, to which the results of subqueries are added.
    pub(super) fn conditions(
        &mut self,
        left: &mut UnnestedRows,
        right: &mut UnnestedRows,
        conditions: Vec<Expr>,
        kind: JoinType,
    ) -> Result<JoinConditions> {
        let mut held = JoinConditions::default();
        let (with, plain): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(has_query);
        for condition in plain {
            held.before.push(right.bind(left.bind(condition)?)?);
        }
        for condition in with {
            let columns = columns_in(&condition)?;
            if columns.iter().all(|column| left.binding(column).is_some()) {
                held.before.push(self.value(left, condition, &[])?);
            } else if columns.iter().all(|column| right.binding(column).is_some()) {
                held.before.push(self.value(right, condition, &[])?);
            } else if kind == JoinType::Inner {
                held.behind.push(condition);
            } else {
                let (kept, other) = match kind {
                    JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => (&mut *left, &mut *right),
                    JoinType::Right | JoinType::RightSemi | JoinType::RightAnti => (&mut *right, &mut *left),
                    _ => {
                        return Err(DataFusionError::NotImplemented(
                            "a subquery about both sides in the ON of a FULL JOIN".into(),
                        ));
                    }
                };
                let (value, same) = self.of_pairs(kept, other, condition, &held.before)?;
                held.before.push(value);
                held.same.extend(same.into_iter().map(|(own, other)| match kind {
                    JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => (own, other),
                    _ => (other, own),
                }));
            }
        }
        Ok(held)
    }

    /// A condition about both sides of an outer join, computed for each pair of values that it looks at. The rows of `other`
    /// are joined with what it gives for the values of `kept`, which must then be the same.
    fn of_pairs(
        &mut self,
        kept: &mut UnnestedRows,
        other: &mut UnnestedRows,
        condition: Expr,
        before: &[Expr],
    ) -> Result<(Expr, Vec<(Expr, Expr)>)> {
        kept.plan = self.shared(std::mem::take(&mut kept.plan))?;
        other.plan = self.shared(std::mem::take(&mut other.plan))?;
        let (own, others) = (self.read_again(&kept.plan)?, self.read_again(&other.plan)?);
        let plan = joined(own, others, JoinType::Inner, Condition::holds(before.to_vec()))?;
        let bindings = other.bindings.iter().chain(&kept.bindings).map(|(column, own)| (column.clone(), own.clone()));
        let mut all = UnnestedRows { plan, bindings: bindings.collect() };
        let domain = self.domain(&mut all, &columns_in(&condition)?, &[])?;
        let mut values = self.rows_of(&domain)?;
        let value = self.value(&mut values, condition, &[])?;
        let holds = self.fresh("holds");
        let mut shown = values.bound_columns();
        shown.push(value.alias(&holds));
        values.plan = crate::unnest::rows::project(values.plan, shown)?;
        let (of_kept, of_other): (Vec<_>, Vec<_>) = domain.outer().partition(|column| kept.binding(column).is_some());
        let same = pairs(of_other.into_iter(), other, &values)?;
        let with_kept = pairs(of_kept.into_iter(), kept, &values)?;
        other.plan = joined(std::mem::take(&mut other.plan), values.plan, JoinType::Inner, Condition::same(same))?;
        Ok((Expr::Column(Column::new_unqualified(holds)), with_kept))
    }
}

/// A subquery without what does not matter for whether it has rows: an order, rows that are there twice, and, where nothing
/// is compared, what is in them.
pub(super) fn bare(plan: &LogicalPlan, exists: bool) -> Result<&LogicalPlan> {
    let mut plan = plan;
    loop {
        plan = match plan {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => &sort.input,
            LogicalPlan::Distinct(Distinct::All(input)) => input,
            LogicalPlan::Projection(projection) if exists => &projection.input,
            LogicalPlan::SubqueryAlias(alias) if exists => &alias.input,
            LogicalPlan::Limit(limit) if exists && first_rows(limit)? => &limit.input,
            LogicalPlan::Aggregate(aggregate) if exists && crate::unnest::aggregate::empty_sets(aggregate) == 0 => {
                &aggregate.input
            }
            other => return Ok(other),
        };
    }
}

/// Whether a comparison is that of a NOT IN, which anti joins know by a key of each side.
fn is_not_in(value: &Expr, operator: Operator, own: &Expr, left: &LogicalPlan, right: &LogicalPlan) -> bool {
    let may = may_be_null(value, left) || may_be_null(own, right);
    let columns = |side: &Expr, plan: &LogicalPlan| {
        let columns = side.column_refs();
        !columns.is_empty() && columns.iter().all(|column| plan.schema().has_column(column))
    };
    operator == Operator::Eq && may && columns(value, left) && columns(own, right)
}

fn is_nullable(own: &Expr, left: &LogicalPlan, right: &LogicalPlan) -> bool {
    match left.schema().join(right.schema()) {
        Ok(schema) => datafusion::logical_expr::ExprSchemable::nullable(own, &schema).unwrap_or(true),
        Err(_) => true,
    }
}

/// A comparison that holds, or, where one that is NULL counts, too, is not false.
fn comparison(value: Expr, operator: Operator, own: Expr, or_null: bool) -> Expr {
    let is_true = |expression: &Expr| *expression == datafusion::logical_expr::lit(true);
    // A comparison of rows comes as the truth of it.
    let compared = if operator == Operator::Eq && is_true(&value) { own } else { binary_expr(value, operator, own) };
    if or_null { compared.is_not_false() } else { compared }
}

/// The columns that an expression and the queries in it look at.
fn columns_in(expression: &Expr) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> = Vec::new();
    for column in expression.column_refs().into_iter().cloned().chain(outer_columns_in(expression)?) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    Ok(columns)
}
