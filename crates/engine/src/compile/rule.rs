//! The rule that puts a [`CompiledExec`] in the place of each aggregation that compiled pipelines can do whole.
//!
//! It runs before DataFusion distributes a plan over threads: what is taken here needs no exchanges below it, and those
//! above are added for what is left.

use super::exec::CompiledExec;
use super::subtree::Subtree;
use crate::session::{Execution, Settings};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use gingham_execution::Pool;
use std::sync::Arc;

/// Replaces aggregations over scans.
#[derive(Debug)]
pub(crate) struct CompilePipelines {
    pool: Arc<Pool>,
}

impl CompilePipelines {
    /// Pipelines run on the threads of `pool`.
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { pool }
    }
}

impl PhysicalOptimizerRule for CompilePipelines {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let settings = Settings::of(config);
        let Execution::Compiled(mode) = settings.execution else { return Ok(plan) };
        let taken = plan.transform_down(|plan| {
            let Some(subtree) = Subtree::of(&plan)? else { return Ok(Transformed::no(plan)) };
            let exec = CompiledExec::new(subtree, mode, settings.threads, Arc::clone(&self.pool));
            Ok(Transformed::new(Arc::new(exec) as Arc<dyn ExecutionPlan>, true, TreeNodeRecursion::Jump))
        });
        Ok(taken?.data)
    }

    fn name(&self) -> &str {
        "compile_pipelines"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
