//! Waiting for a statement without Python's lock, with an ear for Ctrl-C.

use crate::error::{guarded, raised};
use gingham::StatementHandle;
use pyo3::prelude::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How long a signal may wait until it is heard.
const PATIENCE: Duration = Duration::from_millis(50);

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls until `work` is done or the patience is at its end.
fn poll_for<W: Future>(mut work: Pin<&mut W>) -> Option<W::Output> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let end = Instant::now() + PATIENCE;
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return Some(done);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        std::thread::park_timeout(left);
    }
}

/// Waits for `work`, which belongs to the statement of `handle`; a signal cancels that, and is raised.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    handle: &StatementHandle,
    work: impl Future<Output = gingham::Result<T>> + Send,
) -> PyResult<T> {
    let mut work = pin!(work);
    loop {
        if let Some(done) = guarded(py, || Ok(py.detach(|| poll_for(work.as_mut()))))? {
            return done.map_err(|error| raised(py, &error));
        }
        if let Err(signal) = py.check_signals() {
            handle.cancel();
            return Err(signal);
        }
    }
}
