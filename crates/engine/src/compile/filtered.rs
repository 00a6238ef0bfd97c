//! Filters of groups (HAVING) and of joins, and filters that scans can't do: conditions over several columns, and whatever
//! else pipelines compute, over one table.
//!
//! Of the latter the operator gives rows as they come. Each partition takes the next morsel, has the pool's threads look which records pass,
//! and looks the other columns up for these alone; a reader that waits is waited for, one that leaves ends the work after
//! the morsel at hand.
//!
//! Where pipelines can't do a morsel, its records are decoded and the filter looks at them as DataFusion would: rows have
//! left by then, so that nothing can start over.

use crate::compile::draft::QueryBuilder;
use crate::compile::exec::{BatchIterator, CompiledExec};
use crate::compile::groups::OutputColumn;
use crate::compile::not_compiled::Compiled;
use crate::compile::sorted::numbers;
use crate::table::{ScanExec, ScanSource};
use arrow::array::{AsArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::DataType;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, StreamExt};
use gingham_execution::Report;
use gingham_storage::scan::TableScan;
use std::sync::Arc;

impl QueryBuilder {
    /// Ends the query in the rows that a filter lets through. Gives what its columns are of them.
    pub(super) fn filtered(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        filter: &FilterExec,
    ) -> Compiled<Vec<OutputColumn>> {
        if let Some(scan) = filter.input().downcast_ref::<ScanExec>() {
            let used = numbers(filter.predicate());
            let used: Vec<_> = used.iter().filter_map(|number| scan.columns().get(*number)).collect();
            self.late = scan.columns().iter().filter(|column| !used.contains(column)).copied().collect();
        }
        let open = self.open(plan)?;
        if let Some(why) = &self.foreign {
            return Err(why.clone());
        }
        self.end_shown(open, &plan.schema())
    }
}

/// One partition at work.
struct Partition {
    exec: Arc<CompiledExec>,
    source: ScanSource,
    context: Arc<TaskContext>,
    baseline: BaselineMetrics,
    /// What is left of the morsel at hand.
    batches: BatchIterator,
    report: Report,
}

impl CompiledExec {
    /// The rows of a partition.
    pub(super) fn by_morsel(
        self: Arc<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (source, schema, baseline) = (self.scan()?.enter(partition)?, self.schema(), self.baseline(partition));
        let batches: BatchIterator = Box::new(std::iter::empty());
        let first = Partition { exec: self, source, context, baseline, batches, report: Report::default() };
        let batches =
            stream::try_unfold(first, |mut own| async move { Ok(own.next().await?.map(|batch| (batch, own))) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches.boxed())))
    }

    /// The records of a morsel, which pipelines can't do.
    fn plain(&self, scan: &Arc<TableScan>, morsel: usize) -> Result<BatchIterator> {
        let replaced = Arc::clone(self.fallback());
        let records = scan.read(morsel).map_err(crate::Error::from)?;
        Ok(Box::new(records.map(move |records| passed(&replaced, &records.map_err(crate::Error::from)?))))
    }
}

/// The records of a batch that a filter lets through.
fn passed(filter: &Arc<dyn ExecutionPlan>, records: &RecordBatch) -> Result<RecordBatch> {
    let Some(filter) = filter.downcast_ref::<FilterExec>() else {
        return internal_err!("{} where a filter was replaced", filter.name());
    };
    let passes = filter.predicate().evaluate(records)?.into_array(records.num_rows())?;
    if *passes.data_type() != DataType::Boolean {
        return internal_err!("a filter by {}", passes.data_type());
    }
    let passed = filter_record_batch(records, passes.as_boolean())?;
    Ok(match filter.projection() {
        Some(projection) => passed.project(projection)?,
        None => passed,
    })
}

impl Partition {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.batches.next() {
                let batch = batch?;
                self.baseline.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            let (scan, _) = self.source.scan()?;
            let morsel = self.source.take();
            if morsel >= scan.morsels() {
                return Ok(None);
            }
            if scan.rules_out(morsel) {
                continue;
            }
            self.batches = match self.exec.answered(&self.context, Some(morsel..morsel + 1)).await? {
                Some((_, batches, report)) => {
                    self.report.add(report);
                    batches
                }
                None => self.exec.plain(&scan, morsel)?,
            };
        }
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        self.exec.tell(std::mem::take(&mut self.report), &self.context);
    }
}
