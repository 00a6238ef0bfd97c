//! The latest snapshot: taken when somebody asks for it, kept until the next commit, and made of the one before where that suffices.

use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::records;
use crate::lmdb::records::{DatabaseState, TableRecord};
use crate::open::shared::Store;
use crate::snapshot::heap::page_source::PageSource;
use crate::snapshot::heap::reader::HeapReader;
use crate::snapshot::pin::{Pin, Seen};
use crate::snapshot::table_snapshot::{Snapshot, TableSnapshot};
use crate::{Result, TableId, TableName};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// Records of heap tables as the catalog has them, of those that commits have changed since it was read.
pub(crate) type Known = HashMap<TableId, Arc<TableRecord>>;

/// A snapshot as it is kept, without pages, for those who come before the next commit.
#[derive(Debug, Clone)]
pub(crate) struct Latest {
    /// The commit that it shows.
    seen: Seen,
    snapshot: Arc<Snapshot>,
    state: DatabaseState,
    records: Arc<Known>,
}

impl Latest {
    /// Whether that commit is the next one.
    fn is_before(&self, (environment, commit): Seen) -> bool {
        self.seen == (environment, commit.wrapping_sub(1))
    }
}

impl Store {
    /// The latest committed state. Cheap when nothing was committed since the last call. Tables that could not be read before are
    /// looked at again when their files are others.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        Ok(self.latest_taken()?.snapshot)
    }

    fn latest_taken(&self) -> Result<Latest> {
        let mut lacking: Option<Latest> = None;
        loop {
            let environment = self.environment()?;
            let taken = environment.read(|transaction| {
                let seen = (environment.generation(), transaction.id());
                let before = self.latest().clone();
                let is_it = |latest: &Latest| latest.seen == seen && !latest.snapshot.is_worth_another_look();
                if before.as_ref().is_some_and(is_it) {
                    return Ok(before);
                }
                if let Some(taken) = lacking.take().filter(|taken| taken.seen == seen) {
                    // Nobody has committed since: the file is gone.
                    self.keep(taken.clone());
                    return Ok(Some(taken));
                }
                let state = records::state(&environment, transaction)?;
                let previous = before.as_ref().map(|latest| latest.snapshot.as_ref());
                let snapshot = Arc::new(self.loader(&environment).snapshot(transaction, state.clone(), previous)?);
                let taken = Latest { seen, snapshot, state, records: Arc::default() };
                if lacks_another_file(&taken.snapshot, previous) {
                    // Another process may have replaced the segment after this read transaction began: then its successor is
                    // committed.
                    lacking = Some(taken);
                    return Ok(None);
                }
                self.keep(taken.clone());
                Ok(Some(taken))
            })?;
            if let Some(taken) = taken {
                return Ok(taken);
            }
        }
    }

    /// Keeps a snapshot unless a later one is kept. Of two of the same commit the later one has looked at damaged tables again.
    fn keep(&self, taken: Latest) {
        let mut latest = self.latest();
        let is_later =
            |known: &Latest| known.seen < taken.seen || known.seen == taken.seen && !known.snapshot.damaged.is_empty();
        if latest.as_ref().is_none_or(is_later) {
            *latest = Some(taken);
        }
    }

    /// The state before a commit, and what is known of its tables, when a snapshot of it was taken.
    pub(crate) fn state_before(&self, commit: Seen) -> Option<(DatabaseState, Arc<Known>)> {
        let latest = self.latest();
        let before = latest.as_ref().filter(|latest| latest.is_before(commit))?;
        Some((before.state.clone(), Arc::clone(&before.records)))
    }

    /// Takes the snapshot of a commit by what it has changed in the one before, where that is records of heap tables alone: who
    /// comes next need not read the catalog. The caller has the write lock; `records` are of all tables that the commit
    /// changed, and names mean what they meant.
    pub(crate) fn publish(&self, seen: Seen, state: DatabaseState, records: HashMap<TableId, TableRecord>) {
        let Some(before) = self.latest().clone().filter(|latest| latest.is_before(seen)) else { return };
        if let Some(snapshot) = before.snapshot.after_commit(state.commit, &records) {
            let mut known = before.records;
            Arc::make_mut(&mut known).extend(records.into_iter().map(|(table, record)| (table, Arc::new(record))));
            self.keep(Latest { seen, snapshot: Arc::new(snapshot), state, records: known });
        }
    }

    /// The latest committed state, in which heap tables can be read: in place, for which the snapshot holds a read
    /// transaction of LMDB's when there are any such tables. Others' commits keep what it sees until it is dropped.
    pub fn pinned(self: &Arc<Self>) -> Result<Arc<Snapshot>> {
        let (snapshot, pin) = self.under_pin(|snapshot| snapshot.tables.values().any(|table| table.heap.is_some()))?;
        let Some(pin) = pin else { return Ok(snapshot) };
        Ok(Arc::new(snapshot.with_pages(|table, heap| self.reader(&pin, table, heap))))
    }

    /// A table whose heap pages are pinned; `None` when there is none of that name. Fails when it can't be read.
    pub fn pinned_table(self: &Arc<Self>, name: &TableName) -> Result<Option<Arc<TableSnapshot>>> {
        let is_heap = |snapshot: &Snapshot| snapshot.tables.get(name).is_some_and(|table| table.heap.is_some());
        let (snapshot, pin) = self.under_pin(is_heap)?;
        let Some(table) = snapshot.table(name)? else { return Ok(None) };
        Ok(Some(match (&pin, &table.heap) {
            (Some(pin), Some(heap)) => table.with_reader(self.reader(pin, table, heap)),
            _ => Arc::clone(table),
        }))
    }

    /// The latest snapshot, and a read transaction at its commit where `wanted` says that pages of it are to be read.
    fn under_pin(self: &Arc<Self>, wanted: impl Fn(&Snapshot) -> bool) -> Result<(Arc<Snapshot>, Option<Pin>)> {
        loop {
            let latest = self.latest_taken()?;
            if !wanted(&latest.snapshot) {
                return Ok((latest.snapshot, None));
            }
            self.grow_before_pin()?;
            // Another commit may have come between the two.
            if let Some(pin) = self.pin_at(latest.seen, latest.snapshot.commit)? {
                return Ok((latest.snapshot, Some(pin)));
            }
        }
    }

    /// Gives the map room for those who write, before a pin keeps it where it is.
    pub(crate) fn grow_before_pin(&self) -> Result<()> {
        // Who only reads needs no more room.
        if !self.durable || self.marked_writing.load(Ordering::Relaxed) {
            self.environment()?.grow_when_idle()?;
        }
        Ok(())
    }

    fn reader(&self, pin: &Pin, table: &TableSnapshot, heap: &HeapRecord) -> HeapReader {
        let (prefix, name) = (heap.prefix(table.definition.id), table.definition.name.to_string());
        let source = PageSource::new(&self.verified, pin.clone(), prefix, name, None);
        HeapReader::of(source, Arc::clone(&table.definition), heap.clone(), table.version)
    }

    /// Forgets the latest snapshot, with the plans that are kept with it: they would hold the environment that it was read from.
    pub(crate) fn forget_latest(&self) {
        // Dropped without the lock.
        let latest = self.latest().take();
        drop(latest);
    }

    /// The latest snapshot when it was taken already: `None` when a commit came since. Reads no file but the catalog's.
    pub fn taken_snapshot(&self) -> Result<Option<Arc<Snapshot>>> {
        let environment = self.environment()?;
        let seen = (environment.generation(), environment.read(|transaction| Ok(transaction.id()))?);
        Ok(self.latest().as_ref().filter(|taken| taken.seen == seen).map(|taken| Arc::clone(&taken.snapshot)))
    }

    fn latest(&self) -> MutexGuard<'_, Option<Latest>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a table lacks a file of which `previous` did not know that.
fn lacks_another_file(snapshot: &Snapshot, previous: Option<&Snapshot>) -> bool {
    snapshot.damaged.iter().any(|(name, table)| {
        let known = previous.and_then(|previous| previous.damaged.get(name));
        table.lacks_a_file() && !known.is_some_and(|known| Arc::ptr_eq(known, table))
    })
}
