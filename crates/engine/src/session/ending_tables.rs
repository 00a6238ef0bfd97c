//! TEMP tables that are dropped or emptied when a transaction ends: ON COMMIT.

use gingham_storage::TableName;
use gingham_storage::snapshot::Snapshot;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The TEMP tables of a session that change when a transaction ends, and whether they are dropped.
#[derive(Debug, Default)]
pub(crate) struct EndingTables(Mutex<Vec<(TableName, bool)>>);

impl EndingTables {
    fn all(&self) -> MutexGuard<'_, Vec<(TableName, bool)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are any.
    pub(crate) fn is_any(&self) -> bool {
        !self.all().is_empty()
    }

    /// It stays as it is.
    pub(crate) fn forget(&self, name: &TableName) {
        self.all().retain(|(own, _)| own != name);
    }

    /// From now on it changes: it is dropped, or emptied.
    pub(crate) fn set(&self, name: &TableName, drops: bool) {
        let mut all = self.all();
        all.retain(|(own, _)| own != name);
        all.push((name.clone(), drops));
    }

    /// Those that are there.
    pub(crate) fn of(&self, snapshot: &Snapshot) -> Vec<(TableName, bool)> {
        self.all().iter().filter(|(name, _)| snapshot.has_table(name)).cloned().collect()
    }
}
