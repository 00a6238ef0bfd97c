//! Records that `ignore_errors` passed over, as the table `gingham_rejects` shows them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most records that are kept.
const KEPT: usize = 10_000;

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
pub(crate) struct Rejects(Arc<Mutex<Vec<Reject>>>);

impl Rejects {
    /// This list, without what an earlier statement left.
    pub(super) fn begun(&self) -> Self {
        self.kept().clear();
        self.clone()
    }

    /// Adds a record, unless there are too many.
    pub(super) fn add(&self, reject: Reject) {
        let mut kept = self.kept();
        if kept.len() < KEPT {
            kept.push(reject);
        }
    }

    /// Whether no more records are kept.
    pub(super) fn is_full(&self) -> bool {
        self.kept().len() >= KEPT
    }

    /// The records that are kept, by file and line.
    pub(crate) fn list(&self) -> Vec<Reject> {
        let mut kept = self.kept().clone();
        kept.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        kept
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Reject>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
