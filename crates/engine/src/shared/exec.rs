//! The operator that reads shared rows.

use super::rows::{Kept, keep};
use arrow::datatypes::SchemaRef;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, reset_plan_states,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::TryStreamExt;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::OnceCell;

/// A run of the statement, and the rows: there when somebody has asked for them.
struct Run {
    context: Weak<TaskContext>,
    rows: Arc<OnceCell<Kept>>,
}

/// What runs the plan of shared rows, once for each run of the statement.
pub(super) struct Source {
    name: String,
    plan: Arc<dyn ExecutionPlan>,
    /// By where the run's context lies.
    runs: Mutex<HashMap<usize, Run>>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Source {
    pub(super) fn new(name: String, plan: Arc<dyn ExecutionPlan>) -> Self {
        Self { name, plan, runs: Mutex::default() }
    }

    /// The rows of a run: there when somebody has asked for them.
    fn run(&self, context: &Arc<TaskContext>) -> Arc<OnceCell<Kept>> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|_, run| run.context.strong_count() > 0);
        let new = || Run { context: Arc::downgrade(context), rows: Arc::default() };
        Arc::clone(&runs.entry(Arc::as_ptr(context) as usize).or_insert_with(new).rows)
    }

    /// One part of the rows.
    async fn part(
        self: Arc<Self>,
        number: usize,
        columns: Vec<usize>,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let run = self.run(&context);
        let kept =
            run.get_or_try_init(|| async { keep(reset_plan_states(Arc::clone(&self.plan))?, &context).await }).await?;
        kept.part(number, columns)
    }
}

/// Reads columns of shared rows.
#[derive(Debug)]
pub(crate) struct SharedExec {
    source: Arc<Source>,
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl SharedExec {
    pub(super) fn new(source: Arc<Source>, columns: Vec<usize>, schema: SchemaRef) -> Self {
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
