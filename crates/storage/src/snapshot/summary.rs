//! Statistics of a column over a whole table, merged from those of its segments.

use crate::decode::arrays::datum;
use crate::model::summary::ColumnSummary;
use crate::snapshot::table_snapshot::TableSnapshot;

use crate::decode::decode;
use crate::encoding::meta::{ColumnStatistics, Encoding};
use crate::encoding::sketch::{Sketch, hash_bytes, hash_float, hash_integer};
use crate::pages::attribute::Attribute;
use crate::segment::reader::Segment;
use crate::snapshot::heap::zones::RECORD_IDS;
use crate::{ColumnDefinition, ColumnId, Datum, LogicalType, Result};
use arrow::array::Array;
use arrow::compute::cast;
use arrow::datatypes::DataType;
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
struct GatheredSummary {
    min: Datum,
    max: Datum,
    exact: bool,
    nulls: u64,
}

impl GatheredSummary {
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
    if let Some(heap) = &table.heap {
        let own = Attribute::new(definition);
        return Some(heap.bounds(&own).summary(&own, heap.rows));
    }
    if column == RECORD_IDS {
        return Some(of_numbers(table));
    }
    let mut gathered = GatheredSummary { min: Datum::Null, max: Datum::Null, exact: true, nulls: 0 };
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
    let (rows, all) = (table.rows(), !table.has_deleted());
    let nulls = gathered.nulls.min(rows);
    // Deleted records may have all the NULLs, the least value, or the only one of its kind.
    let present = if all { rows - nulls } else { rows };
    let (distinct, distinct_exact) = distinct(table, definition, present, constant);
    Some(ColumnSummary {
        min: gathered.min,
        max: gathered.max,
        exact: gathered.exact && all,
        nulls,
        nulls_exact: all || nulls == 0,
        distinct,
        distinct_exact: distinct_exact && (all || rows == 0),
    })
}

/// A summary of row ids.
fn of_numbers(table: &TableSnapshot) -> ColumnSummary {
    let last = i128::from(table.numbers().saturating_sub(1));
    ColumnSummary {
        min: Datum::Integer(0),
        max: Datum::Integer(last),
        exact: false,
        nulls: 0,
        nulls_exact: true,
        distinct: table.rows(),
        distinct_exact: true,
    }
}

/// Distinct values: counted where a dictionary knows all of them, else estimated.
fn distinct(table: &TableSnapshot, definition: &ColumnDefinition, present: u64, constant: bool) -> (u64, bool) {
    let column = definition.id;
    if present == 0 {
        return (0, true);
    }
    let metas = || table.segments.iter().filter_map(|segment| segment.column(column));
    let delta = table.coded_delta();
    let in_delta = delta.iter().filter_map(|block| block.column(column));
    let counted = !constant && metas().chain(in_delta).all(|meta| meta.encoding == Encoding::Dictionary);
    if counted && let Some(dictionary) = table.dictionaries.get(&column) {
        return ((dictionary.distinct() as u64).min(present), true);
    }
    let mut sketch = Sketch::new();
    for meta in metas() {
        sketch.merge(&meta.statistics.sketch);
    }
    // Delta blocks have no sketches, but few records: their values are looked at. Those of a block that can't be read
    // count as if all were new; the scan will say what is wrong with it.
    let unread: u64 = table
        .delta
        .iter()
        .filter_map(|block| add_values(&mut sketch, block, definition).err().map(|_| block.rows()))
        .sum::<usize>() as u64;
    ((sketch.estimate() + unread + u64::from(constant)).clamp(1, present), false)
}

/// Adds the values that a delta block has in a column.
fn add_values(sketch: &mut Sketch, block: &Segment, definition: &ColumnDefinition) -> Result<()> {
    if block.column(definition.id).is_none() {
        return Ok(());
    }
    for zone in 0..block.zones() {
        let view = block.view(definition, zone)?;
        let values = decode(&view, 0..view.rows, gingham_kernels::Isa::best())?;
        let plain = match values.data_type() {
            DataType::Date32 | DataType::Time32(_) => cast(&values, &DataType::Int32)?,
            DataType::Time64(_) | DataType::Timestamp(..) => cast(&values, &DataType::Int64)?,
            _ => values,
        };
        let plain_type = match plain.data_type() {
            DataType::Int32 => LogicalType::Int(32),
            DataType::Int64 => LogicalType::Int(64),
            _ => definition.logical_type.clone(),
        };
        for row in 0..plain.len() {
            match datum(&plain_type, &plain, row) {
                Some(Datum::Integer(value)) => sketch.insert(hash_integer(value)),
                Some(Datum::Float(value)) => sketch.insert(hash_float(value.get())),
                Some(Datum::Bytes(value)) => sketch.insert(hash_bytes(&value)),
                Some(Datum::Null) | None => {}
            }
        }
    }
    Ok(())
}
