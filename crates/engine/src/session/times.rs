//! How long a statement takes until it runs: what a short query mostly waits for.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Times before a query's first operator was started, phase by phase, and of compiling. Phases that a cached plan saves are zero.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE t (a INTEGER)")?;
/// let mut result = connection.query("SELECT max(a) FROM t")?;
/// assert!(result.next().is_some_and(|batch| batch.is_ok()));
/// let times = result.planning();
/// assert!(times.total >= times.parse + times.logical + times.optimize + times.physical);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanningTimes {
    /// From the call to the start: all of the others, and what lies between them. Zero until then.
    pub total: Duration,
    /// The text made a syntax tree.
    pub parse: Duration,
    /// Names and types found: the logical plan.
    pub logical: Duration,
    /// The logical plan made a better one.
    pub optimize: Duration,
    /// Operators chosen and pipelines prepared: the physical plan.
    pub physical: Duration,
    /// Machine code made for pipelines so far, while the query runs: no part of the total. Threads may have run the query meanwhile.
    pub compile: Duration,
}

/// Takes the times of one statement, from when it is made.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    begun: Instant,
    times: Mutex<PlanningTimes>,
}

impl Stopwatch {
    /// Starts now.
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), times: Mutex::default() }
    }

    /// Changes the times: `watch.note(|times| times.parse += taken)`.
    pub(crate) fn note(&self, change: impl FnOnce(&mut PlanningTimes)) {
        change(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The statement's rows are about to be made.
    pub(crate) fn is_planned(&self) {
        self.note(|times| times.total = self.begun.elapsed());
    }

    /// The times so far.
    pub(crate) fn times(&self) -> PlanningTimes {
        *self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
