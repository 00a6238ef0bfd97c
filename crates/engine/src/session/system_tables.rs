//! System tables, visible in every schema: what each table, column, segment and index is, and how it is stored; which
//! transactions are open; what keeps queries out of compiled pipelines.

use crate::Result;
use crate::session::Session;
use crate::session::registry::HIDDEN;
use crate::session::system_columns::SystemColumns;
use crate::session::{object_tables, session_tables};
use crate::table::scalar;
use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::{MemTable, TableProvider};
use gingham_storage::encoding::Encoding;
use gingham_storage::model::{HeapLayout, PagePacking};
use gingham_storage::pages::{Attribute, AttributeForm};
use gingham_storage::segment::{ColumnMeta, GroupMeta, Segment};
use gingham_storage::snapshot::{DamagedTable, Snapshot, TableSnapshot};
use gingham_storage::store::Store;
use gingham_storage::{ColumnDefinition, ColumnId, Datum, LogicalType, Packing, TableDefinition, TableName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names of the system tables.
pub(crate) const NAMES: &[&str] = &[
    "gingham_tables",
    "gingham_columns",
    "gingham_segments",
    "gingham_indexes",
    "gingham_sequences",
    "gingham_comments",
    "gingham_sessions",
    "gingham_transactions",
    "gingham_fallbacks",
    "gingham_workload",
    "gingham_rejects",
];

/// The system table of that name over `snapshot` and the session's TEMP tables; `None` when there is none.
pub(crate) fn table(
    name: &str,
    session: &Session,
    snapshot: &Snapshot,
    temporary: Option<&Snapshot>,
) -> Result<Option<Arc<dyn TableProvider>>> {
    let both = [(snapshot, false)].into_iter().chain(temporary.map(|snapshot| (snapshot, true)));
    // Of a table that can't be read its definition is known.
    let unread: BTreeMap<&TableName, TableSnapshot> = both
        .clone()
        .flat_map(|(snapshot, _)| &snapshot.damaged)
        .map(|(name, table)| (name, TableSnapshot::empty(TableDefinition::clone(&table.definition))))
        .collect();
    let mut all = Vec::new();
    for (snapshot, temporary) in both.clone() {
        let first = all.len();
        all.extend(snapshot.tables.values().map(|table| Described { table, temporary, damaged: None }));
        let damaged = snapshot.damaged.iter().filter_map(|(name, damaged)| Some((unread.get(name)?, damaged)));
        all.extend(damaged.map(|(table, damaged)| Described { table, temporary, damaged: Some(damaged) }));
        all[first..].sort_by(|a, b| a.table.definition.name.cmp(&b.table.definition.name));
    }
    let batch = match name {
        "gingham_tables" => tables(&all, &session.engine.store)?,
        "gingham_columns" => columns(&all)?,
        "gingham_segments" => segments(&all)?,
        "gingham_sessions" => session_tables::sessions(&session.seen_sessions(), session.identity.number.id)?,
        "gingham_transactions" => transactions(session)?,
        "gingham_indexes" => indexes(&all)?,
        "gingham_sequences" => object_tables::sequences(session, &both.clone().collect::<Vec<_>>())?,
        "gingham_comments" => object_tables::comments(&both.map(|(snapshot, _)| snapshot).collect::<Vec<_>>())?,
        "gingham_fallbacks" => fallbacks(session)?,
        "gingham_workload" => workload(session)?,
        "gingham_rejects" => rejects(session)?,
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
}

/// Records of files that were passed over.
fn rejects(session: &Session) -> Result<RecordBatch> {
    let kept = session.rejects.list();
    let mut columns = SystemColumns::default();
    columns.text("file_name", kept.iter().map(|one| Some(one.file.as_str().into())));
    columns.number("line", kept.iter().map(|one| Some(one.line)));
    columns.text("column_name", kept.iter().map(|one| one.column.as_deref().map(Into::into)));
    columns.text("error", kept.iter().map(|one| Some(one.error.as_str().into())));
    columns.batch()
}

struct Described<'a> {
    /// One without records in the place of a table that can't be read.
    table: &'a TableSnapshot,
    temporary: bool,
    damaged: Option<&'a DamagedTable>,
}

impl Described<'_> {
    /// A figure, unless the table can't be read.
    fn known(&self, figure: impl FnOnce() -> u64) -> Option<u64> {
        self.damaged.is_none().then(figure)
    }

    /// Segments, then delta blocks.
    fn parts(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.table.segments.iter().chain(&self.table.delta)
    }

    /// Bytes on disk; of heap pages those that were made, with what LMDB puts before each.
    fn bytes(&self) -> u64 {
        let pages = self
            .table
            .heap
            .as_ref()
            .map_or(0, |heap| heap.pages * heap.options.page_bytes.next_multiple_of(4096) as u64);
        pages + self.parts().map(|part| part.bytes()).sum::<u64>()
    }

    /// Bytes that hold nothing any more: the share of deleted records in segments and delta blocks, what is free in heap pages.
    /// `None` where that is not known: in dsm, or where it can't be read.
    fn dead_bytes(&self) -> Option<u64> {
        if let Some(pages) = &self.table.pages {
            return pages.free_bytes().ok().flatten();
        }
        let dead = self.parts().map(|part| {
            let (bytes, deleted) = (u128::from(part.bytes()), u128::from(self.table.deleted_rows(part)));
            (bytes * deleted / (part.rows() as u128).max(1)) as u64
        });
        (self.table.heap.is_none() && self.damaged.is_none()).then(|| dead.sum())
    }

    /// Age of the oldest reader that sees the table's pages as they were before its last change.
    fn oldest_reader_ms(&self, store: &Store) -> Option<u64> {
        let in_pages = self.table.heap.is_some() && !self.temporary;
        let age = in_pages.then(|| store.oldest_reader(self.table.version)).flatten()?;
        u64::try_from(age.as_millis()).ok()
    }
}

/// The operators that plans left to DataFusion since the database was opened, with how often, the most frequent first.
fn fallbacks(session: &Session) -> Result<RecordBatch> {
    let mut all = session.engine.fallbacks.all();
    all.sort_by_key(|(_, executions)| std::cmp::Reverse(*executions));
    let mut columns = SystemColumns::default();
    columns.text("operator", all.iter().map(|(fallback, _)| Some(fallback.operator.as_str().into())));
    columns.text("reason", all.iter().map(|(fallback, _)| Some(fallback.reason.as_str().into())));
    columns.number("executions", all.iter().map(|(_, executions)| Some(*executions)));
    columns.batch()
}

/// The recorded statements by shape, those that took most time first.
fn workload(session: &Session) -> Result<RecordBatch> {
    let shapes = session.engine.recorder.shapes();
    // Others have run them.
    let seen = |text: &str| if session.is_admin() { text.to_owned() } else { HIDDEN.to_owned() };
    let mut columns = SystemColumns::default();
    columns.text("statement", shapes.iter().map(|(shape, _)| Some(seen(shape).into())));
    columns.number("executions", shapes.iter().map(|(_, known)| Some(known.count)));
    columns.number("total_us", shapes.iter().map(|(_, known)| Some(known.nanoseconds / 1000)));
    columns.text("example", shapes.iter().map(|(_, known)| known.examples.first().map(|text| seen(text).into())));
    columns.number("examples", shapes.iter().map(|(_, known)| Some(known.examples.len() as u64)));
    columns.batch()
}

fn tables(all: &[Described<'_>], store: &Store) -> Result<RecordBatch> {
    let definition = |table: &Described<'_>| Arc::clone(&table.table.definition);
    let known = |figure: fn(&Described<'_>) -> u64| all.iter().map(move |table| table.known(|| figure(table)));
    let mut columns = SystemColumns::default();
    columns.text("table_schema", all.iter().map(|table| Some(definition(table).name.schema.clone().into())));
    columns.text("table_name", all.iter().map(|table| Some(definition(table).name.table.clone().into())));
    columns.flag("temporary", all.iter().map(|table| Some(table.temporary)));
    columns.text("layout", all.iter().map(|table| Some(definition(table).design.text(&definition(table)).into())));
    columns.text(
        "encodings",
        all.iter().map(|table| {
            let encodings = definition(table).design.encodings_text(&definition(table));
            (!encodings.is_empty()).then(|| encodings.into())
        }),
    );
    columns.text("auto_layout", all.iter().map(|table| definition(table).auto.clone().map(Into::into)));
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
    columns.number("rows", known(|table| table.table.rows()));
    columns.number("segments", known(|table| table.table.segments.len() as u64));
    columns.number("delta_blocks", known(|table| table.table.delta.len() as u64));
    let delta_rows = |table: &Described<'_>| table.table.delta.iter().map(|block| table.table.live_rows(block)).sum();
    columns.number("delta_rows", known(delta_rows));
    columns.number("deleted_rows", known(|table| table.parts().map(|part| table.table.deleted_rows(part)).sum()));
    columns.number("pages", all.iter().map(|table| table.table.heap.as_ref().map(|heap| heap.pages)));
    columns.number("bytes", known(|table| table.bytes()));
    columns.number("delta_bytes", known(|table| table.table.delta.iter().map(|part| part.bytes()).sum()));
    columns.number("dead_bytes", all.iter().map(Described::dead_bytes));
    columns.number("oldest_reader_ms", all.iter().map(|table| table.oldest_reader_ms(store)));
    columns.text("damage", all.iter().map(|table| table.damaged.map(|damaged| damaged.error().to_string().into())));
    columns.batch()
}

/// Transactions that are open: those of any age keep what they see from being reused, and who writes keeps others waiting.
fn transactions(session: &Session) -> Result<RecordBatch> {
    let open = session.engine.open_transactions();
    let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).ok();
    let mut columns = SystemColumns::default();
    columns.flag("own", open.iter().map(|transaction| Some(session.is_in(transaction))));
    columns.flag("writes", open.iter().map(|transaction| Some(transaction.writes())));
    columns.number("age_ms", open.iter().map(|transaction| milliseconds(transaction.since.elapsed())));
    columns.number("idle_ms", open.iter().map(|transaction| milliseconds(transaction.idle())));
    columns.batch()
}

/// One column in one segment.
struct StoredPart<'a> {
    meta: &'a ColumnMeta,
    group: &'a GroupMeta,
    /// The packing when it lies in dense pages.
    page_packing: Option<PagePacking>,
}

/// One column over all segments of its table.
pub(crate) struct ColumnRow<'a> {
    table: &'a TableSnapshot,
    column: &'a ColumnDefinition,
    position: usize,
    parts: Vec<StoredPart<'a>>,
}

impl<'a> ColumnRow<'a> {
    /// The columns of a table, in order.
    pub(crate) fn all(table: &'a TableSnapshot) -> impl Iterator<Item = Self> {
        // A delta block says little of how a column is stored, unless there is nothing else.
        let kept = if table.segments.is_empty() { &table.delta } else { &table.segments };
        table.definition.columns.iter().enumerate().map(move |(position, column)| {
            let parts = kept.iter().filter_map(|part| {
                let (meta, group) = (part.column(column.id)?, part.group_of(column.id)?);
                Some(StoredPart { meta, group, page_packing: part.page_packing(column.id) })
            });
            Self { table, column, position, parts: parts.collect() }
        })
    }

    /// Distinct descriptions over the segments, in order of appearance.
    fn each(&self, describe: impl Fn(&StoredPart<'_>) -> String) -> Option<String> {
        let mut found: Vec<String> = Vec::new();
        for part in &self.parts {
            let description = describe(part);
            if !found.contains(&description) {
                found.push(description);
            }
        }
        (!found.is_empty()).then(|| found.join(","))
    }

    /// How its attributes lie, of a heap table.
    fn in_pages(&self) -> Option<(HeapLayout, AttributeForm)> {
        let heap = self.table.heap.as_ref()?;
        Some((heap.options.layout, Attribute::new(self.column).kind))
    }

    /// Where its attributes lie.
    pub(crate) fn layout(&self) -> Option<String> {
        if let Some((layout, _)) = self.in_pages() {
            return Some(layout.to_string());
        }
        self.each(|part| part.group.layout.to_string())
    }

    /// Number of its column group in the table's design, from 1.
    fn group(&self) -> Option<u64> {
        let definition = &self.table.definition;
        if definition.design.heap.is_some() {
            return None;
        }
        let columns: Vec<_> = definition.columns.iter().map(|column| column.id).collect();
        let groups = definition.design.resolve(&columns);
        let place = groups.iter().position(|group| group.columns.contains(&self.column.id))?;
        Some(place as u64 + 1)
    }

    /// How its codes are packed.
    pub(crate) fn packing(&self) -> Option<String> {
        match self.in_pages() {
            Some((_, AttributeForm::Fixed(width))) => return Some(format!("native{}", 8 * width)),
            Some((_, AttributeForm::Variable)) => return Some("none".to_owned()),
            None => {}
        }
        self.each(packing)
    }

    /// Value <-> code.
    pub(crate) fn encoding(&self) -> Option<String> {
        if self.in_pages().is_some() {
            return Some(encoding(&Encoding::Plain).to_owned());
        }
        self.each(|part| encoding(&part.meta.encoding).to_owned())
    }

    /// Bits of the widest segment's codes.
    pub(crate) fn code_bits(&self) -> Option<u64> {
        if let Some((_, AttributeForm::Fixed(width))) = self.in_pages() {
            return Some(8 * width as u64);
        }
        self.parts.iter().map(|part| u64::from(part.meta.code_bits)).max()
    }

    /// Bytes on disk; `None` where columns share pages.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        let shared = self.table.heap.is_some();
        (!shared).then(|| self.parts.iter().map(|part| part.meta.stored_bytes).sum())
    }

    /// Bytes in memory once all is read.
    fn memory_bytes(&self) -> Option<u64> {
        let shared = self.table.heap.is_some();
        (!shared).then(|| self.parts.iter().map(|part| part.meta.native_bytes).sum())
    }
}

fn columns<'a>(all: &[Described<'a>]) -> Result<RecordBatch> {
    let of_table = |table: &Described<'a>| {
        let damaged = table.damaged.is_some();
        ColumnRow::all(table.table).map(move |row| (row, damaged))
    };
    let (rows, damaged): (Vec<ColumnRow<'_>>, Vec<bool>) = all.iter().flat_map(of_table).unzip();
    let whole = rows.iter().zip(&damaged).map(|(row, damaged)| (!damaged).then_some(row));
    let summaries: Vec<_> = whole.clone().map(|row| row.and_then(|row| row.table.summary(row.column.id))).collect();
    let name = |row: &ColumnRow<'_>| row.table.definition.name.clone();
    let bound = |pick: fn(&gingham_storage::model::ColumnSummary) -> &Datum| {
        rows.iter().zip(&summaries).map(move |(row, summary)| {
            let shown = show(pick(summary.as_ref()?), &row.column.logical_type)?;
            Some(shown.into())
        })
    };
    let mut columns = SystemColumns::default();
    columns.text("table_schema", rows.iter().map(|row| Some(name(row).schema.into())));
    columns.text("table_name", rows.iter().map(|row| Some(name(row).table.into())));
    columns.text("column_name", rows.iter().map(|row| Some(row.column.name.as_str().into())));
    columns.number("position", rows.iter().map(|row| Some(row.position as u64 + 1)));
    columns.text("data_type", rows.iter().map(|row| Some(row.column.logical_type.to_string().into())));
    columns.flag("nullable", rows.iter().map(|row| Some(row.column.nullable)));
    columns.text("column_default", rows.iter().map(|row| row.column.default.as_deref().map(Into::into)));
    columns.text("layout", rows.iter().map(|row| row.layout().map(Into::into)));
    columns.number("column_group", rows.iter().map(ColumnRow::group));
    columns.text("encoding", rows.iter().map(|row| row.encoding().map(Into::into)));
    columns.text("packing", rows.iter().map(|row| row.packing().map(Into::into)));
    columns.number("code_bits", rows.iter().map(ColumnRow::code_bits));
    columns.number("stored_bytes", whole.clone().map(|row| row.and_then(ColumnRow::stored_bytes)));
    columns.number("memory_bytes", whole.map(|row| row.and_then(ColumnRow::memory_bytes)));
    columns.text("min", bound(|summary| &summary.min));
    columns.text("max", bound(|summary| &summary.max));
    columns.flag("min_max_exact", summaries.iter().map(|summary| summary.as_ref().map(|summary| summary.exact)));
    columns.number(
        "nulls",
        summaries
            .iter()
            .map(|summary| summary.as_ref().filter(|summary| summary.nulls_exact).map(|summary| summary.nulls)),
    );
    columns.number("distinct_values", summaries.iter().map(|summary| summary.as_ref().map(|summary| summary.distinct)));
    columns
        .flag("distinct_exact", summaries.iter().map(|summary| summary.as_ref().map(|summary| summary.distinct_exact)));
    columns.number(
        "dictionary_entries",
        rows.iter()
            .map(|row| row.table.dictionaries.get(&row.column.id).map(|dictionary| dictionary.distinct() as u64)),
    );
    columns.batch()
}

fn segments(all: &[Described<'_>]) -> Result<RecordBatch> {
    let rows: Vec<(&Described<'_>, &Arc<Segment>)> =
        all.iter().flat_map(|table| table.parts().map(move |part| (table, part))).collect();
    let name = |row: &(&Described<'_>, &Arc<Segment>)| row.0.table.definition.name.clone();
    let mut columns = SystemColumns::default();
    columns.text("table_schema", rows.iter().map(|row| Some(name(row).schema.into())));
    columns.text("table_name", rows.iter().map(|row| Some(name(row).table.into())));
    columns.number("segment", rows.iter().map(|(_, part)| Some(part.id())));
    columns.flag("delta", rows.iter().map(|(_, part)| Some(part.is_delta())));
    columns.number("rows", rows.iter().map(|(table, part)| Some(table.table.live_rows(part))));
    columns.number("deleted_rows", rows.iter().map(|(table, part)| Some(table.table.deleted_rows(part))));
    columns.number("zones", rows.iter().map(|(_, part)| Some(part.zones() as u64)));
    columns.number("bytes", rows.iter().map(|(_, part)| Some(part.bytes())));
    columns.number("filter_bytes", rows.iter().map(|(_, part)| Some(part.filter_bytes())));
    columns.text("layout", rows.iter().map(|(table, part)| Some(groups(&table.table.definition, part).into())));
    columns.batch()
}

fn indexes(all: &[Described<'_>]) -> Result<RecordBatch> {
    let mut rows: Vec<(&TableDefinition, &str, &[ColumnId], bool, bool)> = Vec::new();
    for Described { table, .. } in all {
        let of = &*table.definition;
        let own = of.indexes.iter();
        rows.extend(own.map(|own| (of, own.name.as_str(), own.columns.as_slice(), own.unique, own.of_constraint)));
        let recorded = of.recorded.iter();
        rows.extend(recorded.map(|own| (of, own.name.as_str(), own.columns.as_slice(), own.unique, false)));
    }
    let names = |definition: &TableDefinition, columns: &[ColumnId]| {
        let columns = columns.iter().filter_map(|id| definition.column_by_id(*id));
        columns.map(|column| column.name.as_str()).collect::<Vec<_>>().join(",")
    };
    let mut columns = SystemColumns::default();
    columns.text("table_schema", rows.iter().map(|(table, ..)| Some(table.name.schema.as_str().into())));
    columns.text("table_name", rows.iter().map(|(table, ..)| Some(table.name.table.as_str().into())));
    columns.text("index_name", rows.iter().map(|(_, index, ..)| Some((*index).into())));
    columns.text("columns", rows.iter().map(|(table, _, own, ..)| Some(names(table, own).into())));
    columns.flag("is_unique", rows.iter().map(|(.., unique, _)| Some(*unique)));
    columns.flag("of_constraint", rows.iter().map(|(.., of_constraint)| Some(*of_constraint)));
    columns.batch()
}

/// The column groups of a segment: `(a, b) row, (c) byteslice`.
fn groups(definition: &TableDefinition, part: &Segment) -> String {
    let name = |place: &usize| {
        let column = part.columns().get(*place).and_then(|meta| definition.column_by_id(meta.column));
        // A column that was dropped is in the segments from before.
        column.map_or("dropped", |column| column.name.as_str())
    };
    let groups = part.groups().iter().map(|group| {
        let names: Vec<&str> = group.columns.iter().map(name).collect();
        format!("({}) {group}", names.join(", "))
    });
    groups.collect::<Vec<_>>().join(", ")
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

/// The packing of codes in dense pages, or else in memory, where values of the plain encoding are no codes.
fn packing(part: &StoredPart<'_>) -> String {
    match (&part.meta.encoding, part.meta.code_bits) {
        _ if let Some(packing) = part.page_packing => packing.to_string(),
        _ if part.group.packing != Packing::Native => part.group.to_string(),
        (Encoding::Plain, _) => "none".into(),
        (_, bits @ 0..=64) => format!("native{}", u32::from(bits.max(1)).next_power_of_two().max(8)),
        _ => "native128".into(),
    }
}

/// A value as text; `None` for NULL.
fn show(value: &Datum, logical_type: &LogicalType) -> Option<String> {
    if let (Datum::Bytes(bytes), true) = (value, logical_type.is_string()) {
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

#[cfg(test)]
mod tests {
    use super::NAMES;
    use crate::Database;
    use arrow::util::display::array_value_to_string;

    /// Tables with their columns and types, as docs/system-tables.md has them.
    fn documented() -> Vec<(&'static str, Vec<[String; 2]>)> {
        let text = include_str!("../../../../docs/system-tables.md");
        let mut tables: Vec<(&str, Vec<[String; 2]>)> = Vec::new();
        for line in text.lines() {
            if let Some((name, _)) = line.strip_prefix("## ").and_then(|title| title.split_once(':')) {
                tables.push((name, Vec::new()));
            }
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if let ([name, data_type, _], Some((_, columns))) = (cells.as_slice(), tables.last_mut())
                && line.starts_with('|')
                && !["column", "---"].contains(name)
            {
                columns.push([(*name).to_owned(), (*data_type).to_owned()]);
            }
        }
        tables
    }

    #[test]
    fn each_system_table_is_documented_with_its_columns() {
        let connection = Database::in_memory().unwrap().connect();
        let documented = documented();
        let mut names: Vec<&str> = documented.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let mut known = NAMES.to_vec();
        known.sort_unstable();
        assert_eq!(names, known);
        for (name, columns) in documented {
            let described = connection.query(&format!("DESCRIBE {name}")).unwrap().collect_batches().unwrap();
            let described: Vec<[String; 2]> = described
                .iter()
                .flat_map(|batch| {
                    let cell = |column, row| array_value_to_string(batch.column(column), row).unwrap();
                    (0..batch.num_rows()).map(move |row| [cell(0, row), cell(1, row)]).collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(described, columns, "{name}");
        }
    }
}
