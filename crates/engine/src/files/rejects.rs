//! Records that `ignore_errors` passed over, as the table `gingham_rejects` shows them.

use std::sync::{Arc, Mutex, PoisonError};

/// Most records that are kept; more are counted.
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
pub(crate) struct Rejects(Arc<Mutex<RejectList>>);

#[derive(Debug, Default)]
struct RejectList {
    kept: Vec<Reject>,
    all: u64,
}

impl Rejects {
    /// This list, without what an earlier statement left.
    pub(super) fn begun(&self) -> Self {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = RejectList::default();
        self.clone()
    }

    /// Adds a record.
    pub(super) fn add(&self, reject: Reject) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.all += 1;
        if list.kept.len() < KEPT {
            list.kept.push(reject);
        }
    }

    /// Whether more records would only be counted.
    pub(super) fn is_full(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).kept.len() >= KEPT
    }

    /// Counts records that are not kept.
    pub(super) fn count(&self, records: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all += records;
    }

    /// The records that are kept, by file and line, and the number of all.
    pub(crate) fn list(&self) -> (Vec<Reject>, u64) {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = list.kept.clone();
        kept.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        (kept, list.all)
    }
}
