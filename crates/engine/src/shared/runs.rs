//! The shared rows of each run of a statement: a part of the run's context. Tasks that make rows run in a copy of that
//! context; they end with the run's own.

use crate::shared::rows::KeptRows;
use datafusion::common::internal_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The rows by their sources' numbers; `None` once the run has ended.
type KeptBySource = Option<HashMap<u64, Arc<KeptRows>>>;

/// The shared rows of a run.
pub(crate) struct SharedRuns {
    kept: Arc<Mutex<KeptBySource>>,
    /// That of the run's own context, with which they end.
    is_own: bool,
}

impl fmt::Debug for SharedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRuns")
    }
}

impl SharedRuns {
    /// A run without shared rows so far, for its context.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { kept: Arc::new(Mutex::new(Some(HashMap::new()))), is_own: true })
    }

    /// The rows of that number, which `begin` begins to make, in the context that it is given.
    pub(super) fn rows(
        number: u64,
        context: &TaskContext,
        begin: impl FnOnce(&Arc<TaskContext>) -> Result<KeptRows>,
    ) -> Result<Arc<KeptRows>> {
        let own = context.session_config().get_extension::<Self>();
        let own = own.ok_or_else(|| internal_datafusion_err!("a run has no shared rows"))?;
        let mut kept = own.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.as_mut().ok_or_else(|| internal_datafusion_err!("the run of shared rows has ended"))?;
        if let Some(known) = kept.get(&number) {
            return Ok(Arc::clone(known));
        }
        let rows = Arc::new(begin(&own.copied(context))?);
        kept.insert(number, Arc::clone(&rows));
        Ok(rows)
    }

    /// A context like that of the run, which knows of the same rows and does not hold them.
    fn copied(&self, context: &TaskContext) -> Arc<TaskContext> {
        let runs = Arc::new(Self { kept: Arc::clone(&self.kept), is_own: false });
        let config = context.session_config().clone().with_extension(runs);
        let (task, session) = (context.task_id(), context.session_id());
        let (scalar, higher, aggregate, window) = Default::default();
        Arc::new(TaskContext::new(task, session, config, scalar, higher, aggregate, window, context.runtime_env()))
    }
}

impl Drop for SharedRuns {
    fn drop(&mut self) {
        if self.is_own {
            let ended = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
            // Without the lock: what their tasks hold may look for others.
            drop(ended);
        }
    }
}
