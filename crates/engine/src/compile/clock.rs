//! How long code is made while a statement runs: a part of the run's context, by which pipelines tell the statement.

use datafusion::execution::TaskContext;
use std::fmt;
use std::time::Duration;

/// Takes the times that code was made.
pub(crate) struct CompileClock(Box<dyn Fn(Duration) + Send + Sync>);

impl CompileClock {
    /// A clock that `take` is told by.
    pub(crate) fn new(take: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Box::new(take))
    }

    /// Tells the clock of a run, if it has one.
    pub(super) fn add(context: &TaskContext, time: Duration) {
        if let Some(clock) = context.session_config().get_extension::<Self>() {
            clock.0(time);
        }
    }
}

impl fmt::Debug for CompileClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileClock").finish_non_exhaustive()
    }
}
