//! The operator that runs a pipeline on the pool's threads and gives its groups as batches.
//!
//! What it replaced is kept. When memory runs out, or a value leaves its type, before a row was given (which is always, as
//! an aggregation gives its rows at the end), the query goes on in DataFusion's operators: they spill where they can, and
//! find the value that an error has to name.

use super::results::{Output, Unfinished, batch};
use super::subtree::Subtree;
use crate::table::ScanExec;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use gingham_execution::{Error as ExecutionError, Groups, Memory, Mode, Pipeline, Pool, Report};
use gingham_storage::scan::TableScan;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Aggregates the records of a scan by a pipeline.
#[derive(Debug)]
pub(crate) struct CompiledExec {
    shape: Arc<Shape>,
    /// A [`ScanExec`].
    scan: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

/// What copies of the operator share.
#[derive(Debug)]
struct Shape {
    pipeline: Arc<Pipeline>,
    replaced: Arc<dyn ExecutionPlan>,
    outputs: Vec<Output>,
    passed: HashSet<usize>,
    /// Groups that the keys allow.
    groups: u64,
    workers: usize,
    pool: Arc<Pool>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

/// A reservation of the query's memory that grows while the pipeline runs.
struct Reserved(Mutex<MemoryReservation>);

impl Memory for Reserved {
    fn grow(&self, bytes: usize) -> gingham_execution::Result<()> {
        let reservation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reservation.try_grow(bytes).map_err(|error| ExecutionError::OutOfMemory(error.to_string()))
    }
}

impl CompiledExec {
    /// In the place of `subtree`, on at most `workers` threads of `pool`.
    pub(super) fn new(subtree: Subtree, mode: Mode, workers: usize, pool: Arc<Pool>) -> Self {
        let Subtree { replaced, scan, plan, rows, outputs, passed } = subtree;
        let schema = replaced.schema();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        let groups = plan.groups();
        let pipeline = Arc::new(Pipeline::new(plan, rows, mode));
        let properties = Arc::new(properties);
        let shape = Shape { pipeline, replaced, outputs, passed, groups, workers, pool, schema, properties };
        Self::of(Arc::new(shape), scan)
    }

    fn of(shape: Arc<Shape>, scan: Arc<dyn ExecutionPlan>) -> Self {
        Self { shape, scan, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// What it replaced, over another leaf.
    fn replaced(&self, leaf: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = Arc::clone(&self.shape.replaced).transform_up(|plan| {
            Ok(if plan.is::<ScanExec>() { Transformed::yes(Arc::clone(leaf)) } else { Transformed::no(plan) })
        });
        Ok(replaced?.data)
    }

    /// Starts the pipeline over `scan` and waits for its groups.
    async fn groups(&self, scan: Arc<TableScan>, context: &TaskContext) -> gingham_execution::Result<(Groups, Report)> {
        let reservation = MemoryConsumer::new("CompiledExec").register(context.memory_pool());
        let memory = Box::new(Reserved(Mutex::new(reservation)));
        let (sender, receiver) = oneshot::channel();
        let Shape { pipeline, pool, workers, .. } = &*self.shape;
        let done = move |result| drop(sender.send(result));
        let _stopper = Arc::clone(pipeline).run(scan, pool, *workers, memory, done)?;
        receiver.await.unwrap_or(Err(ExecutionError::Cancelled))
    }

    /// The batches, from the pipeline or, when it can't, from what it replaced.
    async fn rows(self: Arc<Self>, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let baseline = BaselineMetrics::new(&self.metrics, 0);
        let timer = baseline.elapsed_compute().timer();
        let Some(scan) = self.scan.downcast_ref::<ScanExec>() else {
            return internal_err!("a pipeline has a scan below it");
        };
        let (scan, _) = scan.enter(0)?.scan()?;
        let (groups, report) = match self.groups(scan, &context).await {
            Ok(answer) => answer,
            Err(ExecutionError::Overflow | ExecutionError::OutOfMemory(_) | ExecutionError::Unsupported(_)) => {
                return self.rows_of_replaced(context);
            }
            Err(error) => return Err(crate::Error::from(error).into()),
        };
        let batch = match batch(&groups, &self.shape.outputs, &self.shape.schema) {
            Ok(batch) => batch,
            Err(Unfinished::Overflow) => return self.rows_of_replaced(context),
            Err(Unfinished::Failed(error)) => return Err(error.into()),
        };
        timer.done();
        self.tell(&report);
        baseline.record_output(batch.num_rows());
        let rows = stream::iter(slices(&batch, context.session_config().batch_size()).map(Ok));
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.shape.schema), rows)))
    }

    fn rows_of_replaced(&self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        MetricBuilder::new(&self.metrics).counter("left_to_datafusion", 0).add(1);
        execute_stream(self.replaced(&self.scan)?, context)
    }

    fn tell(&self, report: &Report) {
        let counter = |name, value| MetricBuilder::new(&self.metrics).counter(name, 0).add(value);
        counter("records", report.records);
        counter("loops", report.loops);
        counter("code_bytes", report.code_bytes);
        MetricBuilder::new(&self.metrics).subset_time("compile_time", 0).add_duration(report.compile_time);
    }
}

/// A batch in parts of at most `rows`.
fn slices(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> + Send + use<> {
    let (batch, rows) = (batch.clone(), rows.max(1));
    (0..batch.num_rows()).step_by(rows).map(move |start| batch.slice(start, rows.min(batch.num_rows() - start)))
}

impl DisplayAs for CompiledExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { pipeline, groups, schema, .. } = &*self.shape;
        let states = match (*groups, pipeline.is_array()) {
            (1, _) => "one group".to_owned(),
            (groups, true) => format!("array of {groups} groups"),
            (_, false) => "hash table of groups".to_owned(),
        };
        match format {
            DisplayFormatType::TreeRender => writeln!(f, "mode={}", pipeline.mode()),
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                write!(f, "CompiledExec: mode={}, aggregate into {states}: [{}]", pipeline.mode(), names.join(", "))
            }
        }
    }
}

impl ExecutionPlan for CompiledExec {
    fn name(&self) -> &str {
        "CompiledExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.shape.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        // It takes morsels itself.
        vec![false]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(scan), true) if scan.is::<ScanExec>() => Ok(Arc::new(Self::of(Arc::clone(&self.shape), scan))),
            // Something has come between.
            (Some(other), true) => self.replaced(&other),
            _ => internal_err!("a pipeline has one scan"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::of(Arc::clone(&self.shape), Arc::clone(&self.scan))))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a pipeline has one partition, not {partition}");
        }
        let run = Self { shape: Arc::clone(&self.shape), scan: Arc::clone(&self.scan), metrics: self.metrics.clone() };
        let rows = stream::once(Arc::new(run).rows(context)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.shape.schema), rows.boxed())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.shape.schema)))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parents: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // A filter on keys drops whole groups, wherever it is; one group is there without records too.
        let child = if self.shape.passed.is_empty() {
            ChildFilterDescription::all_unsupported(&parents)
        } else {
            ChildFilterDescription::from_child_with_allowed_indices(&parents, self.shape.passed.clone(), &self.scan)?
        };
        Ok(FilterDescription::new().with_child(child))
    }
}
