//! Bytes of each column: in the database's segment files, and as Arrow arrays in memory.

use super::Tables;
use crate::failure::Failure;
use arrow::array::AsArray;
use arrow::datatypes::DataType;
use gingham::Connection;
use gingham::storage::encoding::Encoding;
use gingham::storage::snapshot::TableSnapshot;
use gingham_lab::words::bytes;
use std::collections::BTreeSet;

/// One column's sizes.
pub struct ColumnSize {
    /// Its table.
    pub table: &'static str,
    /// Its name.
    pub column: String,
    /// Its type, as SQL writes it.
    pub sql_type: String,
    /// Encodings of its segments, and the most bits that a code needs.
    pub encoding: String,
    /// Bytes in the segment files, and of dictionary entries in the catalog.
    pub stored: u64,
    /// Bytes of the decoded blocks that queries run on.
    pub native: u64,
    /// Bytes as Arrow arrays.
    pub arrow: u64,
}

/// Sizes of all columns of `tables`, in the tables' order.
pub fn columns(connection: &Connection, tables: &Tables) -> Result<Vec<ColumnSize>, Failure> {
    let mut sizes = Vec::new();
    for (table, batches) in tables {
        let snapshot = connection.table(table.name())?;
        for (place, definition) in snapshot.definition.columns.iter().enumerate() {
            let (encoding, stored, native) = describe(&snapshot, definition.id);
            sizes.push(ColumnSize {
                table: table.name(),
                column: definition.name.clone(),
                sql_type: definition.logical_type.to_string(),
                encoding,
                stored,
                native,
                arrow: batches.iter().map(|batch| batch.column(place).get_array_memory_size() as u64).sum(),
            });
        }
    }
    Ok(sizes)
}

/// Encoding, stored and native bytes of a column over its segments and delta.
fn describe(snapshot: &TableSnapshot, column: gingham::storage::ColumnId) -> (String, u64, u64) {
    let (mut names, mut bits, mut stored, mut native) = (BTreeSet::new(), 0, 0, 0);
    for segment in snapshot.segments.iter().chain(&snapshot.delta) {
        let Some(meta) = segment.column(column) else {
            continue;
        };
        names.insert(match meta.encoding {
            Encoding::FrameOfReference { .. } => "frame of reference",
            Encoding::ScaledFloat { .. } => "scaled float",
            Encoding::FloatOrder { .. } => "float",
            Encoding::Dictionary => "dictionary",
            Encoding::Plain => "plain",
        });
        bits = bits.max(meta.code_bits);
        stored += meta.stored_bytes;
        native += meta.native_bytes;
    }
    stored += snapshot.dictionaries.get(&column).map_or(0, |dictionary| {
        dictionary.versions.values().map(|version| entry_bytes(version.entries.as_ref())).sum()
    });
    let names = names.into_iter().collect::<Vec<_>>().join(" and ");
    let encoding = if names == "plain" { names } else { format!("{names}, {bits} bits") };
    (encoding, stored, native)
}

/// Bytes of a dictionary's entries.
fn entry_bytes(entries: &dyn arrow::array::Array) -> u64 {
    let length = |entry: Option<usize>| entry.unwrap_or(0) as u64;
    match entries.data_type() {
        DataType::Utf8View => entries.as_string_view().iter().map(|entry| length(entry.map(str::len))).sum(),
        DataType::BinaryView => entries.as_binary_view().iter().map(|entry| length(entry.map(<[u8]>::len))).sum(),
        _ => 0,
    }
}

/// Prints the bytes of each table and its largest columns.
pub fn print_summary(sizes: &[ColumnSize]) {
    say!("\n{:<10} {:>10} {:>10}  largest columns", "table", "stored", "in Arrow");
    for of_table in sizes.chunk_by(|a, b| a.table == b.table) {
        let mut largest: Vec<_> = of_table.iter().collect();
        largest.sort_by_key(|size| std::cmp::Reverse(size.stored));
        let names: Vec<_> =
            largest.iter().take(3).map(|size| format!("{} {}", size.column, bytes(size.stored))).collect();
        say!(
            "{:<10} {:>10} {:>10}  {}",
            of_table[0].table,
            bytes(of_table.iter().map(|size| size.stored).sum()),
            bytes(of_table.iter().map(|size| size.arrow).sum()),
            names.join(", ")
        );
    }
}
