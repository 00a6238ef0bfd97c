//! Indexes of a heap table within the write transaction: entries that are to go and to come, put into LMDB's tree when the
//! statement's changes are all known. So a unique key may pass from one record to another, as in `SET k = k + 1`.

use crate::lmdb::environment::Name;
use crate::lmdb::heap_record::RecordId;
use crate::lmdb::index_entries::{entry_key, entry_payload, is_alone};
use crate::lmdb::values;
use crate::pages::attribute::{Attribute, Field, OwnedField};
use crate::pages::index::IndexKey;
use crate::snapshot::heap::lookup;
use crate::write::heap::writer::HeapWriter;
use crate::write::keys::duplicate_entry;
use crate::{Datum, Error, IndexDefinition, Result};
use std::collections::HashMap;

/// Entries of a load that wait at most; they are put in order, so that LMDB fills its pages one after the other.
const WAITING: usize = 1 << 19;
/// Records of a new index after which someone looks whether it is still wanted.
const TOGETHER: usize = 8192;
/// Up to so many new entries are put in the order they came, so that a key's duplicate is named as rows follow each other.
const FEW: usize = 1 << 13;

/// What changes in one index.
#[derive(Debug)]
pub(crate) struct IndexChanges {
    index: IndexDefinition,
    /// Its columns among the table's.
    places: Vec<usize>,
    removed: Vec<IndexEntry>,
    added: Vec<IndexEntry>,
}

/// The columns of a record, and its id.
type IndexEntry = (IndexKey, RecordId);

impl IndexChanges {
    /// Changes of one index of a table that has these attributes.
    pub(crate) fn new(index: &IndexDefinition, attributes: &[Attribute]) -> Self {
        let place = |column| attributes.iter().position(|own| own.column == column);
        let places = index.columns.iter().filter_map(|column| place(*column)).collect();
        Self { index: index.clone(), places, removed: Vec::new(), added: Vec::new() }
    }

    /// What is to go and to come in the end: an entry may have come and gone again, more than once.
    fn take_net(&mut self) -> (Vec<IndexEntry>, Vec<IndexEntry>) {
        let (mut removed, mut added) = (std::mem::take(&mut self.removed), std::mem::take(&mut self.added));
        if !removed.is_empty() && !added.is_empty() {
            let mut net: HashMap<IndexEntry, i32> = HashMap::with_capacity(removed.len() + added.len());
            removed.iter().for_each(|entry| *net.entry(entry.clone()).or_default() -= 1);
            added.iter().for_each(|entry| *net.entry(entry.clone()).or_default() += 1);
            // Each once.
            let mut take = |entry: &IndexEntry, wanted: i32| match net.get_mut(entry) {
                Some(sum) if *sum == wanted => {
                    *sum = 0;
                    true
                }
                _ => false,
            };
            removed.retain(|entry| take(entry, -1));
            added.retain(|entry| take(entry, 1));
        }
        (removed, added)
    }
}

/// Puts entries in the order of their keys.
fn sort(entries: &mut [IndexEntry]) {
    entries.sort_unstable_by(|(a, first), (b, second)| a.bytes.cmp(&b.bytes).then(first.cmp(second)));
}

impl HeapWriter<'_, '_> {
    /// Whether the table has indexes.
    pub(crate) fn has_indexes(&self) -> bool {
        !self.state.indexes.is_empty()
    }

    /// Whether an index has a column at one of these places among the table's.
    pub(crate) fn is_indexed(&self, mut places: impl Iterator<Item = usize>) -> bool {
        places.any(|at| self.state.indexes.iter().any(|changes| changes.places.contains(&at)))
    }

    /// The keys of a record in all indexes.
    pub(crate) fn index_keys<'f>(&self, field: impl Fn(usize) -> Field<'f>) -> Vec<IndexKey> {
        let attributes = self.state.schema.attributes();
        let key =
            |changes: &IndexChanges| IndexKey::new(changes.places.iter().map(|at| (&attributes[*at], field(*at))));
        self.state.indexes.iter().map(key).collect()
    }

    /// Index keys of a record as it lies in its page, whose long values are fetched.
    pub(crate) fn index_keys_of(&self, record: &[OwnedField]) -> Result<Vec<IndexKey>> {
        let mut fetched = record.to_vec();
        for at in self.state.indexes.iter().flat_map(|changes| &changes.places) {
            if let OwnedField::Overflow(reference) = &fetched[*at] {
                fetched[*at] = OwnedField::Bytes(self.fetch(*reference)?.into());
            }
        }
        Ok(self.index_keys(|at| fetched[at].field()))
    }

    /// Notes that a record has come.
    pub(crate) fn index_added(&mut self, keys: Vec<IndexKey>, id: RecordId) {
        self.state.indexes.iter_mut().zip(keys).for_each(|(changes, key)| changes.added.push((key, id)));
    }

    /// Notes that a record has gone.
    pub(crate) fn index_removed(&mut self, keys: Vec<IndexKey>, id: RecordId) {
        self.state.indexes.iter_mut().zip(keys).for_each(|(changes, key)| changes.removed.push((key, id)));
    }

    /// Notes that a record has other values, or another id.
    pub(crate) fn index_changed(&mut self, before: (Vec<IndexKey>, RecordId), after: (Vec<IndexKey>, RecordId)) {
        let moved = before.1 != after.1;
        for (changes, (old, new)) in self.state.indexes.iter_mut().zip(before.0.into_iter().zip(after.0)) {
            if moved || old != new {
                changes.removed.push((old, before.1));
                changes.added.push((new, after.1));
            }
        }
    }

    /// The record whose values of the columns of a unique index are these: its id, and its values of the columns at the places
    /// `wanted` among the table's. Entries of this writer's own changes are not found, which are made when it ends.
    pub fn record_by_key(
        &mut self,
        index: &IndexDefinition,
        values: &[Datum],
        wanted: &[usize],
    ) -> Result<Option<(RecordId, Vec<Datum>)>> {
        let (key, places) = lookup::key_of(&self.state.schema, index, values)?;
        if key.has_null || !self.definition().indexes.contains(index) {
            return Ok(None);
        }
        let environment = self.transaction.environment;
        for id in lookup::alike(environment, &self.transaction.transaction, self.table(), index, &key)? {
            let is_it = key.is_whole || self.values(id, &places)?.is_some_and(|own| own == values);
            if is_it && let Some(found) = self.values(id, wanted)? {
                return Ok(Some((id, found)));
            }
        }
        Ok(None)
    }

    /// Whether other tables refer to the table, or it to itself.
    pub fn is_referred_to(&self) -> bool {
        !self.transaction.base().referred_columns(self.table()).is_empty()
    }

    /// Notes all records for one index, a new one.
    pub(crate) fn fill_index(&mut self, number: u32, wanted: &dyn Fn() -> bool) -> Result<()> {
        self.state.changed = true;
        for (done, id) in self.record_ids()?.into_iter().enumerate() {
            if done % TOGETHER == 0 && !wanted() {
                return Err(Error::Cancelled);
            }
            let Some(record) = self.fields_of(id)? else { continue };
            let keys = self.index_keys_of(&record)?;
            for (changes, key) in self.state.indexes.iter_mut().zip(keys) {
                if changes.index.number == number {
                    changes.added.push((key, id));
                }
            }
            self.index_some()?;
        }
        Ok(())
    }

    /// Makes the changes of the indexes so far when they have become many and all are of one kind. New ones that can be told to
    /// be duplicates by their records alone wait until all records can be read.
    pub(crate) fn index_some(&mut self) -> Result<()> {
        let many = |changes: &IndexChanges| match (changes.removed.len(), changes.added.len()) {
            (0, one) | (one, 0) => one >= WAITING,
            _ => false,
        };
        if self.state.first_new.is_some() || !self.state.indexes.iter().any(many) {
            return Ok(());
        }
        self.with_indexes(|writer, changes| {
            if !many(changes) {
                return Ok(());
            }
            writer.remove_entries(&changes.index, std::mem::take(&mut changes.removed))?;
            let added = std::mem::take(&mut changes.added);
            let (whole, long): (Vec<_>, Vec<_>) = added.into_iter().partition(|(key, _)| key.is_whole);
            changes.added = long;
            writer.add_entries(&changes.index, &changes.places, whole)
        })
    }

    /// Whether so many entries of a load wait that they are to be put into their indexes.
    pub(crate) fn has_many_entries(&self) -> bool {
        self.state.indexes.iter().any(|changes| changes.added.len() >= WAITING)
    }

    /// Puts up to `most` entries of a load into one index, in the order of their keys; false when none are left.
    pub(crate) fn add_some_entries(&mut self, most: usize) -> Result<bool> {
        let Some(at) = self.state.indexes.iter().position(|changes| !changes.added.is_empty()) else {
            return Ok(false);
        };
        let changes = &mut self.state.indexes[at];
        let mut entries = std::mem::take(&mut changes.added);
        if entries.len() > FEW {
            sort(&mut entries);
        }
        changes.added = entries.split_off(most.min(entries.len()));
        let (index, places) = (changes.index.clone(), changes.places.clone());
        self.add_entries(&index, &places, entries)?;
        Ok(true)
    }

    /// Makes all changes of the indexes.
    pub(crate) fn finish_indexes(&mut self) -> Result<()> {
        self.with_indexes(|writer, changes| {
            let (removed, added) = changes.take_net();
            writer.remove_entries(&changes.index, removed)?;
            writer.add_entries(&changes.index, &changes.places, added)
        })
    }

    fn with_indexes(&mut self, mut work: impl FnMut(&mut Self, &mut IndexChanges) -> Result<()>) -> Result<()> {
        let mut indexes = std::mem::take(&mut self.state.indexes);
        let result = indexes.iter_mut().try_for_each(|changes| work(self, changes));
        self.state.indexes = indexes;
        result
    }

    /// Removes entries.
    fn remove_entries(&mut self, index: &IndexDefinition, entries: Vec<IndexEntry>) -> Result<()> {
        for (key, id) in entries {
            let key = entry_key(self.table(), index, &key, id);
            let transaction = &mut *self.transaction;
            values::delete(transaction.environment, &mut transaction.transaction, Name::Indexes, &key)?;
        }
        Ok(())
    }

    /// Adds entries. Fails when a unique key is there already.
    fn add_entries(&mut self, index: &IndexDefinition, places: &[usize], mut entries: Vec<IndexEntry>) -> Result<()> {
        if entries.len() > FEW {
            sort(&mut entries);
        }
        for (key, id) in &entries {
            if index.unique
                && !key.has_null
                && let Some(other) = self.same_key(index, places, key, *id)?
            {
                let is_new = self.is_loaded(other) || entries.iter().any(|(_, new)| *new == other);
                let what = if is_new { "occurs twice among the new records" } else { "exists already" };
                let values = self.key_values(places, other)?;
                return Err(duplicate_entry(self.definition(), index, &values, what));
            }
            let bytes = entry_key(self.table(), index, key, *id);
            let payload = entry_payload(index, key, *id);
            let transaction = &mut *self.transaction;
            let (environment, into) = (transaction.environment, &mut transaction.transaction);
            values::put(environment, into, Name::Indexes, &bytes, &payload)?;
        }
        self.transaction.add_dirty_entries(entries.len())
    }

    /// Another record with the same key.
    fn same_key(
        &mut self,
        index: &IndexDefinition,
        places: &[usize],
        key: &IndexKey,
        id: RecordId,
    ) -> Result<Option<RecordId>> {
        let environment = self.transaction.environment;
        let alike = lookup::alike(environment, &self.transaction.transaction, self.table(), index, key)?;
        if is_alone(index, key) {
            return Ok(alike.first().copied());
        }
        if alike.is_empty() {
            return Ok(None);
        }
        let own = self.key_values(places, id)?;
        for other in alike {
            if self.key_values(places, other)? == own {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// The values of a record's key.
    fn key_values(&mut self, places: &[usize], id: RecordId) -> Result<Vec<Datum>> {
        self.values(id, places)?.ok_or_else(|| self.gone(id))
    }
}
