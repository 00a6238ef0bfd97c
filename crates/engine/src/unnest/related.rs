//! The rows of a subquery that belong to outer rows: by keys of their own that outer columns are equal to, or else by the values
//! of the domain that they were computed for.

use crate::unnest::Unnesting;
use crate::unnest::aggregate::once;
use crate::unnest::domain::pairs;
use crate::unnest::free::is_correlated;
use crate::unnest::join::{Condition, joined};
use crate::unnest::rows::{UnnestedRows, columns_of, project};
use crate::unnest::value::where_asked;
use datafusion::common::{Column, JoinType};
use datafusion::error::Result;
use datafusion::functions_aggregate::count::count;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan, lit};
use std::sync::Arc;

/// Rows of a subquery, and which of them belong to which outer row.
#[derive(Debug)]
pub(super) struct Related {
    /// The subquery's columns and the keys.
    pub(super) plan: LogicalPlan,
    /// The columns of `plan` that tell what belongs together.
    pub(super) keys: Vec<Expr>,
    /// What these are equal to in the outer rows.
    outer: Vec<Expr>,
    /// Whether two NULLs are the same key.
    is_domain: bool,
}

impl Related {
    /// The keys' part of a join of outer rows with `columns`, which the keys became.
    pub(super) fn condition(&self, columns: &[Expr]) -> Condition {
        let pairs = self.outer.iter().cloned().zip(columns.iter().cloned()).collect();
        if self.is_domain { Condition::same(pairs) } else { Condition::equal(pairs) }
    }
}

impl Unnesting<'_> {
    /// The rows of `plan` that belong to `rows`.
    pub(super) fn related(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Related> {
        if !is_correlated(plan)? {
            let plan = self.whole(plan.clone())?;
            return Ok(Related { plan, keys: Vec::new(), outer: Vec::new(), is_domain: false });
        }
        let keyed = self.asked_by(rows, |unnesting| match unnesting.pull(plan)? {
            Some(pulled) => unnesting.keyed(pulled),
            None => Ok(None),
        })?;
        if let Some(keyed) = keyed {
            let outer = keyed.outer.into_iter().map(|outer| where_asked(guard, rows.bind(outer)?));
            let outer = outer.collect::<Result<Vec<_>>>()?;
            return Ok(Related { plan: keyed.plan, keys: keyed.keys, outer, is_domain: false });
        }
        let domain = self.domain_of(rows, plan, guard)?;
        let inner = self.push(plan, &domain)?;
        let (outer, keys) = pairs(domain.outer(), rows, &inner)?.into_iter().unzip();
        Ok(Related { plan: inner.plan, keys, outer, is_domain: true })
    }

    /// Adds to `rows` what an aggregation of related rows gives for each; its columns are bound to `calls`, which have names.
    pub(super) fn add_groups(&mut self, rows: &mut UnnestedRows, related: &Related, calls: Vec<Expr>) -> Result<()> {
        let input = Arc::new(related.plan.clone());
        let groups = LogicalPlan::Aggregate(Aggregate::try_new(input, related.keys.clone(), calls)?);
        let (groups, keys) = self.renamed_keys(groups, &related.keys)?;
        let kind = if keys.is_empty() { JoinType::Inner } else { JoinType::Left };
        rows.plan = joined(std::mem::take(&mut rows.plan), groups, kind, related.condition(&keys))?;
        Ok(())
    }

    /// A plan whose keys have other names than those of another one beside it.
    pub(super) fn renamed_keys(&mut self, plan: LogicalPlan, keys: &[Expr]) -> Result<(LogicalPlan, Vec<Expr>)> {
        let mut renamed = Vec::with_capacity(keys.len());
        let mut shown = Vec::new();
        for column in columns_of(&plan) {
            shown.push(match keys.contains(&column) {
                false => column,
                true => {
                    let own = Column::new_unqualified(self.fresh("key"));
                    let named = column.clone().alias(&own.name);
                    renamed.push((column, Expr::Column(own)));
                    named
                }
            });
        }
        let names = keys.iter().filter_map(|key| renamed.iter().find(|(old, _)| old == key));
        let names = names.map(|(_, own)| own.clone()).collect();
        Ok((project(plan, shown)?, names))
    }

    /// Whether `plan` has a row for each of `rows`.
    pub(super) fn exists(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Expr> {
        let plan = crate::unnest::conditions::bare(plan, true)?;
        match plan {
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => return Ok(lit(true)),
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => return Ok(lit(true)),
            _ => {}
        }
        if crate::unnest::inline::is_one_row(plan)? {
            let inlined = self.inline(rows, plan, guard)?;
            return Ok(inlined.present.map_or_else(|| lit(true), Expr::is_true));
        }
        if !is_correlated(plan)? {
            return self.exists_at_all(plan);
        }
        let there = self.fresh("there");
        let marker = || Expr::Column(Column::new_unqualified(there.clone())).is_not_null();
        // Values of the domain that have a row are looked for; the rows are not gathered.
        let related = match self.pull(plan)?.filter(|pulled| !pulled.is_keyed()) {
            None => self.related(rows, plan, guard)?,
            Some(pulled) => {
                let domain = self.domain_of(rows, plan, guard)?;
                let mut asking = self.rows_of(&domain)?;
                let holds = pulled.conditions.iter().map(|condition| asking.bind(condition.clone()));
                let holds = Condition::holds(holds.collect::<Result<_>>()?);
                asking.plan = joined(asking.plan, pulled.plan, JoinType::LeftSemi, holds)?;
                let (outer, keys) = pairs(domain.outer(), rows, &asking)?.into_iter().unzip();
                Related { plan: asking.plan, keys, outer, is_domain: true }
            }
        };
        self.add_groups(rows, &related, vec![count(lit(1_i64)).alias(&there)])?;
        Ok(marker())
    }

    /// Whether a subquery has rows, whatever is around it.
    fn exists_at_all(&mut self, plan: &LogicalPlan) -> Result<Expr> {
        let plan = self.whole(plan.clone())?;
        let builder = datafusion::logical_expr::LogicalPlanBuilder::from(plan).limit(0, Some(1))?;
        let there = self.fresh("there");
        let none: [Expr; 0] = [];
        let counted = builder.aggregate(none, [count(lit(1_i64)).alias(&there)])?;
        let own = Expr::Column(Column::new_unqualified(there));
        let name = self.fresh("exists");
        let plan = counted.project([own.gt(lit(0_i64)).alias(name)])?.build()?;
        Ok(crate::unnest::scalar::as_value(plan))
    }

    /// The distinct values of a column in related rows.
    pub(super) fn distinct_values(&mut self, related: &Related, column: Expr) -> Result<LogicalPlan> {
        let shown = once(related.keys.iter().cloned().chain([column]).collect());
        Ok(LogicalPlan::Distinct(Distinct::All(Arc::new(project(related.plan.clone(), shown)?))))
    }
}
