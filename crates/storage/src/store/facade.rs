//! An open database: its folder, its LMDB environment, its snapshots and its writer.

use crate::SqlState;
use crate::io::lmdb::Access;
use crate::io::memory::MemoryBudget;
use crate::io::temporary::TemporaryFolder;
use crate::io::{system, temporary};
use crate::lmdb::environment::{Environment, Owner};
use crate::lmdb::folder::{FolderKind, WriterLock};
use crate::lmdb::verifier::Trusted;
use crate::lmdb::verifier::commit_checksum::CommitChecksum;
use crate::lmdb::{folder, records, verifier};
use crate::maintenance::backup::CopiedFiles;
use crate::open::current::{Current, open_for_reading};
use crate::open::readers::Readers;
use crate::open::registry;
use crate::open::registry::Registration;
use crate::open::sequence_memory::SequenceMemory;
use crate::open::shared::Store;
use crate::open::vacuums::Vacuums;
use crate::open::writer_queue::WriterQueue;
use crate::published::segment_files::SegmentFiles;
use crate::segment::cache::BlockCache;
use crate::snapshot::heap::verified::Verified;
use crate::store::group::Jobs;
use crate::write::load_intent::LoadIntent;
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How to open a database.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Make the database when the folder is missing or empty.
    pub create: bool,
    /// Never write, not even a lock where the folder forbids it.
    pub read_only: bool,
}

impl Store {
    /// Opens the database folder `path`.
    ///
    /// A path that this process has open already gives the same store, whatever `options` say of creating; asking to
    /// write one that is open for reading only is [`Error::Locked`].
    pub fn open(path: &Path, options: &OpenOptions, budget: Arc<MemoryBudget>) -> Result<Arc<Self>> {
        if path.is_file() {
            return Err(Error::invalid(
                SqlState::InvalidDatabase,
                format!("{} is a file; a database is a folder", path.display()),
            ));
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
        if options.read_only && !store.is_read_only() {
            return Err(Error::Locked(format!(
                "database {} is open for writing in this process; close it before opening it for reading only, or open it \
                 for writing, too",
                path.display()
            )));
        }
        if !store.is_read_only() && store.unswept.load(Ordering::Acquire) {
            store.sweep_at_open();
        }
        Ok(store)
    }

    /// Waits until nothing in this process has the store with this [`path`](Self::path) any more, whose last bytes are written
    /// then, or whose folder is gone when it was a temporary one; false when something has after `patience`.
    pub fn wait_until_closed(path: &Path, patience: Duration) -> bool {
        let begun = Instant::now();
        registry::wait_until_free(path, patience)
            && temporary::wait_until_gone(path, patience.saturating_sub(begun.elapsed()))
    }

    /// A database in a temporary folder, not synced, removed when dropped, or when the process ends.
    pub fn scratch(budget: Arc<MemoryBudget>) -> Result<Arc<Self>> {
        let place = std::env::temp_dir();
        let temporary = TemporaryFolder::new("gingham-", &place).map_err(Error::io("creating a folder in", &place))?;
        let path = temporary.path().to_path_buf();
        let lock = WriterLock::take(&path)?;
        folder::create(&path, Access::Scratch)?;
        let environment = Environment::open(&folder::catalog(&path), Access::Scratch)?;
        let mut store = Self::assemble(&path, environment, Some(lock), Access::Scratch, budget)?;
        store._temporary = Some(temporary);
        Ok(Arc::new(store))
    }

    /// A scratch database in a folder within this one's, not synced, removed as [`Store::scratch`] is, with the tables as they are now.
    /// Segment files are linked, or copied where the file system can't link; heap pages are copied with the catalog. Whoever
    /// opens this database for writing next removes what a process has left that was killed.
    pub fn scratch_copy(&self) -> Result<Arc<Self>> {
        let temporary = TemporaryFolder::new(folder::SCRATCH, self.path())
            .map_err(Error::io("creating a folder for scratch tables in", self.path()))?;
        let path = temporary.path().to_path_buf();
        let lock = WriterLock::take(&path)?;
        self.copy_whole(&path, CopiedFiles::Linked)?;
        let environment = Environment::open(&folder::catalog(&path), Access::Scratch)?;
        let mut store = Self::assemble(&path, environment, Some(lock), Access::Scratch, Arc::clone(&self.budget))?;
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
            if folder::inspect(path)? == FolderKind::Vacant {
                return Err(missing(path));
            }
            Self::assemble(path, open_for_reading(path)?, None, Access::Read, budget)?
        } else {
            if folder::inspect(path)? == FolderKind::Vacant && !options.create {
                return Err(missing(path));
            }
            let lock = WriterLock::take(path)?;
            if folder::inspect(path)? == FolderKind::Vacant {
                folder::create(path, Access::Durable)?;
            }
            let trusted = folder::trusted(path, || false)?;
            verifier::verify_for_writing(&folder::catalog(path), trusted)?;
            if trusted == Trusted::Before {
                // The one before takes the place of the commit that was interrupted.
                commit_again(&Environment::open(&folder::catalog(path), Access::Before)?)?;
                // Whoever comes next looks for a commit checksum too.
                CommitChecksum::open(&folder::catalog(path))?.write()?;
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
        let owner: Arc<Owner> = Arc::clone(&registration) as _;
        store.environment()?.register(&owner);
        store._registration = Some(registration);
        store.opening_notes.extend(notes);
        if !store.is_read_only() {
            store.sweep()?;
        }
        Ok(store)
    }

    pub(super) fn assemble(
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
            Ok((state, LoadIntent::find(&environment, transaction)?.is_some()))
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
            segment_files: SegmentFiles::Folder(path.to_path_buf()),
            durable: access != Access::Scratch,
            cache: BlockCache::new(Arc::clone(&budget)),
            budget,
            latest: Mutex::new(None),
            line: WriterQueue::default(),
            jobs: Arc::new(Jobs::default()),
            unswept: AtomicBool::new(unfinished),
            marked_writing: AtomicBool::new(false),
            marked_relaxed: AtomicBool::new(false),
            unsynced: AtomicBool::new(false),
            next_segment: AtomicU64::new(state.next_segment),
            sequences: SequenceMemory::default(),
            files: Arc::default(),
            verified: Verified::default(),
            opening_notes,
            vacuums: Vacuums::default(),
            readers: Readers::default(),
            _registration: None,
        })
    }

    /// Removes segment files that no commit names, left by a crash between writing and commit, and what a VACUUM has left.
    fn sweep(&self) -> Result<()> {
        folder::remove_new_catalogs(&self.path)?;
        folder::remove_scratch(&self.path)?;
        let orphans = folder::orphans(&self.path, &self.known_segments()?)?;
        if !orphans.is_empty() {
            tracing::info!("{}: removing {} files that no commit names", self.path.display(), orphans.len());
            folder::remove_files(&self.path, &orphans);
        }
        folder::remove_unnumbered(&self.path);
        Ok(())
    }
}

/// Commits the state of an environment once more.
fn commit_again(environment: &Environment) -> Result<()> {
    let state = environment.read(|transaction| records::state(environment, transaction))?;
    environment.commit_again(state)
}

fn missing(path: &Path) -> Error {
    Error::invalid(SqlState::InvalidDatabase, format!("there is no database in {}", path.display()))
}
