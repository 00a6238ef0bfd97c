//! The end of a write transaction: what its commit waits for, and what comes after.

use crate::SqlState;
use crate::io::lmdb::SyncMode;
use crate::lmdb::records;
use crate::lmdb::verifier::commit_checksum::CommitChecksum;
use crate::open::shared::Store;
use crate::panics::{self, PanicPoint, caught, guarded};
use crate::write::transaction::{Changes, Transaction};
use crate::{Error, Result};

impl<'store> Transaction<'store> {
    /// Makes the changes visible and durable, then removes the files that they replaced.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.require_whole()?;
        if !self.changes.changed {
            return Ok(());
        }
        self.state.next_segment = self.store.next_segment();
        let (state, id) = (self.state.clone(), self.transaction.id());
        let (environment, store, keeps_size) = (self.environment, self.store, self.durability.keeps_size);
        records::put_state(environment, &mut self.transaction, &state)?;
        let checksum = self.prepare_sync()?;
        panics::pass(PanicPoint::Commit);
        let before = match store.durable {
            true => Some(environment.commit_checksum()?.meta_before(id as u64)?),
            false => None,
        };
        let committed = self.transaction.commit().map_err(environment.failed("committing to"));
        if let (Err(_), Some(before)) = (&committed, &before) {
            // Where the disk refuses the meta page, LMDB leaves one there that leads to neither commit.
            environment.commit_checksum()?.restore_meta(id as u64, before);
        }
        // A commit that fails while syncing may have become visible: its files stay, and the next open for writing sweeps
        // those that no commit names.
        self.changes.made.keep();
        let Changes { names, records, replaced, .. } = self.changes;
        if committed.is_ok() && names.is_none() {
            // Others see the commit already.
            let seen = (environment.generation(), id);
            behind_commit(store, || store.publish(seen, state, records));
        }
        committed.and_then(|()| match checksum {
            Some(checksum) => {
                guarded(|| checksum.write()).inspect_err(|_| store.note_unsynced()).map_err(Error::of_unsynced_commit)
            }
            None => Ok(()),
        })?;
        behind_commit(store, || {
            panics::pass(PanicPoint::Committed);
            store.files.remove(store.path(), replaced);
            if !keeps_size {
                store.vacuum_when_wasteful(environment);
            }
        });
        Ok(())
    }

    /// Says what the commit waits for; gives who is to seal and sync it when that is for nothing.
    fn prepare_sync(&self) -> Result<Option<&'store CommitChecksum>> {
        let (store, environment) = (self.store, self.environment);
        if !store.durable {
            return Ok(None);
        }
        let checksum = if store.writes_checksums() { Some(environment.commit_checksum()?) } else { None };
        let (syncs, checksum) = match checksum {
            // Files that it replaces go at once: the commit before, which names them, must not come back.
            None if self.durability.relaxed && self.changes.replaced.is_empty() => (SyncMode::Pages, None),
            None => (SyncMode::Both, None),
            // A note may be there of a large one that did not come about.
            Some(checksum) if self.changes.is_large || checksum.is_noted(self.transaction.id() as u64)? => {
                checksum.note_synced(self.transaction.id() as u64)?;
                (SyncMode::Both, None)
            }
            checksum => (SyncMode::None, checksum),
        };
        environment.set_syncs(syncs)?;
        Ok(checksum)
    }

    /// Errors when a change failed half way.
    pub(crate) fn require_whole(&self) -> Result<()> {
        match self.heap.broken {
            true => Err(Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                "a change to a heap table failed: the transaction can't be committed",
            )),
            false => Ok(()),
        }
    }
}

/// Does what follows a commit, which stands whatever becomes of that: a panic is told to who runs the process, and costs what is
/// known of the commit in memory. Files that are left are swept by the next open.
fn behind_commit(store: &Store, work: impl FnOnce()) {
    if let Err(panic) = caught(work) {
        tracing::error!("{}: behind a commit: {panic}; please report it", store.path().display());
        store.forget_latest();
    }
}
