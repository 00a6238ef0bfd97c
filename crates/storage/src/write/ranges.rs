//! Columns whose values must lie within 64 bits of each other, because a packing or frame of reference was asked of them
//! by name: DECIMAL of more than 18 digits. What brings in a value too many fails at once and whole, so that no later
//! merge can.

use crate::encoding::bounds::{may_be_wide, too_wide};
use crate::encoding::integers;
use crate::model::design::{ColumnChoice, EncodingChoice};
use crate::segment::reader::Segment;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::table_writer::WrittenRows;
use crate::write::transaction::Transaction;
use crate::{ColumnDefinition, Datum, Design, Error, Result, TableDefinition, TableId};

/// Smallest and largest value.
type Range = Option<(i128, i128)>;

impl Transaction<'_> {
    /// Refuses new records whose values, with those that are there without the records of the numbers `gone`, which ascend, no
    /// segment could hold as the table's design says. A segment or delta block with a record left counts with all that it had.
    pub(crate) fn check_ranges(
        &self,
        table: TableId,
        definition: &TableDefinition,
        rows: &WrittenRows,
        gone: &[u64],
    ) -> Result<()> {
        if bounded(&definition.design, definition).next().is_none() {
            return Ok(());
        }
        let now = self.current(table)?;
        let left = left_without(&now, gone);
        let deleted = now.has_deleted() || !gone.is_empty();
        for (place, column, choice) in bounded(&definition.design, definition) {
            let mut range = range_of(left.iter().copied(), column);
            for segment in &rows.segments {
                let own = segment.ranges.iter().find(|(id, ..)| *id == column.id);
                range = joined(range, own.map(|(_, low, high)| (*low, *high)));
            }
            let delta: Vec<_> = rows.delta.iter().map(|batch| batch.column(place).clone()).collect();
            require(column, choice, joined(range, integers::range(&delta)?)).map_err(|error| match error {
                Error::Unsupported(why) if deleted => Error::Unsupported(format!(
                    "{why}; values of deleted records count until OPTIMIZE {}",
                    definition.name
                )),
                other => other,
            })?;
        }
        Ok(())
    }
}

/// Refuses a design that a table's values do not allow.
pub(crate) fn check_design(table: &TableSnapshot, design: &Design) -> Result<()> {
    bounded(design, &table.definition)
        .try_for_each(|(_, column, choice)| require(column, choice, range_of(sources(table), column)))
}

/// The columns that must stay within 64 bits, with their places in the definition.
fn bounded<'a>(
    design: &'a Design,
    definition: &'a TableDefinition,
) -> impl Iterator<Item = (usize, &'a ColumnDefinition, ColumnChoice)> {
    let places = definition.columns.iter().enumerate().filter(|(_, column)| is_bounded(design, column));
    places.map(|(place, column)| (place, column, design.choice(column.id)))
}

/// Whether a column must stay within 64 bits.
pub(crate) fn is_bounded(design: &Design, column: &ColumnDefinition) -> bool {
    let choice = design.choice(column.id);
    may_be_wide(&column.logical_type) && (choice.by_name || choice.encoding == EncodingChoice::FrameOfReference)
}

fn sources(table: &TableSnapshot) -> impl Iterator<Item = &Segment> {
    table.segments.iter().chain(&table.delta).map(AsRef::as_ref)
}

/// The segments and delta blocks that a deletion of the records of these numbers leaves.
fn left_without<'a>(table: &'a TableSnapshot, gone: &[u64]) -> Vec<&'a Segment> {
    let (mut rest, mut end) = (gone, 0);
    let is_left = |segment: &&Segment| {
        end += segment.rows() as u64;
        let (own, others) = rest.split_at(rest.partition_point(|number| *number < end));
        rest = others;
        (own.len() as u64) < table.live_rows(segment)
    };
    sources(table).filter(is_left).collect()
}

fn range_of<'a>(sources: impl Iterator<Item = &'a Segment>, column: &ColumnDefinition) -> Range {
    let of = |min: &Datum, max: &Datum| match (min, max) {
        (Datum::Integer(min), Datum::Integer(max)) => Some((*min, *max)),
        _ => None,
    };
    sources.fold(None, |range, segment| {
        let own = match segment.column(column.id) {
            Some(meta) => of(&meta.statistics.min, &meta.statistics.max),
            None => of(&column.initial, &column.initial),
        };
        joined(range, own)
    })
}

fn joined(left: Range, right: Range) -> Range {
    match (left, right) {
        (Some((low, high)), Some((other_low, other_high))) => Some((low.min(other_low), high.max(other_high))),
        (range, None) | (None, range) => range,
    }
}

fn require(column: &ColumnDefinition, choice: ColumnChoice, range: Range) -> Result<()> {
    match range {
        Some((low, high)) if high.checked_sub(low).is_none_or(|span| u64::try_from(span).is_err()) => {
            Err(too_wide(column, choice, low, high))
        }
        _ => Ok(()),
    }
}
