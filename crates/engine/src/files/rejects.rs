//! Records that `ignore_errors` passed over, as the table `gingham_rejects` shows them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most records that are kept.
pub(crate) const KEPT_REJECTS: usize = 10_000;

/// A record that was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reject {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) column: Option<String>,
    pub(crate) error: String,
}

/// The rejected records of the last statement of a session that ignores errors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rejects {
    kept: Arc<Mutex<Vec<Reject>>>,
    /// Records that nobody was told of yet.
    untold: Arc<AtomicU64>,
}

impl Rejects {
    /// This list, without what an earlier statement left.
    pub(super) fn begun(&self) -> Self {
        self.replace(Vec::new());
        self.clone()
    }

    /// Has these records in the place of what an earlier statement left.
    pub(crate) fn replace(&self, rejects: Vec<Reject>) {
        *self.kept() = rejects;
    }

    /// Counts records that are passed over.
    pub(crate) fn passed_over(&self, records: u64) {
        self.untold.fetch_add(records, Ordering::Relaxed);
    }

    /// The number of records that were passed over since the last call, if there are any.
    pub(crate) fn take_count(&self) -> Option<u64> {
        Some(self.untold.swap(0, Ordering::Relaxed)).filter(|records| *records > 0)
    }

    /// Adds a record, unless there are too many.
    pub(super) fn add(&self, reject: Reject) {
        let mut kept = self.kept();
        if kept.len() < KEPT_REJECTS {
            kept.push(reject);
        }
    }

    /// Whether no more records are kept.
    pub(super) fn is_full(&self) -> bool {
        self.kept().len() >= KEPT_REJECTS
    }

    /// The records that are kept, by file and line.
    pub(crate) fn list(&self) -> Vec<Reject> {
        let mut kept = self.kept().clone();
        kept.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        kept
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Reject>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
