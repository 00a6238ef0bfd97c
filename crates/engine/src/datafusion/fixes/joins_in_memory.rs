//! Joins that look at all pairs of rows keep one side in memory. Where that is refused memory, DataFusion 55 goes on with a
//! part of it at a time, from files, and then gives wrong rows: with several partitions each gives the rows without a partner
//! that another one found a partner for, and where a part ends with the side, rows of the other side are left out.
//!
//! DataFusion does so only where files may be written. So such a join runs in a context that has none, and fails by name when memory
//! is refused. What is below it runs in the statement's own context: a sort there may spill.

use datafusion::common::config::ConfigOptions;
use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::disk_manager::{DiskManager, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Keeps joins of all pairs from files; behind all rules that look for these joins.
#[derive(Debug)]
pub(crate) struct JoinsInMemory;

impl PhysicalOptimizerRule for JoinsInMemory {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let in_memory = plan.transform_up(|plan| {
            if !plan.is::<NestedLoopJoinExec>() {
                return Ok(Transformed::no(plan));
            }
            let inputs: Vec<_> = plan.children().into_iter().cloned().collect();
            let own = InMemory::over(plan, inputs, ChildrenPropertiesMode::Keep)?;
            Ok(Transformed::yes(Arc::new(own) as Arc<dyn ExecutionPlan>))
        });
        Ok(in_memory?.data)
    }

    fn name(&self) -> &str {
        "joins_in_memory"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The context that a statement runs in, for what is below a join that runs in another.
struct OwnContext(Arc<TaskContext>);

/// A join without files. To whoever looks at the plan it is the join.
#[derive(Debug)]
pub(crate) struct InMemory {
    /// Over inputs that are run in the statement's context.
    join: Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
}

impl InMemory {
    /// The join.
    pub(crate) fn join(&self) -> &Arc<dyn ExecutionPlan> {
        &self.join
    }

    fn over(
        join: Arc<dyn ExecutionPlan>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        properties: ChildrenPropertiesMode,
    ) -> Result<Self> {
        let outside = |input: &Arc<dyn ExecutionPlan>| Arc::new(Outside(Arc::clone(input))) as Arc<dyn ExecutionPlan>;
        let join =
            join.replace_children(inputs.iter().map(outside).collect(), ReplaceChildrenOptions::new(properties))?;
        Ok(Self { join, inputs })
    }
}

impl DisplayAs for InMemory {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.join.fmt_as(format, f)
    }
}

impl ExecutionPlan for InMemory {
    fn name(&self) -> &str {
        self.join.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(
        &self,
        look: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.join.apply_expressions(look)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != self.inputs.len() {
            return internal_err!("a join was given {} inputs", children.len());
        }
        Ok(Arc::new(Self::over(Arc::clone(&self.join), children, options.children_properties)?))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.join.execute(partition, without_files(context)?)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.join.metrics()
    }
}

/// The context without temporary files; it leads back to `context`.
fn without_files(context: Arc<TaskContext>) -> Result<Arc<TaskContext>> {
    let files = DiskManager::builder().with_mode(DiskManagerMode::Disabled).build()?;
    let environment = RuntimeEnv { disk_manager: Arc::new(files), ..RuntimeEnv::clone(&context.runtime_env()) };
    let config = context.session_config().clone().with_extension(Arc::new(OwnContext(Arc::clone(&context))));
    // The join itself calls no function by its name.
    let (task, session) = (context.task_id(), context.session_id());
    let (scalar, higher) = (HashMap::new(), HashMap::new());
    let (aggregate, window) = (HashMap::new(), HashMap::new());
    Ok(Arc::new(TaskContext::new(task, session, config, scalar, higher, aggregate, window, Arc::new(environment))))
}

/// An input of a join, in the statement's own context again: the very same one, which shared rows are known by.
#[derive(Debug)]
struct Outside(Arc<dyn ExecutionPlan>);

impl DisplayAs for Outside {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(format, f)
    }
}

impl ExecutionPlan for Outside {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    crate::inputs::reads_one!(0, |_, input| Self(input));

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match context.session_config().get_extension::<OwnContext>() {
            Some(own) => self.0.execute(partition, Arc::clone(&own.0)),
            None => internal_err!("an input of a join was run without it"),
        }
    }
}
