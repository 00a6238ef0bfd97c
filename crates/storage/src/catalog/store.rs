//! An open database: its folder, its LMDB environment, its snapshots and its writer.

use crate::cache::BlockCache;
use crate::catalog::environment::Environment;
use crate::catalog::folder::{self, Kind, WriterLock};
use crate::catalog::group::{Jobs, WriteOptions, waited};
use crate::catalog::line::{Entered, Line, Turn};
use crate::catalog::load_snapshot::Loader;
use crate::catalog::pending::{FileKeeper, WrittenFiles};
use crate::catalog::records::{State, TableRecord};
use crate::catalog::registry::{self, Registration};
use crate::catalog::{Snapshot, TableSnapshot, TableWriter, Transaction, records, walker};
use crate::heap::store::{PageSource, Verified};
use crate::heap::{HeapReader, HeapRecord};
use crate::io::lmdb::{Access, ReadPin};
use crate::io::system;
use crate::memory::MemoryBudget;
use crate::segment::SegmentId;
use crate::{Error, Result, TableId, TableName};
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    // Dropped in this order: the environment closes before the lock is given up, the folder of a scratch database goes
    // after both, and the path is free for another `open` last.
    pub(crate) environment: Environment,
    lock: Option<WriterLock>,
    _temporary: Option<tempfile::TempDir>,
    path: PathBuf,
    /// Whether files and commits are synced.
    pub(crate) durable: bool,
    pub(crate) budget: Arc<MemoryBudget>,
    cache: Arc<BlockCache>,
    /// The latest snapshot taken.
    latest: Mutex<Option<Latest>>,
    /// Who writes in this process, and who waits to.
    pub(crate) line: Line,
    /// Jobs of those who wait and let others do them.
    pub(crate) jobs: Jobs,
    marked_writing: AtomicBool,
    marked_relaxed: AtomicBool,
    next_segment: AtomicU64,
    pub(crate) files: Arc<FileKeeper>,
    /// Heap pages whose checksums were verified.
    pub(crate) verified: Verified,
    /// What was odd when the store was opened, for `check`.
    pub(crate) opening_notes: Vec<String>,
    _registration: Option<Registration>,
}

/// A snapshot as it is kept, without pages, for those who come before the next commit.
#[derive(Debug, Clone)]
struct Latest {
    /// LMDB's number of the commit that it shows.
    transaction: usize,
    snapshot: Arc<Snapshot>,
    state: State,
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
    ///
    /// A path that this process has open already gives the same store, whatever `options` say of creating; asking to
    /// write one that is open for reading only is [`Error::Locked`].
    pub fn open(path: &Path, options: &OpenOptions, budget: Arc<MemoryBudget>) -> Result<Arc<Self>> {
        if path.is_file() {
            return Err(Error::InvalidInput(format!("{} is a file; a database is a folder", path.display())));
        }
        if options.create && !options.read_only {
            folder::make_with_parents(path)?;
        }
        let canonical = match path.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing(path)),
            Err(error) => return Err(Error::io("opening", path)(error)),
        };
        let store = registry::get_or_open(&canonical, |registration| {
            Self::open_folder(&canonical, options, budget, registration)
        })?;
        if store.is_read_only() && !options.read_only {
            return Err(Error::Locked(format!(
                "database {} is open for reading only in this process; close it before opening it for writing",
                path.display()
            )));
        }
        Ok(store)
    }

    /// A database in a temporary folder, not synced, removed when dropped.
    pub fn scratch(budget: Arc<MemoryBudget>) -> Result<Arc<Self>> {
        let temporary = tempfile::Builder::new()
            .prefix("gingham-")
            .tempdir()
            .map_err(Error::io("creating folder in", &std::env::temp_dir()))?;
        let path = temporary.path().to_path_buf();
        let lock = WriterLock::take(&path)?;
        folder::create(&path, Access::Scratch)?;
        let environment = Environment::open(&folder::catalog(&path), Access::Scratch)?;
        let mut store = Self::assemble(&path, environment, Some(lock), false, budget)?;
        store._temporary = Some(temporary);
        Ok(Arc::new(store))
    }

    fn open_folder(
        path: &Path,
        options: &OpenOptions,
        budget: Arc<MemoryBudget>,
        registration: Registration,
    ) -> Result<Self> {
        system::raise_open_file_limit();
        if let Some(kind) = system::network_file_system(path) {
            tracing::warn!(
                "database {} lies on {kind}, a network file system: LMDB's locks and memory maps are not reliable there; \
                 copy it to a local disk",
                path.display()
            );
        }
        let mut store = if options.read_only {
            if folder::inspect(path)? == Kind::Vacant {
                return Err(missing(path));
            }
            walker::verify_for_opening(&folder::catalog(path), folder::is_relaxed(path))?;
            Self::assemble(path, open_for_reading(path)?, None, true, budget)?
        } else {
            if folder::inspect(path)? == Kind::Vacant && !options.create {
                return Err(missing(path));
            }
            let lock = WriterLock::take(path)?;
            if folder::inspect(path)? == Kind::Vacant {
                folder::create(path, Access::Durable)?;
            }
            let relaxed = folder::is_relaxed(path);
            walker::verify_for_opening(&folder::catalog(path), relaxed)?;
            let mut environment = Environment::open(&folder::catalog(path), Access::Durable)?;
            environment.clear_stale_readers()?;
            if relaxed {
                // The commit before the last may be overwritten in part; after another one the last takes its place.
                let state = environment.read(|transaction| records::state(&environment, transaction))?;
                environment.commit_again(state)?;
            }
            if !environment.has_all() {
                let state = environment.read(|transaction| records::state(&environment, transaction))?;
                folder::raise_format(path)?;
                environment.add_missing(state)?;
            }
            Self::assemble(path, environment, Some(lock), true, budget)?
        };
        store._registration = Some(registration);
        if !store.is_read_only() {
            store.sweep()?;
        }
        Ok(store)
    }

    fn assemble(
        path: &Path,
        environment: Environment,
        lock: Option<WriterLock>,
        durable: bool,
        budget: Arc<MemoryBudget>,
    ) -> Result<Self> {
        let state = environment.read(|transaction| {
            let state = records::state(&environment, transaction)?;
            if state.transaction != transaction.id() as u64 {
                return Err(Error::corrupt(
                    environment.folder().join("data.mdb").display().to_string(),
                    format!("commit {} is labelled as {}", state.transaction, transaction.id()),
                ));
            }
            Ok(state)
        })?;
        let mut opening_notes = Vec::new();
        if lock.as_ref().is_some_and(|lock| lock.unclean) {
            opening_notes.push("the last writer of this database did not close it; its structure was verified".into());
        }
        Ok(Self {
            environment,
            lock,
            _temporary: None,
            path: path.to_path_buf(),
            durable,
            cache: BlockCache::new(Arc::clone(&budget)),
            budget,
            latest: Mutex::new(None),
            line: Line::default(),
            jobs: Jobs::default(),
            marked_writing: AtomicBool::new(false),
            marked_relaxed: AtomicBool::new(false),
            next_segment: AtomicU64::new(state.next_segment),
            files: Arc::default(),
            verified: Verified::default(),
            opening_notes,
            _registration: None,
        })
    }

    /// The database folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True when opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }

    /// The latest committed state. Cheap when nothing was committed since the last call.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        Ok(self.latest_taken()?.snapshot)
    }

    fn latest_taken(&self) -> Result<Latest> {
        let mut tried = None;
        loop {
            let mut seen = 0;
            let result = self.environment.read(|transaction| {
                seen = transaction.id();
                let before = match &*self.latest() {
                    Some(latest) if latest.transaction == seen => return Ok(latest.clone()),
                    before => before.clone(),
                };
                let state = records::state(&self.environment, transaction)?;
                let previous = before.as_ref().map(|latest| latest.snapshot.as_ref());
                let snapshot = Arc::new(self.loader().snapshot(transaction, state.clone(), previous)?);
                let loaded = Latest { transaction: seen, snapshot, state };
                self.keep(loaded.clone());
                Ok(loaded)
            });
            match result {
                // Another process replaced the segment after this read transaction began: its successor is committed.
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound && tried != Some(seen) => {
                    tried = Some(seen);
                }
                Err(Error::Io { source, path, .. }) if source.kind() == ErrorKind::NotFound => {
                    return Err(Error::corrupt(path.display().to_string(), "this segment file is missing"));
                }
                result => return result,
            }
        }
    }

    /// Keeps a snapshot unless a later one is kept.
    fn keep(&self, taken: Latest) {
        let mut latest = self.latest();
        if latest.as_ref().is_none_or(|known| known.transaction < taken.transaction) {
            *latest = Some(taken);
        }
    }

    /// The state before LMDB's transaction of that number, when a snapshot of it was taken.
    pub(crate) fn state_before(&self, transaction: usize) -> Option<State> {
        self.latest().as_ref().filter(|latest| latest.transaction + 1 == transaction).map(|latest| latest.state.clone())
    }

    /// Takes the snapshot of a commit by what it has changed in the one before, where that is records of heap tables alone: who
    /// comes next need not read the catalog. The caller has the turn to write; `records` are of all tables that the commit
    /// changed, and names mean what they meant.
    pub(crate) fn publish(&self, transaction: usize, state: State, records: HashMap<TableId, TableRecord>) {
        let before = self.latest().clone().filter(|latest| latest.transaction + 1 == transaction);
        if let Some(snapshot) = before.and_then(|before| before.snapshot.after_commit(state.commit, records)) {
            self.keep(Latest { transaction, snapshot: Arc::new(snapshot), state });
        }
    }

    /// The latest committed state, in which heap tables can be read: in place, for which the snapshot holds a read
    /// transaction of LMDB's when there are any such tables. Others' commits keep what it sees until it is dropped.
    pub fn pinned(self: &Arc<Self>) -> Result<Arc<Snapshot>> {
        let (snapshot, pin) = self.under_pin(|snapshot| snapshot.tables.values().any(|table| table.heap.is_some()))?;
        let Some(pin) = pin else { return Ok(snapshot) };
        Ok(Arc::new(snapshot.with_pages(|table, heap| self.reader(&pin, table, heap))))
    }

    /// The same of one table; `None` when there is none of that name.
    pub fn pinned_table(self: &Arc<Self>, name: &TableName) -> Result<Option<Arc<TableSnapshot>>> {
        let is_heap = |snapshot: &Snapshot| snapshot.tables.get(name).is_some_and(|table| table.heap.is_some());
        let (snapshot, pin) = self.under_pin(is_heap)?;
        let Some(table) = snapshot.tables.get(name) else { return Ok(None) };
        Ok(Some(match (&pin, &table.heap) {
            (Some(pin), Some(heap)) => table.with_reader(self.reader(pin, table, heap)),
            _ => Arc::clone(table),
        }))
    }

    /// The latest snapshot, and a read transaction at its commit where `wanted` says that pages of it are to be read.
    fn under_pin(
        self: &Arc<Self>,
        wanted: impl Fn(&Snapshot) -> bool,
    ) -> Result<(Arc<Snapshot>, Option<Arc<ReadPin>>)> {
        loop {
            let latest = self.latest_taken()?;
            if !wanted(&latest.snapshot) {
                return Ok((latest.snapshot, None));
            }
            // Who only reads needs no more room.
            if !self.durable || self.marked_writing.load(Ordering::Relaxed) {
                self.environment.grow_when_idle()?;
            }
            let owner = Arc::clone(self);
            let pin = self.environment.pin(owner)?;
            // Another commit may have come between the two.
            if pin.read(|transaction| transaction.id()) == latest.transaction {
                return Ok((latest.snapshot, Some(pin)));
            }
        }
    }

    fn reader(self: &Arc<Self>, pin: &Arc<ReadPin>, table: &TableSnapshot, heap: &HeapRecord) -> HeapReader {
        let (id, name) = (table.definition.id, table.definition.name.to_string());
        let source = PageSource::new(Arc::clone(self), Arc::clone(pin), id, name, None);
        HeapReader::of(source, Arc::clone(&table.definition), heap.clone(), table.version)
    }

    /// The latest snapshot when it was taken already: `None` when a commit came since. Reads no file but the catalog's.
    pub fn taken_snapshot(&self) -> Result<Option<Arc<Snapshot>>> {
        let id = self.environment.read(|transaction| Ok(transaction.id()))?;
        Ok(self.latest().as_ref().filter(|taken| taken.transaction == id).map(|taken| Arc::clone(&taken.snapshot)))
    }

    /// Runs `work` as the one writer and commits when it returns `Ok`; nothing is visible otherwise. Blocks while
    /// another writer is at work.
    pub fn write<R>(self: &Arc<Self>, work: impl FnOnce(&mut Transaction<'_>) -> Result<R>) -> Result<R> {
        self.write_with(&WriteOptions::default(), work)
    }

    /// The same in another way.
    pub(crate) fn write_with<R>(
        self: &Arc<Self>,
        options: &WriteOptions,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R>,
    ) -> Result<R> {
        let _turn = self.turn(options)?;
        let mut transaction = self.begin_writing(options)?;
        let result = work(&mut transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// Begins the write transaction. The caller has the turn in the line of writers.
    pub(crate) fn begin_writing(self: &Arc<Self>, options: &WriteOptions) -> Result<Transaction<'_>> {
        // Keys are looked for in the pages of heap tables as they were before.
        self.begin_on(Self::pinned, options)
    }

    /// The same, on the latest snapshot as `base` takes it.
    pub(crate) fn begin_on(
        self: &Arc<Self>,
        base: impl FnOnce(&Arc<Self>) -> Result<Arc<Snapshot>>,
        options: &WriteOptions,
    ) -> Result<Transaction<'_>> {
        let lock = self.lock.as_ref().ok_or_else(|| self.read_only_error())?;
        if self.durable && options.relaxed && !self.marked_relaxed.load(Ordering::Relaxed) {
            lock.mark_relaxed()?;
            self.marked_relaxed.store(true, Ordering::Relaxed);
            self.marked_writing.store(true, Ordering::Relaxed);
        }
        if self.durable && !self.marked_writing.load(Ordering::Relaxed) {
            lock.mark_writing()?;
            self.marked_writing.store(true, Ordering::Relaxed);
        }
        let base = base(self)?;
        Transaction::begin(self, base, options.relaxed)
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

    /// The heap table of that number at the latest commit, to be read in place. For as long as the reader lives, LMDB keeps
    /// what later commits replace.
    pub fn heap(self: &Arc<Self>, table: TableId) -> Result<HeapReader> {
        let owner = Arc::clone(self);
        HeapReader::open(Arc::clone(self), self.environment.pin(owner)?, table)
    }

    /// Where snapshots are loaded from.
    pub(crate) fn loader(&self) -> Loader<'_> {
        Loader { environment: &self.environment, database: &self.path, cache: &self.cache }
    }

    /// A number for a new segment or delta block.
    pub(crate) fn allocate_segment(&self) -> SegmentId {
        self.next_segment.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that [`allocate_segment`](Self::allocate_segment) gives next.
    pub(crate) fn next_segment(&self) -> SegmentId {
        self.next_segment.load(Ordering::Relaxed)
    }

    /// A list of files to come in the folder of `table`, removed again unless they are committed.
    pub(crate) fn written_files(&self) -> WrittenFiles {
        WrittenFiles::new(Arc::clone(&self.files), self.path.clone())
    }

    /// Every segment that the catalog names.
    pub(crate) fn known_segments(&self) -> Result<HashSet<(TableId, SegmentId)>> {
        self.environment.read(|transaction| {
            let mut known = HashSet::new();
            for table in records::tables(&self.environment, transaction)? {
                let id = table.definition.id;
                let segments = records::segments(&self.environment, transaction, &table)?;
                known.extend(segments.into_iter().map(|(_, segment)| (id, segment.id)));
            }
            Ok(known)
        })
    }

    /// Waits for the turn to write; nobody else of this process commits while it lives.
    pub(crate) fn turn(&self, options: &WriteOptions) -> Result<Turn<'_>> {
        match self.line.enter(options.lock_timeout, None, || false) {
            Entered::Turn(turn) => Ok(turn),
            Entered::Answered | Entered::TooLate => Err(waited(options)),
        }
    }

    fn latest(&self) -> MutexGuard<'_, Option<Latest>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes segment files that no commit names: left by a crash between writing and commit.
    fn sweep(&self) -> Result<()> {
        let orphans = folder::orphans(&self.path, &self.known_segments()?)?;
        if !orphans.is_empty() {
            tracing::info!("{}: removing {} files that no commit names", self.path.display(), orphans.len());
            folder::remove_files(&self.path, &orphans);
        }
        Ok(())
    }

    fn read_only_error(&self) -> Error {
        Error::Locked(format!("database {} is open for reading only", self.path.display()))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(lock) = &self.lock
            && self.marked_writing.load(Ordering::Relaxed)
            && self.environment.sync_relaxed()
        {
            lock.mark_clean();
        }
    }
}

/// Opens the environment with a reader slot, or without one where the folder can't be written.
fn open_for_reading(path: &Path) -> Result<Environment> {
    let catalog = folder::catalog(path);
    match Environment::open(&catalog, Access::Read) {
        Err(Error::Io { source, .. })
            if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
        {
            Environment::open(&catalog, Access::ReadUnlocked)
        }
        result => result,
    }
}

fn missing(path: &Path) -> Error {
    Error::InvalidInput(format!("there is no database in {}", path.display()))
}
