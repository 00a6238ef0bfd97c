//! The picture of `gingham DB layout T`: what a table is made of, down to the bits of one of its records.

mod bits;
mod pages;
mod places;
mod value;

use crate::failure::Failure;
use crate::output::grid;
use gingham::storage::encoding::Encoding;
use gingham::storage::segment::{ColumnMeta, Segment};
use gingham::storage::snapshot::TableSnapshot;
use gingham::storage::{ColumnDefinition, ColumnId};
use gingham_lab::words::counted;
use indicatif::{HumanBytes, HumanCount};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Segments that are listed one by one.
const LISTED: usize = 8;
/// Characters of a smallest or largest value that are shown.
const VALUE_WIDTH: usize = 22;

/// Record that is drawn unless another is asked for, when there is one.
const RECORD: u64 = 7;

/// The whole picture with the bits of record `number`, ending with a line break.
pub fn picture(table: &TableSnapshot, number: Option<u64>) -> Result<String, Failure> {
    let mut lines = summary(table);
    lines.push(String::new());
    lines.extend(columns(table)?);
    lines.push(String::new());
    let number = number.unwrap_or_else(|| RECORD.min(table.rows().saturating_sub(1)));
    if table.heap.is_some() {
        lines.extend(pages::of_record(table, number)?);
        lines.push(String::new());
        return Ok(lines.join("\n"));
    }
    lines.extend(segments(table));
    match bits::find(runs(table), number) {
        Some(found) => {
            lines.push(String::new());
            lines.extend(bits::record(table, number, found)?);
        }
        None if table.rows() == 0 => {}
        None => return Err(no_record(table, number)),
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

fn no_record(table: &TableSnapshot, number: u64) -> Failure {
    Failure::failed(format!(
        "table '{}' has no record {number}: its {} are numbered from 0",
        table.definition.name,
        counted(table.numbers(), "record")
    ))
}

/// Segments, then delta blocks, in record order.
fn runs(table: &TableSnapshot) -> impl Iterator<Item = &Arc<Segment>> {
    table.segments.iter().chain(&table.delta)
}

fn summary(table: &TableSnapshot) -> Vec<String> {
    let native: u64 = runs(table).flat_map(|segment| segment.columns()).map(|column| column.native_bytes).sum();
    let bytes: u64 = runs(table).map(|segment| segment.bytes()).sum();
    let delta = match table.delta.len() as u64 {
        0 => String::new(),
        blocks => format!(
            " and {} in {}",
            counted(table.delta.iter().map(|block| block.rows() as u64).sum(), "record"),
            counted(blocks, "delta block")
        ),
    };
    let segment_rows = table.segments.iter().map(|segment| segment.rows() as u64).sum::<u64>();
    let deleted = match runs(table).map(|segment| table.deleted_rows(segment)).sum::<u64>() {
        0 => String::new(),
        deleted => format!(", {} deleted", HumanCount(deleted)),
    };
    let parts = match &table.heap {
        Some(heap) => format!("{} of {} bytes", counted(heap.pages, "page"), heap.options.page_bytes),
        None => format!(
            "{} in {}{delta}{deleted}; {} on disk, {} in memory once all is read",
            counted(segment_rows, "record"),
            counted(table.segments.len() as u64, "segment"),
            HumanBytes(bytes),
            HumanBytes(native)
        ),
    };
    vec![
        format!(
            "{}: {} record{}, layout {}",
            table.definition.name,
            HumanCount(table.rows()),
            if table.rows() == 1 { "" } else { "s" },
            table.definition.design.text(&table.definition)
        ),
        parts,
    ]
}

fn columns(table: &TableSnapshot) -> Result<Vec<String>, Failure> {
    let names = [
        "column",
        "type",
        "lies in",
        "encoding",
        "code bits",
        "on disk",
        "in memory",
        "min",
        "max",
        "distinct",
        "NULLs",
    ];
    let right = [false, false, false, false, true, true, true, false, false, true, true];
    let rows = table.definition.columns.iter().map(|column| column_row(table, column));
    Ok(grid(&names, &right, &rows.collect::<Result<Vec<_>, _>>()?))
}

fn column_row(table: &TableSnapshot, column: &ColumnDefinition) -> Result<Vec<String>, Failure> {
    let metas: Vec<&ColumnMeta> = runs(table).filter_map(|segment| segment.column(column.id)).collect();
    let encodings: BTreeSet<&str> = metas.iter().map(|meta| encoding_name(&meta.encoding)).collect();
    let forms: BTreeSet<String> = runs(table).filter_map(|segment| form(segment, column.id)).collect();
    let total = |bytes: fn(&ColumnMeta) -> u64| HumanBytes(metas.iter().map(|meta| bytes(meta)).sum()).to_string();
    let summary = table.summary(column.id);
    let shown = |datum| value::shortened(&column.logical_type, datum, VALUE_WIDTH);
    let (min, max, distinct, nulls) = match &summary {
        Some(summary) => {
            let about = if summary.distinct_exact { "" } else { "≈ " };
            let distinct = format!("{about}{}", HumanCount(summary.distinct));
            (shown(&summary.min)?, shown(&summary.max)?, distinct, HumanCount(summary.nulls).to_string())
        }
        None => Default::default(),
    };
    Ok(vec![
        column.name.clone(),
        format!("{}{}", column.logical_type, if column.nullable { "" } else { " NOT NULL" }),
        forms.into_iter().collect::<Vec<_>>().join(", "),
        encodings.into_iter().collect::<Vec<_>>().join(", "),
        range(metas.iter().map(|meta| u64::from(meta.code_bits))),
        total(|meta| meta.stored_bytes),
        total(|meta| meta.native_bytes),
        min,
        max,
        distinct,
        nulls,
    ])
}

/// Where a column lies in a segment, and with how many others.
fn form(segment: &Segment, column: ColumnId) -> Option<String> {
    let group = segment.group_of(column)?;
    let packing = segment.page_packing(column).map(|packing| format!(", {packing}")).unwrap_or_default();
    Some(match group.columns.len() {
        1 => format!("{group}{packing}"),
        columns => format!("{group} of {columns} columns{packing}"),
    })
}

fn encoding_name(encoding: &Encoding) -> &'static str {
    match encoding {
        Encoding::FrameOfReference { .. } => "frame of reference",
        Encoding::ScaledFloat { .. } => "scaled float",
        Encoding::FloatOrder { .. } => "float order",
        Encoding::Dictionary => "dictionary",
        Encoding::Plain => "plain",
    }
}

/// `7`, or `5-7` where segments differ.
fn range(values: impl Iterator<Item = u64> + Clone) -> String {
    match (values.clone().min(), values.max()) {
        (Some(low), Some(high)) if low == high => low.to_string(),
        (Some(low), Some(high)) => format!("{low}-{high}"),
        _ => String::new(),
    }
}

fn segments(table: &TableSnapshot) -> Vec<String> {
    let all: Vec<&Arc<Segment>> = runs(table).collect();
    let row = |segment: &&Arc<Segment>| {
        vec![
            format!("{}{}", if segment.is_delta() { "delta " } else { "" }, segment.id()),
            HumanCount(segment.rows() as u64).to_string(),
            HumanCount(table.deleted_rows(segment)).to_string(),
            segment.zones().to_string(),
            HumanBytes(segment.bytes()).to_string(),
        ]
    };
    let rows: Vec<_> = all.iter().take(LISTED).map(row).collect();
    let mut lines = grid(&["segment", "records", "deleted", "zones", "bytes"], &[true; 5], &rows);
    if let Some(more) = all.len().checked_sub(LISTED + 1) {
        let bytes: u64 = all[LISTED..].iter().map(|segment| segment.bytes()).sum();
        lines.push(format!("and {} more, {}", more + 1, HumanBytes(bytes)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_that_differ_are_a_range() {
        assert_eq!(range([7, 7].into_iter()), "7");
        assert_eq!(range([5, 9, 7].into_iter()), "5-9");
        assert_eq!(range(std::iter::empty()), "");
    }
}
