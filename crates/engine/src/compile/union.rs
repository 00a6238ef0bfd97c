//! Rows of several pipelines as those of one, input after input: UNION ALL, and the two parts of a full join.

use super::draft::{Draft, Open};
use super::translate::{Trace, Typed};
use gingham_execution::{Expression, Limits, Pipeline, Sink, Source};
use std::sync::Arc;

impl Draft {
    /// The rows of all inputs, which have equally many columns. Columns that do not mean the same in all of them are none.
    pub(super) fn unite(&mut self, inputs: Vec<Open>) -> Option<Open> {
        let width = inputs.first()?.scope.columns().len();
        let mut columns: Vec<Option<Typed>> =
            (0..width).map(|column| common(inputs.iter().map(|input| input.scope.column(column)))).collect();
        let kept: Vec<usize> = (0..width).filter(|column| columns[*column].is_some()).collect();
        let mut behind: Option<usize> = None;
        for Open { source, fields, steps, scope, most, hints, .. } in inputs {
            let own: Vec<Expression> =
                kept.iter().map(|column| Some(scope.column(*column)?.expression)).collect::<Option<_>>()?;
            let facts = own.iter().map(|expression| expression.facts(scope.facts()));
            let mut facts: Vec<(Limits, bool)> = facts.collect::<Result<_, _>>().ok()?;
            let mut rows = most;
            if let Some(first) = behind {
                facts = self.left[first].iter().zip(&facts).map(|(first, second)| either(*first, *second)).collect();
                rows = self.rows[first].saturating_add(rows);
            }
            let sink = Sink::Rows { columns: own, keys: None };
            self.pipelines.push(Pipeline { source, fields, steps, sink, hints, behind });
            self.left.push(facts);
            self.rows.push(rows);
            behind = Some(self.pipelines.len() - 1);
        }
        for (place, column) in kept.into_iter().enumerate() {
            if let Some(typed) = &mut columns[column] {
                typed.expression = Expression::Column(place);
            }
        }
        let last = behind?;
        Some(self.over(Source::Rows(last), last, columns))
    }
}

fn either(first: (Limits, bool), second: (Limits, bool)) -> (Limits, bool) {
    let limits = Limits { min: first.0.min.min(second.0.min), max: first.0.max.max(second.0.max) };
    (limits, first.1 || second.1)
}

/// What a column is that comes from several inputs: what it is in all of them that do not always have NULL.
fn common(inputs: impl Iterator<Item = Option<Typed>>) -> Option<Typed> {
    let inputs = inputs.collect::<Option<Vec<_>>>()?;
    let mut known = inputs.iter().filter(|input| input.expression != Expression::Constant(None));
    let Some(first) = known.next() else { return inputs.into_iter().next() };
    let mut common = first.clone();
    for other in known {
        let same_entries = match (&common.entries, &other.entries) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        let same_records = match (&common.trace.records, &other.trace.records) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(&own.table, &other.table) && own.column == other.column,
            _ => false,
        };
        if !same_entries || !same_records {
            return None;
        }
        // A value may have a record of either.
        common.trace = Trace { records: common.trace.records, ..Trace::default() };
    }
    inputs.iter().all(|input| input.data_type == common.data_type).then_some(common)
}
