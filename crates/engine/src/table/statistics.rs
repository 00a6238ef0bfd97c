//! What the optimiser is told of a table: exact counts from the catalog, and how many records a predicate may leave.

use crate::table::value::scalar;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use gingham_storage::model::ColumnSummary;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{ColumnDefinition, ColumnId, Datum, Predicate, ValueClass};
use std::ops::Bound;

/// Part of the records for which a condition that is no range is taken to hold.
const TEST_SELECTIVITY: f64 = 0.1;

/// Statistics of the columns `projection` of all records of a table.
pub(super) fn statistics(table: &TableSnapshot, projection: &[ColumnId]) -> Statistics {
    let rows = table.rows() as usize;
    let columns: Vec<_> = projection.iter().map(|column| column_statistics(table, *column, rows)).collect();
    let bytes = columns.iter().map(|column| column.byte_size).reduce(|a, b| a.add(&b)).unwrap_or(Precision::Absent);
    Statistics { num_rows: Precision::Exact(rows), total_byte_size: bytes, column_statistics: columns }
}

fn column_statistics(table: &TableSnapshot, column: ColumnId, rows: usize) -> ColumnStatistics {
    let (Some(definition), Some(summary)) = (table.definition.column_by_id(column), table.summary(column)) else {
        return ColumnStatistics::new_unknown();
    };
    // DataFusion answers MIN and MAX from exact values; those of floats may be NaN or -0.0, which it judges otherwise.
    let exact = summary.exact && definition.logical_type.class() != ValueClass::Float;
    let bound = |value: &Datum| match scalar(value, &definition.logical_type) {
        Some(value) if exact => Precision::Exact(value),
        Some(value) if !value.is_null() => Precision::Inexact(value),
        _ => Precision::Absent,
    };
    let distinct = summary.distinct as usize;
    ColumnStatistics {
        null_count: match summary.nulls as usize {
            nulls if summary.nulls_exact => Precision::Exact(nulls),
            nulls => Precision::Inexact(nulls),
        },
        max_value: bound(&summary.max),
        min_value: bound(&summary.min),
        sum_value: Precision::Absent,
        distinct_count: if summary.distinct_exact { Precision::Exact(distinct) } else { Precision::Inexact(distinct) },
        byte_size: definition
            .logical_type
            .to_arrow()
            .primitive_width()
            .map_or(Precision::Absent, |width| Precision::Inexact(width * rows)),
    }
}

/// Part of the records of `table` for which `predicate` is expected to hold, from 0 to 1.
pub(super) fn selectivity(table: &TableSnapshot, predicate: &Predicate) -> f64 {
    let rows = table.rows().max(1) as f64;
    let of_column = |column: ColumnId| {
        let definition = table.definition.column_by_id(column)?;
        Some((definition, table.summary(column)?))
    };
    let part = match predicate {
        Predicate::Constant(value) => f64::from(u8::from(*value)),
        Predicate::And(parts) => parts.iter().map(|part| selectivity(table, part)).product(),
        Predicate::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - selectivity(table, part)).product::<f64>(),
        Predicate::Test { .. } => TEST_SELECTIVITY,
        Predicate::IsNull { column, negated } => match of_column(*column) {
            Some((_, summary)) => {
                let nulls = summary.nulls as f64 / rows;
                if *negated { 1.0 - nulls } else { nulls }
            }
            None => 0.5,
        },
        Predicate::In { column, values, negated } => match of_column(*column) {
            Some((_, summary)) => {
                let present = 1.0 - summary.nulls as f64 / rows;
                let found = (values.len() as f64 / summary.distinct.max(1) as f64).min(1.0) * present;
                if *negated { present - found } else { found }
            }
            None => TEST_SELECTIVITY,
        },
        Predicate::Among { column, set } => match of_column(*column) {
            Some((_, summary)) => (set.len() as f64 / summary.distinct.max(1) as f64).min(1.0),
            None => TEST_SELECTIVITY,
        },
        Predicate::Range { column, low, high } => match of_column(*column) {
            Some((definition, summary)) => range_selectivity(definition, &summary, low, high),
            None => TEST_SELECTIVITY,
        },
    };
    part.clamp(0.0, 1.0)
}

/// Values taken as evenly spread between minimum and maximum.
fn range_selectivity(
    definition: &ColumnDefinition,
    summary: &ColumnSummary,
    low: &Bound<Datum>,
    high: &Bound<Datum>,
) -> f64 {
    let number = |value: &Datum| match value {
        Datum::Integer(value) => Some(*value as f64),
        Datum::Float(value) => Some(value.get()).filter(|value| value.is_finite()),
        _ => None,
    };
    let (Some(min), Some(max)) = (number(&summary.min), number(&summary.max)) else {
        // One third for each side that is bounded: nothing is known of strings.
        let bounded = usize::from(*low != Bound::Unbounded) + usize::from(*high != Bound::Unbounded);
        return (1.0f64 / 3.0).powi(bounded as i32);
    };
    // An integer stands for the interval up to the next one.
    let step = if definition.logical_type.class() == ValueClass::Integer { 1.0 } else { 0.0 };
    let from = match low {
        Bound::Included(value) => number(value),
        Bound::Excluded(value) => number(value).map(|value| value + step),
        Bound::Unbounded => None,
    };
    let to = match high {
        Bound::Included(value) => number(value).map(|value| value + step),
        Bound::Excluded(value) => number(value),
        Bound::Unbounded => None,
    };
    let width = (max - min + step).max(f64::MIN_POSITIVE);
    let from = from.unwrap_or(min).max(min);
    let to = to.unwrap_or(max + step).min(max + step);
    let part = ((to - from) / width).clamp(0.0, 1.0);
    // A range that holds some value is not taken to be empty.
    part.max(if to >= from { 1.0 / summary.distinct.max(1) as f64 } else { 0.0 })
}
