//! Cancellation and progress: one token per running statement.

use crate::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::watch;

/// How far a statement is: a query by the records that it has read of its tables, a load by the bytes of its files, and a rewrite
/// by the records of the table.
///
/// ```
/// let progress = gingham::StatementProgress { done: 50, total: 200, records: 50 };
/// assert_eq!(progress.fraction(), 0.25);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementProgress {
    /// The part of `total` that is done.
    pub done: u64,
    /// The whole, in records or in bytes; never 0.
    pub total: u64,
    /// Records that were read or written so far.
    pub records: u64,
}

impl StatementProgress {
    /// The part that is done, from 0 to 1.
    ///
    /// ```
    /// let progress = gingham::StatementProgress { done: 1 << 20, total: 1 << 20, records: 10 };
    /// assert_eq!(progress.fraction(), 1.0);
    /// ```
    pub fn fraction(&self) -> f64 {
        self.done as f64 / self.total as f64
    }
}

/// Tells one statement to stop, and others how far it is. Cloning gives the same token.
#[derive(Debug, Clone)]
pub(crate) struct CancelToken {
    state: Arc<watch::Sender<CancelState>>,
    /// The state of the work that the statement is a part of.
    whole: Option<Arc<watch::Sender<CancelState>>>,
    progress: Arc<Mutex<ProgressSource>>,
    /// Why it is cancelled, where that is not because somebody asked.
    reason: Arc<OnceLock<Error>>,
}

/// Where a statement tells how far it is.
#[derive(Default)]
enum ProgressSource {
    #[default]
    Unknown,
    /// It reports.
    Reported(StatementProgress),
    /// The operators of its plan count.
    Counted(Box<dyn Fn() -> (u64, u64) + Send>),
}

impl std::fmt::Debug for ProgressSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Reported(_) => "reported",
            Self::Counted(_) => "counted",
        })
    }
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
        Self {
            state: Arc::new(watch::Sender::new(CancelState::Running)),
            whole: None,
            progress: Arc::default(),
            reason: Arc::default(),
        }
    }

    /// A token of a statement that is a part of this one's work: cancelled with it, and telling by it how far it is.
    pub(crate) fn part(&self) -> Self {
        Self { whole: Some(Arc::clone(&self.state)), progress: Arc::clone(&self.progress), ..Self::new() }
    }

    /// Tells how far the statement is; not that there is nothing to do.
    pub(crate) fn report(&self, progress: StatementProgress) {
        if progress.total > 0 {
            *self.source() = ProgressSource::Reported(progress);
        }
    }

    /// Lets `count` tell the records that were read, and those that are to be read, while the statement runs.
    pub(super) fn count_by(&self, count: Box<dyn Fn() -> (u64, u64) + Send>) {
        *self.source() = ProgressSource::Counted(count);
    }

    /// How far it is; `None` for a statement that does not count.
    pub(crate) fn progress(&self) -> Option<StatementProgress> {
        match &*self.source() {
            ProgressSource::Unknown => None,
            ProgressSource::Reported(progress) => Some(*progress),
            ProgressSource::Counted(count) => {
                let (done, total) = count();
                (total > 0).then_some(StatementProgress { done, total, records: done })
            }
        }
    }

    /// Lets go of what it counts by.
    pub(super) fn forget_progress(&self) {
        let source = std::mem::take(&mut *self.source());
        drop(source);
    }

    fn source(&self) -> MutexGuard<'_, ProgressSource> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the statement to stop; no effect on one that is past [`CancelToken::commit_point`].
    pub(crate) fn cancel(&self) {
        self.leave_running(CancelState::Cancelled);
    }

    /// Cancels as [`cancel`](Self::cancel) does, where `reason` is the error that the statement ends with.
    pub(crate) fn cancel_for(&self, reason: Error) {
        // It is cancelled once.
        drop(self.reason.set(reason));
        self.cancel();
    }

    /// The error of a statement that was cancelled.
    pub(crate) fn error(&self) -> Error {
        self.reason.get().cloned().unwrap_or(Error::Cancelled)
    }

    /// An error of the statement, where what has asked whether it is cancelled does not know why.
    pub(crate) fn why(&self, error: Error) -> Error {
        if matches!(error, Error::Cancelled) { self.error() } else { error }
    }

    fn leave_running(&self, next: CancelState) {
        self.state.send_if_modified(|state| {
            let running = *state == CancelState::Running;
            if running {
                *state = next;
            }
            running
        });
    }

    /// True once cancelled: for loops that do not await.
    pub(crate) fn is_cancelled(&self) -> bool {
        let own = *self.state.borrow();
        match own {
            CancelState::Running => self.whole.as_ref().is_some_and(|whole| *whole.borrow() == CancelState::Cancelled),
            CancelState::Cancelled => true,
            CancelState::Committing => false,
        }
    }

    /// [`Error::Cancelled`] once cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(self.error()) } else { Ok(()) }
    }

    /// The last call before changes are committed: an error when the statement was cancelled before, and no cancelling
    /// after. So "cancelled" always means that nothing was changed.
    pub(crate) fn commit_point(&self) -> Result<()> {
        let cancelled = self.is_cancelled();
        self.leave_running(if cancelled { CancelState::Cancelled } else { CancelState::Committing });
        self.check()
    }

    /// Waits until cancelled.
    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        // The senders live in `token`, so that the waits end by cancellation only.
        let token = self.clone();
        async move {
            let own = asked_to_stop(&token.state);
            let Some(whole) = &token.whole else { return own.await };
            tokio::select! {
                () = own => {}
                () = asked_to_stop(whole) => {
                    if !token.is_cancelled() {
                        // It is past the point where it could be stopped.
                        std::future::pending().await
                    }
                }
            }
        }
    }
}

async fn asked_to_stop(state: &watch::Sender<CancelState>) {
    let _ = state.subscribe().wait_for(|state| *state == CancelState::Cancelled).await;
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

impl Default for StatementHandle {
    fn default() -> Self {
        Self { token: CancelToken::new() }
    }
}

impl StatementHandle {
    /// A handle for what is run next: a load, say, which another thread may want to cancel. Once cancelled, whatever is run by it
    /// ends at once.
    ///
    /// ```
    /// use gingham::{Database, Error, StatementHandle, load::LoadOptions};
    ///
    /// let handle = StatementHandle::new();
    /// handle.cancel();
    /// let connection = Database::in_memory()?.connect();
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("numbers.csv");
    /// std::fs::write(&file, "n\n1\n2\n")?;
    /// let options = LoadOptions { table: "t".into(), ..Default::default() };
    /// assert!(matches!(connection.load(&[file], &options, &handle), Err(Error::Cancelled)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn of(token: CancelToken) -> Self {
        Self { token }
    }

    pub(crate) fn token(&self) -> &CancelToken {
        &self.token
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

    /// How far it is; `None` before it is planned, after its end, and for a statement that neither reads a table nor loads or
    /// rewrites one.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 1000)")?;
    /// let mut rows = connection.query("SELECT n FROM t WHERE n > 10")?;
    /// let handle = rows.handle();
    /// rows.by_ref().try_for_each(|batch| batch.map(drop))?;
    /// assert!(handle.progress().is_none_or(|progress| progress.done == 1000));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn progress(&self) -> Option<StatementProgress> {
        self.token.progress()
    }
}
