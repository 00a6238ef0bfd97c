//! The operator that reads shared rows.

use crate::shared::rows::{KeptRows, PartReader};
use crate::shared::runs::SharedRuns;
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, reset_plan_states};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In the context of a run says that the plans of its shared rows are kept, for EXPLAIN.
#[derive(Debug)]
pub(crate) struct KeepsPlans;

/// What runs the plan of shared rows, once for each run of the statement.
pub(super) struct SharedSource {
    number: u64,
    name: String,
    plan: Arc<dyn ExecutionPlan>,
    /// The plan of the run that was begun last, if it is to be told: it holds memory, and runs have nothing in common.
    run: Mutex<Option<Arc<dyn ExecutionPlan>>>,
}

impl fmt::Debug for SharedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SharedSource {
    pub(super) fn new(name: String, plan: Arc<dyn ExecutionPlan>) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self { number: MADE.fetch_add(1, Ordering::Relaxed), name, plan, run: Mutex::default() }
    }

    fn run(&self) -> MutexGuard<'_, Option<Arc<dyn ExecutionPlan>>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reader of one part of a run's rows, which the first one that asks has made.
    fn reader(&self, part: usize, context: &TaskContext) -> Result<PartReader> {
        let begin = |own: &Arc<TaskContext>| {
            let plan = reset_plan_states(Arc::clone(&self.plan))?;
            if context.session_config().get_extension::<KeepsPlans>().is_some() {
                *self.run() = Some(Arc::clone(&plan));
            }
            KeptRows::begin(&*plan, own)
        };
        Ok(PartReader::new(SharedRuns::rows(self.number, context, begin)?.part(part)?))
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
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { source, columns, properties: Arc::new(properties) }
    }

    /// The name of the rows, and their plan: that of their last run, if it was kept.
    pub(crate) fn shared(&self) -> (&str, Arc<dyn ExecutionPlan>) {
        let run = self.source.run().clone();
        (&self.source.name, run.unwrap_or_else(|| Arc::clone(&self.source.plan)))
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

    crate::inputs::reads_nothing!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (source, columns) = (Arc::clone(&self.source), self.columns.clone());
        // With the context of the run its rows end.
        let reading = (None::<PartReader>, context);
        let rows = futures::stream::try_unfold(reading, move |(reader, context)| {
            let (source, columns) = (Arc::clone(&source), columns.clone());
            async move {
                let mut reader = match reader {
                    Some(reader) => reader,
                    None => source.reader(partition, &context)?,
                };
                let Some(batch) = reader.next().await? else { return Ok(None) };
                Ok::<_, DataFusionError>(Some((batch.project(&columns)?, (Some(reader), context))))
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
