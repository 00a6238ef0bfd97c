//! The values that a session has got of sequences: `currval` and `lastval`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a session has got of sequences: `currval` and `lastval`.
#[derive(Debug, Default)]
pub(crate) struct SequenceValues(Mutex<Got>);

#[derive(Debug, Default)]
pub(super) struct Got {
    /// By the sequence's number.
    pub(super) values: HashMap<u64, i64>,
    pub(super) last: Option<u64>,
}

impl SequenceValues {
    /// Forgets them all.
    pub(crate) fn forget(&self) {
        *self.got() = Got::default();
    }

    pub(super) fn got(&self) -> MutexGuard<'_, Got> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
