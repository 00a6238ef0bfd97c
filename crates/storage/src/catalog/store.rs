//! An open database: its folder, its LMDB environment, its snapshots and its writer.

use crate::cache::BlockCache;
use crate::catalog::current::{Current, open_for_reading};
use crate::catalog::environment::Environment;
use crate::catalog::folder::{self, Kind, WriterLock};
use crate::catalog::group::{Jobs, WriteOptions};
use crate::catalog::latest::Latest;
use crate::catalog::line::{Entered, Line, Turn};
use crate::catalog::load_snapshot::Loader;
use crate::catalog::pending::{FileKeeper, WrittenFiles};
use crate::catalog::pin::Readers;
use crate::catalog::registry::{self, Registration};
use crate::catalog::unfinished::Unfinished;
use crate::catalog::vacuum::Vacuums;
use crate::catalog::walker::{Sealer, Trusted};
use crate::catalog::{Snapshot, TableSnapshot, TableWriter, Transaction, records, walker};
use crate::heap::HeapReader;
use crate::heap::store::Verified;
use crate::io::lmdb::Access;
use crate::io::system;
use crate::memory::MemoryBudget;
use crate::segment::SegmentId;
use crate::{Error, Result, TableId};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
    /// The latest snapshot taken. Plans that are kept with it may have the environment.
    pub(super) latest: Mutex<Option<Latest>>,
    current: Current,
    lock: Option<WriterLock>,
    _temporary: Option<tempfile::TempDir>,
    path: PathBuf,
    /// Whether files and commits are synced.
    pub(crate) durable: bool,
    pub(crate) budget: Arc<MemoryBudget>,
    cache: Arc<BlockCache>,
    /// Who writes in this process, and who waits to.
    pub(crate) line: Line,
    /// Jobs of those who wait and let others do them.
    pub(crate) jobs: Jobs,
    /// Whether a load may have left pages that no table has.
    pub(super) unswept: AtomicBool,
    pub(super) marked_writing: AtomicBool,
    marked_relaxed: AtomicBool,
    /// Set when a commit was made that could not be synced.
    unsynced: AtomicBool,
    next_segment: AtomicU64,
    pub(crate) files: Arc<FileKeeper>,
    /// Heap pages whose checksums were verified.
    pub(crate) verified: Verified,
    /// What was odd when the store was opened, for `check`.
    pub(crate) opening_notes: Vec<String>,
    pub(crate) vacuums: Vacuums,
    pub(crate) readers: Readers,
    _registration: Option<Arc<Registration>>,
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
        if !store.is_read_only() && store.unswept.load(Ordering::Acquire) {
            store.sweep_at_open();
        }
        Ok(store)
    }

    /// Waits until nothing in this process has the store with this [`path`](Self::path) any more, whose last bytes are written
    /// then; false when something has after `patience`.
    pub fn wait_until_closed(path: &Path, patience: Duration) -> bool {
        registry::wait_until_free(path, patience)
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
        let mut store = Self::assemble(&path, environment, Some(lock), Access::Scratch, budget)?;
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
        let mut notes: Vec<String> = Vec::new();
        let mut store = if options.read_only {
            if folder::inspect(path)? == Kind::Vacant {
                return Err(missing(path));
            }
            Self::assemble(path, open_for_reading(path)?, None, Access::Read, budget)?
        } else {
            if folder::inspect(path)? == Kind::Vacant && !options.create {
                return Err(missing(path));
            }
            let lock = WriterLock::take(path)?;
            if folder::inspect(path)? == Kind::Vacant {
                folder::create(path, Access::Durable)?;
            }
            let trusted = folder::trusted(path, || false)?;
            walker::verify_for_opening(&folder::catalog(path), trusted)?;
            if trusted == Trusted::Before {
                // The one before takes the place of the commit that was interrupted.
                commit_again(&Environment::open(&folder::catalog(path), Access::Before)?)?;
                // Whoever comes next looks for a seal too.
                Sealer::open(&folder::catalog(path))?.seal()?;
                notes.push(
                    "the last commit was interrupted by a power loss, before it was acknowledged; it was undone".into(),
                );
            }
            let mut environment = Environment::open(&folder::catalog(path), Access::Durable)?;
            environment.clear_stale_readers()?;
            if trusted == Trusted::Latest {
                // The commit before the last may be overwritten in part; after another one the last takes its place.
                commit_again(&environment)?;
            }
            if !environment.has_all() {
                let state = environment.read(|transaction| records::state(&environment, transaction))?;
                folder::raise_format(path)?;
                environment.add_missing(state)?;
            }
            Self::assemble(path, environment, Some(lock), Access::Durable, budget)?
        };
        let registration = Arc::new(registration);
        store.environment()?.register(&registration);
        store._registration = Some(registration);
        store.opening_notes.extend(notes);
        if !store.is_read_only() {
            store.sweep()?;
        }
        Ok(store)
    }

    fn assemble(
        path: &Path,
        environment: Environment,
        lock: Option<WriterLock>,
        access: Access,
        budget: Arc<MemoryBudget>,
    ) -> Result<Self> {
        let (state, unfinished) = environment.read(|transaction| {
            let state = records::state(&environment, transaction)?;
            if state.transaction != transaction.id() as u64 {
                return Err(Error::corrupt(
                    environment.folder().join("data.mdb").display().to_string(),
                    format!("commit {} is labelled as {}", state.transaction, transaction.id()),
                ));
            }
            Ok((state, Unfinished::find(&environment, transaction)?.is_some()))
        })?;
        let mut opening_notes = Vec::new();
        if lock.as_ref().is_some_and(|lock| lock.unclean) {
            opening_notes.push("the last writer of this database did not close it; its structure was verified".into());
        }
        Ok(Self {
            current: Current::new(environment, access),
            lock,
            _temporary: None,
            path: path.to_path_buf(),
            durable: access != Access::Scratch,
            cache: BlockCache::new(Arc::clone(&budget)),
            budget,
            latest: Mutex::new(None),
            line: Line::default(),
            jobs: Jobs::default(),
            unswept: AtomicBool::new(unfinished),
            marked_writing: AtomicBool::new(false),
            marked_relaxed: AtomicBool::new(false),
            unsynced: AtomicBool::new(false),
            next_segment: AtomicU64::new(state.next_segment),
            files: Arc::default(),
            verified: Verified::default(),
            opening_notes,
            vacuums: Vacuums::default(),
            readers: Readers::default(),
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

    /// The same, on the latest snapshot as `base` takes it.
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
            // The latest commit is sealed first: until the next one, the lock file will say that it is.
            environment.sealer()?.seal_if_open()?;
            folder::raise_older_format(&self.path)?;
            lock.mark_sealing()?;
            self.marked_writing.store(true, Ordering::Relaxed);
        }
        self.require_synced()?;
        self.sweep_unfinished(environment)?;
        let base = base(self)?;
        Transaction::begin(self, environment, base, options)
    }

    /// Whether commits are sealed: not any more after the first relaxed one.
    pub(super) fn seals(&self) -> bool {
        self.durable && !self.marked_relaxed.load(Ordering::Relaxed)
    }

    /// Errors when the last commit could not be synced.
    pub(super) fn require_synced(&self) -> Result<()> {
        if !self.unsynced.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::Io {
            action: "writing",
            path: folder::catalog(&self.path),
            source: std::io::Error::other(
                "the disk has refused to sync the commit before; close the database and open it again, which undoes that commit",
            ),
        })
    }

    /// Notes that a commit could not be synced, so that no other is built on it, by whoever opens the database next either.
    pub(super) fn note_unsynced(&self) {
        self.unsynced.store(true, Ordering::Relaxed);
        self.lock.iter().for_each(WriterLock::mark_unsynced);
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
        HeapReader::open(self, self.pin()?.0, table)
    }

    /// What is read and written now. Who has the turn to write keeps it so: VACUUM needs the turn too.
    pub(crate) fn environment(&self) -> Result<Arc<Environment>> {
        self.current.get(&self.path)
    }

    /// What is read and written from now on. The caller has the turn.
    pub(crate) fn set_environment(&self, environment: Environment) {
        self.current.set(environment);
        self.forget_latest();
    }

    /// Cache of the segments' blocks.
    pub(crate) fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// The right to write; an error where there is none.
    pub(crate) fn writer_lock(&self) -> Result<&WriterLock> {
        self.lock.as_ref().ok_or_else(|| self.read_only_error())
    }

    /// Where snapshots are loaded from.
    pub(crate) fn loader<'s>(&'s self, environment: &'s Environment) -> Loader<'s> {
        Loader { environment, database: &self.path, cache: &self.cache }
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

    /// Every segment file that the catalog names.
    pub(crate) fn known_segments(&self) -> Result<HashSet<(TableId, SegmentId)>> {
        let environment = self.environment()?;
        environment.read(|transaction| {
            let mut known = HashSet::new();
            for table in records::tables(&environment, transaction)? {
                let id = table.definition.id;
                let segments = records::segments(&environment, transaction, &table)?;
                segments.iter().for_each(|(_, segment)| known.extend(segment.files().map(|file| (id, file))));
            }
            Ok(known)
        })
    }

    /// Waits for the turn to write; nobody else of this process commits while it lives.
    pub(crate) fn turn(&self, options: &WriteOptions) -> Result<Turn<'_>> {
        match self.line.enter(options.patience(), None, || false) {
            Entered::Turn(turn) => Ok(turn),
            Entered::Answered | Entered::TooLate => Err(options.waited()),
        }
    }

    /// Removes segment files that no commit names, left by a crash between writing and commit, and what a VACUUM has left.
    fn sweep(&self) -> Result<()> {
        folder::remove_new_catalogs(&self.path)?;
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
            && !self.unsynced.load(Ordering::Relaxed)
            && self.environment().is_ok_and(|environment| environment.sync_relaxed())
        {
            lock.mark_clean();
        }
    }
}

/// Commits the state of an environment once more.
fn commit_again(environment: &Environment) -> Result<()> {
    let state = environment.read(|transaction| records::state(environment, transaction))?;
    environment.commit_again(state)
}

fn missing(path: &Path) -> Error {
    Error::InvalidInput(format!("there is no database in {}", path.display()))
}
