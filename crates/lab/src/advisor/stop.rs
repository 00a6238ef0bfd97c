//! Ending work early: Ctrl-C from another thread, and statements that take too long.

use gingham::{CancelHandle, Connection};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is looked at whether a statement is to end.
const POLL: Duration = Duration::from_millis(10);

/// Ends what the advisor does, from any thread.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: AtomicBool,
    /// What runs now.
    running: Mutex<Option<CancelHandle>>,
}

impl Stop {
    /// Ends it: the statement that runs is cancelled, and nothing begins after it.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            running.cancel();
        }
    }

    /// Whether it was told to end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// An error when it was told to end.
    pub(super) fn check(&self) -> gingham::Result<()> {
        if self.is_stopped() { Err(gingham::Error::Cancelled) } else { Ok(()) }
    }

    /// Runs work on a connection that can be stopped meanwhile.
    pub(super) fn while_running<R>(
        &self,
        connection: &Connection,
        work: impl FnOnce() -> gingham::Result<R>,
    ) -> gingham::Result<R> {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.cancel_handle());
        let result = self.check().and_then(|()| work());
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.check()?;
        result
    }

    /// Runs work on a connection for so long at most; `None` when it took longer and was cancelled.
    pub(super) fn at_most<R>(
        &self,
        patience: Duration,
        connection: &Connection,
        work: impl FnOnce() -> gingham::Result<R>,
    ) -> gingham::Result<Option<R>> {
        let (done, ended) = channel::<()>();
        let (handle, deadline) = (connection.cancel_handle(), Instant::now() + patience);
        std::thread::scope(|scope| {
            let timer = scope.spawn(move || {
                let mut late = false;
                // Told again and again: what has not begun yet can't be cancelled.
                while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                    late |= Instant::now() >= deadline;
                    if late || self.is_stopped() {
                        handle.cancel();
                    }
                }
                late
            });
            let result = self.while_running(connection, work);
            drop(done);
            let late = timer.join().unwrap_or(false);
            match result {
                Err(gingham::Error::Cancelled) if late => Ok(None),
                result => result.map(Some),
            }
        })
    }
}
