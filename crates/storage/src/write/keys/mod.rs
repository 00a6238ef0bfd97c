//! PRIMARY KEY, UNIQUE and REFERENCES, checked when records become visible, with the writer's lock held.
//!
//! Few records: their keys are put to the table as an IN list, behind filters of segments ([`search`]) and zone maps, on codes.
//! Many: runs noted when the segments were written ([`summary`]) and zone maps mostly say that nothing can clash; only when they
//! do not are the keys read again and looked up one by one ([`set`]), behind filters too.

pub(crate) mod conflicts;
pub(crate) mod encode;
pub(crate) mod new_rows;
pub(crate) mod referred;
pub(crate) mod search;
pub(crate) mod set;
pub(crate) mod summary;

pub(crate) use crate::decode::arrays::datum;
pub(crate) use crate::write::keys::new_rows::NewRows;

use crate::SqlState;
use crate::decode::arrays::constant;
use crate::scan::TableScan;
use crate::scan::rows::for_each_batch;
use crate::snapshot::heap::zones::RECORD_IDS;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::change::RowChange;
use crate::write::keys::encode::{KeyEncoder, show, show_names};
use crate::write::keys::search::Search;
use crate::write::keys::set::KeySet;
use crate::write::table_writer::WrittenRows;
use crate::write::transaction::Transaction;
use crate::{
    ColumnId, Datum, Error, IndexDefinition, KeyDefinition, Predicate, ReferenceDefinition, Result, TableDefinition,
};
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

/// Up to this many different values are put to a scan as a list; more of them as no condition at all.
const LIST: usize = 1024;

/// Checks the keys and references of a table for the new records, which `new` reads and which were written as `rows`, if
/// not one by one, and those that go.
pub(crate) fn check(
    transaction: &Transaction<'_>,
    definition: &Arc<TableDefinition>,
    new: &NewRows<'_>,
    rows: Option<&WrittenRows>,
    change: &RowChange,
) -> Result<()> {
    if definition.has_constraints() {
        let current = transaction.current(definition.id)?;
        let left = Left { table: &current, gone: &change.ids };
        for (number, key) in definition.keys.iter().enumerate().filter(|(_, key)| change.touches(&key.columns)) {
            // Its index tells when the records are put into the pages.
            if definition.indexes.iter().any(|index| index.of_constraint && index.name == key.name) {
                continue;
            }
            check_key(&left, number, key, new, rows)?;
        }
        for reference in definition.references.iter().filter(|reference| change.touches(&reference.columns)) {
            check_reference(transaction, definition, reference, &left, new)?;
        }
    }
    if change.ids.is_empty() { Ok(()) } else { referred::check(transaction, definition, new, change) }
}

/// A table without the records that go.
pub(crate) struct Left<'t> {
    pub(crate) table: &'t Arc<TableSnapshot>,
    /// Their ids, ascending.
    pub(crate) gone: &'t [u64],
}

impl Left<'_> {
    /// Calls `visit` with the columns of the records that match.
    pub(crate) fn for_each(
        &self,
        columns: &[ColumnId],
        predicate: Predicate,
        mut visit: impl FnMut(&[ArrayRef]) -> Result<()>,
    ) -> Result<()> {
        if self.gone.is_empty() {
            return for_each_batch(self.table, columns.to_vec(), predicate, |batch| visit(batch.columns()));
        }
        let with_ids = Arc::new(self.table.with_record_ids("record id".to_owned()));
        let all = columns.iter().copied().chain([RECORD_IDS]).collect();
        for_each_batch(&with_ids, all, predicate, |batch| {
            let ids = batch.column(columns.len()).as_primitive::<Int64Type>().values();
            let stays = ids.iter().map(|id| Some(self.gone.binary_search(&(*id as u64)).is_err()));
            visit(&filter_record_batch(&batch, &stays.collect())?.columns()[..columns.len()])
        })
    }
}

/// Checks PRIMARY KEY or UNIQUE.
fn check_key(
    left: &Left<'_>,
    number: usize,
    key: &KeyDefinition,
    new: &NewRows<'_>,
    rows: Option<&WrittenRows>,
) -> Result<()> {
    let definition = &left.table.definition;
    let ordered = rows.is_some_and(|rows| {
        let summaries = || rows.keys.iter().filter_map(|segment| segment.get(number));
        rows.delta.is_empty()
            && summaries().count() == rows.segments.len()
            && rows.definition.keys.get(number) == Some(key)
            && summary::all_distinct(summaries())
    });
    if ordered && nothing_in_ranges(left.table, key.columns[0], new)? {
        return Ok(());
    }
    let encoder = KeyEncoder::new(definition, &key.columns)?;
    let mut keys = KeySet::default();
    let mut lists = Lists::new(definition, &key.columns);
    new.for_each(&key.columns, |columns| {
        for (row, bytes, hash) in encoder.encode(columns)?.with_hashes(&key.columns)? {
            if !keys.insert(bytes, hash) {
                return Err(duplicate(definition, key, &show(columns, row), "occurs twice among the new records"));
            }
            lists.add(columns, row);
        }
        Ok(())
    })?;
    let predicate = lists.predicate(definition, &key.columns, Some(new));
    let search = Search { columns: &key.columns, encoder: &encoder, keys: &keys, predicate };
    search.for_each(left, |columns| {
        for (row, bytes) in encoder.encode(columns)?.iter() {
            if keys.contains(bytes) {
                return Err(duplicate(definition, key, &show(columns, row), "exists already"));
            }
        }
        Ok(())
    })
}

/// True when zone maps say that no record of `current` lies between the smallest and largest value of any new segment.
fn nothing_in_ranges(current: &Arc<TableSnapshot>, column: ColumnId, new: &NewRows<'_>) -> Result<bool> {
    if current.rows() == 0 {
        return Ok(true);
    }
    for bounds in new.segment_bounds(column) {
        let isa = gingham_kernels::Isa::best();
        if TableScan::new(Arc::clone(current), vec![column], range(column, bounds), 1, isa)?.morsels() > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The error for a key that an index has already: `values` are those of its columns.
pub(crate) fn duplicate_entry(
    definition: &TableDefinition,
    index: &IndexDefinition,
    values: &[Datum],
    what: &str,
) -> Error {
    let column = |id: &ColumnId| definition.column_by_id(*id);
    let arrays = index.columns.iter().filter_map(column).zip(values);
    let arrays: Result<Vec<ArrayRef>> =
        arrays.map(|(column, value)| constant(value, &column.logical_type, 1)).collect();
    let value = arrays.map_or_else(|error| error.to_string(), |arrays| show(&arrays, 0));
    match definition.keys.iter().find(|key| index.of_constraint && key.name == index.name) {
        Some(key) => duplicate(definition, key, &value, what),
        None => Error::constraint(
            SqlState::UniqueViolation,
            format!(
                "duplicate key in table '{}': {} = {value} {what} (unique index '{}')",
                definition.name,
                show_names(definition, &index.columns),
                index.name
            ),
        ),
    }
}

fn duplicate(definition: &TableDefinition, key: &KeyDefinition, value: &str, what: &str) -> Error {
    let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
    Error::constraint(
        SqlState::UniqueViolation,
        format!(
            "duplicate key in table '{}': {kind} {} = {value} {what} (constraint '{}')",
            definition.name,
            show_names(definition, &key.columns),
            key.name
        ),
    )
}

/// Checks REFERENCES: every key without NULLs exists in the table referred to, or among the new records when a table
/// refers to itself.
fn check_reference(
    transaction: &Transaction<'_>,
    definition: &TableDefinition,
    reference: &ReferenceDefinition,
    left: &Left<'_>,
    new: &NewRows<'_>,
) -> Result<()> {
    let itself = reference.table == definition.id;
    // One that can't be read is not needed when no key is looked for.
    let referred = if itself { Ok(Arc::clone(left.table)) } else { transaction.current(reference.table) };
    let referred_definition = match &referred {
        Ok(table) => Arc::clone(&table.definition),
        Err(_) => Arc::new(transaction.record(reference.table)?.definition),
    };
    let encoder = KeyEncoder::new(&referred_definition, &reference.referred)?;
    let mut keys = KeySet::default();
    let mut lists = Lists::new(&referred_definition, &reference.referred);
    new.for_each(&reference.columns, |columns| {
        for (row, bytes, hash) in encoder.encode(columns)?.with_hashes(&reference.referred)? {
            if keys.insert(bytes, hash) {
                lists.add(columns, row);
            }
        }
        Ok(())
    })?;
    if itself {
        new.for_each(&reference.referred, |columns| {
            encoder.encode(columns)?.iter().for_each(|(_, bytes)| keys.mark(bytes));
            Ok(())
        })?;
    }
    if !keys.all_marked() {
        let predicate = lists.predicate(definition, &reference.columns, Some(new));
        let referred = referred?;
        let left = Left { table: &referred, gone: if itself { left.gone } else { &[] } };
        let mut found = Vec::new();
        let search = Search { columns: &reference.referred, encoder: &encoder, keys: &keys, predicate };
        search.for_each(&left, |columns| {
            found.extend(encoder.encode(columns)?.iter().filter_map(|(_, bytes)| keys.number(bytes)));
            Ok(())
        })?;
        found.into_iter().for_each(|number| keys.mark_number(number));
    }
    if keys.all_marked() {
        return Ok(());
    }
    new.for_each(&reference.columns, |columns| {
        match encoder.encode(columns)?.iter().find(|(_, bytes)| keys.is_unmarked(bytes)) {
            None => Ok(()),
            Some((row, _)) => Err(Error::constraint(
                SqlState::ForeignKeyViolation,
                format!(
                    "key {} = {} of table '{}' does not exist in {} of table '{}' (constraint '{}')",
                    show_names(definition, &reference.columns),
                    show(columns, row),
                    definition.name,
                    show_names(&referred_definition, &reference.referred),
                    referred_definition.name,
                    reference.name
                ),
            )),
        }
    })
}

/// The different values of each key column, as conditions for a scan, as long as they are few.
#[derive(Debug)]
struct Lists<'d> {
    definition: &'d TableDefinition,
    columns: &'d [ColumnId],
    /// Per column; `None` once there are too many, or when values are of another type than the column.
    values: Vec<Option<Vec<Datum>>>,
    seen: Vec<HashSet<String>>,
}

impl<'d> Lists<'d> {
    fn new(definition: &'d TableDefinition, columns: &'d [ColumnId]) -> Self {
        Self {
            definition,
            columns,
            values: vec![Some(Vec::new()); columns.len()],
            seen: vec![HashSet::new(); columns.len()],
        }
    }

    fn add(&mut self, arrays: &[ArrayRef], row: usize) {
        for (index, array) in arrays.iter().enumerate() {
            let Some(values) = &mut self.values[index] else { continue };
            let column = self.definition.column_by_id(self.columns[index]);
            match column.and_then(|column| datum(&column.logical_type, array, row)) {
                Some(value) if values.len() < LIST => {
                    if self.seen[index].insert(format!("{value:?}")) {
                        values.push(value);
                    }
                }
                _ => self.values[index] = None,
            }
        }
    }

    /// The condition on the table that the keys are looked up in; `from` and `names` are where the new records have them.
    fn predicate(self, from: &TableDefinition, names: &[ColumnId], new: Option<&NewRows<'_>>) -> Predicate {
        let mut parts = Vec::new();
        for ((column, values), name) in self.columns.iter().zip(self.values).zip(names) {
            let same_type = self.definition.column_by_id(*column).map(|column| &column.logical_type)
                == from.column_by_id(*name).map(|column| &column.logical_type);
            if let Some(values) = values {
                parts.push(Predicate::In { column: *column, values, negated: false });
            } else if let Some(new) = new.filter(|new| same_type && !new.has_delta()) {
                let ranges = new.segment_bounds(*name).into_iter().map(|bounds| range(*column, bounds)).collect();
                parts.push(Predicate::Or(ranges));
            }
        }
        if parts.is_empty() { Predicate::Constant(true) } else { Predicate::And(parts) }
    }
}

fn range(column: ColumnId, (min, max): (Datum, Datum)) -> Predicate {
    Predicate::Range { column, low: Bound::Included(min), high: Bound::Included(max) }
}
