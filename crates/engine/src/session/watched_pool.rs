//! What a part of those who share the memory limit has of it: a session, or a statement that is explained.

use datafusion::error::Result as DataFusionResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A memory pool that knows how much is had of it, and how much was at once.
#[derive(Debug)]
pub(super) struct WatchedPool {
    pool: Arc<dyn MemoryPool>,
    held: AtomicUsize,
    most: AtomicUsize,
}

impl WatchedPool {
    /// A pool that watches what is had of an environment's, and the environment with it.
    pub(super) fn around(environment: &RuntimeEnv) -> (Arc<Self>, Arc<RuntimeEnv>) {
        let pool = Arc::clone(&environment.memory_pool);
        let own = Arc::new(Self { pool, held: AtomicUsize::new(0), most: AtomicUsize::new(0) });
        let memory_pool = Arc::clone(&own) as Arc<dyn MemoryPool>;
        (own, Arc::new(RuntimeEnv { memory_pool, ..RuntimeEnv::clone(environment) }))
    }

    /// Bytes that are had now.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// The most bytes that were had at once.
    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(held, Ordering::Relaxed);
    }
}

impl fmt::Display for WatchedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pool)
    }
}

impl MemoryPool for WatchedPool {
    fn name(&self) -> &str {
        self.pool.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
        self.add(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
        self.held.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionResult<()> {
        self.pool.try_grow(reservation, additional)?;
        self.add(additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}
