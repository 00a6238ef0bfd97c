//! A run of a recursive query, round by round.

use crate::recursion::builds::{is_light, renewed};
use crate::recursion::distinct::NewRows;
use crate::recursion::round::{FEW, Round, RoundId, RoundRows};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use std::sync::Arc;

/// What a run has come to.
pub(super) struct Run {
    schema: SchemaRef,
    /// The part, or the step, whose rows come.
    rows: SendableRecordBatchStream,
    step: Arc<dyn ExecutionPlan>,
    id: RoundId,
    /// Whether a step reads nothing but the round and what is built once.
    is_light: bool,
    /// What the step reads.
    round: Arc<Round>,
    /// The rows of the next round.
    made: RoundRows,
    distinct: Option<NewRows>,
    metrics: BaselineMetrics,
    rounds: Count,
    context: Arc<TaskContext>,
}

impl Run {
    /// Begins with the rows of the first part; `step` reads `round`.
    pub(super) fn new(
        (name, id): (&str, RoundId),
        (first, step): (SendableRecordBatchStream, Arc<dyn ExecutionPlan>),
        round: Arc<Round>,
        is_distinct: bool,
        metrics: &ExecutionPlanMetricsSet,
        context: Arc<TaskContext>,
    ) -> Result<Self> {
        let schema = round.schema();
        let distinct = is_distinct.then(|| NewRows::new(name, &schema, &context)).transpose()?;
        Ok(Self {
            rows: first,
            is_light: is_light(&step, id),
            id,
            step,
            made: round.none(name, &context),
            round,
            distinct,
            metrics: BaselineMetrics::new(metrics, 0),
            rounds: MetricBuilder::new(metrics).counter("rounds", 0),
            context,
            schema,
        })
    }

    /// The next batch, and what follows it.
    pub(super) async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        loop {
            match self.rows.next().await.transpose()? {
                Some(batch) => {
                    let batch = self.of_round(&batch)?;
                    if batch.num_rows() > 0 {
                        return Ok(Some((batch, self)));
                    }
                }
                None if self.made.rows() == 0 => return Ok(None),
                None => self.next_round()?,
            }
        }
    }

    /// The new rows of a batch, which are kept for the next round.
    fn of_round(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let metrics = self.metrics.clone();
        let _timer = metrics.elapsed_compute().timer();
        // The parts' columns have other names, and may be said to have no NULLs.
        let mut batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())?;
        if let Some(distinct) = &mut self.distinct {
            batch = distinct.of(&batch)?;
        }
        if batch.num_rows() > 0 {
            self.made.push(batch.clone())?;
        }
        (&batch).record_output(&metrics);
        Ok(batch)
    }

    /// Starts the step with the rows that were made.
    fn next_round(&mut self) -> Result<()> {
        self.rounds.add(1);
        let rows = self.made.rows();
        self.round.set(&mut self.made)?;
        self.step = renewed(&self.step, self.id)?;
        self.rows = self.started(rows <= FEW && self.is_light)?;
        Ok(())
    }

    /// The rows of a step: its partitions one after the other on this thread, or side by side.
    fn started(&self, alone: bool) -> Result<SendableRecordBatchStream> {
        let partitions = self.step.output_partitioning().partition_count();
        if partitions > 1 && !alone {
            return CoalescePartitionsExec::new(Arc::clone(&self.step)).execute(0, Arc::clone(&self.context));
        }
        let start = |partition| self.step.execute(partition, Arc::clone(&self.context));
        let parts = (0..partitions).map(start).collect::<Result<Vec<_>>>()?;
        let rows = futures::stream::iter(parts).flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.step.schema(), rows)))
    }
}
