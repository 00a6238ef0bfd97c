//! What a write transaction keeps in memory until it commits: LMDB's copies of the pages that it changes. They are on account
//! of the memory limit, so that the cache gives way to them.

use crate::io::memory::MemoryBudget;
use crate::lmdb::environment::Name;
use crate::write::transaction::Transaction;
use crate::{Error, Result};
use std::sync::Arc;

/// Bytes of a page of LMDB's.
const PAGE: usize = 4096;
/// Bytes that LMDB puts before a value that has pages of its own.
const BEFORE: usize = 16;
/// Pages and long values that LMDB keeps at a time: of a transaction with more it writes some out early.
const KEPT: usize = 131_071;

/// The changed pages of one write transaction, or of one within another, after which the copies count that are made of them
/// (`nested.rs`).
#[derive(Debug)]
pub(crate) struct Dirty {
    budget: Arc<MemoryBudget>,
    /// What is on account.
    reserved: usize,
    /// Heap pages and long values.
    values: usize,
    /// Entries of indexes, each of which may have changed another page of its tree.
    entries: usize,
    /// Bytes that are on account for these.
    of_entries: usize,
    /// Whether who writes sees to it that it commits before the limit is passed.
    pub(crate) is_watched: bool,
}

impl Dirty {
    /// The pages of a transaction that has not begun to write.
    pub(crate) fn new(budget: &Arc<MemoryBudget>) -> Self {
        let budget = Arc::clone(budget);
        Self { budget, reserved: 0, values: 0, entries: 0, of_entries: 0, is_watched: false }
    }

    /// Bytes so far, or a few more.
    pub(crate) fn bytes(&self) -> usize {
        self.reserved
    }

    /// A heap page or long value is written for the first time.
    pub(crate) fn add_value(&mut self, bytes: usize) -> Result<()> {
        self.values += 1;
        if self.values > KEPT { Ok(()) } else { self.reserve((bytes + BEFORE).next_multiple_of(PAGE)) }
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.is_watched {
            self.budget.reserve(bytes);
        } else if !self.budget.try_reserve(bytes) {
            return Err(Error::OutOfMemory(format!(
                "the transaction has changed {} MB of heap pages and indexes, which it keeps in memory until it commits, and \
                 gingham.memory_limit has room for no more; raise it, or change less in one transaction",
                self.reserved >> 20
            )));
        }
        self.reserved += bytes;
        Ok(())
    }
}

impl Drop for Dirty {
    fn drop(&mut self) {
        self.budget.release(self.reserved);
    }
}

impl Transaction<'_> {
    /// Notes that so many entries of indexes were written: as many pages have changed at most, and no more than there are.
    pub(crate) fn add_dirty_entries(&mut self, entries: usize) -> Result<()> {
        let stat = self.environment.values(Name::Indexes)?.stat(&self.transaction);
        let stat = stat.map_err(self.environment.failed("reading"))?;
        self.heap.dirty.entries += entries;
        let pages = self.heap.dirty.entries.min(stat.branch_pages + stat.leaf_pages);
        let bytes = pages.min(KEPT) * PAGE;
        let more = bytes.saturating_sub(self.heap.dirty.of_entries);
        self.heap.dirty.reserve(more)?;
        self.heap.dirty.of_entries += more;
        Ok(())
    }
}
