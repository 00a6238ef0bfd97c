//! Aggregations as the end of a pipeline.
//!
//! A key that follows from another one need not tell groups apart: it is carried along. A customer's name follows from its
//! number; all columns of a table follow from its record's number.

use crate::compile::by_records::Earlier;
use crate::compile::calls::is_text;
use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::functions::CompiledFunction as Evaluated;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::{RecordColumn, Trace, Typed};
use crate::table::CountExec;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use gingham_execution::{
    Aggregate, Aggregation, Expression, Finish, FloatArithmetic, Function, Limits, OutOfLine, Pipeline, Sink, Source,
};
use std::sync::Arc;

/// The share of a table's records that must have strings of their own, as far as is known, for its records to tell groups
/// apart.
const NEARLY_ALL: f64 = 0.9;
/// Records of a table that may tell groups apart at most. Whether they do is only known at the end: of more than these that is too
/// much to have been done in vain, and to be found out.
const FEW: u64 = 1 << 18;

/// A column of the groups.
#[derive(Debug, Clone)]
pub(super) struct OutputColumn {
    pub(super) data_type: DataType,
    pub(super) how: OutputSource,
    pub(super) entries: Option<ArrayRef>,
    pub(super) trace: Trace,
}

/// How it is made of the columns of a pipeline's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputSource {
    Column(usize),
    /// A sum by a count, as DOUBLE.
    Mean {
        sum: usize,
        count: usize,
        /// The sum is one of floats, else of integers.
        floats: bool,
    },
}

/// The groups of an aggregation: a pipeline's rows.
#[derive(Debug)]
pub(super) struct Grouped {
    pub(super) pipeline: usize,
    pub(super) columns: Vec<OutputColumn>,
    /// Columns that tell groups apart by their records: where two of these have the same string, two groups are one.
    pub(super) needs_uniqueness_check: Vec<usize>,
}

/// What is computed, and how that becomes columns.
#[derive(Default)]
pub(super) struct GroupParts {
    /// Those that tell groups apart, and which records they come from.
    pub(super) keys: Vec<Expression>,
    pub(super) traces: Vec<Trace>,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) apart: Vec<OutOfLine>,
    pub(super) finishes: Vec<Finish>,
    pub(super) columns: Vec<OutputColumn>,
    /// What DataFusion computes for them, behind so many other functions.
    pub(super) functions: Vec<Evaluated>,
    pub(super) others: usize,
    /// Aggregates that count, by sums of other groups' counts.
    pub(super) counts: Vec<usize>,
    /// Expressions whose strings are compared: by which function, and of what.
    pub(super) texts: Vec<(Arc<dyn PhysicalExpr>, usize, Vec<Expression>)>,
}

impl QueryBuilder {
    /// The rows of an aggregation in the middle of a plan.
    pub(super) fn groups(&mut self, aggregate: &AggregateExec) -> Compiled<PipelineBuilder> {
        let (first, sets) = self.first_phase(aggregate)?;
        if sets {
            return self.grouping_sets(first);
        }
        let Grouped { pipeline, columns, needs_uniqueness_check } = self.aggregate(first, false)?;
        if !needs_uniqueness_check.is_empty() {
            return Err(NotCompiled::new("groups by strings without codes in the middle of a plan"));
        }
        let columns = columns.into_iter().map(|shown| Some(shown.typed())).collect();
        Ok(self.over(Source::Rows(pipeline), pipeline, columns))
    }

    /// Makes columns of what an aggregation is over and pipelines can't compute, and numbers of strings that have none.
    pub(super) fn evaluate_parts(
        &mut self,
        aggregate: &AggregateExec,
        open: &mut PipelineBuilder,
        (schema, is_last, has_calls): (&Schema, bool, bool),
    ) {
        self.evaluate_arguments(aggregate, open, (schema, has_calls));
        let keys = keys_of(aggregate);
        // A number of a string no longer stands for its record: other keys may not follow from it then.
        for _ in 0..=keys.len() {
            let strings = strings_to_number(aggregate, (&keys, is_last), open, schema);
            if strings.is_empty() {
                break;
            }
            let before = open.clone();
            if self.compute(open, &strings, schema).is_err() {
                *open = before;
                return;
            }
        }
    }

    /// Makes columns of what an aggregation is over and pipelines can't compute, its keys alone where the calls are there.
    pub(super) fn evaluate_arguments(
        &mut self,
        aggregate: &AggregateExec,
        open: &mut PipelineBuilder,
        (schema, has_calls): (&Schema, bool),
    ) {
        let mut parts = keys_of(aggregate);
        if !has_calls {
            parts.extend(arguments(aggregate));
        }
        self.evaluate(open, &parts, schema);
    }

    /// Adds what the calls of an aggregation compute, without its keys.
    pub(super) fn evaluate_calls(&mut self, aggregate: &AggregateExec, open: &mut PipelineBuilder, schema: &Schema) {
        self.evaluate(open, &arguments(aggregate), schema);
    }

    /// The first phase of an aggregation, which looks at the records, and whether it is by sets of keys.
    pub(super) fn first_phase<'a>(&self, last: &'a AggregateExec) -> Compiled<(&'a AggregateExec, bool)> {
        let first = match last.mode() {
            AggregateMode::Single | AggregateMode::SinglePartitioned => last,
            AggregateMode::Final | AggregateMode::FinalPartitioned => {
                let first = last.input().downcast_ref::<AggregateExec>();
                let first = first.filter(|first| *first.mode() == AggregateMode::Partial);
                first.ok_or_else(|| NotCompiled::new("groups whose first phase is elsewhere"))?
            }
            _ => return Err(NotCompiled::new("a single phase of groups")),
        };
        let limited = first.limit_options().is_some() || last.limit_options().is_some();
        // Counting needs no integers at all.
        if CountExec::instead_of(first).is_some() {
            return Err(NotCompiled::new("records are counted by the scan"));
        }
        if limited {
            return Err(NotCompiled::new("groups that end early"));
        }
        Ok((first, first.group_expr().has_grouping_set()))
    }

    /// What an aggregation groups: its input's rows, or groups of these.
    pub(super) fn rows_to_group(
        &mut self,
        aggregate: &AggregateExec,
        (schema, is_last): (&Schema, bool),
    ) -> Compiled<(PipelineBuilder, Option<Earlier>)> {
        if let Some((open, earlier)) = self.by_inputs(aggregate, schema) {
            return Ok((open, Some(earlier)));
        }
        let mut open = self.open(aggregate.input())?;
        let earlier = self.by_records(aggregate, &mut open, (schema, is_last));
        Ok((open, earlier))
    }

    /// No keys yet, and the aggregates of groups that there are already.
    pub(super) fn parts(&self, open: &PipelineBuilder, earlier: Option<&Earlier>) -> Compiled<GroupParts> {
        let others = self.functions.len();
        match earlier {
            Some(earlier) => {
                let merged = earlier.merged(open, others);
                merged.ok_or_else(|| NotCompiled::new("aggregates that groups of groups do not give"))
            }
            None => Ok(GroupParts { others, ..GroupParts::default() }),
        }
    }

    /// Adds the calls of an aggregation.
    pub(super) fn add_calls(
        &mut self,
        first: &AggregateExec,
        open: &PipelineBuilder,
        (schema, parts): (&Schema, &mut GroupParts),
    ) -> Compiled<()> {
        for (function, filter) in first.aggr_expr().iter().zip(first.filter_expr()) {
            let filter = match filter {
                Some(filter) => Some(open.scope.truth(filter, schema)?),
                None => None,
            };
            if parts.add_function(function, filter, open, schema).is_none() {
                return Err(NotCompiled::expression(&function.name()));
            }
        }
        Ok(())
    }

    /// The groups of an aggregation, of which this is the first phase.
    pub(super) fn aggregate(&mut self, first: &AggregateExec, is_last: bool) -> Compiled<Grouped> {
        let schema = first.input_schema();
        let (mut open, earlier) = self.rows_to_group(first, (&schema, is_last))?;
        self.evaluate_parts(first, &mut open, (&schema, is_last, earlier.is_some()));
        let mut parts = self.parts(&open, earlier.as_ref())?;
        let needs_uniqueness_check = parts.add_keys(first, &open, &schema)?;
        match earlier {
            Some(earlier) => earlier.show(&mut parts),
            None => self.add_calls(first, &open, (&schema, &mut parts))?,
        }
        if let Some(pipeline) = self.group_join(&mut open, &parts) {
            return Ok(Grouped { pipeline, columns: parts.columns, needs_uniqueness_check });
        }
        let GroupParts { keys, aggregates, apart, finishes, columns, functions, .. } = parts;
        self.functions.extend(functions);
        let aggregation = Aggregation { filter: None, keys, aggregates, apart };
        let pipeline = self.end_in_groups(open, aggregation, finishes)?;
        Ok(Grouped { pipeline, columns, needs_uniqueness_check })
    }

    /// Ends a pipeline in groups, of which it leaves these columns. Gives its number.
    pub(super) fn end_in_groups(
        &mut self,
        open: PipelineBuilder,
        aggregation: Aggregation,
        columns: Vec<Finish>,
    ) -> Compiled<usize> {
        let Aggregation { keys, aggregates, .. } = &aggregation;
        let left = columns.iter().map(|finish| finish.expected(keys, aggregates, (open.scope.facts(), open.most)));
        let left = left.collect::<Result<Vec<_>, _>>().map_err(|_| NotCompiled::too_wide())?;
        Ok(self.push_groups(open, aggregation, columns, left))
    }

    /// Adds columns of groups where bounds of the key columns are known.
    pub(super) fn push_groups(
        &mut self,
        open: PipelineBuilder,
        aggregation: Aggregation,
        columns: Vec<Finish>,
        left: Vec<(Limits, bool)>,
    ) -> usize {
        let sink = Sink::Aggregate { aggregation, columns, having: None, keys: None };
        let PipelineBuilder { source, computed, fields, steps, hints, most, .. } = open;
        self.pipelines.push(Pipeline { source, computed, fields, steps, sink, hints, behind: None });
        self.left.push(left);
        self.rows.push(most);
        self.pipelines.len() - 1
    }
}

/// The keys of an aggregation.
pub(super) fn keys_of(aggregate: &AggregateExec) -> Vec<Arc<dyn PhysicalExpr>> {
    aggregate.group_expr().expr().iter().map(|(key, _)| Arc::clone(key)).collect()
}

/// What the calls of an aggregation are over, and their conditions.
fn arguments(aggregate: &AggregateExec) -> Vec<Arc<dyn PhysicalExpr>> {
    let calls = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    // Strings that are only compared need no numbers.
    let of = |call: &AggregateFunctionExpr| if is_text(call) { Vec::new() } else { call.expressions() };
    calls.flat_map(|(call, filter)| of(call).into_iter().chain(filter.clone())).collect()
}

impl OutputColumn {
    /// This output where the columns that it reads lie at other positions.
    pub(super) fn moved(self, place: &dyn Fn(usize) -> usize) -> Self {
        let how = match self.how {
            OutputSource::Column(column) => OutputSource::Column(place(column)),
            OutputSource::Mean { sum, count, floats } => {
                OutputSource::Mean { sum: place(sum), count: place(count), floats }
            }
        };
        Self { how, ..self }
    }

    /// This output as a column of rows that a pipeline goes on with.
    pub(super) fn typed(self) -> Typed {
        let Self { data_type, how, entries, trace } = self;
        let expression = match how {
            OutputSource::Column(column) => Expression::Column(column),
            OutputSource::Mean { sum, count, floats } => {
                let double = |column| Expression::ToFloat { argument: Box::new(Expression::Column(column)), digits: 0 };
                let sum = if floats { Expression::Column(sum) } else { double(sum) };
                Expression::float(FloatArithmetic::Divide, sum, double(count))
            }
        };
        Typed { expression, data_type, entries, trace }
    }
}

impl GroupParts {
    /// Adds the keys. Gives those whose strings tell groups apart by their records.
    fn add_keys(&mut self, aggregate: &AggregateExec, open: &PipelineBuilder, schema: &Schema) -> Compiled<Vec<usize>> {
        let keys = open.scope.translate_all(&keys_of(aggregate), schema);
        let keys = keys.map_err(|why| NotCompiled::new(format!("a key that has no codes: {why}")))?;
        let kept = kept(&keys);
        let mut needs_uniqueness_check = Vec::new();
        for (number, key) in keys.into_iter().enumerate() {
            let finish = if kept.contains(&number) {
                if let Some(records) = &key.trace.records {
                    // Where strings come again and again, records are not the groups.
                    if !records.are_nearly_unique() {
                        return Err(NotCompiled::new("groups by strings without codes"));
                    }
                    needs_uniqueness_check.push(number);
                }
                self.keys.push(key.expression);
                self.traces.push(key.trace.clone());
                Finish::Key(self.keys.len() - 1)
            } else {
                // All records of the group have the same.
                Finish::Value(self.compute(Function::Max, Some(key.expression), None))
            };
            self.show(finish, key.data_type, key.entries, key.trace);
        }
        Ok(needs_uniqueness_check)
    }

    pub(super) fn compute(
        &mut self,
        function: Function,
        argument: Option<Expression>,
        filter: Option<Expression>,
    ) -> usize {
        self.aggregates.push(Aggregate { function, argument, filter });
        self.aggregates.len() - 1
    }

    /// Adds a column of the rows.
    pub(super) fn finish(&mut self, finish: Finish) -> usize {
        self.finishes.push(finish);
        self.finishes.len() - 1
    }

    pub(super) fn show(&mut self, finish: Finish, data_type: DataType, entries: Option<ArrayRef>, trace: Trace) {
        let how = OutputSource::Column(self.finish(finish));
        self.columns.push(OutputColumn { data_type, how, entries, trace });
    }
}

/// Keys and different values that are strings without codes, whose records do not tell them apart.
pub(super) fn strings_to_number(
    aggregate: &AggregateExec,
    (keys, is_last): (&[Arc<dyn PhysicalExpr>], bool),
    open: &PipelineBuilder,
    schema: &Schema,
) -> Vec<Arc<dyn PhysicalExpr>> {
    let typed = open.scope.translate_all(keys, schema).ok();
    let Some(typed) = typed else { return Vec::new() };
    let is_left = |records: &RecordColumn| !is_last || !records.are_nearly_unique();
    let left = kept(&typed).into_iter().filter(|key| typed[*key].trace.records.as_ref().is_some_and(is_left));
    let mut strings: Vec<_> = left.map(|key| Arc::clone(&keys[key])).collect();
    let distinct = aggregate.aggr_expr().iter().filter(|call| call.is_distinct() && !is_text(call));
    for argument in distinct.flat_map(|call| call.expressions()) {
        let typed = open.scope.translate(&argument, schema);
        if typed.is_ok_and(|typed| typed.trace.records.is_some()) && !strings.contains(&argument) {
            strings.push(argument);
        }
    }
    strings
}

impl RecordColumn {
    /// Whether nearly all records have strings of their own.
    fn are_nearly_unique(&self) -> bool {
        let (rows, summary) = (self.table.rows(), self.table.summary(self.column));
        rows <= FEW && summary.is_some_and(|summary| summary.distinct as f64 > rows as f64 * NEARLY_ALL)
    }
}

/// The keys that tell groups apart: those that follow from no other. One that is compared by its values is better than
/// one that stands for a record.
pub(super) fn kept(keys: &[Typed]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|key| {
        let trace = &keys[*key].trace;
        (trace.determines.is_empty(), trace.records.is_some())
    });
    let (mut kept, mut determined): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for key in order {
        let trace = &keys[key].trace;
        let follows = trace.origin.is_some_and(|scan| determined.contains(&scan));
        let known = kept.iter().any(|other| keys[*other].expression == keys[key].expression);
        if !follows && !known {
            kept.push(key);
            determined.extend(&trace.determines);
        }
    }
    kept
}
