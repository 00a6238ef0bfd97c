//! Joins: with what they compare, NULL-safe where outer columns' values are what is compared, and those of which the right side
//! looks at the left one (LATERAL).

use crate::unnest::Unnesting;
use crate::unnest::domain::{may_be_null, pairs};
use crate::unnest::inline::is_one_row;
use crate::unnest::rows::{UnnestedRows, columns_of, named};
use crate::unnest::value::{both, where_present};
use datafusion::common::{JoinType, NullEquality};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::utils::{conjunction, find_valid_equijoin_key_pair, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, Join, JoinConstraint, LogicalPlan, Operator, lit};
use std::sync::Arc;

/// What a join compares.
#[derive(Debug, Default, Clone)]
pub(super) struct Condition {
    /// What must be equal, left and right.
    pub(super) equal: Vec<(Expr, Expr)>,
    /// What must be the same, which two NULLs are.
    pub(super) same: Vec<(Expr, Expr)>,
    /// What must hold.
    pub(super) holds: Vec<Expr>,
}

impl Condition {
    pub(super) fn equal(equal: Vec<(Expr, Expr)>) -> Self {
        Self { equal, ..Self::default() }
    }

    pub(super) fn same(same: Vec<(Expr, Expr)>) -> Self {
        Self { same, ..Self::default() }
    }

    pub(super) fn holds(holds: Vec<Expr>) -> Self {
        Self { holds, ..Self::default() }
    }
}

/// The join of two plans.
pub(super) fn joined(
    mut left: LogicalPlan,
    mut right: LogicalPlan,
    kind: JoinType,
    condition: Condition,
) -> Result<LogicalPlan> {
    let Condition { equal: mut plain, same, holds } = condition;
    let mut others = Vec::new();
    for condition in holds.into_iter().flat_map(split_conjunction_owned) {
        match keys_of(&condition, &left, &right)? {
            Some(keys) => plain.push(keys),
            None => others.push(condition),
        }
    }
    let (mut safe, known): (Vec<_>, Vec<_>) =
        { same }.into_iter().partition(|(own, other)| may_be_null(own, &left) && may_be_null(other, &right));
    plain.extend(known);
    if !safe.is_empty() {
        // One join takes NULLs for equal in all of its keys, or in none.
        match kind {
            JoinType::Full if !plain.is_empty() => {
                others.extend(safe.drain(..).map(|(own, other)| is_same(own, other)));
            }
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                left = without_nulls(left, plain.iter().map(|(own, _)| own))?;
            }
            _ => right = without_nulls(right, plain.iter().map(|(_, other)| other))?,
        }
    }
    let nulls = if safe.is_empty() { NullEquality::NullEqualsNothing } else { NullEquality::NullEqualsNull };
    let on: Vec<(Expr, Expr)> = safe.into_iter().chain(plain).collect();
    let mut filter = conjunction(others);
    if on.is_empty() && filter.is_none() && kind != JoinType::Inner {
        filter = Some(lit(true));
    }
    let (left, right, by) = (Arc::new(left), Arc::new(right), JoinConstraint::On);
    Ok(LogicalPlan::Join(Join::try_new(left, right, on, filter, kind, by, nulls, false)?))
}

/// The two sides of an equality that a join can look up.
fn keys_of(condition: &Expr, left: &LogicalPlan, right: &LogicalPlan) -> Result<Option<(Expr, Expr)>> {
    let Expr::BinaryExpr(BinaryExpr { left: own, op: Operator::Eq, right: other }) = condition else {
        return Ok(None);
    };
    find_valid_equijoin_key_pair(own, other, left.schema(), right.schema())
}

/// Without rows in which one of `keys` is NULL: it equals nothing.
fn without_nulls<'k>(plan: LogicalPlan, keys: impl Iterator<Item = &'k Expr>) -> Result<LogicalPlan> {
    let known = keys.filter(|key| may_be_null(key, &plan)).map(|key| key.clone().is_not_null());
    let known: Vec<Expr> = known.collect();
    match conjunction(known) {
        Some(condition) => Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?)),
        None => Ok(plan),
    }
}

/// Whether two values are the same, in words that no rule takes for an equality.
fn is_same(left: Expr, right: Expr) -> Expr {
    let both_null = left.clone().is_null().and(right.clone().is_null());
    left.eq(right).is_true().or(both_null)
}

impl Unnesting<'_> {
    /// A join whose right side looks at the left one, which is `rows`: these joined with what it gives for each of them.
    pub(super) fn lateral(&mut self, mut rows: UnnestedRows, join: &Join) -> Result<UnnestedRows> {
        if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
            return Err(DataFusionError::Plan(format!(
                "LATERAL in a {} JOIN: its rows are there for those on the left, so that only JOIN and LEFT JOIN can have it",
                join.join_type
            )));
        }
        let columns: Vec<_> = join.schema.columns();
        let right = join.right.as_ref();
        let mut holds: Vec<Expr> = join.on.iter().map(|(own, other)| own.clone().eq(other.clone())).collect();
        holds.extend(join.filter.iter().cloned().flat_map(split_conjunction_owned));
        if is_one_row(right)? {
            return self.lateral_row(rows, join, holds);
        }
        let pulled = self.asked_by(&rows, |unnesting| unnesting.pull(right))?;
        let pulled = pulled.filter(|pulled| pulled.is_plain());
        let (right, mut condition) = match pulled {
            Some(pulled) => {
                let bound = pulled.conditions.into_iter().map(|condition| rows.bind(condition));
                (UnnestedRows::of(pulled.plan), Condition::holds(bound.collect::<Result<_>>()?))
            }
            None => {
                let domain = self.domain_of(&mut rows, right, &[])?;
                let inner = self.push(right, &domain)?;
                let same = pairs(domain.outer(), &rows, &inner)?;
                (inner, Condition::same(same))
            }
        };
        let mut right = UnnestedRows::of(right.plan);
        let held = self.conditions(&mut rows, &mut right, holds, join.join_type)?;
        condition.holds.extend(held.before);
        condition.same.extend(held.same);
        let plan = joined(rows.plan, right.plan, join.join_type, condition)?;
        let mut rows = UnnestedRows { plan, bindings: rows.bindings };
        self.filtered(&mut rows, held.behind)?;
        rows.show(columns.into_iter().map(Expr::Column).collect())?;
        Ok(rows)
    }

    /// A lateral join whose right side is a row at most: its columns are values of the rows.
    fn lateral_row(&mut self, mut rows: UnnestedRows, join: &Join, holds: Vec<Expr>) -> Result<UnnestedRows> {
        let own: Vec<Expr> = columns_of(&join.left).collect();
        let before = rows.bindings.clone();
        let inlined = self.inline_bound(&mut rows, &join.right, &[])?;
        let mut there = inlined.present;
        for condition in holds {
            there = both(there, Some(self.value(&mut rows, condition, &[])?));
        }
        let is_inner = join.join_type == JoinType::Inner;
        let mut shown = own;
        for (column, value) in inlined.columns {
            let value = if is_inner { value } else { where_present(there.clone(), value)? };
            shown.push(named(value, &column));
        }
        rows.bindings = before;
        if is_inner {
            rows.keep(there.into_iter().collect())?;
        }
        rows.show(shown)?;
        Ok(rows)
    }
}
