//! Cancellation and progress: one token per running statement, and the list of a connection's running statements.

use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// How far a statement that rewrites a table is.
///
/// ```
/// let progress = gingham::StatementProgress { records: 50, total: 200 };
/// assert_eq!(progress.records * 100 / progress.total, 25);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementProgress {
    /// Records written so far.
    pub records: u64,
    /// Records to write.
    pub total: u64,
}

/// Tells one statement to stop, and others how far it is. Cloning gives the same token.
#[derive(Debug, Clone)]
pub(crate) struct CancelToken {
    state: Arc<watch::Sender<CancelState>>,
    /// Records done, and in all; both 0 for a statement that does not count.
    progress: Arc<(AtomicU64, AtomicU64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CancelState {
    Running,
    Cancelled,
    /// Past the point where it could be stopped: its changes are about to be visible.
    Committing,
}

impl CancelToken {
    /// A token that nobody has cancelled.
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(CancelState::Running)), progress: Arc::default() }
    }

    /// Tells that `records` of `total` are done.
    pub(crate) fn report(&self, records: u64, total: u64) {
        self.progress.0.store(records, Ordering::Relaxed);
        self.progress.1.store(total, Ordering::Relaxed);
    }

    /// What was reported last; `None` for a statement that does not count.
    pub(crate) fn progress(&self) -> Option<StatementProgress> {
        let total = self.progress.1.load(Ordering::Relaxed);
        (total > 0).then(|| StatementProgress { records: self.progress.0.load(Ordering::Relaxed).min(total), total })
    }

    /// Asks the statement to stop; no effect on one that is past [`CancelToken::commit_point`].
    pub(crate) fn cancel(&self) {
        self.state.send_if_modified(|state| {
            let running = *state == CancelState::Running;
            if running {
                *state = CancelState::Cancelled;
            }
            running
        });
    }

    /// True once cancelled: for loops that do not await.
    pub(crate) fn is_cancelled(&self) -> bool {
        *self.state.borrow() == CancelState::Cancelled
    }

    /// [`Error::Cancelled`] once cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// The last call before changes are committed: an error when the statement was cancelled before, and no cancelling
    /// after. So "cancelled" always means that nothing was changed.
    pub(crate) fn commit_point(&self) -> Result<()> {
        self.state.send_if_modified(|state| {
            let running = *state == CancelState::Running;
            if running {
                *state = CancelState::Committing;
            }
            running
        });
        self.check()
    }

    /// Waits until cancelled.
    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        let token = self.clone();
        async move {
            // The sender lives in `token`, so that the wait ends by cancellation only.
            let _ = token.state.subscribe().wait_for(|state| *state == CancelState::Cancelled).await;
        }
    }
}

/// Cancels one statement, and tells how far it is, from any thread.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let running = connection.start("SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000) b")?;
/// let handle = running.handle();
/// std::thread::spawn(move || handle.cancel()).join().expect("cancelling never fails");
/// assert!(matches!(running.wait().and_then(|rows| rows.collect_batches()), Err(gingham::Error::Cancelled)));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StatementHandle {
    token: CancelToken,
}

impl StatementHandle {
    pub(crate) fn new(token: CancelToken) -> Self {
        Self { token }
    }

    /// Cancels the statement; no effect when it has ended, or is about to commit.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let rows = connection.query("SELECT * FROM generate_series(1, 1000000000)")?;
    /// rows.handle().cancel();
    /// assert!(rows.collect_batches().is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// How far it is; `None` for a statement that does not count.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.query("SELECT 1")?.handle().progress(), None);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn progress(&self) -> Option<StatementProgress> {
        self.token.progress()
    }
}

/// The statements that a connection and its clones run now.
#[derive(Debug, Default)]
pub(crate) struct RunningStatements {
    tokens: Mutex<(u64, BTreeMap<u64, CancelToken>)>,
}

impl RunningStatements {
    /// Adds a statement; it is taken off the list when the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, token: CancelToken) -> RunningGuard {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.0 += 1;
        let number = tokens.0;
        tokens.1.insert(number, token);
        RunningGuard { running: Arc::clone(self), number }
    }

    /// True when nothing runs.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).1.is_empty()
    }

    /// Cancels all statements that run now.
    pub(crate) fn cancel_all(&self) {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.1.values().for_each(CancelToken::cancel);
    }

    /// How far the statement is that was started last among those that count.
    pub(crate) fn progress(&self) -> Option<StatementProgress> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.1.values().rev().find_map(CancelToken::progress)
    }
}

/// Keeps a statement on the list of running ones.
#[derive(Debug)]
pub(crate) struct RunningGuard {
    running: Arc<RunningStatements>,
    number: u64,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.running.tokens.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.number);
    }
}
