//! Statistics of a column over a whole table, merged from those of its segments.

use crate::catalog::{ColumnSummary, TableSnapshot};
use crate::segment::{ColumnStatistics, Encoding, Segment};
use crate::{ColumnId, Datum};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The summaries of one table snapshot that were asked for.
#[derive(Debug, Default)]
pub struct Summaries {
    known: Mutex<HashMap<ColumnId, ColumnSummary>>,
}

impl Summaries {
    /// The summary of a live column of `table`, computed when it is asked for first.
    pub(crate) fn get_or_compute(&self, table: &TableSnapshot, column: ColumnId) -> Option<ColumnSummary> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&column) {
            return Some(known.clone());
        }
        let summary = compute(table, column)?;
        lock().insert(column, summary.clone());
        Some(summary)
    }
}

/// Bounds, NULLs and sketches gathered over segments.
#[derive(Debug)]
struct Gathered {
    min: Datum,
    max: Datum,
    exact: bool,
    nulls: u64,
}

impl Gathered {
    fn bounds(&mut self, min: &Datum, max: &Datum, exact: bool) {
        if min.is_null() || max.is_null() {
            return;
        }
        if self.min.is_null() || min.compare(&self.min) == Some(Ordering::Less) {
            self.min = min.clone();
        }
        if self.max.is_null() || max.compare(&self.max) == Some(Ordering::Greater) {
            self.max = max.clone();
        }
        self.exact &= exact;
    }

    fn segment(&mut self, statistics: &ColumnStatistics) {
        self.nulls += statistics.nulls;
        self.bounds(&statistics.min, &statistics.max, statistics.exact);
    }
}

fn compute(table: &TableSnapshot, column: ColumnId) -> Option<ColumnSummary> {
    let definition = table.definition.column_by_id(column)?;
    let mut gathered = Gathered { min: Datum::Null, max: Datum::Null, exact: true, nulls: 0 };
    let mut constant = false;
    for segment in table.segments.iter().chain(&table.delta) {
        match segment.column(column) {
            Some(meta) => gathered.segment(&meta.statistics),
            None if definition.initial.is_null() => gathered.nulls += segment.rows() as u64,
            None => {
                constant = true;
                gathered.bounds(&definition.initial, &definition.initial, true);
            }
        }
    }
    let present = table.rows() - gathered.nulls.min(table.rows());
    let (distinct, distinct_exact) = distinct(table, column, present, constant);
    Some(ColumnSummary {
        min: gathered.min,
        max: gathered.max,
        exact: gathered.exact,
        nulls: gathered.nulls,
        distinct,
        distinct_exact,
    })
}

/// Distinct values: counted where a dictionary knows all of them, else estimated.
fn distinct(table: &TableSnapshot, column: ColumnId, present: u64, constant: bool) -> (u64, bool) {
    if present == 0 {
        return (0, true);
    }
    let metas = || table.segments.iter().filter_map(|segment| segment.column(column));
    let counted = !constant && table.delta.is_empty() && metas().all(|meta| meta.encoding == Encoding::Dictionary);
    if counted && let Some(dictionary) = table.dictionaries.get(&column) {
        return (dictionary.distinct() as u64, true);
    }
    let in_segments = crate::encoding::sketch::estimate(metas().map(|meta| meta.statistics.sketch.as_slice()));
    // The delta has no sketches. Its values are counted as if all were new: it is small beside the segments, and where
    // there are no segments, a table of so few records is planned well with any number.
    let in_delta: u64 = table.delta.iter().map(|segment| present_in(segment, column)).sum();
    ((in_segments + in_delta + u64::from(constant)).clamp(1, present), false)
}

fn present_in(segment: &Segment, column: ColumnId) -> u64 {
    segment.column(column).map_or(0, |meta| segment.rows() as u64 - meta.statistics.nulls.min(segment.rows() as u64))
}
