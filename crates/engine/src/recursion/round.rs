//! The rows of a round: in memory, and where that is refused in a file. Steps read them, in as many places as they name the query.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::internal_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, SpillFile, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, SpillManager,
};
use futures::StreamExt;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows up to which a round's batches are put together: a step's operators work batch by batch.
pub(super) const FEW: usize = 4096;

/// Tells the rounds of one recursive query of a plan from those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundId(u64);

impl RoundId {
    pub(super) fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self(MADE.fetch_add(1, Ordering::Relaxed))
    }
}

/// The round that a run has come to, for the readers in its step.
pub(super) struct WorkingRound {
    schema: SchemaRef,
    spills: SpillManager,
    rows: Mutex<Arc<KeptRound>>,
}

impl fmt::Debug for WorkingRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkingRound").finish_non_exhaustive()
    }
}

/// The rows of a round, as they are kept.
#[derive(Default)]
struct KeptRound {
    batches: Vec<RecordBatch>,
    /// Behind the batches.
    file: Option<Arc<dyn SpillFile>>,
    /// Bytes of the batches, of the memory limit.
    _held: Option<MemoryReservation>,
}

/// Appends a batch to a file; without one it ends the file, and gives it. DataFusion's file that is written to has no public name.
type Spilling = Box<dyn FnMut(Option<&RecordBatch>) -> Result<Option<Arc<dyn SpillFile>>> + Send>;

/// Rows that become a round.
pub(super) struct RoundRows {
    rows: usize,
    batches: Vec<RecordBatch>,
    held: MemoryReservation,
    spills: SpillManager,
    file: Option<Spilling>,
}

impl WorkingRound {
    /// A round of no rows.
    pub(super) fn new(schema: &SchemaRef, context: &TaskContext) -> Self {
        let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let spills = SpillManager::new(context.runtime_env(), metrics, Arc::clone(schema));
        Self { schema: Arc::clone(schema), spills, rows: Mutex::default() }
    }

    /// The columns of its rows.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// No rows of the next round, of the recursive query of that name.
    pub(super) fn none(&self, name: &str, context: &TaskContext) -> RoundRows {
        let consumer = MemoryConsumer::new(format!("a round of the recursive query {name}"));
        let held = consumer.with_can_spill(true).register(context.memory_pool());
        RoundRows { rows: 0, batches: Vec::new(), held, spills: self.spills.clone(), file: None }
    }

    /// Takes the rows that were made; those of the round before go when nobody reads them any more.
    pub(super) fn set(&self, made: &mut RoundRows) -> Result<()> {
        let mut batches = std::mem::take(&mut made.batches);
        if made.rows <= FEW && batches.len() > 1 {
            batches = vec![concat_batches(&self.schema, &batches)?];
        }
        let file = match made.file.take() {
            Some(mut file) => file(None)?,
            None => None,
        };
        made.rows = 0;
        let kept = Arc::new(KeptRound { batches, file, _held: Some(made.held.take()) });
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(())
    }

    /// The part of the rows that one of so many partitions gives.
    fn part(&self, partition: usize, partitions: usize) -> Result<SendableRecordBatchStream> {
        let kept = Arc::clone(&self.rows.lock().unwrap_or_else(PoisonError::into_inner));
        let own = kept.batches.iter().skip(partition).step_by(partitions).cloned().collect::<Vec<_>>();
        let file = kept.file.clone().filter(|_| partition == 0);
        // The bytes of its batches are held while it reads them.
        let batches = futures::stream::iter(own).map(move |batch| {
            let _held = &kept;
            Ok(batch)
        });
        Ok(match file {
            None => Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)),
            Some(file) => {
                let spilled = self.spills.read_spill_as_stream(file, None)?;
                Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches.chain(spilled)))
            }
        })
    }
}

impl RoundRows {
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds rows.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows();
        if let Some(file) = &mut self.file {
            file(Some(&batch))?;
            return Ok(());
        }
        if self.held.try_grow(get_record_batch_memory_size(&batch)).is_ok() {
            self.batches.push(batch);
            return Ok(());
        }
        // What is there goes to the file, too: others need the memory.
        let mut file = self.spills.create_in_progress_file("a recursive query")?;
        for batch in self.batches.drain(..).chain([batch]) {
            file.append_batch(&batch)?;
        }
        self.held.free();
        self.file = Some(Box::new(move |batch| match batch {
            Some(batch) => file.append_batch(batch).map(|_| None),
            None => file.finish(),
        }));
        Ok(())
    }
}

/// Reads the rows of a round.
#[derive(Debug)]
pub(crate) struct RoundExec {
    id: RoundId,
    name: String,
    /// The columns that are read.
    columns: Vec<usize>,
    /// The round, once a run has begun.
    round: Option<Arc<WorkingRound>>,
    properties: Arc<PlanProperties>,
}

impl RoundExec {
    /// A reader of those columns that `shown` names of `schema`, in so many partitions.
    pub(super) fn planned(
        id: RoundId,
        name: &str,
        schema: &Schema,
        shown: &SchemaRef,
        partitions: usize,
    ) -> Result<Self> {
        let columns = shown.fields().iter().map(|field| schema.index_of(field.name()));
        let columns = columns.collect::<std::result::Result<_, _>>()?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(shown)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative));
        Ok(Self { id, name: name.to_owned(), columns, round: None, properties })
    }

    /// Whose rounds it reads.
    pub(super) fn id(&self) -> RoundId {
        self.id
    }

    /// A reader of the rounds of a run.
    pub(super) fn over(&self, round: &Arc<WorkingRound>) -> Self {
        let (name, columns, properties) = (self.name.clone(), self.columns.clone(), Arc::clone(&self.properties));
        Self { id: self.id, name, columns, round: Some(Arc::clone(round)), properties }
    }
}

impl DisplayAs for RoundExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.schema();
        let names: Vec<&str> = fields.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "RoundExec: {}, columns=[{}]", self.name, names.join(", "))
    }
}

impl ExecutionPlan for RoundExec {
    fn name(&self) -> &str {
        "RoundExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    crate::inputs::reads_nothing!();

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let round = self.round.as_ref();
        let round = round.ok_or_else(|| internal_datafusion_err!("the recursive query {} has not begun", self.name))?;
        let (columns, rows) =
            (self.columns.clone(), round.part(partition, self.properties.partitioning.partition_count())?);
        let rows = rows.map(move |batch| Ok(batch?.project(&columns)?));
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(self.schema(), rows))))
    }
}
