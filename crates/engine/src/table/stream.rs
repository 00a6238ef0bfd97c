//! The batches of one partition of a scan.

use crate::table::scan_exec::PartitionSource;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::RecordBatchStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder};
use futures::Stream;
use gingham_storage::panics::{self, PanicPoint};
use gingham_storage::scan::{MorselBatches, TableScan};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// Rows that small batches of a filtered scan are gathered to.
const GATHERED_ROWS: usize = 8192;

/// Takes morsels until none is left.
pub(super) struct ScanStream {
    source: PartitionSource,
    /// Known once the first batch is wanted; narrowed when the dynamic filters become stricter.
    scan: Option<Arc<TableScan>>,
    /// Generation of the dynamic filters in `scan`.
    generation: u64,
    morsel: Option<MorselBatches>,
    /// Gathers the few rows that a filter leaves of each morsel into batches worth handing over.
    gather: Option<BatchCoalescer>,
    /// Records that may still be given.
    left: usize,
    ended: bool,
    metrics: BaselineMetrics,
    zones_read: Count,
    zones_skipped: Count,
    partition: usize,
}

impl ScanStream {
    pub(super) fn new(
        source: PartitionSource,
        fetch: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
    ) -> Self {
        let counter = |name| MetricBuilder::new(metrics).counter(name, partition);
        let has_columns = !source.schema().fields().is_empty();
        let gather = (source.is_filtered() && has_columns).then(|| {
            BatchCoalescer::new(Arc::clone(source.schema()), GATHERED_ROWS)
                .with_biggest_coalesce_batch_size(Some(GATHERED_ROWS / 2))
        });
        Self {
            source,
            scan: None,
            generation: 0,
            morsel: None,
            gather,
            left: fetch.unwrap_or(usize::MAX),
            ended: false,
            metrics: BaselineMetrics::new(metrics, partition),
            zones_read: counter("zones_read"),
            zones_skipped: counter("zones_skipped"),
            partition,
        }
    }

    /// The scan under the dynamic filters as they are now.
    fn scan(&mut self) -> Result<Arc<TableScan>> {
        if let Some(scan) = &self.scan {
            return match self.source.with_filter(&mut self.generation)? {
                None => Ok(Arc::clone(scan)),
                Some(scan) => Ok(Arc::clone(self.scan.insert(scan))),
            };
        }
        let (scan, generation) = self.source.scan()?;
        self.generation = generation;
        if self.partition == 0 {
            self.zones_skipped.add(scan.skipped());
        }
        Ok(Arc::clone(self.scan.insert(scan)))
    }

    /// The next batch, not yet cut to the limit.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(gather) = &mut self.gather {
                let enough = gather.get_buffered_rows() >= self.left;
                if (self.ended || enough) && !gather.has_completed_batch() {
                    gather.finish_buffered_batch()?;
                }
                if let Some(batch) = gather.next_completed_batch() {
                    return Ok(Some(batch));
                }
            }
            if self.ended {
                return Ok(None);
            }
            match self.read()? {
                Some(batch) => match &mut self.gather {
                    Some(gather) => gather.push_batch(batch)?,
                    None => return Ok(Some(batch)),
                },
                None => self.ended = true,
            }
        }
    }

    /// The next rows that the storage gives.
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(morsel) = &mut self.morsel {
                match morsel.next() {
                    Some(batch) => return Ok(Some(batch.map_err(external)?)),
                    None => self.morsel = None,
                }
            }
            let scan = self.scan()?;
            let number = self.source.round.next.fetch_add(1, Ordering::Relaxed);
            if number >= scan.morsels() {
                return Ok(None);
            }
            if scan.rules_out(number) {
                self.zones_skipped.add(1);
                continue;
            }
            self.zones_read.add(1);
            if scan.schema().fields().is_empty() {
                let rows = scan.count(number).map_err(external)?;
                if rows > 0 {
                    let options = RecordBatchOptions::new().with_row_count(Some(rows));
                    return Ok(Some(RecordBatch::try_new_with_options(self.schema(), Vec::new(), &options)?));
                }
            } else {
                self.morsel = Some(scan.read(number).map_err(external)?);
            }
        }
    }
}

pub(super) fn external(error: gingham_storage::Error) -> DataFusionError {
    DataFusionError::External(Box::new(crate::Error::from(error)))
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        panics::pass(PanicPoint::Scan);
        if this.left == 0 {
            return this.metrics.record_poll(Poll::Ready(None));
        }
        let timer = this.metrics.elapsed_compute().clone();
        let timer = timer.timer();
        let item = match this.next_batch() {
            Ok(Some(batch)) if batch.num_rows() > this.left => Some(Ok(batch.slice(0, this.left))),
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                this.left = 0;
                Some(Err(error))
            }
        };
        if let Some(Ok(batch)) = &item {
            this.left -= batch.num_rows();
        }
        timer.done();
        this.metrics.record_poll(Poll::Ready(item))
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.source.schema())
    }
}
