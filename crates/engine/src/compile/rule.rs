//! The rule that puts a [`CompiledExec`] in the place of each aggregation and join that compiled pipelines can do whole.
//!
//! It runs before DataFusion distributes a plan over threads: what is taken here needs no exchanges below it, and those
//! above are added for what is left.

use super::exec::CompiledExec;
use super::joined::Joined;
use super::subtree::Subtree;
use crate::session::{Execution, Settings};
use arrow::compute::SortOptions;
use datafusion::common::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use gingham_execution::{Mode, Pool};
use std::sync::Arc;

/// Replaces aggregations and joins over scans.
#[derive(Debug)]
pub(crate) struct CompilePipelines {
    pool: Arc<Pool>,
    /// The rules that come after this one.
    rest: Arc<[Arc<dyn PhysicalOptimizerRule + Send + Sync>]>,
}

impl CompilePipelines {
    /// Pipelines run on the threads of `pool`. `rest` are the rules that make a runnable plan of what this one is given.
    pub(crate) fn new(pool: Arc<Pool>, rest: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>) -> Self {
        Self { pool, rest: rest.into() }
    }

    /// The plan with what is taken replaced. `limited` when not all of its rows may be wanted: a join gives them as they
    /// come, a pipeline at its end.
    fn take(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        mode: Mode,
        threads: usize,
        limited: bool,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let candidate = plan.is::<AggregateExec>() || (Joined::of(&plan).is_some() && !limited);
        if let Some(subtree) = candidate.then(|| Subtree::of(&plan, mode)).flatten() {
            let (pool, rest) = (Arc::clone(&self.pool), Arc::clone(&self.rest));
            return Ok(Arc::new(CompiledExec::new(subtree, threads, pool, rest)));
        }
        let breaks = plan.is::<AggregateExec>() || plan.is::<SortExec>();
        let limits = plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>() || plan.fetch().is_some();
        let limited = !breaks && (limited || limits);
        let children = plan.children().into_iter().map(|child| self.take(Arc::clone(child), mode, threads, limited));
        let children = children.collect::<Result<Vec<_>>>()?;
        let mut children = children;
        if let (Some(sort), [child]) = (plan.downcast_ref::<SortExec>(), children.as_mut_slice())
            && let Some(top) = first_of(sort, child)
        {
            *child = top;
        }
        let same = plan.children().into_iter().zip(&children).all(|(before, after)| Arc::ptr_eq(before, after));
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        if same { Ok(plan) } else { plan.replace_children(children, options) }
    }
}

/// The input of a sort that gives its first rows, if pipelines can leave out others.
fn first_of(sort: &SortExec, input: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let (rows, first) = (sort.fetch()?, sort.expr().first());
    let column = first.expr.downcast_ref::<Column>()?.index();
    with_top(input, column, first.options, rows)
}

fn with_top(
    plan: &Arc<dyn ExecutionPlan>,
    column: usize,
    options: SortOptions,
    rows: usize,
) -> Option<Arc<dyn ExecutionPlan>> {
    if let Some(compiled) = plan.downcast_ref::<CompiledExec>() {
        return Some(Arc::new(compiled.with_top(column, options, rows)?));
    }
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let below = projection.expr().get(column)?.expr.downcast_ref::<Column>()?.index();
    let input = with_top(projection.input(), below, options, rows)?;
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(vec![input], options).ok()
}

impl PhysicalOptimizerRule for CompilePipelines {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let settings = Settings::of(config);
        let Execution::Compiled(mode) = settings.execution else { return Ok(plan) };
        self.take(plan, mode, settings.threads, false)
    }

    fn name(&self) -> &str {
        "compile_pipelines"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
