//! ROLLUP, CUBE and GROUPING SETS: groups by all keys, of which each set's are groups in turn. So the records are looked at
//! once, and what the sets add is work for as many rows as there are groups. Sums of sums, the smallest of the smallest and so
//! on are those of all records; aggregates of which that is not so are left to DataFusion, which gives each set all records.
//!
//! The rows of the sets come one behind the other, as those of UNION ALL do.

use crate::compile::by_records::merged;
use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::groups::{GroupParts, OutputColumn, OutputSource, keys_of};
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::{Trace, Typed};
use arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::Aggregate as LogicalAggregate;
use datafusion::physical_plan::aggregates::AggregateExec;
use gingham_execution::{Aggregation, Expression, Finish, Function, Limits, Source};
use std::collections::HashMap;

/// Groups by all keys.
struct Finest {
    /// The pipeline that leaves them: a column for each key, and one for each aggregate behind these.
    pipeline: usize,
    parts: GroupParts,
    /// What is known of the columns that `parts` has.
    facts: Vec<(Limits, bool)>,
}

impl QueryBuilder {
    /// The rows of an aggregation by several sets of keys.
    pub(super) fn grouping_sets(&mut self, aggregate: &AggregateExec) -> Compiled<PipelineBuilder> {
        let group_by = aggregate.group_expr();
        let finest = self.finest(aggregate)?;
        let id_type = {
            let mut times: HashMap<&[bool], usize> = HashMap::new();
            group_by.groups().iter().for_each(|set| *times.entry(set).or_default() += 1);
            let most = times.into_values().max().unwrap_or(1) - 1;
            LogicalAggregate::grouping_id_type(group_by.expr().len(), most)
        };
        let mut before: HashMap<&[bool], u32> = HashMap::new();
        let mut sets = Vec::new();
        for left_out in group_by.groups() {
            // As DataFusion numbers them: a bit for each key that is left out, and how many such sets were before.
            let ordinal = before.entry(left_out).or_default();
            let id = left_out.iter().fold(0i128, |id, out| id << 1 | i128::from(*out));
            let id = id | i128::from(*ordinal) << left_out.len();
            *ordinal += 1;
            sets.push(self.set(&finest, left_out, (id, &id_type))?);
        }
        self.unite(sets)
    }

    /// Ends a pipeline in groups by all keys.
    fn finest(&mut self, aggregate: &AggregateExec) -> Compiled<Finest> {
        let schema = aggregate.input_schema();
        let (mut open, earlier) = self.rows_to_group(aggregate, (&schema, false))?;
        let mut parts = self.parts(&open, earlier.as_ref())?;
        self.add_all_keys(aggregate, &mut open, (&schema, &mut parts), earlier.is_some())?;
        match earlier {
            Some(earlier) => earlier.show(&mut parts),
            None => self.add_calls(aggregate, &open, (&schema, &mut parts))?,
        }
        if !parts.can_be_merged() {
            return Err(NotCompiled::new("grouping sets with an aggregate that groups of groups do not give"));
        }
        let GroupParts { keys, aggregates, .. } = &parts;
        let known = |finish: &Finish| finish.expected(keys, aggregates, (open.scope.facts(), open.most));
        let facts = parts.finishes.iter().map(known).collect::<Result<Vec<_>, _>>();
        let facts = facts.map_err(|_| NotCompiled::too_wide())?;
        let values = (0..aggregates.len()).map(Finish::Value);
        let columns: Vec<Finish> = (0..keys.len()).map(Finish::Key).chain(values).collect();
        let aggregation =
            Aggregation { filter: None, keys: keys.clone(), aggregates: aggregates.clone(), apart: Vec::new() };
        let pipeline = self.end_in_groups(open, aggregation, columns)?;
        Ok(Finest { pipeline, parts, facts })
    }

    /// Adds each key, whichever others it follows from: a set may leave these out.
    fn add_all_keys(
        &mut self,
        aggregate: &AggregateExec,
        open: &mut PipelineBuilder,
        (schema, parts): (&Schema, &mut GroupParts),
        has_calls: bool,
    ) -> Compiled<()> {
        let keys = keys_of(aggregate);
        self.evaluate_arguments(aggregate, open, (schema, has_calls));
        let has_no_number = |open: &PipelineBuilder, key| {
            let typed = open.scope.translate(key, schema);
            typed.is_ok_and(|typed| typed.trace.records.is_some())
        };
        let strings: Vec<_> = keys.iter().filter(|key| has_no_number(open, key)).cloned().collect();
        self.compute(open, &strings, schema)?;
        let typed = open.scope.translate_all(&keys, schema)?;
        for (number, Typed { expression, data_type, entries, trace }) in typed.into_iter().enumerate() {
            let trace = Trace { numbered: trace.numbered, ..Trace::default() };
            parts.keys.push(expression);
            parts.traces.push(trace.clone());
            parts.show(Finish::Key(number), data_type, entries, trace);
        }
        Ok(())
    }

    /// The groups of one set, which leaves out some keys.
    fn set(
        &mut self,
        finest: &Finest,
        left_out: &[bool],
        (id, id_type): (i128, &DataType),
    ) -> Compiled<PipelineBuilder> {
        let Finest { pipeline, parts, facts } = finest;
        let all = parts.keys.len();
        let kept: Vec<usize> = (0..all).filter(|key| !left_out[*key]).collect();
        let open = self.over(Source::Rows(*pipeline), *pipeline, Vec::new());
        let aggregates = merged(&parts.aggregates, |place| Some(Expression::Column(all + place)));
        let aggregates = aggregates.ok_or_else(|| NotCompiled::new("aggregates that groups of groups do not give"))?;
        let keys = kept.iter().map(|key| Expression::Column(*key)).collect();
        let columns = (0..kept.len()).map(Finish::Key).chain(parts.finishes[all..].iter().copied()).collect();
        let aggregation = Aggregation { filter: None, keys, aggregates, apart: Vec::new() };
        // Without keys there is a group even of no records, whose aggregates of groups are NULL.
        let behind = facts[all..].iter().map(|(limits, nullable)| (*limits, *nullable || kept.is_empty()));
        let left = kept.iter().map(|key| facts[*key]).chain(behind).collect();
        let own = self.push_groups(open, aggregation, columns, left);
        let mut columns = Vec::new();
        for (number, shown) in parts.columns[..all].iter().enumerate() {
            let place = kept.iter().position(|key| *key == number).map(Expression::Column);
            let expression = place.unwrap_or(Expression::Constant(None));
            let OutputColumn { data_type, entries, trace, .. } = shown.clone();
            columns.push(Some(Typed { expression, data_type, entries, trace }));
        }
        columns.push(Some(Typed::new(Expression::Constant(Some(id)), id_type.clone())));
        for shown in &parts.columns[all..] {
            let mut typed = shown.clone().moved(&|column| column - all + kept.len()).typed();
            if kept.is_empty() && parts.is_count(shown) {
                let none = (Expression::IsNull(Box::new(typed.expression.clone())), Expression::Constant(Some(0)));
                typed.expression = Expression::Case { branches: vec![none], otherwise: Box::new(typed.expression) };
            }
            columns.push(Some(typed));
        }
        Ok(self.over(Source::Rows(own), own, columns))
    }
}

impl GroupParts {
    /// Aggregates that count.
    pub(super) fn counts(&self) -> Vec<usize> {
        let counts = |number: &usize| self.aggregates[*number].function == Function::Count;
        (0..self.aggregates.len()).filter(counts).chain(self.counts.iter().copied()).collect()
    }

    /// Whether a column is a count, which is 0 of nothing.
    fn is_count(&self, shown: &OutputColumn) -> bool {
        let OutputSource::Column(column) = shown.how else { return false };
        matches!(self.finishes.get(column), Some(Finish::Value(number)) if self.counts().contains(number))
    }
}
