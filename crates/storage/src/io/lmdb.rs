//! Opening and growing an LMDB environment: the calls that heed marks `unsafe`; and values that are read in place for longer
//! than a call.

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, FlagSetMode, RoTxn, WithoutTls};
use std::any::Any;
use std::io::ErrorKind;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How an environment is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read and write, every commit synced.
    Durable,
    /// Read and write without syncing: a scratch database, gone when the process ends.
    Scratch,
    /// Read and write on the commit before the latest, which was interrupted and is overwritten by the next: nobody else has
    /// the database open. Every commit synced.
    Before,
    /// Read only, with a slot in the table of readers.
    Read,
    /// Read only, where even the lock file can't be opened for writing: nobody can write then.
    ReadUnlocked,
}

/// Address space given to the map. It costs nothing until it is used; a process whose address space is limited gets
/// the largest that it can have.
const MAP_SIZES: [usize; 3] = [64 << 30, 8 << 30, 1 << 30];

/// Reader slots, 64 bytes each: one for each statement that reads heap pages or waits to write them, of hundreds of clients, and
/// moments of others.
const READERS: u32 = 4094;

/// Opens the environment in `folder` with room for `databases` named databases.
pub(crate) fn open(folder: &Path, access: Access, databases: u32) -> heed::Result<Env<WithoutTls>> {
    let flags = match access {
        Access::Durable => EnvFlags::empty(),
        Access::Scratch => EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC,
        // LMDB's lock file would lead to the latest commit.
        Access::Before => EnvFlags::PREV_SNAPSHOT | EnvFlags::NO_LOCK,
        Access::Read => EnvFlags::READ_ONLY,
        Access::ReadUnlocked => EnvFlags::READ_ONLY | EnvFlags::NO_LOCK,
    };
    let mut result = Err(heed::Error::EnvAlreadyOpened);
    for size in MAP_SIZES {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.max_readers(READERS).max_dbs(databases).map_size(size);
        // SAFETY: the flags that heed calls unsafe are used where they can't hurt: without syncing only in a scratch
        // folder that no other process opens and that nobody reads after a crash; without locks only where the folder
        // can't be written, so that no writer exists, or where the one writer mends what a power loss has left before anybody
        // reads. The map's file is changed by LMDB alone: the folder is named
        // `catalog` inside a database folder, a second environment on it within the process is refused by heed, and
        // its structure was verified by the catalog verifier before this call.
        result = unsafe {
            options.flags(flags);
            options.open(folder)
        };
        match &result {
            Err(heed::Error::Io(error)) if is_too_large(error.kind()) => continue,
            _ => break,
        }
    }
    result
}

/// Whether an error may mean that a map is too large: under valgrind, which counts the lab's cache misses, it is called invalid.
fn is_too_large(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::OutOfMemory | ErrorKind::InvalidInput)
}

/// Sets the size of the map; 0 takes over the size that another process has grown it to. The caller guarantees that no
/// transaction of this process is active.
pub(crate) fn resize(env: &Env<WithoutTls>, size: usize) -> heed::Result<()> {
    // SAFETY: the caller holds the environment's gate exclusively, so no transaction of this process points into the map.
    unsafe { env.resize(size) }
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncMode {
    /// Its pages are on the disk, then the meta page that leads to them.
    Both,
    /// Its pages are; the meta page is synced with the next commit.
    Pages,
    /// Nothing: who commits syncs all of it and can tell whether it was.
    None,
}

/// Sets what commits wait for. The caller is the one writer.
pub(crate) fn set_syncs(env: &Env<WithoutTls>, syncs: SyncMode) -> heed::Result<()> {
    for (flag, of) in [(EnvFlags::NO_META_SYNC, SyncMode::Pages), (EnvFlags::NO_SYNC, SyncMode::None)] {
        let mode = if syncs == of { FlagSetMode::Enable } else { FlagSetMode::Disable };
        // SAFETY: without the sync of its meta page a commit's pages are synced before that page is written, so that a power
        // loss leaves the tree of the commit before, whole. Without any, the caller syncs before the next commit begins, and
        // checksums it (crate::lmdb::verifier), so that no tree is trusted of which pages are missing. Only the one writer
        // sets flags, so that no two threads do.
        unsafe { env.set_flags(flag, mode)? };
    }
    Ok(())
}

/// A read transaction that lives as long as anybody reads from it. While one does, the map is not moved.
pub(crate) struct ReadPin {
    // Dropped in this order: the transaction ends before it is counted off, and before what keeps the environment open.
    transaction: Mutex<RoTxn<'static, WithoutTls>>,
    counted: CountedReader,
    _owner: Arc<dyn Any + Send + Sync>,
}

impl std::fmt::Debug for ReadPin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadPin").finish_non_exhaustive()
    }
}

/// One of the read transactions that are counted, for as long as it lives.
#[derive(Debug)]
struct CountedReader(Arc<AtomicUsize>);

impl Drop for CountedReader {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ReadPin {
    /// Begins a read transaction, counted in `pins`; it keeps `owner`. The caller holds the environment's gate shared, so
    /// that the map is not moved before the transaction is counted.
    pub(crate) fn begin(
        env: &Env<WithoutTls>,
        pins: &Arc<AtomicUsize>,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> heed::Result<Self> {
        let transaction = Mutex::new(env.clone().static_read_txn()?);
        pins.fetch_add(1, Ordering::AcqRel);
        Ok(Self { transaction, counted: CountedReader(Arc::clone(pins)), _owner: owner })
    }

    /// Reads within the transaction.
    pub(crate) fn read<R>(&self, work: impl FnOnce(&RoTxn<'_, WithoutTls>) -> R) -> R {
        work(&self.transaction.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The value under `key`, in place.
    pub(crate) fn get(self: &Arc<Self>, values: &Database<Bytes, Bytes>, key: &[u8]) -> heed::Result<Option<Pinned>> {
        self.read(|transaction| {
            let value = values.get(transaction, key)?;
            Ok(value.map(|bytes| Pinned { start: bytes.as_ptr(), length: bytes.len(), _pin: Arc::clone(self) }))
        })
    }

    /// The values under the keys from `first` to `last`, in place, each with the number that its key ends with. `known` is what
    /// was found under the same keys before, of which no more than the first is looked for when it was by the same commit.
    pub(crate) fn run(
        self: &Arc<Self>,
        values: &Database<Bytes, Bytes>,
        [first, last]: [&[u8]; 2],
        number: impl Fn(&[u8]) -> u64,
        known: Option<Arc<Places>>,
    ) -> heed::Result<PinnedRun> {
        self.read(|transaction| {
            let commit = transaction.id();
            let mut found = values.range(transaction, &(Bound::Included(first), Bound::Included(last)))?;
            let place = |entry: heed::Result<(&[u8], &[u8])>| {
                let (key, bytes) = entry?;
                Ok((number(key), bytes.as_ptr(), bytes.len()))
            };
            let start = found.next().map(&place).transpose()?;
            let same = |known: &Arc<Places>| {
                let environment = Arc::ptr_eq(&known.environment, &self.counted.0);
                environment && (known.commit, known.values.first()) == (commit, start.as_ref())
            };
            let places = match known.filter(same) {
                Some(known) => known,
                None => {
                    let values = start.into_iter().map(Ok).chain(found.map(place)).collect::<heed::Result<_>>()?;
                    Arc::new(Places { environment: Arc::clone(&self.counted.0), commit, values })
                }
            };
            Ok(PinnedRun { places, _pin: Arc::clone(self) })
        })
    }
}

/// A value in the map, which stays there for as long as this lives.
#[derive(Debug)]
pub(crate) struct Pinned {
    start: *const u8,
    length: usize,
    _pin: Arc<ReadPin>,
}

// SAFETY: `start` points to bytes that nobody changes while `_pin` keeps the transaction open (see `as_ref`), and that any
// thread may read; `_pin` is Send and Sync itself.
unsafe impl Send for Pinned {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Pinned {}

impl AsRef<[u8]> for Pinned {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: LMDB gave these bytes for a read transaction that `_pin` keeps open. It writes no page that an open read
        // transaction can see, and `Environment::resize` leaves the map where it is while a pin is counted, which this one is
        // until it is dropped.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// Where values lie in the map as one commit left them: of no use without a pin.
#[derive(Debug)]
pub(crate) struct Places {
    /// The count of its pins, which no other environment has for as long as this lives.
    environment: Arc<AtomicUsize>,
    commit: usize,
    /// Their numbers, addresses and lengths.
    values: Vec<(u64, *const u8, usize)>,
}

// SAFETY: nothing can be read through it.
unsafe impl Send for Places {}
// SAFETY: as above.
unsafe impl Sync for Places {}

/// Values in the map, which stay there for as long as this lives: their numbers, and where they lie.
#[derive(Debug)]
pub(crate) struct PinnedRun {
    places: Arc<Places>,
    _pin: Arc<ReadPin>,
}

// SAFETY: as for `Pinned`.
unsafe impl Send for PinnedRun {}
// SAFETY: as for `Pinned`.
unsafe impl Sync for PinnedRun {}

impl PinnedRun {
    /// Where they lie.
    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.values.len()
    }

    /// The number and the bytes of the one at `place`.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<(u64, &[u8])> {
        self.places.values.get(place).map(|found| self.value(found))
    }

    /// The numbers and bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.places.values.iter().map(|found| self.value(found))
    }

    #[inline]
    fn value(&self, (number, start, length): &(u64, *const u8, usize)) -> (u64, &[u8]) {
        // SAFETY: as for `Pinned`: the pin's transaction, or another one of the same environment, found them by the commit that
        // the pin's sees. In between that commit was the latest, or seen by readers, so that LMDB has written none of its pages.
        // The map lies where it lay then, as the first value does, and stays there while the pin lives.
        (*number, unsafe { std::slice::from_raw_parts(*start, *length) })
    }
}
