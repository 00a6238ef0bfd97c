//! The LMDB environment of a catalog: its nine databases, short read transactions, growth of the map.
//!
//! A read transaction lives as long as one closure: what a snapshot needs is copied out, so that no statement, however
//! long, keeps LMDB from reusing pages (docs/decisions/0006-snapshots-copy.md). Heap pages alone are read in place, under a
//! pin that its reader holds.

use crate::io::lmdb;
use crate::io::lmdb::{Access, ReadPin, SyncMode};
use crate::io::system::FileIdentity;
use crate::lmdb::records::{DatabaseState, STATE_KEY};
use crate::lmdb::values;
use crate::lmdb::verifier::commit_checksum::CommitChecksum;
use crate::{Error, Result};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, MdbError, RoTxn, RwTxn, WithoutTls};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, TryLockError};

/// Something that is kept for as long as something else needs it.
pub(crate) type Owner = dyn Any + Send + Sync;

/// The databases of a catalog. All are made with the catalog, since LMDB makes databases in transactions of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// The state: counters, schemas.
    Meta,
    /// Table definitions.
    Tables,
    /// View definitions.
    Views,
    /// What the catalog knows of each segment file.
    Segments,
    /// Entries of dictionary versions.
    Dictionaries,
    /// Images of delta blocks.
    Delta,
    /// Pages of heap tables, their long values and maps of free space. Since format 2.
    Heap,
    /// Which records of segments and delta blocks are deleted. Since format 3.
    Deleted,
    /// Entries of the indexes of heap tables. Since format 3.
    Indexes,
}

/// Number of the databases.
const DATABASES: usize = Name::ALL.len();

impl Name {
    /// All of them; the position is the number used inside an [`Environment`].
    pub(crate) const ALL: [Self; 9] = [
        Self::Meta,
        Self::Tables,
        Self::Views,
        Self::Segments,
        Self::Dictionaries,
        Self::Delta,
        Self::Heap,
        Self::Deleted,
        Self::Indexes,
    ];

    /// Whether catalogs of older formats lack it until they are opened for writing.
    fn is_later(self) -> bool {
        matches!(self, Self::Heap | Self::Deleted | Self::Indexes)
    }

    /// The name that LMDB knows.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Tables => "tables",
            Self::Views => "views",
            Self::Segments => "segments",
            Self::Dictionaries => "dictionaries",
            Self::Delta => "delta",
            Self::Heap => "heap",
            Self::Deleted => "deleted",
            Self::Indexes => "indexes",
        }
    }
}

/// One of the databases.
pub(crate) type ValueDatabase = Database<'static, Bytes, Bytes>;

/// An open environment.
#[derive(Debug)]
pub(crate) struct Environment {
    env: Env<WithoutTls>,
    databases: [Option<ValueDatabase>; DATABASES],
    /// Read transactions that outlive a closure.
    pins: Arc<AtomicUsize>,
    /// What commits wait for.
    syncs: Mutex<SyncMode>,
    /// Who checksums commits, once one is to be.
    checksum: OnceLock<CommitChecksum>,
    /// Held shared by transactions, exclusively while the map changes.
    gate: RwLock<()>,
    folder: PathBuf,
    /// One that was opened later has a greater number. LMDB's own numbers of commits begin anew in each file.
    generation: u64,
    /// The file that it reads; `None` where the system does not say.
    identity: Option<FileIdentity>,
    /// The path's place among those that are open: it is free when nobody has any environment of the store.
    registration: OnceLock<Arc<Owner>>,
    /// Bytes that its file has to have before it can be copied; 0 where the file was made as long, or is ours to lengthen.
    bytes_of_runs: u64,
}

impl Environment {
    /// Makes the environment and its databases in the empty folder `folder`.
    pub(crate) fn create(folder: &Path, access: Access) -> Result<Self> {
        let env = lmdb::open(folder, access, Name::ALL.len() as u32).map_err(failed("creating", folder))?;
        let transaction = env.write_txn().map_err(failed("writing", folder))?;
        let databases = env
            .create_databases_and_commit(transaction, |opener, transaction| {
                let mut made = [None; DATABASES];
                for (slot, name) in made.iter_mut().zip(Name::ALL) {
                    *slot = Some(opener.create_database::<Bytes, Bytes>(transaction, Some(name.text()))?);
                }
                heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(made))
            })
            .map_err(failed("creating", folder))?
            .commit()
            .ok_or_else(|| Error::corrupt(folder.display().to_string(), "the catalog's databases can't be made"))?;
        Ok(Self::of(env, databases, folder))
    }

    fn of(env: Env<WithoutTls>, databases: [Option<ValueDatabase>; DATABASES], folder: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let identity = FileIdentity::of(&folder.join("data.mdb")).ok();
        let generation = NEXT.fetch_add(1, Ordering::Relaxed);
        let (pins, syncs, gate) = (Arc::default(), Mutex::new(SyncMode::Both), RwLock::new(()));
        let (folder, checksum) = (folder.to_path_buf(), OnceLock::new());
        let registration = OnceLock::new();
        Self {
            env,
            databases,
            pins,
            syncs,
            checksum,
            gate,
            folder,
            generation,
            identity,
            registration,
            bytes_of_runs: 0,
        }
    }

    /// Opens the environment in `folder`.
    pub(crate) fn open(folder: &Path, access: Access) -> Result<Self> {
        Self::open_at(folder, folder, access)
    }

    /// Opens the environment of `folder`, whose files are found at `links` too: errors name the folder.
    pub(crate) fn open_at(links: &Path, folder: &Path, access: Access) -> Result<Self> {
        let env = lmdb::open(links, access, Name::ALL.len() as u32).map_err(failed("opening", folder))?;
        let transaction = env.read_txn().map_err(failed("reading", folder))?;
        let databases = env
            .open_databases_and_commit(transaction, |opener, transaction| {
                let mut opened = [None; DATABASES];
                for (slot, name) in opened.iter_mut().zip(Name::ALL) {
                    *slot = opener.open_database::<Bytes, Bytes>(transaction, Some(name.text()))?;
                }
                heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(opened))
            })
            .map_err(failed("opening", folder))?
            .commit()
            .unwrap_or([None; DATABASES]);
        let opened = Self::of(env, databases, folder);
        Name::ALL.into_iter().filter(|name| !name.is_later()).try_for_each(|name| opened.values(name).map(drop))?;
        Ok(opened)
    }

    /// Whether the catalog has the database `name`.
    pub(crate) fn has(&self, name: Name) -> bool {
        self.databases[name as usize].is_some()
    }

    /// Whether the catalog has all databases: not one of an older format.
    pub(crate) fn has_all(&self) -> bool {
        self.databases.iter().all(Option::is_some)
    }

    /// Adds the databases that a catalog of an older format lacks, in a commit of its own, whose state names it as every
    /// commit's does.
    pub(crate) fn add_missing(&mut self, mut state: DatabaseState) -> Result<()> {
        let (meta, failed) = (*self.values(Name::Meta)?, self.failed("adding a database to"));
        let transaction = self.env.write_txn().map_err(&failed)?;
        state.transaction = transaction.id() as u64;
        let payload = serde_json::to_vec(&state)
            .map_err(|error| Error::Internal(format!("the state can't be written: {error}")))?;
        let sealed = values::seal(Name::Meta, STATE_KEY, &payload);
        let known = self.databases;
        let made = self.env.create_databases_and_commit(transaction, |opener, transaction| {
            let mut all = known;
            for (slot, name) in all.iter_mut().zip(Name::ALL).filter(|(slot, _)| slot.is_none()) {
                *slot = Some(opener.create_database::<Bytes, Bytes>(transaction, Some(name.text()))?);
            }
            meta.put(transaction, STATE_KEY, &sealed)?;
            heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(all))
        });
        self.databases = made.map_err(&failed)?.commit().unwrap_or(known);
        Ok(())
    }

    /// The folder `catalog/`.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// This environment, whose folder has another name now.
    pub(crate) fn renamed(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// This environment, whose file can't be copied while it has fewer bytes.
    pub(crate) fn with_bytes_of_runs(self, bytes: u64) -> Self {
        Self { bytes_of_runs: bytes, ..self }
    }

    /// Keeps the place of the store's path until it is closed: what was read of it may live a moment longer than the store.
    pub(crate) fn register(&self, registration: &Arc<Owner>) {
        self.registration.get_or_init(|| Arc::clone(registration));
    }

    /// The place of the store's path; a scratch database has none.
    pub(crate) fn registration(&self) -> Option<&Arc<Owner>> {
        self.registration.get()
    }

    /// The file that it reads; `None` where the system does not say.
    pub(crate) fn identity(&self) -> Option<&FileIdentity> {
        self.identity.as_ref()
    }

    /// Its number among those that this process has opened.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Bytes of its file, and of those that the latest commit uses.
    pub(crate) fn sizes(&self) -> Result<(u64, u64)> {
        let used = self.read(|transaction| {
            let mut used = METAS;
            let failed = self.failed("reading");
            for values in self.databases.iter().flatten() {
                let stat = values.stat(transaction).map_err(&failed)?;
                used += stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
            }
            Ok(used as u64)
        })?;
        Ok((self.file_bytes(), used * PAGE as u64))
    }

    /// Bytes of its file.
    pub(crate) fn file_bytes(&self) -> u64 {
        (self.env.info().last_page_number as u64 + 1) * PAGE as u64
    }

    /// Frees the slots of readers whose processes are gone.
    pub(crate) fn clear_stale_readers(&self) -> Result<usize> {
        self.env.clear_stale_readers().map_err(self.failed("clearing readers of"))
    }

    /// One of the databases. Fails when the catalog lacks it.
    pub(crate) fn values(&self, name: Name) -> Result<&ValueDatabase> {
        self.databases[name as usize].as_ref().ok_or_else(|| {
            Error::corrupt(
                self.folder.join("data.mdb").display().to_string(),
                format!("the catalog's database '{}' is missing; restore a backup", name.text()),
            )
        })
    }

    /// A read transaction that lives as long as what is read from it, and keeps `owner`. While it lives, LMDB reuses no page
    /// that it sees, and the map does not grow.
    pub(crate) fn pin(&self, owner: Arc<Owner>) -> Result<ReadPin> {
        loop {
            {
                let _shared = self.shared();
                match ReadPin::begin(&self.env, &self.pins, Arc::clone(&owner)) {
                    Ok(pin) => return Ok(pin),
                    Err(heed::Error::Mdb(MdbError::MapResized)) => {}
                    Err(error) => return Err(self.failed("reading")(error)),
                }
            }
            self.resize(0)?;
        }
    }

    /// A short read transaction. Takes over a map that another process has grown.
    pub(crate) fn read<R>(&self, work: impl FnOnce(&RoTxn<'_, WithoutTls>) -> Result<R>) -> Result<R> {
        loop {
            {
                let _shared = self.shared();
                match self.env.read_txn() {
                    Ok(transaction) => return work(&transaction),
                    Err(heed::Error::Mdb(MdbError::MapResized)) => {}
                    Err(error) => return Err(self.failed("reading")(error)),
                }
            }
            self.resize(0)?;
        }
    }

    /// Begins the write transaction; the guard must outlive it. Grows the map first when it is more than half full.
    pub(crate) fn write(&self) -> Result<(RwTxn<'_>, RwLockReadGuard<'_, ()>)> {
        loop {
            if let Some(size) = self.growth() {
                self.resize(size)?;
            }
            let shared = self.shared();
            match self.env.write_txn() {
                Ok(transaction) => return Ok((transaction, shared)),
                Err(heed::Error::Mdb(MdbError::MapResized)) => {}
                Err(error) => return Err(self.failed("writing")(error)),
            }
            drop(shared);
            self.resize(0)?;
        }
    }

    /// The size that the map should have: twice its own when it is more than half full.
    fn growth(&self) -> Option<usize> {
        let info = self.env.info();
        let used = (info.last_page_number + 1).saturating_mul(PAGE);
        (used > info.map_size / 2).then(|| info.map_size.saturating_mul(2))
    }

    /// Grows the map when it is more than half full, nothing points into it just now, and nobody writes. Called by those who
    /// are about to pin what they read: statements over heap tables do, and the map can't grow before the last of them has ended.
    pub(crate) fn grow_when_idle(&self) -> Result<()> {
        if self.growth().is_none() {
            return Ok(());
        }
        let _exclusive = match self.gate.try_write() {
            Ok(exclusive) => exclusive,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        // Another may have grown it meanwhile.
        match self.growth() {
            Some(size) if self.pins.load(Ordering::Acquire) == 0 => {
                lmdb::resize(&self.env, size).map_err(self.failed("growing the map of"))
            }
            _ => Ok(()),
        }
    }

    /// Begins a transaction within `parent`: its changes become the parent's when it commits, and are undone alone when it
    /// does not.
    pub(crate) fn nested<'p>(&'p self, parent: &'p mut RwTxn<'_>) -> Result<RwTxn<'p>> {
        self.env.nested_write_txn(parent).map_err(self.failed("writing"))
    }

    /// Says what the write transaction that is about to commit waits for. Called by the one writer.
    pub(crate) fn set_syncs(&self, syncs: SyncMode) -> Result<()> {
        let mut set = self.syncs.lock().unwrap_or_else(PoisonError::into_inner);
        if *set != syncs {
            lmdb::set_syncs(&self.env, syncs).map_err(self.failed("writing"))?;
            *set = syncs;
        }
        Ok(())
    }

    /// Who checksums its commits.
    pub(crate) fn commit_checksum(&self) -> Result<&CommitChecksum> {
        match self.checksum.get() {
            Some(checksum) => Ok(checksum),
            None => CommitChecksum::open(&self.folder).map(|checksum| self.checksum.get_or_init(|| checksum)),
        }
    }

    /// Syncs what a relaxed commit has left; false when that fails.
    pub(crate) fn sync_relaxed(&self) -> bool {
        if *self.syncs.lock().unwrap_or_else(PoisonError::into_inner) != SyncMode::Pages {
            return true;
        }
        let synced = self.env.force_sync();
        if let Err(error) = &synced {
            tracing::warn!("syncing the catalog {}: {error}", self.folder.display());
        }
        synced.is_ok()
    }

    /// Commits `state`, which is the latest, once more.
    pub(crate) fn commit_again(&self, mut state: DatabaseState) -> Result<()> {
        let (mut transaction, _gate) = self.write()?;
        state.transaction = transaction.id() as u64;
        values::put_json(self, &mut transaction, Name::Meta, STATE_KEY, &state)?;
        transaction.commit().map_err(self.failed("committing to"))
    }

    /// Writes a compacted copy of the latest commit to the file `to`; LMDB keeps it consistent while others write.
    /// Returns LMDB's own error, since a copy to a full disk is the destination's fault.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<()> {
        let _shared = self.shared();
        let data = self.folder.join("data.mdb");
        if self.bytes_of_runs > 0
            && std::fs::metadata(&data).map_err(Error::io("reading", &data))?.len() < self.bytes_of_runs
        {
            // LMDB would read through its map what is not in the file, which ends the process.
            return Err(Error::Locked(format!(
                "a power loss has cut {} within pages that hold no value; open the database for writing once before it is copied",
                data.display()
            )));
        }
        let file = self.env.copy_to_path(to, heed::CompactionOption::Enabled).map_err(failed("copying to", to))?;
        file.sync_all().map_err(Error::io("syncing", to))
    }

    /// For `map_err` on heed's errors.
    pub(crate) fn failed(&self, action: &'static str) -> impl Fn(heed::Error) -> Error + use<> {
        failed(action, &self.folder)
    }

    fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn resize(&self, size: usize) -> Result<()> {
        let _exclusive = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        if self.pins.load(Ordering::Acquire) > 0 {
            // What is read in place would move. Growing early can wait; a map that another process has grown can't.
            return match size {
                0 => Err(Error::Locked(format!(
                    "another process has grown the catalog {} while pages of it are read in place; end what reads them",
                    self.folder.display()
                ))),
                _ => Ok(()),
            };
        }
        lmdb::resize(&self.env, size).map_err(self.failed("growing the map of"))
    }
}

/// LMDB's page size is the system's; 4096 underestimates it nowhere that matters for growing early enough.
const PAGE: usize = 4096;
/// Pages of a file that are always there: two metas, and the one that names the databases.
const METAS: usize = 3;

/// LMDB takes a write that a full disk did in part for an error of the disk.
fn explained(source: std::io::Error) -> std::io::Error {
    const EIO: i32 = 5;
    if source.raw_os_error() != Some(EIO) {
        return source;
    }
    std::io::Error::new(std::io::ErrorKind::StorageFull, format!("the disk is full or failing ({source})"))
}

/// heed's error as ours: `action` on the catalog in `folder`.
fn failed(action: &'static str, folder: &Path) -> impl Fn(heed::Error) -> Error + use<> {
    let path = folder.to_path_buf();
    move |error| match error {
        heed::Error::Io(source) => Error::Io { action, path: path.clone(), source: explained(source) },
        heed::Error::Mdb(MdbError::MapFull) => Error::OutOfMemory(format!(
            "the map of the catalog {} is full: the change is too large for one transaction; \
             raise the process's address space limit (ulimit -v) or load in smaller parts",
            path.display()
        )),
        heed::Error::Mdb(MdbError::TxnFull) => Error::OutOfMemory(format!(
            "the change is too large for one transaction: the catalog {} takes 131,071 changed pages or values at a time; \
             change or load less at once",
            path.display()
        )),
        heed::Error::Mdb(MdbError::ReadersFull) => Error::Locked(format!(
            "the catalog {} has no reader slot left: too many statements and processes read it at once",
            path.display()
        )),
        // What LMDB says from then on: it does not know which of the two commits its file leads to.
        heed::Error::Mdb(MdbError::Panic) => Error::Io {
            action,
            path: path.clone(),
            source: std::io::Error::other(
                "the disk has refused the last write of a commit; close the database and open it again",
            ),
        },
        heed::Error::Mdb(error) => Error::corrupt(
            path.join("data.mdb").display().to_string(),
            format!("LMDB says: {error}; run check, or restore a backup"),
        ),
        other => Error::Io { action, path: path.clone(), source: std::io::Error::other(other.to_string()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryBudget;
    use crate::model::heap_options::HeapLayout;
    use crate::model::heap_options::HeapOptions;
    use crate::open::options::WriteOptions;
    use crate::open::shared::Store;
    use crate::write::transaction::Transaction;
    use crate::{ColumnDefinition, Design, LogicalType, TableDefinition, TableName};

    /// Writers of heap tables read what they change in place, as their statements do.
    #[test]
    fn the_map_grows_beside_heap_tables() {
        let store = Store::scratch(MemoryBudget::new(1 << 30)).expect("a scratch database");
        let name = TableName { schema: "public".into(), table: "t".into() };
        let mut definition = TableDefinition::new(name, vec![ColumnDefinition::new(1, "id", LogicalType::Int(64))]);
        definition.design = Design::of_pages(HeapOptions::new(HeapLayout::Pax));
        store.write(|transaction| transaction.create_table(definition)).expect("a heap table");
        store.environment().expect("an environment").resize(1 << 20).expect("a smaller map");
        for number in 0..64u64 {
            // A statement has its snapshot while it writes.
            let _own = store.pinned().expect("a snapshot");
            let put = move |transaction: &mut Transaction<'_>| {
                let delta = transaction.environment.values(Name::Delta)?;
                let put = delta.put(&mut transaction.transaction, &number.to_be_bytes(), &[1; 100_000]);
                put.map_err(transaction.environment.failed("writing"))?;
                transaction.create_schema(&format!("s{number}"))
            };
            store.submit(&WriteOptions::default(), put).expect("the map has grown");
        }
        assert!(store.environment().expect("an environment").env.info().map_size >= 64 * 100_000);
    }

    #[test]
    fn a_full_map_refuses_a_transaction_and_takes_the_next() {
        let store = Store::scratch(MemoryBudget::new(1 << 30)).expect("a scratch database");
        let environment = store.environment().expect("an environment");
        environment.resize(1 << 20).expect("a smaller map");
        let put = |bytes: usize| -> Result<()> {
            let (mut transaction, _shared) = environment.write()?;
            let delta = environment.values(Name::Delta)?;
            delta.put(&mut transaction, b"key", &vec![1; bytes]).map_err(environment.failed("writing"))?;
            transaction.commit().map_err(environment.failed("committing to"))
        };
        let error = put(4 << 20).expect_err("it is more than the map has room for");
        assert!(matches!(&error, Error::OutOfMemory(text) if text.contains("smaller parts")), "{error}");
        put(1 << 10).expect("there is room for less");
        let read = environment.read(|transaction| {
            let value = environment.values(Name::Delta)?.get(transaction, b"key");
            Ok(value.map_err(environment.failed("reading"))?.map(<[u8]>::len))
        });
        assert_eq!(read.expect("what was committed can be read"), Some(1 << 10));
        store.write(|transaction| transaction.create_schema("s")).expect("the database goes on");
    }
}
