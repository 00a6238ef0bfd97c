//! Loads that are committed in batches: a note says where their pages lie, until the last commit takes the note away and makes
//! them a table's. A note that is found when nobody writes is of a load that has failed or died, and its pages go with it.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys::{OVERFLOW, PAGES, SPACE, key};
use crate::lmdb::index_entries::{entry_head, entry_record};
use crate::lmdb::records::TableRecord;
use crate::lmdb::{records, values};
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::{Result, TableId};
use heed::{RoTxn, RwTxn};
use serde::{Deserialize, Serialize};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Key of the note in the meta database.
const KEY: &[u8] = b"unfinished";

/// Where the pages of a load lie that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadIntent {
    /// The table that they are for, which need not be there yet.
    pub(crate) table: TableId,
    /// What their keys begin with: another number when they are to take the place of all that the table has.
    pub(crate) prefix: TableId,
}

impl LoadIntent {
    /// The note that `transaction` sees.
    pub(crate) fn find(environment: &Environment, transaction: &RoTxn<'_>) -> Result<Option<Self>> {
        values::get_json(environment, transaction, Name::Meta, KEY)
    }

    /// The note that a value of the meta database is.
    pub(crate) fn of_value(key: &[u8], value: &[u8]) -> Option<Self> {
        let payload = values::unseal(Name::Meta, key, value, String::new).ok().filter(|_| key == KEY)?;
        values::parse(payload, String::new).ok()
    }

    /// Makes the note.
    pub(crate) fn put(&self, environment: &Environment, transaction: &mut RwTxn<'_>) -> Result<()> {
        values::put_json(environment, transaction, Name::Meta, KEY, self)
    }

    /// Takes the note away.
    pub(crate) fn forget(environment: &Environment, transaction: &mut RwTxn<'_>) -> Result<()> {
        values::delete(environment, transaction, Name::Meta, KEY)
    }

    /// Whether a value of the heap database is a part of the load: `table` is that which has the prefix, if one has.
    pub(crate) fn has(&self, prefix: TableId, table: Option<&TableRecord>, attribute: u32, number: u64) -> bool {
        let heap = table.and_then(|table| table.heap.as_ref());
        prefix == self.prefix && heap.is_none_or(|heap| attribute != SPACE && number >= heap.end(attribute))
    }
}

/// Removes what a load that has not ended has left, and its note; false when there is none.
pub(crate) fn remove(environment: &Environment, transaction: &mut RwTxn<'_>) -> Result<bool> {
    let Some(note) = LoadIntent::find(environment, transaction)? else { return Ok(false) };
    let table = records::table(environment, transaction, note.table)?;
    match table.filter(|table| table.heap.is_some() && table.prefix() == note.prefix) {
        Some(table) => remove_behind(environment, transaction, &table)?,
        None => remove_all(environment, transaction, note.prefix)?,
    }
    LoadIntent::forget(environment, transaction)?;
    Ok(true)
}

/// Removes all pages, long values and entries under the keys of a prefix.
pub(crate) fn remove_all(environment: &Environment, transaction: &mut RwTxn<'_>, prefix: TableId) -> Result<()> {
    let (first, last) = (key(prefix, 0, 0), key(prefix, u32::MAX, u64::MAX));
    remove_range(environment, transaction, Name::Heap, Bound::Included(&first), Bound::Included(&last))?;
    let (first, end) = (entry_head(prefix, 0), entry_head(prefix + 1, 0));
    remove_range(environment, transaction, Name::Indexes, Bound::Included(&first), Bound::Excluded(&end))
}

/// Removes what lies behind the pages of a table.
fn remove_behind(environment: &Environment, transaction: &mut RwTxn<'_>, table: &TableRecord) -> Result<()> {
    let Some(heap) = &table.heap else { return Ok(()) };
    let prefix = table.prefix();
    let mut behind = Vec::new();
    values::each_raw(environment, transaction, Name::Indexes, &prefix.to_be_bytes(), |key, value| {
        let payload = values::unseal(Name::Indexes, key, value, || values::describe_key(Name::Indexes, key))?;
        if entry_record(key, payload).is_some_and(|id| id >= heap.first_new()) {
            behind.push(key.to_vec());
        }
        Ok(())
    })?;
    behind.iter().try_for_each(|key| values::delete(environment, transaction, Name::Indexes, key))?;
    let columns = table.definition.columns.iter().map(|column| column.id);
    for attribute in columns.chain([PAGES, OVERFLOW]) {
        let (first, last) = (key(prefix, attribute, heap.end(attribute)), key(prefix, attribute, u64::MAX));
        remove_range(environment, transaction, Name::Heap, Bound::Included(&first), Bound::Included(&last))?;
    }
    Ok(())
}

fn remove_range(
    environment: &Environment,
    transaction: &mut RwTxn<'_>,
    name: Name,
    first: Bound<&[u8]>,
    last: Bound<&[u8]>,
) -> Result<()> {
    let removed = environment.values(name)?.delete_range(transaction, &(first, last));
    removed.map(drop).map_err(environment.failed("writing"))
}

impl Store {
    /// Removes what a load of an earlier process has left, unless somebody writes, who does it first.
    pub(crate) fn sweep_at_open(self: &Arc<Self>) {
        let options = WriteOptions { lock_timeout: Some(Duration::ZERO), ..WriteOptions::default() };
        let Ok(_turn) = self.turn(&options) else { return };
        if let Err(error) = self.environment().and_then(|environment| self.sweep_unfinished(&environment)) {
            tracing::warn!("{}: removing what a load has left: {error}", self.path().display());
        }
    }

    /// Removes what a load has left that failed. The caller has the turn, and there is no write transaction.
    pub(crate) fn sweep_unfinished(self: &Arc<Self>, environment: &Arc<Environment>) -> Result<()> {
        if !self.unswept.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let swept = self.begin_writing(environment, &WriteOptions::default()).and_then(|mut transaction| {
            if remove(environment, &mut transaction.transaction)? {
                transaction.changes.is_large = true;
                transaction.note_change();
            }
            transaction.commit()
        });
        self.unswept.store(swept.is_err(), Ordering::Release);
        swept
    }
}
