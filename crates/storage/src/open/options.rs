//! How a transaction writes.

use crate::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a transaction writes.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// How long it waits for others that write; `None` for as long as it takes.
    pub lock_timeout: Option<Duration>,
    /// How much of that is over, where the statement has waited for something else before.
    pub waited: Waited,
    /// Its commit may be undone by a power loss, which never leaves a part of one.
    pub relaxed: bool,
    /// The catalog's file is left as it is, however much of it is free after the commit.
    pub keeps_size: bool,
    /// Records past which it merges a table's delta into a segment, for experiments and tests; `None` for the size that suits.
    pub delta_rows: Option<u64>,
}

/// How long a statement has waited for others that write; all of its parts that hold the same one count together.
#[derive(Debug, Clone, Default)]
pub struct Waited(Arc<AtomicU64>);

impl Waited {
    /// Adds a wait.
    pub fn add(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

impl WriteOptions {
    /// How long it waits from now on.
    pub fn patience(&self) -> Option<Duration> {
        self.lock_timeout.map(|limit| limit.saturating_sub(self.waited.time()))
    }

    /// The error for one who has waited for too long.
    pub fn waited(&self) -> Error {
        let seconds = self.lock_timeout.unwrap_or_default().as_secs_f64();
        Error::LockTimeout(format!(
            "another transaction has been writing for {seconds} s; try again when it has ended, or raise gingham.lock_timeout"
        ))
    }
}
