//! VACUUM: the catalog's file without the pages that nothing uses any more.
//!
//! LMDB never makes its file smaller. A copy of the latest commit that has no free pages is written into a folder beside
//! `catalog/` while the writer's turn is held, synced, and exchanged with it in one step. Readers that have begun go on in the
//! old file, which is gone when the last of them ends; what begins later reads the new one (docs/decisions/0042-vacuum.md).

use crate::io::lmdb::Access;
use crate::io::system;
use crate::lmdb::environment::Environment;
use crate::lmdb::verifier::Trusted;
use crate::lmdb::verifier::commit_checksum::CommitChecksum;
use crate::lmdb::{folder, records, verifier};
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::panics::{self, PanicPoint, guarded};
use crate::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A file that is smaller is left as it is.
const LEAST_BYTES: u64 = 16 << 20;
/// A catalog that uses more is left to VACUUM by name: writers wait for the copy.
const MOST_BYTES: u64 = 256 << 20;
/// How long one that nobody asked for waits for its turn. Meanwhile it keeps the database open; the next commit asks again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sizes of the catalog's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vacuumed {
    /// Bytes before.
    pub before: u64,
    /// Bytes now.
    pub after: u64,
}

impl Store {
    /// Writes the catalog's file anew, without what nothing uses, while readers go on. Waits for the write lock; others that
    /// write wait for it.
    pub fn vacuum(self: &Arc<Self>, options: &WriteOptions) -> Result<Vacuumed> {
        self.writer_lock()?;
        let _turn = self.turn(options)?;
        self.sweep_unfinished(&self.environment()?)?;
        self.vacuum_now()
    }

    /// Does the work of VACUUM. The caller has the write lock.
    fn vacuum_now(&self) -> Result<Vacuumed> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.settle_vacuum()?;
        self.require_synced()?;
        let current = self.environment()?;
        let before = current.file_bytes();
        let new = folder::vacuumed_catalog(self.path(), NEXT.fetch_add(1, Ordering::Relaxed));
        let built = guarded(|| {
            let environment = self.build(&current, &new)?.renamed(folder::catalog(self.path()));
            panics::pass(PanicPoint::Vacuum);
            self.exchange(&new)?;
            // Nothing comes between the two: what is written from now on belongs into the new one.
            self.set_environment(environment);
            Ok(())
        });
        match built {
            Ok(()) => {}
            Err(error) => {
                remove(&new);
                return Err(error);
            }
        }
        // Until the exchange is synced, a commit could be lost with it.
        self.settle_vacuum()?;
        remove(&new);
        Ok(Vacuumed { before, after: self.environment()?.file_bytes() })
    }

    /// Builds the copy in the folder `new`.
    fn build(&self, current: &Environment, new: &Path) -> Result<Environment> {
        fs::create_dir_all(new).map_err(Error::io("creating folder", new))?;
        let data = new.join("data.mdb");
        current.copy_to(&data)?;
        let access = if self.durable { Access::Durable } else { Access::Scratch };
        let environment = Environment::open(new, access)?;
        let state = environment.read(|transaction| records::state(&environment, transaction))?;
        folder::label_both_metas(&environment, state)?;
        // It takes the place of the only other one.
        verifier::verify_for_opening(new, Trusted::Both)?;
        if self.writes_checksums() {
            // Until its first commit, the lock file says that the latest has a commit checksum.
            CommitChecksum::open(new)?.seal_if_open()?;
        }
        for name in ["data.mdb", "lock.mdb"] {
            folder::give_permissions(&current.folder().join(name), &new.join(name))?;
        }
        folder::give_permissions(current.folder(), new)?;
        Ok(environment)
    }

    /// Exchanges the catalog and the one in the folder `new`, all of whose names are durable then.
    fn exchange(&self, new: &Path) -> Result<()> {
        if self.durable {
            folder::sync_folder(new)?;
            folder::sync_folder(self.path())?;
        }
        let catalog = folder::catalog(self.path());
        match system::exchange(new, &catalog) {
            Ok(()) => {
                self.vacuums.unsettled.store(self.durable, Ordering::Release);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => Err(Error::Unsupported(format!(
                "the file system of {} can't exchange two folders in one step, as VACUUM needs it to; \
                 a backup is a copy without free pages",
                self.path().display()
            ))),
            Err(error) => Err(Error::io("exchanging", &catalog)(error)),
        }
    }

    /// Makes the last VACUUM durable, before anything is committed to the new file: a power loss could bring the old one back.
    pub(crate) fn settle_vacuum(&self) -> Result<()> {
        if self.vacuums.unsettled.load(Ordering::Acquire) {
            folder::sync_folder(self.path())?;
            self.vacuums.unsettled.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Starts a VACUUM in the background when more than half of the catalog's file is free. Called after a commit.
    pub(crate) fn vacuum_when_wasteful(self: &Arc<Self>, environment: &Environment) {
        if !self.vacuums.is_due() || !is_wasteful(environment) || self.vacuums.under_way.swap(true, Ordering::AcqRel) {
            return;
        }
        let store = Arc::clone(self);
        let started = std::thread::Builder::new().name("gingham-vacuum".into()).spawn(move || {
            let vacuumed = guarded(|| store.vacuum_unasked());
            store.vacuums.ended(&vacuumed, store.path());
        });
        if let Err(error) = started {
            self.vacuums.ended(&Err(Error::io("starting a thread for", self.path())(error)), self.path());
        }
    }

    /// Does it, and gives the time that it took.
    fn vacuum_unasked(self: &Arc<Self>) -> Result<Duration> {
        let _turn = self.turn(&WriteOptions { lock_timeout: Some(PATIENCE), ..WriteOptions::default() })?;
        let begun = Instant::now();
        // Somebody may have asked for one meanwhile.
        if is_wasteful(self.environment()?.as_ref()) {
            let Vacuumed { before, after } = self.vacuum_now()?;
            tracing::info!("{}: the catalog had {before} bytes and has {after} now", self.path().display());
        }
        Ok(begun.elapsed())
    }
}

/// Whether more than half of a file is free, and writing the rest anew does not take long.
fn is_wasteful(environment: &Environment) -> bool {
    environment.file_bytes() >= LEAST_BYTES
        && environment.sizes().is_ok_and(|(file, used)| used <= MOST_BYTES && file / 2 > used)
}

/// Removes a catalog that is not in use; one that can't be removed is swept at the next open.
fn remove(new: &Path) {
    match fs::remove_dir_all(new) {
        Err(error) if error.kind() != ErrorKind::NotFound => tracing::warn!("removing {}: {error}", new.display()),
        _ => {}
    }
}
