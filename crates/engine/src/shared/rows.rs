//! Rows that are kept for several readers: in memory, and in a file where that ends.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::internal_datafusion_err;
use datafusion::common::runtime::JoinSet;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SpillFile;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::spill::get_record_batch_memory_size;

use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SpillManager};
use futures::{StreamExt, TryStreamExt};
use std::sync::Arc;

/// The rows of a plan, part by part.
pub(super) struct KeptRows {
    parts: Vec<SharedPart>,
    spills: SpillManager,
    schema: SchemaRef,
}

/// The rows of one of the plan's partitions: batches, and behind them those of a file.
struct SharedPart {
    batches: Vec<RecordBatch>,
    spilled: Option<Arc<dyn SpillFile>>,
    /// Bytes of the batches, of the memory limit.
    _held: MemoryReservation,
}

/// Runs a plan, its partitions side by side, and keeps its rows.
pub(super) async fn keep(plan: Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Result<KeptRows> {
    let schema = plan.schema();
    let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
    let spills = SpillManager::new(context.runtime_env(), metrics, Arc::clone(&schema));
    let count = plan.output_partitioning().partition_count();
    let mut tasks = JoinSet::new();
    for partition in 0..count {
        let rows = plan.execute(partition, Arc::clone(context))?;
        let held = MemoryConsumer::new("shared rows").with_can_spill(true).register(context.memory_pool());
        let spills = spills.clone();
        tasks.spawn(async move { Ok::<_, DataFusionError>((partition, part(rows, held, spills).await?)) });
    }
    let mut parts: Vec<Option<SharedPart>> = (0..count).map(|_| None).collect();
    while let Some(ended) = tasks.join_next().await {
        let (partition, part) = ended.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??;
        parts[partition] = Some(part);
    }
    let parts = parts.into_iter().flatten().collect();
    Ok(KeptRows { parts, spills, schema })
}

async fn part(
    mut rows: SendableRecordBatchStream,
    held: MemoryReservation,
    spills: SpillManager,
) -> Result<SharedPart> {
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await.transpose()? {
        if batch.num_rows() == 0 {
            continue;
        }
        if held.try_grow(get_record_batch_memory_size(&batch)).is_ok() {
            batches.push(batch);
            continue;
        }
        // What is left goes to a file, as does what is there: others need the memory, too.
        let mut file = spills.create_in_progress_file("shared rows")?;
        for batch in batches.drain(..).chain([batch]) {
            file.append_batch(&batch)?;
        }
        held.free();
        while let Some(batch) = rows.next().await.transpose()? {
            file.append_batch(&batch)?;
        }
        return Ok(SharedPart { batches, spilled: file.finish()?, _held: held });
    }
    Ok(SharedPart { batches, spilled: None, _held: held })
}

impl KeptRows {
    /// Some columns of a part.
    pub(super) fn part(&self, number: usize, columns: Vec<usize>) -> Result<SendableRecordBatchStream> {
        let part = self.parts.get(number).ok_or_else(|| internal_datafusion_err!("no part {number} of shared rows"))?;
        let schema = Arc::new(self.schema.project(&columns)?);
        let batches = futures::stream::iter(part.batches.clone()).map(Ok);
        let rows: SendableRecordBatchStream = match &part.spilled {
            None => Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)),
            Some(file) => {
                let spilled = self.spills.read_spill_as_stream(Arc::clone(file), None)?;
                Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches.chain(spilled)))
            }
        };
        let rows = rows.map_ok(move |batch| batch.project(&columns)).map(|batch| Ok(batch??));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
