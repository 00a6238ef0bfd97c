//! Unions, input by input: what keeps a part of the rows, or makes fewer of them, does so before they come together.

use crate::compile::by_records::Earlier;
use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::groups::{OutputColumn, keys_of};
use crate::compile::join::build_side;
use crate::compile::joined::Joined;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::{Typed, same_entries};
use arrow::datatypes::Schema;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use gingham_execution::JoinKind;
use std::sync::Arc;

/// The least number of records of the largest table for each group that there may be.
const RECORDS_PER_GROUP: i128 = 4;

/// Whether an operator's rows are those of a union, some of these, or with columns added.
pub(super) fn is_of_union(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(join) = Joined::of(plan) {
        return keeps_a_part_of_union(&join);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return filter.fetch().is_none() && is_of_union(filter.input());
    }
    let gathered = plan.downcast_ref::<CoalescePartitionsExec>().filter(|gathered| gathered.fetch().is_none());
    let input = gathered.map(|gathered| gathered.input());
    let input = input.or_else(|| Some(plan.downcast_ref::<ProjectionExec>()?.input()));
    let input = input.or_else(|| Some(plan.downcast_ref::<CooperativeExec>()?.input()));
    plan.is::<UnionExec>() || input.is_some_and(is_of_union)
}

/// Whether a join by keys keeps some rows of a union, or adds columns to them.
pub(super) fn keeps_a_part_of_union(join: &Joined<'_>) -> bool {
    let keeps_a_part = |kind| matches!(kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Anti);
    let probing = |left| if left { join.right } else { join.left };
    !join.on.is_empty() && build_side(join).is_some_and(|(kind, left)| keeps_a_part(kind) && is_of_union(probing(left)))
}

impl QueryBuilder {
    /// The rows of each input of the union that an operator's rows are of; the operator's rows where there is none.
    pub(super) fn branches(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Compiled<Vec<PipelineBuilder>> {
        if !is_of_union(plan) {
            return Ok(vec![self.open(plan)?]);
        }
        if let Some(union) = plan.downcast_ref::<UnionExec>() {
            let branches = union.inputs().iter().map(|input| self.branches(input));
            return Ok(branches.collect::<Compiled<Vec<_>>>()?.concat());
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let branches = self.branches(projection.input())?;
            return Ok(branches.into_iter().map(|open| self.projected(projection, open)).collect());
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let branches = self.branches(filter.input())?;
            return branches.into_iter().map(|open| self.filtered_by(filter, open)).collect();
        }
        match Joined::of(plan) {
            Some(join) => self.join_each(&join),
            None => match plan.children().first() {
                Some(input) => self.branches(input),
                None => Err(NotCompiled::new("a union of nothing")),
            },
        }
    }

    /// The groups of each input of a union, as rows to be grouped again.
    pub(super) fn by_inputs(
        &mut self,
        aggregate: &AggregateExec,
        schema: &Schema,
    ) -> Option<(PipelineBuilder, Earlier)> {
        if !is_of_union(aggregate.input()) {
            return None;
        }
        let mut first: Option<Earlier> = None;
        let open = self.attempt(|draft| {
            let mut groups = Vec::new();
            for mut open in draft.branches(aggregate.input())? {
                let earlier = draft.groups_of_input(aggregate, &mut open, schema);
                let earlier = earlier.ok_or_else(|| NotCompiled::new("as many groups of an input as rows"))?;
                match &first {
                    Some(first) if !first.is_like(&earlier) => {
                        return Err(NotCompiled::new("inputs of a union whose groups differ"));
                    }
                    Some(_) => {}
                    None => first = Some(earlier),
                }
                groups.push(open);
            }
            draft.unite(groups)
        });
        let (mut open, earlier) = open.ok().zip(first)?;
        earlier.know(&mut open);
        Some((open, earlier))
    }

    /// Ends the pipeline of one input in groups, where these are fewer than its rows by far.
    fn groups_of_input(
        &mut self,
        aggregate: &AggregateExec,
        open: &mut PipelineBuilder,
        schema: &Schema,
    ) -> Option<Earlier> {
        let keys = keys_of(aggregate);
        if self.parts_of(&keys, open, schema).is_none() {
            self.evaluate_parts(aggregate, open, (schema, false, true));
        }
        let parts = self.parts_of(&keys, open, schema)?;
        let groups = key_numbers(parts.iter().map(|(_, typed)| typed), open)?;
        let few = groups.checked_mul(RECORDS_PER_GROUP)? <= i128::from(self.largest_table()?);
        if !few {
            return None;
        }
        self.first_groups(aggregate, &keys, open, schema)
    }
}

impl Earlier {
    /// Whether the aggregates of other groups mean the same.
    fn is_like(&self, other: &Self) -> bool {
        let alike = |(own, other): (&OutputColumn, &OutputColumn)| {
            (&own.data_type, own.how) == (&other.data_type, other.how) && same_entries(&own.entries, &other.entries)
        };
        let functions = |earlier: &Self| earlier.calls.aggregates.iter().map(|own| own.function).collect::<Vec<_>>();
        let columns = self.calls.columns.len() == other.calls.columns.len()
            && self.calls.columns.iter().zip(&other.calls.columns).all(alike);
        columns
            && (self.width, &self.calls.finishes) == (other.width, &other.calls.finishes)
            && functions(self) == functions(other)
    }
}

/// The numbers that keys may have together, NULLs among them.
fn key_numbers<'t>(mut keys: impl Iterator<Item = &'t Typed>, open: &PipelineBuilder) -> Option<i128> {
    keys.try_fold(1i128, |numbers, key| {
        let (limits, nullable) = key.expression.facts(open.scope.facts()).ok()?;
        let own = limits.max.checked_sub(limits.min)?.checked_add(1 + i128::from(nullable))?;
        numbers.checked_mul(own)
    })
}
