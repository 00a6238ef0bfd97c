//! A run of a recursive query, round by round.

use crate::recursion::distinct::NewRows;
use crate::recursion::round::{FEW, RoundId, RoundRows, WorkingRound};
use crate::recursion::step::{StepKind, renewed};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use std::sync::Arc;

/// Rounds after which operators that may run again as they are begin anew: each run of an operator notes its times, some hundred
/// bytes.
const FORGET_NOTES: usize = 512;
/// Rounds after which tables that serve all steps are built anew: their joins note their times, too.
const BUILD_ANEW: usize = 16384;
/// Rows of small rounds are given together where so many times more were given before: whoever asks for them one by one waits
/// for at most this part of all steps.
const GIVEN_BEFORE: usize = 4;

/// A run, with the round that it has come to.
pub(super) struct Run {
    schema: SchemaRef,
    /// The part, or the step, whose rows come.
    rows: SendableRecordBatchStream,
    step: Arc<dyn ExecutionPlan>,
    id: RoundId,
    kind: StepKind,
    /// The round that the step reads.
    round: Arc<WorkingRound>,
    /// Steps so far.
    steps: usize,
    /// The rows of the next round.
    made: RoundRows,
    distinct: Option<NewRows>,
    given: GivenRows,
    metrics: BaselineMetrics,
    rounds: Count,
    context: Arc<TaskContext>,
}

impl Run {
    /// Begins with the rows of the first part; `step` reads `round`.
    pub(super) fn new(
        (name, id): (&str, RoundId),
        (first, step): (SendableRecordBatchStream, Arc<dyn ExecutionPlan>),
        round: Arc<WorkingRound>,
        is_distinct: bool,
        metrics: &ExecutionPlanMetricsSet,
        context: Arc<TaskContext>,
    ) -> Result<Self> {
        let schema = round.schema();
        let distinct = is_distinct.then(|| NewRows::new(name, &schema, &context)).transpose()?;
        Ok(Self {
            rows: first,
            kind: StepKind::of(&step, id),
            id,
            step,
            steps: 0,
            made: round.none(name, &context),
            round,
            distinct,
            given: GivenRows::default(),
            metrics: BaselineMetrics::new(metrics, 0),
            rounds: MetricBuilder::new(metrics).counter("rounds", 0),
            context,
            schema,
        })
    }

    /// The next batch, and what follows it.
    pub(super) async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        while !self.given.is_enough() {
            match self.more().await {
                Ok(true) => {}
                Ok(false) => self.given.end = Some(Ok(())),
                // The rows before it are given first: who wants no more of them is not to see it.
                Err(error) => self.given.end = Some(Err(error)),
            }
        }
        match self.given.take(&self.schema)? {
            Some(batch) => {
                (&batch).record_output(&self.metrics);
                Ok(Some((batch, self)))
            }
            None => self.given.end.unwrap_or(Ok(())).map(|()| None),
        }
    }

    /// Takes the next rows of the step, or begins the next one; false when there is none.
    async fn more(&mut self) -> Result<bool> {
        if let Some(batch) = self.rows.next().await.transpose()? {
            let metrics = self.metrics.clone();
            let _timer = metrics.elapsed_compute().timer();
            // The parts' columns have other names, and may be said to have no NULLs.
            let mut batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())?;
            if let Some(distinct) = &mut self.distinct {
                batch = distinct.of(&batch)?;
            }
            if batch.num_rows() > 0 {
                self.made.push(batch.clone())?;
                self.given.push(batch);
            }
            return Ok(true);
        }
        if self.made.rows() == 0 {
            return Ok(false);
        }
        let rows = self.made.rows();
        self.round.set(&mut self.made)?;
        self.rounds.add(1);
        self.steps += 1;
        if self.steps.is_multiple_of(BUILD_ANEW) {
            self.step = reset_plan_states(Arc::clone(&self.step))?;
        } else if self.kind != StepKind::Plain || self.steps.is_multiple_of(FORGET_NOTES) {
            self.step = renewed(&self.step, self.id)?;
        }
        self.rows = self.started(rows <= FEW && self.kind != StepKind::Any)?;
        Ok(true)
    }

    /// The rows of a step: its partitions one after the other on this thread, or side by side.
    fn started(&self, alone: bool) -> Result<SendableRecordBatchStream> {
        let partitions = self.step.output_partitioning().partition_count();
        if partitions > 1 && !alone {
            return CoalescePartitionsExec::new(Arc::clone(&self.step)).execute(0, Arc::clone(&self.context));
        }
        // Few rows are one batch, that of the first partition; of nothing such a step makes nothing.
        let partitions = if alone && self.kind == StepKind::Plain { 1 } else { partitions };
        let start = |partition| self.step.execute(partition, Arc::clone(&self.context));
        let parts = (0..partitions).map(start).collect::<Result<Vec<_>>>()?;
        let rows = futures::stream::iter(parts).flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.step.schema(), rows)))
    }
}

/// Rows on their way to whoever asks: many rounds of one row are given together.
#[derive(Default)]
struct GivenRows {
    batches: Vec<RecordBatch>,
    /// Rows of these.
    rows: usize,
    /// Rows before these.
    before: usize,
    /// That there are no more, or why.
    end: Option<std::result::Result<(), DataFusionError>>,
}

impl GivenRows {
    fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.batches.push(batch);
    }

    /// Whether there are enough to be given.
    fn is_enough(&self) -> bool {
        self.end.is_some() || self.rows > (self.before / GIVEN_BEFORE).min(FEW)
    }

    fn take(&mut self, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
        self.before += std::mem::take(&mut self.rows);
        let batches = std::mem::take(&mut self.batches);
        Ok(match batches.as_slice() {
            [] => None,
            [batch] => Some(batch.clone()),
            batches => Some(concat_batches(schema, batches)?),
        })
    }
}
