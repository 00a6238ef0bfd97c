//! What EXPLAIN sees of the statement that it is of: the plans that it makes, and the memory that these hold.
//!
//! A statement that is explained goes the way of every other, and is watched where plans are made and where they are started. One
//! that is not to run ends where its plan is made, and before it writes anything.

use crate::{Error, Result};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far a statement goes that is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// To its first plan.
    FirstPlan,
    /// To the end, as if its plans gave no rows: what changes nothing then may have several.
    AllPlans,
    /// To the end.
    End,
}

/// What was seen of a statement that is explained.
#[derive(Debug)]
pub(crate) struct Explaining {
    until: Until,
    seen: Mutex<SeenPlans>,
    memory: Arc<WatchedPool>,
    environment: Arc<RuntimeEnv>,
}

#[derive(Debug, Default)]
struct SeenPlans {
    plans: Vec<Arc<dyn ExecutionPlan>>,
    /// Whether the statement was ended.
    is_ended: bool,
}

impl Explaining {
    /// Nothing seen yet, of a statement that runs in `environment`.
    pub(crate) fn new(until: Until, environment: &Arc<RuntimeEnv>) -> Self {
        let memory = Arc::new(WatchedPool {
            pool: Arc::clone(&environment.memory_pool),
            held: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let memory_pool = Arc::clone(&memory) as Arc<dyn MemoryPool>;
        let environment = Arc::new(RuntimeEnv { memory_pool, ..RuntimeEnv::clone(environment) });
        Self { until, seen: Mutex::default(), memory, environment }
    }

    /// Whether the statement runs.
    pub(super) fn runs(&self) -> bool {
        self.until == Until::End
    }

    /// A plan was made: what is to be run in its place.
    pub(super) fn planned(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if self.runs() {
            return Ok(plan);
        }
        let nothing = Arc::new(EmptyExec::new(plan.schema()));
        let mut seen = self.seen();
        seen.plans.push(plan);
        if self.until == Until::AllPlans {
            return Ok(nothing);
        }
        seen.is_ended = true;
        Err(Error::Cancelled)
    }

    /// The statement is about to write, which one that is not to run must not.
    pub(super) fn writes(&self) -> Result<()> {
        if self.runs() {
            return Ok(());
        }
        self.seen().is_ended = true;
        Err(Error::Cancelled)
    }

    /// A plan is started.
    pub(crate) fn started(&self, plan: &Arc<dyn ExecutionPlan>) {
        if self.runs() {
            self.seen().plans.push(Arc::clone(plan));
        }
    }

    /// Whether the statement was ended at its plan, or before it wrote.
    pub(crate) fn has_ended(&self) -> bool {
        self.seen().is_ended
    }

    /// The plans, in the order in which they came.
    pub(crate) fn plans(&self) -> Vec<Arc<dyn ExecutionPlan>> {
        self.seen().plans.clone()
    }

    /// The environment that it runs in.
    pub(super) fn environment(&self) -> &Arc<RuntimeEnv> {
        &self.environment
    }

    /// The most bytes of memory that its operators held at once.
    pub(crate) fn most_memory(&self) -> usize {
        self.memory.most.load(Ordering::Relaxed)
    }

    fn seen(&self) -> MutexGuard<'_, SeenPlans> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A memory pool that knows how much was had of it at once.
#[derive(Debug)]
struct WatchedPool {
    pool: Arc<dyn MemoryPool>,
    held: AtomicUsize,
    most: AtomicUsize,
}

impl WatchedPool {
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
