//! The state of an open database.

use crate::io::memory::MemoryBudget;
use crate::io::temporary::TemporaryFolder;
use crate::lmdb::environment::{Environment, Owner};
use crate::lmdb::folder::{NamedFiles, WriterLock};
use crate::lmdb::{folder, records};
use crate::open::current::Current;
use crate::open::latest::Latest;
use crate::open::options::WriteOptions;
use crate::open::pending::{FileKeeper, WrittenFiles};
use crate::open::readers::Readers;
use crate::open::registry::Registration;
use crate::open::sequence_memory::SequenceMemory;
use crate::open::vacuums::Vacuums;
use crate::open::writer_queue::{Entered, WriteLock, WriterQueue};
use crate::published::segment_files::SegmentFiles;
use crate::segment::SegmentId;
use crate::segment::cache::BlockCache;
use crate::snapshot::heap::reader::HeapReader;
use crate::snapshot::heap::verified::Verified;
use crate::snapshot::load_snapshot::Loader;
use crate::{Error, Result, TableId};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// An open database. One per path and process; opening the same path again gives the same store.
#[derive(Debug)]
pub struct Store {
    // Dropped in this order: the environment closes before the lock is given up, the folder of a scratch database goes
    // after both, and the path is free for another `open` last.
    /// The latest snapshot taken. Plans that are kept with it may have the environment.
    pub(crate) latest: Mutex<Option<Latest>>,
    pub(crate) current: Current,
    pub(crate) lock: Option<WriterLock>,
    pub(crate) _temporary: Option<TemporaryFolder>,
    pub(crate) path: PathBuf,
    /// Where segment files are opened.
    pub(crate) segment_files: SegmentFiles,
    /// Whether files and commits are synced.
    pub(crate) durable: bool,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) cache: Arc<BlockCache>,
    /// Who writes in this process, and who waits to.
    pub(crate) line: WriterQueue,
    /// Jobs of those who wait and let others do them: of a type that only group commit knows.
    pub(crate) jobs: Arc<Owner>,
    /// Whether a load may have left pages that no table has.
    pub(crate) unswept: AtomicBool,
    pub(crate) marked_writing: AtomicBool,
    pub(crate) marked_relaxed: AtomicBool,
    /// Set when a commit was made that could not be synced.
    pub(crate) unsynced: AtomicBool,
    pub(crate) next_segment: AtomicU64,
    /// What was given of sequences.
    pub(crate) sequences: SequenceMemory,
    pub(crate) files: Arc<FileKeeper>,
    /// Heap pages whose checksums were verified.
    pub(crate) verified: Verified,
    /// What was odd when the store was opened, for `check`.
    pub(crate) opening_notes: Vec<String>,
    pub(crate) vacuums: Vacuums,
    pub(crate) readers: Readers,
    pub(crate) _registration: Option<Arc<Registration>>,
}

impl Store {
    /// The database folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True when opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }

    /// Whether commits are checksummed: not any more after the first relaxed one.
    pub(crate) fn writes_checksums(&self) -> bool {
        self.durable && !self.marked_relaxed.load(Ordering::Relaxed)
    }

    /// Errors when the last commit could not be synced.
    pub(crate) fn require_synced(&self) -> Result<()> {
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
    pub(crate) fn note_unsynced(&self) {
        self.unsynced.store(true, Ordering::Relaxed);
        self.lock.iter().for_each(WriterLock::mark_unsynced);
    }

    /// What is read and written now. Who has the write lock keeps it so: VACUUM needs the lock too.
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
        Loader { environment, files: &self.segment_files, cache: &self.cache }
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

    /// The number of the latest commit.
    pub(crate) fn latest_commit(&self) -> Result<u64> {
        let environment = self.environment()?;
        environment.read(|transaction| Ok(records::state(&environment, transaction)?.commit))
    }

    /// Every segment file that the catalog names.
    pub(crate) fn known_segments(&self) -> Result<NamedFiles> {
        let environment = self.environment()?;
        environment.read(|transaction| {
            let mut known = NamedFiles::default();
            for table in records::tables(&environment, transaction)? {
                let id = table.definition.id;
                match records::segments(&environment, transaction, &table) {
                    Ok(segments) => segments.iter().for_each(|(_, segment)| known.add(id, segment.files())),
                    Err(error) => {
                        tracing::warn!("{}", error.in_table(&table.definition.name));
                        known.add_unknown(id);
                    }
                }
            }
            Ok(known)
        })
    }

    /// Waits for the write lock; nobody else of this process commits while it lives.
    pub(crate) fn turn(&self, options: &WriteOptions) -> Result<WriteLock<'_>> {
        match self.line.enter(options.patience(), None, || false) {
            Entered::Turn(turn) => Ok(turn),
            Entered::Answered | Entered::TooLate => Err(options.waited()),
        }
    }

    pub(crate) fn read_only_error(&self) -> Error {
        Error::Locked(format!("database {} is open for reading only", self.segment_files.place(&self.path)))
    }

    /// The heap table of that number at the latest commit, to be read in place. For as long as the reader lives, LMDB keeps
    /// what later commits replace.
    pub fn heap(self: &Arc<Self>, table: TableId) -> Result<HeapReader> {
        HeapReader::open(&self.verified, self.pin()?.0, table)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.unsynced.load(Ordering::Relaxed) {
            // The disk may have refused this as well when it was noted first.
            self.lock.iter().for_each(WriterLock::mark_unsynced);
        }
        if let Some(lock) = &self.lock
            && self.marked_writing.load(Ordering::Relaxed)
            && !self.unsynced.load(Ordering::Relaxed)
            && self.environment().is_ok_and(|environment| environment.sync_relaxed())
        {
            lock.mark_clean();
        }
    }
}
