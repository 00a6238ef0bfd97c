//! The threads on which requests to stores run: their own, since the database's may all wait for what these bring.

use crate::{Error, Result};
use futures::FutureExt;
use gingham_storage::panics::Panic;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use tokio::runtime::{Builder, Runtime};

/// Threads that drive requests: these wait for the network, and compute checksums of TLS.
const THREADS: usize = 2;

/// The threads, started with the first request, for as long as the process lives.
fn runtime() -> Result<&'static Runtime> {
    static THREADS_OF_REQUESTS: OnceLock<Result<Runtime>> = OnceLock::new();
    let started = THREADS_OF_REQUESTS.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(THREADS).thread_name("gingham-objects").enable_all().build();
        built.map_err(|error| Error::Io(format!("starting threads for requests: {error}")))
    });
    started.as_ref().map_err(Clone::clone)
}

/// Starts `work`, which ends by itself.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    drop(runtime()?.spawn(work));
    Ok(())
}

/// Waits for `work`, on a thread of any runtime or none. A panic in it becomes an error.
pub(super) fn wait<R: Send + 'static>(work: impl Future<Output = Result<R>> + Send + 'static) -> Result<R> {
    let (sender, receiver) = sync_channel(1);
    drop(runtime()?.spawn(async move {
        let done = AssertUnwindSafe(work).catch_unwind().await;
        drop(sender.send(done.unwrap_or_else(|payload| Err(Panic::of(payload.as_ref()).into()))));
    }));
    receiver.recv().unwrap_or(Err(Error::Cancelled))
}
