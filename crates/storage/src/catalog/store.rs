//! An open database: its folder, its LMDB environment, its snapshots and its writer.

use crate::catalog::{Snapshot, TableSnapshot, TableWriter, Transaction};
use crate::memory::MemoryBudget;
use crate::{Error, Result, TableName};
use std::path::Path;
use std::sync::Arc;

/// How to open a database.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Make the database when the folder is missing or empty.
    pub create: bool,
    /// Never write, not even a lock where the folder forbids it.
    pub read_only: bool,
}

/// An open database. One per path and process; opening the same path again gives the same store.
#[derive(Debug)]
pub struct Store {
    _private: (),
}

/// What `check` found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Catalog values, segment blocks and LMDB pages verified.
    pub verified: u64,
    /// One per damaged place.
    pub errors: Vec<Error>,
    /// Oddities that are not damage: orphan files, an unclean end.
    pub notes: Vec<String>,
}

impl Store {
    /// Opens the database folder `path`.
    pub fn open(path: &Path, options: &OpenOptions, budget: Arc<MemoryBudget>) -> Result<Arc<Self>> {
        let _ = (path, options, budget);
        todo!()
    }

    /// A database in a temporary folder, not synced, removed when dropped.
    pub fn scratch(budget: Arc<MemoryBudget>) -> Result<Arc<Self>> {
        let _ = budget;
        todo!()
    }

    /// The database folder.
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// True when opened for reading only.
    pub fn is_read_only(&self) -> bool {
        todo!()
    }

    /// The latest committed state. Cheap when nothing was committed since the last call.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        todo!()
    }

    /// Runs `work` as the one writer and commits when it returns `Ok`; nothing is visible otherwise. Blocks while
    /// another writer is at work.
    pub fn write<R>(self: &Arc<Self>, work: impl FnOnce(&mut Transaction<'_>) -> Result<R>) -> Result<R> {
        let _ = work;
        todo!()
    }

    /// A writer of new records for `table`. Several threads may write at once, each with its own lane; nothing is
    /// visible before [`Transaction::append`]. `table` may be one that does not exist yet (its number 0, no segments):
    /// CREATE TABLE AS and loads into a new table write the records first, then create the table and append to the number
    /// that it got, in one transaction.
    pub fn table_writer(self: &Arc<Self>, table: &Arc<TableSnapshot>) -> Result<TableWriter> {
        let _ = table;
        todo!()
    }

    /// Merges the delta and small segments of a table into full segments (sorted when the table says so), then commits.
    /// Returns the records rewritten.
    pub fn optimize(self: &Arc<Self>, table: &TableName) -> Result<u64> {
        let _ = table;
        todo!()
    }

    /// Verifies LMDB's structure, every catalog value, every block of every segment.
    pub fn check(&self) -> Result<CheckReport> {
        todo!()
    }

    /// Copies a consistent snapshot to the folder `to`, which must be missing or empty, while the database is in use.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        let _ = to;
        todo!()
    }
}
