//! The operator that reads shared rows.

use crate::shared::rows::{KeptRows, keep};
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{SharedResult, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, reset_plan_states,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, TryStreamExt};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The rows, which a task of their own makes: who waits for them first may not be the one that goes on.
type Making = Shared<BoxFuture<'static, SharedResult<Arc<KeptRows>>>>;

/// A run of the statement, and its rows.
struct SharedRun {
    context: Weak<TaskContext>,
    rows: Making,
}

/// What runs the plan of shared rows, once for each run of the statement.
pub(super) struct SharedSource {
    name: String,
    plan: Arc<dyn ExecutionPlan>,
    /// By where the run's context lies.
    runs: Mutex<HashMap<usize, SharedRun>>,
}

impl fmt::Debug for SharedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SharedSource {
    pub(super) fn new(name: String, plan: Arc<dyn ExecutionPlan>) -> Self {
        Self { name, plan, runs: Mutex::default() }
    }

    /// The rows of a run, which the first one that asks has made.
    fn rows(&self, context: &Arc<TaskContext>) -> Making {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|_, run| run.context.strong_count() > 0);
        let run = runs.entry(Arc::as_ptr(context) as usize).or_insert_with(|| {
            let (plan, own) = (Arc::clone(&self.plan), Arc::clone(context));
            let task = SpawnedTask::spawn(async move { keep(reset_plan_states(plan)?, &own).await });
            let made = async move {
                let kept = task.join().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)));
                kept.flatten().map(Arc::new).map_err(Arc::new)
            };
            SharedRun { context: Arc::downgrade(context), rows: made.boxed().shared() }
        });
        run.rows.clone()
    }

    /// One part of the rows.
    async fn part(
        self: Arc<Self>,
        number: usize,
        columns: Vec<usize>,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.rows(&context).await.map_err(DataFusionError::Shared)?.part(number, columns)
    }
}

/// Reads columns of shared rows.
#[derive(Debug)]
pub(crate) struct SharedExec {
    source: Arc<SharedSource>,
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl SharedExec {
    pub(super) fn new(source: Arc<SharedSource>, columns: Vec<usize>, schema: SchemaRef) -> Self {
        let parts = source.plan.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(parts),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { source, columns, properties: Arc::new(properties) }
    }
}

impl DisplayAs for SharedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.schema();
        let names: Vec<&str> = fields.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "SharedExec: {}, columns=[{}]", self.source.name, names.join(", "))
    }
}

impl ExecutionPlan for SharedExec {
    fn name(&self) -> &str {
        "SharedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("shared rows have no children") }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let part = Arc::clone(&self.source).part(partition, self.columns.clone(), context);
        let rows = futures::stream::once(part).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
