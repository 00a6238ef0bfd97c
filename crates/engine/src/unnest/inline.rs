//! Subqueries of one row: an aggregation without keys, or nothing at all in FROM, and what is computed from it. They become
//! expressions over the rows of the query around them, to which an aggregation's results are joined.

use crate::unnest::Unnesting;
use crate::unnest::aggregate::or_default;
use crate::unnest::domain::pairs;
use crate::unnest::free::is_correlated;
use crate::unnest::join::{Condition, joined};
use crate::unnest::rows::UnnestedRows;
use crate::unnest::value::{both, where_asked, where_present};
use datafusion::common::{Column, Spans};
use datafusion::error::Result;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    Aggregate, Expr, FetchType, Join, JoinType, LogicalPlan, Projection, SkipType, Subquery, lit,
};
use std::sync::Arc;

/// The columns of a plan of at most one row, as expressions over the rows that it was added to.
#[derive(Debug)]
pub(super) struct Inlined {
    pub(super) columns: Vec<(Column, Expr)>,
    /// Whether there is the row; `None` where there is one in any case.
    pub(super) present: Option<Expr>,
}

impl Inlined {
    fn with(columns: Vec<(Column, Expr)>) -> Self {
        Self { columns, present: None }
    }

    /// The first column.
    pub(super) fn first(&self) -> Expr {
        self.columns.first().map_or_else(|| lit(true), |(_, value)| value.clone())
    }
}

/// Whether a plan gives at most one row whatever there is in tables, by operators that are computed row by row.
pub(super) fn is_one_row(plan: &LogicalPlan) -> Result<bool> {
    Ok(match plan {
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            // Such a value may be named several times above.
            !expr.iter().any(Expr::is_volatile) && is_one_row(input)?
        }
        LogicalPlan::Filter(filter) => is_one_row(&filter.input)?,
        LogicalPlan::Subquery(query) => is_one_row(&query.subquery)?,
        LogicalPlan::Sort(sort) => is_one_row(&sort.input)?,
        LogicalPlan::Distinct(distinct) => is_one_row(distinct.input())?,
        LogicalPlan::Limit(limit) => first_rows(limit)? && is_one_row(&limit.input)?,
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Join(join) => {
            matches!(join.join_type, JoinType::Inner | JoinType::Left)
                && is_one_row(&join.left)?
                && is_one_row(&join.right)?
        }
        _ => false,
    })
}

/// Whether a LIMIT leaves the first row.
pub(super) fn first_rows(limit: &datafusion::logical_expr::Limit) -> Result<bool> {
    let skips = matches!(limit.get_skip_type()?, SkipType::Literal(0));
    Ok(skips && matches!(limit.get_fetch_type()?, FetchType::Literal(fetch) if fetch != Some(0)))
}

impl Unnesting<'_> {
    /// Adds what a plan of at most one row, for each of `rows`, is computed from.
    pub(super) fn inline(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Inlined> {
        let before = rows.bindings.clone();
        let inlined = self.inline_bound(rows, plan, guard);
        rows.bindings = before;
        inlined
    }

    /// Inlines a subquery whose columns are bound.
    pub(super) fn inline_bound(
        &mut self,
        rows: &mut UnnestedRows,
        plan: &LogicalPlan,
        guard: &[Expr],
    ) -> Result<Inlined> {
        let inlined = self.inlined(rows, plan, guard)?;
        for (column, value) in &inlined.columns {
            rows.bindings.insert(column.clone(), value.clone());
        }
        Ok(inlined)
    }

    fn inlined(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Inlined> {
        match plan {
            LogicalPlan::Projection(projection) => {
                let input = self.inline_bound(rows, &projection.input, guard)?;
                let values = self.values(rows, projection.expr.clone(), guard)?;
                let values = values.into_iter().map(Expr::unalias);
                Ok(Inlined { columns: plan.schema().columns().into_iter().zip(values).collect(), ..input })
            }
            LogicalPlan::Filter(filter) => {
                let input = self.inline_bound(rows, &filter.input, guard)?;
                let mut present = input.present;
                for condition in split_conjunction_owned(filter.predicate.clone()) {
                    let condition = self.value(rows, condition, guard)?;
                    present = both(present, Some(condition));
                }
                Ok(Inlined { present, ..input })
            }
            LogicalPlan::Subquery(query) => self.inline_bound(rows, &query.subquery, guard),
            LogicalPlan::Sort(sort) => self.inline_bound(rows, &sort.input, guard),
            LogicalPlan::Distinct(distinct) => self.inline_bound(rows, distinct.input(), guard),
            LogicalPlan::Limit(limit) => self.inline_bound(rows, &limit.input, guard),
            LogicalPlan::Join(join) => self.inline_join(rows, join, guard),
            LogicalPlan::Aggregate(aggregate) => self.inline_groups(rows, plan, aggregate, guard),
            _ => Ok(Inlined::with(Vec::new())),
        }
    }

    fn inline_join(&mut self, rows: &mut UnnestedRows, join: &Join, guard: &[Expr]) -> Result<Inlined> {
        let left = self.inline_bound(rows, &join.left, guard)?;
        let right = self.inline_bound(rows, &join.right, guard)?;
        let mut holds = None;
        let equal = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
        for condition in equal.chain(join.filter.iter().cloned().flat_map(split_conjunction_owned)) {
            holds = both(holds, Some(self.value(rows, condition, guard)?));
        }
        let there = both(right.present, holds);
        if join.join_type == JoinType::Inner {
            let columns = left.columns.into_iter().chain(right.columns).collect();
            return Ok(Inlined { columns, present: both(left.present, there) });
        }
        let mut columns = left.columns;
        for (column, value) in right.columns {
            columns.push((column, where_present(there.clone(), value)?));
        }
        Ok(Inlined { columns, present: left.present })
    }

    /// An aggregation without keys.
    fn inline_groups(
        &mut self,
        rows: &mut UnnestedRows,
        plan: &LogicalPlan,
        aggregate: &Aggregate,
        guard: &[Expr],
    ) -> Result<Inlined> {
        if !is_correlated(plan)? {
            return self.inline_alone(rows, plan);
        }
        let results: Vec<Column> = plan.schema().columns();
        let calls = aggregate.aggr_expr.iter().zip(&results);
        let input_schema = Arc::clone(aggregate.input.schema());
        let default = |there: &Expr| {
            let values =
                calls.map(|(call, column)| Ok((column.clone(), or_default(call, column, there, &input_schema)?)));
            values.collect::<Result<Vec<_>>>()
        };
        if let Some(keyed) = self.asked_by(rows, |unnesting| unnesting.keyed_input(aggregate))? {
            let mut on = Vec::with_capacity(keyed.outer.len());
            for (outer, own) in keyed.outer.iter().zip(&keyed.keys) {
                on.push((where_asked(guard, rows.bind(outer.clone())?)?, own.clone()));
            }
            let columns = default(&keyed.keys[0])?;
            let groups = self.groups(UnnestedRows::of(keyed.plan), keyed.keys, aggregate, None)?;
            rows.plan = joined(std::mem::take(&mut rows.plan), groups, JoinType::Left, Condition::equal(on))?;
            return Ok(Inlined::with(columns));
        }
        let domain = self.domain_of(rows, plan, guard)?;
        let there = self.fresh("there");
        let groups = self.groups_of(&domain, aggregate, Some(&there))?;
        let same = pairs(domain.outer(), rows, &groups)?;
        let columns = default(&Expr::Column(Column::new_unqualified(there)))?;
        rows.plan = joined(std::mem::take(&mut rows.plan), groups.plan, JoinType::Left, Condition::same(same))?;
        Ok(Inlined::with(columns))
    }

    /// An aggregation that is the same for all rows: a value, or a row that all are joined with.
    fn inline_alone(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan) -> Result<Inlined> {
        let columns = plan.schema().columns();
        let alone = self.whole(plan.clone())?;
        if let [column] = columns.as_slice() {
            let query = Subquery { subquery: Arc::new(alone), outer_ref_columns: Vec::new(), spans: Spans::new() };
            return Ok(Inlined::with(vec![(column.clone(), Expr::ScalarSubquery(query))]));
        }
        rows.plan = joined(std::mem::take(&mut rows.plan), alone, JoinType::Inner, Condition::default())?;
        Ok(Inlined::with(columns.into_iter().map(|column| (column.clone(), Expr::Column(column))).collect()))
    }
}
