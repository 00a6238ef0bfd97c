//! What an open transaction has made of a heap table's pages: copies, which lie over those of the commit that it builds on.
//! Its own queries read them; nobody else does before the commit.

use crate::io::memory::MemoryBudget;
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys::{OVERFLOW, SPACE, key};
use crate::lmdb::values;
use crate::{Error, Result, TableId};
use arrow::buffer::Buffer;
use heed::RoTxn;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Pages and long values that a transaction has written or removed, by table.
#[derive(Debug, Default)]
pub(crate) struct WrittenPages(HashMap<TableId, WrittenTable>);

/// What a transaction has written of one table: attributes and numbers of their keys.
#[derive(Debug, Default)]
pub(crate) struct WrittenTable {
    keys: BTreeSet<(u32, u64)>,
    /// All that was there before is gone.
    cleared: bool,
}

/// A table's pages as a transaction has left them, where they are not those of the commit.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// Nothing of the commit's is left.
    pub(crate) cleared: bool,
    /// `None` for what was removed.
    values: BTreeMap<(u32, u64), Option<Arc<CopiedValue>>>,
}

/// A copied value, on account of the memory limit.
#[derive(Debug)]
struct CopiedValue {
    bytes: Buffer,
    budget: Arc<MemoryBudget>,
}

impl Drop for CopiedValue {
    fn drop(&mut self) {
        self.budget.release(self.bytes.len());
    }
}

impl WrittenPages {
    /// Notes a page or long value; true for the first time.
    pub(crate) fn note(&mut self, table: TableId, attribute: u32, number: u64) -> bool {
        self.0.entry(table).or_default().keys.insert((attribute, number))
    }

    /// Notes that a table has lost all of them.
    pub(crate) fn clear(&mut self, table: TableId) {
        self.0.insert(table, WrittenTable { keys: BTreeSet::new(), cleared: true });
    }

    /// True when there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(|table| table.keys.len()).sum()
    }

    /// Those of a table.
    pub(crate) fn of(&self, table: TableId) -> Option<&WrittenTable> {
        self.0.get(&table)
    }
}

impl Overlay {
    /// What lies over a table's pages after a transaction has written `written` on top of `before`.
    pub(crate) fn after(
        before: Option<&Self>,
        written: Option<&WrittenTable>,
        environment: &Environment,
        transaction: &RoTxn<'_>,
        table: TableId,
        budget: &Arc<MemoryBudget>,
    ) -> Result<Self> {
        let cleared = written.is_some_and(|written| written.cleared);
        let mut after = match before {
            Some(before) if !cleared => Self { cleared: before.cleared, values: before.values.clone() },
            _ => Self { cleared, values: BTreeMap::new() },
        };
        for (attribute, number) in written.iter().flat_map(|written| &written.keys).copied() {
            let key = key(table, attribute, number);
            let found = match attribute {
                OVERFLOW => values::get(environment, transaction, Name::Heap, &key)?,
                _ => values::get_raw(environment, transaction, Name::Heap, &key)?,
            };
            let copied = found.map(|bytes| copy(bytes, budget)).transpose()?;
            after.values.insert((attribute, number), copied);
        }
        Ok(after)
    }

    /// Copies.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// A page or long value: `None` where the commit's counts, `Some(None)` where there is none.
    pub(crate) fn get(&self, attribute: u32, number: u64) -> Option<Option<Buffer>> {
        match self.values.get(&(attribute, number)) {
            Some(copied) => Some(copied.as_ref().map(|copied| copied.bytes.clone())),
            None if self.cleared => Some(None),
            None => None,
        }
    }

    /// Numbers of an attribute up to `last`, descending; false for those that were removed.
    pub(crate) fn down_from(&self, attribute: u32, last: u64) -> impl Iterator<Item = (u64, bool)> + '_ {
        let range = self.values.range((attribute, 0)..=(attribute, last)).rev();
        range.map(|((_, number), copied)| (*number, copied.is_some()))
    }

    /// Numbers of an attribute from `first` to `last`, ascending, with what they have; `None` for those that were removed.
    pub(crate) fn up_from(&self, attribute: u32, first: u64, last: u64) -> impl Iterator<Item = (u64, Option<&[u8]>)> {
        debug_assert!(attribute < SPACE, "{attribute} has no pages");
        let range = self.values.range((attribute, first)..=(attribute, last));
        range.map(|((_, number), copied)| (*number, copied.as_ref().map(|copied| copied.bytes.as_slice())))
    }
}

fn copy(bytes: &[u8], budget: &Arc<MemoryBudget>) -> Result<Arc<CopiedValue>> {
    if !budget.try_reserve(bytes.len()) {
        return Err(Error::OutOfMemory(
            "the transaction has changed more heap pages than gingham.memory_limit has room for copies of; \
             raise it, or change less in one transaction"
                .into(),
        ));
    }
    // Arrow's memory is aligned as the codes of a page have to be.
    Ok(Arc::new(CopiedValue { bytes: Buffer::from(bytes), budget: Arc::clone(budget) }))
}
