//! When somebody looks next whether a session's transaction stands still.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// Who looks after the transactions of a session. One task does so for all of them: thousands may begin while one sleeps.
#[derive(Debug, Default)]
pub(super) struct IdleWatch {
    /// When it looks next; `None` while there is none.
    looks_at: Mutex<Option<Instant>>,
    /// It is to look earlier.
    pub(super) earlier: Arc<Notify>,
}

impl IdleWatch {
    /// When it looks next, while nobody else changes it.
    pub(super) fn looks_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.looks_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
