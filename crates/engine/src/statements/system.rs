//! System tables, visible in every schema: what each table, column and segment takes, and how it is stored.

use crate::Result;
use crate::table::scalar;
use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringViewArray};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::{MemTable, TableProvider};
use gingham_storage::catalog::{Snapshot, TableSnapshot};
use gingham_storage::segment::{ColumnMeta, Encoding, Segment};
use gingham_storage::{ColumnDefinition, Datum, LogicalType};
use std::sync::Arc;

/// Names of the system tables.
pub(crate) const NAMES: &[&str] = &["gingham_tables", "gingham_columns", "gingham_segments"];

/// The system table of that name over `snapshot` and the session's TEMP tables; `None` when there is none.
pub(crate) fn table(
    name: &str,
    snapshot: &Snapshot,
    temporary: Option<&Snapshot>,
) -> Result<Option<Arc<dyn TableProvider>>> {
    let both = [(snapshot, false)].into_iter().chain(temporary.map(|snapshot| (snapshot, true)));
    let all: Vec<Described<'_>> = both
        .flat_map(|(snapshot, temporary)| snapshot.tables.values().map(move |table| Described { table, temporary }))
        .collect();
    let batch = match name {
        "gingham_tables" => tables(&all)?,
        "gingham_columns" => columns(&all)?,
        "gingham_segments" => segments(&all)?,
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
}

struct Described<'a> {
    table: &'a TableSnapshot,
    temporary: bool,
}

impl Described<'_> {
    /// Segments, then delta blocks.
    fn parts(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.table.segments.iter().chain(&self.table.delta)
    }
}

/// Columns of a system table as they are filled.
struct Columns(Vec<(&'static str, ArrayRef, bool)>);

impl Columns {
    fn text<'a>(&mut self, name: &'static str, values: impl Iterator<Item = Option<std::borrow::Cow<'a, str>>>) {
        self.0.push((name, Arc::new(values.collect::<StringViewArray>()), true));
    }

    fn number(&mut self, name: &'static str, values: impl Iterator<Item = Option<u64>>) {
        let values = values.map(|value| value.and_then(|value| i64::try_from(value).ok()));
        self.0.push((name, Arc::new(values.collect::<Int64Array>()), true));
    }

    fn flag(&mut self, name: &'static str, values: impl Iterator<Item = Option<bool>>) {
        self.0.push((name, Arc::new(values.collect::<BooleanArray>()), true));
    }

    fn batch(self) -> Result<RecordBatch> {
        Ok(RecordBatch::try_from_iter_with_nullable(self.0)?)
    }
}

fn tables(all: &[Described<'_>]) -> Result<RecordBatch> {
    let definition = |table: &Described<'_>| Arc::clone(&table.table.definition);
    let rows = |parts: &[Arc<Segment>]| Some(parts.iter().map(|part| part.rows() as u64).sum());
    let mut columns = Columns(Vec::new());
    columns.text("table_schema", all.iter().map(|table| Some(definition(table).name.schema.clone().into())));
    columns.text("table_name", all.iter().map(|table| Some(definition(table).name.table.clone().into())));
    columns.flag("temporary", all.iter().map(|table| Some(table.temporary)));
    columns.text("layout", all.iter().map(|table| Some(definition(table).design.text(&definition(table)).into())));
    columns.text(
        "sort_by",
        all.iter().map(|table| {
            let definition = definition(table);
            let names = definition.sort_by.iter().filter_map(|id| definition.column_by_id(*id));
            let names: Vec<&str> = names.map(|column| column.name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(",").into())
        }),
    );
    columns.number("columns", all.iter().map(|table| Some(definition(table).columns.len() as u64)));
    columns.number("rows", all.iter().map(|table| Some(table.table.rows())));
    columns.number("segments", all.iter().map(|table| Some(table.table.segments.len() as u64)));
    columns.number("delta_blocks", all.iter().map(|table| Some(table.table.delta.len() as u64)));
    columns.number("delta_rows", all.iter().map(|table| rows(&table.table.delta)));
    columns.number("bytes", all.iter().map(|table| Some(table.parts().map(|part| part.bytes()).sum())));
    columns.batch()
}

/// One column over all segments of its table.
struct ColumnRow<'a> {
    table: &'a Described<'a>,
    column: &'a ColumnDefinition,
    position: usize,
    metas: Vec<&'a ColumnMeta>,
}

impl ColumnRow<'_> {
    /// Distinct descriptions over the segments, in order of appearance.
    fn each(&self, describe: impl Fn(&ColumnMeta) -> String) -> Option<String> {
        let mut found: Vec<String> = Vec::new();
        for meta in &self.metas {
            let description = describe(meta);
            if !found.contains(&description) {
                found.push(description);
            }
        }
        (!found.is_empty()).then(|| found.join(","))
    }

    fn sum(&self, bytes: impl Fn(&ColumnMeta) -> u64) -> Option<u64> {
        Some(self.metas.iter().map(|meta| bytes(meta)).sum())
    }
}

fn columns(all: &[Described<'_>]) -> Result<RecordBatch> {
    let rows: Vec<ColumnRow<'_>> = all
        .iter()
        .flat_map(|table| {
            table.table.definition.columns.iter().enumerate().map(move |(position, column)| {
                // A delta block says little of how a column is stored, unless there is nothing else.
                let kept = if table.table.segments.is_empty() { &table.table.delta } else { &table.table.segments };
                let metas = kept.iter().filter_map(|part| part.column(column.id)).collect();
                ColumnRow { table, column, position, metas }
            })
        })
        .collect();
    let summaries: Vec<_> = rows.iter().map(|row| row.table.table.summary(row.column.id)).collect();
    let name = |row: &ColumnRow<'_>| row.table.table.definition.name.clone();
    let bound = |pick: fn(&gingham_storage::catalog::ColumnSummary) -> &Datum| {
        rows.iter().zip(&summaries).map(move |(row, summary)| {
            let shown = show(pick(summary.as_ref()?), &row.column.logical_type)?;
            Some(shown.into())
        })
    };
    let mut columns = Columns(Vec::new());
    columns.text("table_schema", rows.iter().map(|row| Some(name(row).schema.into())));
    columns.text("table_name", rows.iter().map(|row| Some(name(row).table.into())));
    columns.text("column_name", rows.iter().map(|row| Some(row.column.name.as_str().into())));
    columns.number("position", rows.iter().map(|row| Some(row.position as u64 + 1)));
    columns.text("data_type", rows.iter().map(|row| Some(row.column.logical_type.to_string().into())));
    columns.flag("nullable", rows.iter().map(|row| Some(row.column.nullable)));
    columns.text("column_default", rows.iter().map(|row| row.column.default.as_deref().map(Into::into)));
    columns.text("encoding", rows.iter().map(|row| row.each(|meta| encoding(&meta.encoding).into()).map(Into::into)));
    columns.text("packing", rows.iter().map(|row| row.each(packing).map(Into::into)));
    columns.number("code_bits", rows.iter().map(|row| row.metas.iter().map(|meta| u64::from(meta.code_bits)).max()));
    columns.number("stored_bytes", rows.iter().map(|row| row.sum(|meta| meta.stored_bytes)));
    columns.number("native_bytes", rows.iter().map(|row| row.sum(|meta| meta.native_bytes)));
    columns.text("min", bound(|summary| &summary.min));
    columns.text("max", bound(|summary| &summary.max));
    columns.flag("min_max_exact", summaries.iter().map(|summary| summary.as_ref().map(|summary| summary.exact)));
    columns.number("nulls", summaries.iter().map(|summary| summary.as_ref().map(|summary| summary.nulls)));
    columns.number("distinct_values", summaries.iter().map(|summary| summary.as_ref().map(|summary| summary.distinct)));
    columns
        .flag("distinct_exact", summaries.iter().map(|summary| summary.as_ref().map(|summary| summary.distinct_exact)));
    columns.number(
        "dictionary_entries",
        rows.iter()
            .map(|row| row.table.table.dictionaries.get(&row.column.id).map(|dictionary| dictionary.distinct() as u64)),
    );
    columns.batch()
}

fn segments(all: &[Described<'_>]) -> Result<RecordBatch> {
    let rows: Vec<(&Described<'_>, &Arc<Segment>)> =
        all.iter().flat_map(|table| table.parts().map(move |part| (table, part))).collect();
    let name = |row: &(&Described<'_>, &Arc<Segment>)| row.0.table.definition.name.clone();
    let mut columns = Columns(Vec::new());
    columns.text("table_schema", rows.iter().map(|row| Some(name(row).schema.into())));
    columns.text("table_name", rows.iter().map(|row| Some(name(row).table.into())));
    columns.number("segment", rows.iter().map(|(_, part)| Some(part.id())));
    columns.flag("delta", rows.iter().map(|(_, part)| Some(part.is_delta())));
    columns.number("rows", rows.iter().map(|(_, part)| Some(part.rows() as u64)));
    columns.number("zones", rows.iter().map(|(_, part)| Some(part.zones() as u64)));
    columns.number("bytes", rows.iter().map(|(_, part)| Some(part.bytes())));
    columns.batch()
}

fn encoding(encoding: &Encoding) -> &'static str {
    match encoding {
        Encoding::FrameOfReference { .. } => "frame_of_reference",
        Encoding::ScaledFloat { .. } => "scaled_float",
        Encoding::FloatOrder { .. } => "float_order",
        Encoding::Dictionary => "dictionary",
        Encoding::Plain => "plain",
    }
}

/// How codes lie in memory; values of the plain encoding are no codes.
fn packing(meta: &ColumnMeta) -> String {
    match (&meta.encoding, meta.code_bits) {
        (Encoding::Plain, _) => "none".into(),
        (_, bits @ 0..=64) => format!("native{}", u32::from(bits.max(1)).next_power_of_two().max(8)),
        _ => "native128".into(),
    }
}

/// A value as text; `None` for NULL.
fn show(value: &Datum, logical_type: &LogicalType) -> Option<String> {
    if let (Datum::Bytes(bytes), LogicalType::Char(_) | LogicalType::Varchar(_)) = (value, logical_type) {
        // A bound may be cut within a character.
        return Some(String::from_utf8_lossy(bytes).into_owned());
    }
    if value.is_null() {
        return None;
    }
    let array = scalar(value, logical_type)?.to_array().ok()?;
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).ok()?;
    Some(formatter.value(0).to_string())
}
