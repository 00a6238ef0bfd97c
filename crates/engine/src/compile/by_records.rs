//! Groups by strings that have no codes, which come from the records of a table with fewer of these than there are rows:
//! groups by the records first, which are integers, and groups of those groups by the strings. So a string, or what is
//! computed of it, is looked at once for a group, not for each row.

use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::groups::{GroupParts, kept, keys_of, strings_to_number};
use crate::compile::translate::Typed;
use arrow::datatypes::{DataType, Schema};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::aggregates::AggregateExec;
use gingham_execution::{Aggregate, Aggregation, Expression, Finish, Function, Source};
use std::sync::Arc;

/// The least number of rows for each record.
const ROWS_PER_RECORD: u64 = 2;

/// What the keys of groups are made of.
pub(super) enum KeyPart {
    /// A column of the aggregation's input.
    Column(usize),
    /// A key that is none.
    Key(Arc<dyn PhysicalExpr>),
}

/// Groups that are grouped again.
pub(super) struct Earlier {
    /// How the calls are made of the aggregates.
    pub(super) calls: GroupParts,
    /// Keys that are no columns of the aggregation's input; they are behind these.
    pub(super) keys: Vec<Arc<dyn PhysicalExpr>>,
    /// Columns before those of the aggregates.
    pub(super) width: usize,
}

impl QueryBuilder {
    /// Groups rows by the records that their strings come from, where that pays: `open` becomes these groups' rows. The
    /// columns that keys name are where they were, those of the aggregates behind all of the input's.
    pub(super) fn by_records(
        &mut self,
        aggregate: &AggregateExec,
        open: &mut PipelineBuilder,
        (schema, is_last): (&Schema, bool),
    ) -> Option<Earlier> {
        let keys = keys_of(aggregate);
        let all = open.scope.translate_all(&keys, schema);
        // What the usual way does without looking at strings is better.
        if all.is_ok() && strings_to_number(aggregate, (&keys, is_last), open, schema).is_empty() {
            return None;
        }
        self.parts_of(&keys, open, schema)?;
        let before = (open.clone(), self.functions.len());
        let earlier = self.first_groups(aggregate, &keys, open, schema);
        match &earlier {
            Some(earlier) => earlier.know(open),
            None => {
                *open = before.0;
                self.functions.truncate(before.1);
            }
        }
        earlier
    }

    /// What the first groups are by: keys that are integers, and the columns of the others. `None` where strings are of
    /// too many records.
    pub(super) fn parts_of(
        &self,
        keys: &[Arc<dyn PhysicalExpr>],
        open: &PipelineBuilder,
        schema: &Schema,
    ) -> Option<Vec<(KeyPart, Typed)>> {
        let most = open.most.min(self.largest_table()?) / ROWS_PER_RECORD;
        let mut parts: Vec<(KeyPart, Typed)> = Vec::new();
        for key in keys {
            if let Some(typed) = open.scope.translate(key, schema).ok().and_then(Typed::told_apart) {
                let column = key.downcast_ref::<Column>().map(Column::index);
                parts.push((column.map_or_else(|| KeyPart::Key(Arc::clone(key)), KeyPart::Column), typed));
                continue;
            }
            let mut columns: Vec<usize> = collect_columns(key).iter().map(Column::index).collect();
            columns.sort_unstable();
            let typed = columns.iter().map(|column| open.scope.column(*column)).collect::<Option<Vec<_>>>()?;
            let records: Vec<_> = typed.iter().filter_map(|typed| typed.trace.records.as_ref()).collect();
            if records.is_empty() || records.iter().any(|records| records.table.rows() > most) {
                return None;
            }
            parts.extend(columns.into_iter().map(KeyPart::Column).zip(typed));
        }
        Some(parts)
    }

    /// Ends the pipeline in groups by records.
    pub(super) fn first_groups(
        &mut self,
        aggregate: &AggregateExec,
        keys: &[Arc<dyn PhysicalExpr>],
        open: &mut PipelineBuilder,
        schema: &Schema,
    ) -> Option<Earlier> {
        self.evaluate_calls(aggregate, open, schema);
        let mut calls = GroupParts { others: self.functions.len(), ..GroupParts::default() };
        self.add_calls(aggregate, open, (schema, &mut calls)).ok()?;
        if !calls.can_be_merged() {
            return None;
        }
        let (parts, typed): (Vec<_>, Vec<_>) = self.parts_of(keys, open, schema)?.into_iter().unzip();
        let kept = kept(&typed);
        let mut aggregates = calls.aggregates.clone();
        let mut columns: Vec<Finish> = Vec::new();
        for own in &typed {
            columns.push(match kept.iter().position(|key| typed[*key].expression == own.expression) {
                Some(key) => Finish::Key(key),
                None => Finish::Value(of_group(&mut aggregates, own)),
            });
        }
        columns.extend((0..calls.aggregates.len()).map(Finish::Value));
        let keys: Vec<_> = kept.iter().map(|key| typed[*key].expression.clone()).collect();
        let aggregation = Aggregation { filter: None, keys, aggregates, apart: Vec::new() };
        let pipeline = self.end_in_groups(open.clone(), aggregation, columns).ok()?;
        let groups = typed.len();
        let mut columns = vec![None; schema.fields().len()];
        let mut keys = Vec::new();
        for (place, (part, typed)) in parts.into_iter().zip(typed).enumerate() {
            let typed = Typed { expression: Expression::Column(place), ..typed };
            match part {
                KeyPart::Column(column) => columns[column] = Some(typed),
                KeyPart::Key(key) => {
                    keys.push(key);
                    columns.push(Some(typed));
                }
            }
        }
        let width = columns.len();
        let values = (0..calls.aggregates.len()).map(|value| Expression::Column(groups + value));
        columns.extend(values.map(|value| Some(Typed::new(value, DataType::Int64))));
        *open = self.over(Source::Rows(pipeline), pipeline, columns);
        Some(Earlier { calls, keys, width })
    }
}

impl Earlier {
    /// Tells the rows of the groups what their keys are.
    pub(super) fn know(&self, open: &mut PipelineBuilder) {
        let first = self.width - self.keys.len();
        for (number, key) in self.keys.iter().enumerate() {
            if let Some(typed) = open.scope.column(first + number) {
                open.scope.know(Arc::clone(key), typed);
            }
        }
    }

    /// The aggregates of groups of groups, whose rows these are.
    pub(super) fn merged(&self, open: &PipelineBuilder, others: usize) -> Option<GroupParts> {
        let column = |place| Some(open.scope.column(self.width + place)?.expression);
        let aggregates = merged(&self.calls.aggregates, column)?;
        Some(GroupParts { aggregates, others, counts: self.calls.counts(), ..GroupParts::default() })
    }

    /// The calls, as columns of the groups of groups.
    pub(super) fn show(self, parts: &mut GroupParts) {
        let behind = parts.finishes.len();
        parts.finishes.extend(self.calls.finishes);
        parts.columns.extend(self.calls.columns.into_iter().map(|shown| shown.moved(&|column| column + behind)));
    }
}

/// What all records of a group have.
fn of_group(aggregates: &mut Vec<Aggregate>, typed: &Typed) -> usize {
    let own = Aggregate { function: Function::Max, argument: Some(typed.expression.clone()), filter: None };
    aggregates.iter().position(|known| *known == own).unwrap_or_else(|| {
        aggregates.push(own);
        aggregates.len() - 1
    })
}

impl GroupParts {
    /// Whether groups of groups give the same.
    pub(super) fn can_be_merged(&self) -> bool {
        self.apart.is_empty() && self.aggregates.iter().all(|own| merging(own.function).is_some())
    }
}

/// The aggregates of groups of groups: each over the column in which its result for these is.
pub(super) fn merged(aggregates: &[Aggregate], column: impl Fn(usize) -> Option<Expression>) -> Option<Vec<Aggregate>> {
    let merged = |(place, own): (usize, &Aggregate)| {
        Some(Aggregate { function: merging(own.function)?, argument: Some(column(place)?), filter: None })
    };
    aggregates.iter().enumerate().map(merged).collect()
}

/// The function that makes the result for all of some groups of those for each; `None` where these do not tell.
fn merging(function: Function) -> Option<Function> {
    match function {
        Function::Count | Function::Sum => Some(Function::Sum),
        Function::Min | Function::Max | Function::BitAnd | Function::BitOr | Function::BitXor => Some(function),
        Function::FloatSum | Function::CountDistinct | Function::SumDistinct => None,
    }
}
