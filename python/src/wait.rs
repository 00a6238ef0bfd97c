//! Waiting for a statement without Python's lock, with an ear for Ctrl-C.

use crate::error::{guarded, raised};
use arrow::error::ArrowError;
use gingham::StatementHandle;
use pyo3::exceptions::PyKeyboardInterrupt;
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
fn poll_for<W: Future>(mut work: Pin<&mut W>, patience: Duration) -> Option<W::Output> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let end = Instant::now() + patience;
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
        if let Some(done) = guarded(py, || Ok(py.detach(|| poll_for(work.as_mut(), PATIENCE))))? {
            return done.map_err(|error| raised(py, &error));
        }
        if let Err(signal) = py.check_signals() {
            handle.cancel();
            return Err(signal);
        }
    }
}

/// As [`wait`], for one who reads by Arrow's C interface: on any thread, with Python's lock or without, and with no way to raise an
/// exception. A signal cancels the statement and ends the reading by an error; the KeyboardInterrupt that it was comes again as soon
/// as Python runs on.
pub(crate) fn wait_anywhere<T: Send>(
    handle: &StatementHandle,
    work: impl Future<Output = gingham::Result<T>> + Send,
) -> Result<T, ArrowError> {
    let told = |error: gingham::Error| ArrowError::ExternalError(Box::new(error));
    let mut work = pin!(work);
    // What is there needs no Python.
    if let Some(done) = poll_for(work.as_mut(), Duration::ZERO) {
        return done.map_err(told);
    }
    loop {
        let waited = Python::try_attach(|py| {
            if let Some(done) = py.detach(|| poll_for(work.as_mut(), PATIENCE)) {
                return Some(done.map_err(told));
            }
            let signal = py.check_signals().err()?;
            handle.cancel();
            Some(Err(ArrowError::ExternalError(again(py, signal).into())))
        });
        match waited {
            Some(Some(done)) => return done,
            Some(None) => {}
            None => {
                handle.cancel();
                return Err(ArrowError::ExternalError("Python is about to end".into()));
            }
        }
    }
}

/// Lets a KeyboardInterrupt come again, and gives the text of the exception that a signal was.
fn again(py: Python<'_>, signal: PyErr) -> String {
    let text = format!("the statement was cancelled: {signal}");
    if signal.is_instance_of::<PyKeyboardInterrupt>(py)
        && let Err(error) = py.import("_thread").and_then(|module| module.call_method0("interrupt_main"))
    {
        return format!("{text} ({error})");
    }
    text
}
