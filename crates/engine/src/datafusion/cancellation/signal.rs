//! Whether a statement goes on.

use crate::Error;
use datafusion::error::Result;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// Tells the operators of one run whether it was cancelled: an extension of the configuration in the run's context.
pub(crate) struct StopSignal(Box<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopSignal")
    }
}

thread_local! {
    /// That of the operator that is at work on this thread.
    static AT_WORK: RefCell<Option<Arc<StopSignal>>> = const { RefCell::new(None) };
}

impl StopSignal {
    /// The signal that is given once `is_cancelled` says so.
    pub(crate) fn new(is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Box::new(is_cancelled)))
    }

    /// An error once the statement was cancelled.
    pub(super) fn check(&self) -> Result<()> {
        if (self.0)() { Err(Error::Cancelled.into()) } else { Ok(()) }
    }

    /// Runs `work`, which may [`ask`].
    pub(super) fn during<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        let _outer = Outer(AT_WORK.replace(Some(Arc::clone(self))));
        work()
    }
}

/// The signal of the operator above, which is at work again once this is dropped.
struct Outer(Option<Arc<StopSignal>>);

impl Drop for Outer {
    fn drop(&mut self) {
        AT_WORK.set(self.0.take());
    }
}

/// An error once the statement was cancelled that this thread is at work for.
pub(super) fn ask() -> Result<()> {
    AT_WORK.with_borrow(|signal| signal.as_ref().map_or(Ok(()), |signal| signal.check()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn the_inner_signal_counts_until_it_ends() {
        let (outer, stopped) = (StopSignal::new(|| false), Arc::new(AtomicBool::new(false)));
        let known = Arc::clone(&stopped);
        let inner = StopSignal::new(move || known.load(Ordering::Relaxed));
        assert!(ask().is_ok());
        outer.during(|| {
            inner.during(|| {
                assert!(ask().is_ok());
                stopped.store(true, Ordering::Relaxed);
                assert!(matches!(Error::from(ask().unwrap_err()), Error::Cancelled));
            });
            assert!(ask().is_ok());
        });
        assert!(ask().is_ok());
    }
}
