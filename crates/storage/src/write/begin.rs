//! How write transactions begin.

use crate::Result;
use crate::lmdb::environment::Environment;
use crate::lmdb::folder;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::snapshot::table_snapshot::{Snapshot, TableSnapshot};
use crate::write::table_writer::TableWriter;
use crate::write::transaction::Transaction;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Store {
    /// Runs `work` as the one writer and commits when it returns `Ok`; nothing is visible otherwise. Blocks while
    /// another writer is at work.
    pub fn write<R>(self: &Arc<Self>, work: impl FnOnce(&mut Transaction<'_>) -> Result<R>) -> Result<R> {
        self.write_with(&WriteOptions::default(), work)
    }

    /// Runs `work` as [`write`](Self::write) does, in the way that `options` say.
    pub(crate) fn write_with<R>(
        self: &Arc<Self>,
        options: &WriteOptions,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R>,
    ) -> Result<R> {
        let _turn = self.turn(options)?;
        let environment = self.environment()?;
        let mut transaction = self.begin_writing(&environment, options)?;
        let result = work(&mut transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// Begins the write transaction of the current environment. The caller has the turn in the line of writers.
    pub(crate) fn begin_writing<'t>(
        self: &'t Arc<Self>,
        environment: &'t Arc<Environment>,
        options: &WriteOptions,
    ) -> Result<Transaction<'t>> {
        // Keys are looked for in the pages of heap tables as they were before.
        self.begin_on(environment, Self::pinned, options)
    }

    /// Begins the write transaction on the latest snapshot as `base` takes it.
    pub(crate) fn begin_on<'t>(
        self: &'t Arc<Self>,
        environment: &'t Arc<Environment>,
        base: impl FnOnce(&Arc<Self>) -> Result<Arc<Snapshot>>,
        options: &WriteOptions,
    ) -> Result<Transaction<'t>> {
        let lock = self.writer_lock()?;
        self.settle_vacuum()?;
        if self.durable && options.relaxed && !self.marked_relaxed.load(Ordering::Relaxed) {
            lock.mark_relaxed()?;
            self.marked_relaxed.store(true, Ordering::Relaxed);
            self.marked_writing.store(true, Ordering::Relaxed);
        }
        if self.durable && !self.marked_writing.load(Ordering::Relaxed) {
            // The latest commit is checksummed first: until the next one, the lock file will say that it is.
            environment.commit_checksum()?.seal_if_open()?;
            folder::raise_older_format(&self.path)?;
            lock.mark_sealing()?;
            self.marked_writing.store(true, Ordering::Relaxed);
        }
        self.require_synced()?;
        self.sweep_unfinished(environment)?;
        let base = base(self)?;
        Transaction::begin(self, environment, base, options)
    }

    /// A writer of new records for `table`. Several threads may write at once, each with its own lane; nothing is
    /// visible before [`Transaction::append`]. `table` may be one that does not exist yet (its number 0, no segments):
    /// CREATE TABLE AS and loads into a new table write the records first, then create the table and append to the number
    /// that it got, in one transaction.
    pub fn table_writer(self: &Arc<Self>, table: &Arc<TableSnapshot>) -> Result<TableWriter> {
        if self.is_read_only() {
            return Err(self.read_only_error());
        }
        Ok(TableWriter::new(Arc::clone(self), Arc::clone(&table.definition)))
    }
}
