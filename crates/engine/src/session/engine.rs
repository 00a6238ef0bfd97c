//! What all sessions of a database share: the store, the memory limit, the threads.

use crate::published::PublishedSource;
use crate::recording::Recorder;
use crate::session::SessionTransaction;
use crate::session::advisory_locks::AdvisoryLocks;
use crate::session::memory::BudgetPool;
use crate::session::registry::SessionRegistry;
use crate::session::settings::{SettingNumbers, next_number};
use crate::settings::FallbackCounts;
use crate::{Error, Result};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use gingham_execution::Pool;
use gingham_storage::SqlState;
use gingham_storage::io::MemoryBudget;
use gingham_storage::panics::{self, PanicPoint, own_thread};
use gingham_storage::store::Store;
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

/// Stack of a worker thread in bytes: plans are trees that planning walks recursively.
const STACK_BYTES: usize = 8 << 20;
/// Statements that may wait for the write lock at a time, each on a thread of its own: half of the threads for what blocks, so
/// that who has the turn always finds one. The others wait without a thread.
const WAITING: usize = 256;

/// An open database as its sessions share it.
#[derive(Debug)]
pub(crate) struct Engine {
    /// The statements that sessions run while `gingham.record_workload` is on. First, so that they are saved before the store is
    /// closed, for which others wait.
    pub(crate) recorder: Arc<Recorder>,
    /// Tables and catalog.
    pub(crate) store: Arc<Store>,
    /// Where the database was published that this one is read of.
    pub(crate) published: Option<Arc<PublishedSource>>,
    /// The one memory limit.
    pub(crate) budget: Arc<MemoryBudget>,
    /// Memory pool, spill files and object stores for DataFusion.
    pub(crate) environment: Arc<RuntimeEnv>,
    /// Threads of a query unless a session sets others.
    pub(crate) threads: usize,
    /// The threads that run compiled pipelines.
    pub(crate) pool: Arc<Pool>,
    /// Transactions over statements, those that have ended among them.
    pub(crate) transactions: Mutex<Vec<Weak<SessionTransaction>>>,
    /// Number of the settings that sessions start with.
    pub(crate) settings_number: u64,
    /// Numbers of the settings that other sessions start with.
    pub(crate) other_numbers: SettingNumbers,
    /// The sessions that are there.
    pub(crate) sessions: Arc<SessionRegistry>,
    /// Places of statements that may wait for the write lock.
    pub(crate) waiting: Arc<Semaphore>,
    /// Counts of what plans that were run left to DataFusion's operators.
    pub(crate) fallbacks: Arc<FallbackCounts>,
    /// Advisory locks that sessions have.
    pub(crate) advisory: Arc<AdvisoryLocks>,
    /// Sessions have the settings of experiments (`crate::lab`).
    pub(crate) has_lab: AtomicBool,
    runtime: OwnedRuntime,
}

/// A runtime that may be dropped inside asynchronous code: it never waits for its threads.
#[derive(Debug)]
struct OwnedRuntime(Option<Runtime>);

impl Drop for OwnedRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Engine {
    /// Starts the threads for an open store.
    pub(crate) fn start(store: Arc<Store>, budget: Arc<MemoryBudget>, threads: Option<usize>) -> Result<Arc<Self>> {
        Self::start_of(store, None, budget, threads)
    }

    /// Starts them for a store that was opened from where it was published.
    pub(crate) fn start_of(
        store: Arc<Store>,
        published: Option<Arc<PublishedSource>>,
        budget: Arc<MemoryBudget>,
        threads: Option<usize>,
    ) -> Result<Arc<Self>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or(cores).max(1);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(cores))
            .max_blocking_threads(2 * WAITING)
            .thread_name("gingham")
            .thread_stack_size(STACK_BYTES)
            .on_thread_start(own_thread)
            .enable_all()
            .build()
            .map_err(|error| Error::Io(format!("starting threads: {error}")))?;
        let environment =
            RuntimeEnvBuilder::new().with_memory_pool(Arc::new(BudgetPool::new(Arc::clone(&budget)))).build_arc()?;
        let settings_number = next_number();
        let runtime = OwnedRuntime(Some(runtime));
        let pool = Arc::new(Pool::new());
        let (transactions, waiting) = (Mutex::default(), Arc::new(Semaphore::new(WAITING)));
        let recorder = Arc::new(Recorder::open(store.path().join("workload"), !store.is_read_only()));
        Ok(Arc::new(Self {
            recorder,
            store,
            published,
            budget,
            environment,
            threads,
            pool,
            transactions,
            settings_number,
            other_numbers: SettingNumbers::default(),
            sessions: Arc::default(),
            waiting,
            fallbacks: Arc::default(),
            advisory: Arc::default(),
            has_lab: AtomicBool::new(false),
            runtime,
        }))
    }

    /// Shows the newest state of a published database from here on. Gives its number.
    pub(crate) fn refresh(&self) -> Result<u64> {
        match &self.published {
            Some(source) => source.refresh(&self.store),
            None => Err(Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                "REFRESH takes the newest state of a database that was opened by its URL; this one is always as it is now",
            )),
        }
    }

    /// Where queries run.
    pub(crate) fn handle(&self) -> Result<&Handle> {
        self.runtime.0.as_ref().map(Runtime::handle).ok_or_else(|| Error::Internal("the threads are gone".into()))
    }
}

/// Runs `work`, which blocks (writes files, commits), off the threads that drive queries. A panic in it
/// becomes an error.
pub(crate) async fn blocking<R: Send + 'static>(work: impl FnOnce() -> Result<R> + Send + 'static) -> Result<R> {
    let work = move || {
        panics::pass(PanicPoint::Blocking);
        work()
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Error::of_task(error)))
}

/// Waits for `future` on a thread that may belong to any runtime or none.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    use std::task::{Context, Poll, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}
