//! What EXPLAIN sees of the statement that it is of: the plans that it makes, and the memory that these hold.
//!
//! A statement that is explained goes the way of every other, and is watched where plans are made and where they are started. One
//! that is not to run ends where its plan is made, and before it writes anything.

use crate::session::watched_pool::WatchedPool;
use crate::{Error, Result};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
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
        let (memory, environment) = WatchedPool::around(environment);
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
        self.memory.most()
    }

    fn seen(&self) -> MutexGuard<'_, SeenPlans> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
