//! Facts of a table's columns, as far as designs differ by them: widths of codes, bytes of values, how clustered zones are.

use crate::{Error, Result};
use gingham_kernels::bitpack::bits_for;
use gingham_storage::pages::{Attribute, AttributeForm};
use gingham_storage::segment::Segment;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{ColumnDefinition, ColumnId, Datum, SqlState, ValueClass};
use std::sync::Arc;

/// A table's columns.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!((facts.columns.len(), facts.rows()), (2, 1000.0));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TableFacts {
    /// The table as it is.
    pub table: Arc<TableSnapshot>,
    /// One for each column, in order.
    pub columns: Vec<ColumnFacts>,
}

/// One column.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!((facts.columns[1].code_bits, facts.columns[1].distinct), (Some(4), 10.0));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnFacts {
    /// The column.
    pub column: ColumnId,
    /// Bits that its codes need; `None` where its values have none.
    pub code_bits: Option<u8>,
    /// Bytes of a value as it is, on average: of numbers the width of their type, of strings their bytes and where they lie.
    pub plain_bytes: f64,
    /// Distinct values, about.
    pub distinct: f64,
    /// How much of the column's range a zone spans, on average: 0 where records lie in its order, 1 where they lie in none.
    pub spread: f64,
}

/// Bytes that a string takes besides its own: offset and length.
const STRING_SLOT: f64 = 8.0;
/// Bytes of a string where nothing tells.
const USUAL_STRING: f64 = 16.0;

impl TableFacts {
    /// Gathers what the table's directories and summaries know; no records are read.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// assert_eq!(facts.table.definition.name.table, "t");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn of(table: &Arc<TableSnapshot>) -> Self {
        let columns = table.definition.columns.iter().map(|column| ColumnFacts::of(table, column)).collect();
        Self { table: Arc::clone(table), columns }
    }

    /// The facts of a column.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// assert!(facts.column(definition.columns[0].id).is_ok() && facts.column(99).is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the table has no such column: it was altered meanwhile.
    pub fn column(&self, column: ColumnId) -> Result<&ColumnFacts> {
        self.columns.iter().find(|facts| facts.column == column).ok_or_else(|| {
            Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                format!("table '{}' was altered meanwhile", self.table.definition.name),
            )
        })
    }

    /// Records.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// assert_eq!(facts.rows(), 1000.0);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn rows(&self) -> f64 {
        self.table.rows() as f64
    }
}

impl ColumnFacts {
    fn of(table: &TableSnapshot, column: &ColumnDefinition) -> Self {
        let distinct = table.summary(column.id).map_or(1.0, |summary| summary.distinct.max(1) as f64);
        let parts: Vec<&Arc<Segment>> = table.segments.iter().chain(&table.delta).collect();
        let plain_bytes = match Attribute::new(column).kind {
            AttributeForm::Fixed(bytes) => bytes as f64,
            AttributeForm::Variable => STRING_SLOT + string_bytes(&parts, column),
        };
        let is_number = column.logical_type.class() != ValueClass::Bytes;
        // A dictionary of more entries is hardly ever chosen.
        let coded = plain_bytes <= 8.0 && is_number || distinct < table.rows() as f64 / 4.0;
        let needed = bits_of_range(table, column).unwrap_or_else(|| bits_for(distinct as u64) as u8).max(1);
        let stored = parts.iter().filter_map(|part| part.column(column.id)).map(|meta| meta.code_bits).max();
        let stored = stored.filter(|bits| (1..=64).contains(bits) && !table.segments.is_empty());
        Self {
            column: column.id,
            code_bits: coded.then(|| stored.unwrap_or(needed)),
            plain_bytes,
            distinct,
            spread: spread(table, column),
        }
    }

    /// Bytes of a value in native packing.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// assert_eq!(facts.columns[1].native_bytes(), 1.0);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn native_bytes(&self) -> f64 {
        self.code_bits.map_or(self.plain_bytes, |bits| f64::from(u32::from(bits).next_power_of_two().max(8) / 8))
    }
}

/// Bytes of a string on average.
fn string_bytes(parts: &[&Arc<Segment>], column: &ColumnDefinition) -> f64 {
    let (mut bytes, mut rows) = (0, 0);
    for part in parts {
        if let Some(meta) = part.column(column.id) {
            (bytes, rows) = (bytes + meta.stored_bytes, rows + part.rows());
        }
    }
    if rows == 0 { USUAL_STRING } else { (bytes as f64 / rows as f64).max(1.0) }
}

/// Bits of the distance between the least and the largest integer.
fn bits_of_range(table: &TableSnapshot, column: &ColumnDefinition) -> Option<u8> {
    let summary = table.summary(column.id)?;
    let (Datum::Integer(low), Datum::Integer(high)) = (&summary.min, &summary.max) else { return None };
    Some(bits_for(u64::try_from(high - low).ok()?) as u8)
}

/// The part of the column's range that a zone spans, weighed by records.
fn spread(table: &TableSnapshot, column: &ColumnDefinition) -> f64 {
    let range = table.summary(column.id).and_then(|summary| integer_range(&summary.min, &summary.max));
    let (mut sum, mut rows) = (0.0, 0.0);
    for segment in &table.segments {
        let Some(meta) = segment.column(column.id) else { continue };
        let own = integer_range(&meta.statistics.min, &meta.statistics.max);
        let part = own.zip(range).map_or(1.0, |(own, all)| if all > 0.0 { own / all } else { 0.0 });
        let zones =
            || (0..segment.zones()).map(|zone| (zone, segment.zone_map(column.id, zone).filter(|map| map.coded)));
        // Codes need not fill their bits.
        let (least, most) = zones().fold((u64::MAX, 0), |(least, most), (_, map)| match map {
            Some(map) => (least.min(map.min), most.max(map.max)),
            None => (least, most),
        });
        let codes = most.saturating_sub(least) as f64;
        for (zone, map) in zones() {
            let spans = match map {
                Some(_) if codes == 0.0 => 0.0,
                Some(map) => map.max.saturating_sub(map.min) as f64 / codes,
                None => 1.0,
            };
            let of_zone = segment.zone_rows(zone).len() as f64;
            (sum, rows) = (sum + spans.min(1.0) * part * of_zone, rows + of_zone);
        }
    }
    if rows > 0.0 { sum / rows } else { 1.0 }
}

fn integer_range(low: &Datum, high: &Datum) -> Option<f64> {
    match (low, high) {
        (Datum::Integer(low), Datum::Integer(high)) => Some((high - low) as f64),
        _ => None,
    }
}
