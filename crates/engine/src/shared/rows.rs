//! Rows that are kept for several readers: in memory, and in files where that ends. They are made as readers ask for them, a few
//! batches ahead of the foremost one: of rows without end those are made that somebody reads.

use arrow::array::RecordBatch;
use datafusion::common::internal_datafusion_err;
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SpillFile;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SpillManager};
use futures::StreamExt;
use std::sync::Arc;
use tokio::sync::watch;

/// Batches that are made before a reader asks for them: while it works on one, the next ones come.
const AHEAD: usize = 8;
/// Least bytes of a file, if there are so many more.
const LEAST_FILE_BYTES: usize = 8 << 20;

/// The rows of a plan, part by part: those of its partitions, each of which a task makes.
pub(super) struct KeptRows {
    parts: Vec<Arc<KeptPart>>,
    /// The tasks, which end with the rows.
    _making: JoinSet<()>,
}

/// The rows of one of the plan's partitions.
pub(super) struct KeptPart {
    made: watch::Sender<MadeRows>,
    /// How many batches readers have asked for.
    wanted: watch::Sender<usize>,
    spills: SpillManager,
}

/// The batches so far.
#[derive(Default)]
struct MadeRows {
    batches: Vec<KeptBatch>,
    /// How it ended, with the bytes of the batches in memory.
    end: Option<std::result::Result<MemoryReservation, Arc<DataFusionError>>>,
}

#[derive(Clone)]
enum KeptBatch {
    Memory(RecordBatch),
    /// On its way to a file.
    Written,
    /// The one of that number in a file.
    Spilled(Arc<dyn SpillFile>, usize),
}

impl KeptRows {
    /// Starts a plan, in the context given.
    pub(super) fn begin(plan: &dyn ExecutionPlan, context: &Arc<TaskContext>) -> Result<Self> {
        let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let spills = SpillManager::new(context.runtime_env(), metrics, plan.schema());
        let count = plan.output_partitioning().partition_count();
        let execute = |partition| plan.execute(partition, Arc::clone(context));
        let streams = (0..count).map(execute).collect::<Result<Vec<_>>>()?;
        let (mut parts, mut making) = (Vec::with_capacity(count), JoinSet::new());
        for rows in streams {
            let spills = spills.clone();
            let (made, wanted) = (watch::Sender::default(), watch::Sender::default());
            let part = Arc::new(KeptPart { made, wanted, spills });
            parts.push(Arc::clone(&part));
            let held = MemoryConsumer::new("shared rows").with_can_spill(true).register(context.memory_pool());
            making.spawn(async move {
                let maker = Maker { part: Arc::clone(&part), rows, held, made: 0, in_files: 0, bytes: 0 };
                let ended = SpawnedTask::spawn(maker.make()).join().await;
                let ended = ended.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten();
                part.made.send_modify(|made| made.end = Some(ended.map_err(Arc::new)));
            });
        }
        Ok(Self { parts, _making: making })
    }

    /// The part of that number.
    pub(super) fn part(&self, number: usize) -> Result<Arc<KeptPart>> {
        let part = self.parts.get(number).cloned();
        part.ok_or_else(|| internal_datafusion_err!("no part {number} of shared rows"))
    }
}

/// The maker of a part's rows.
struct Maker {
    part: Arc<KeptPart>,
    rows: SendableRecordBatchStream,
    /// Bytes of the batches in memory, of the memory limit.
    held: MemoryReservation,
    /// Batches so far.
    made: usize,
    /// Batches that are in files.
    in_files: usize,
    /// Bytes so far.
    bytes: usize,
}

impl Maker {
    async fn make(mut self) -> Result<MemoryReservation> {
        let mut wanted = self.part.wanted.subscribe();
        loop {
            let enough = wanted.wait_for(|wanted| self.made < wanted + AHEAD).await;
            enough.map_err(|_| internal_datafusion_err!("nobody reads shared rows"))?;
            let Some((batch, bytes)) = self.next().await? else { return Ok(self.held) };
            if self.held.try_grow(bytes).is_ok() {
                self.made += 1;
                self.part.made.send_modify(|made| made.batches.push(KeptBatch::Memory(batch)));
            } else if self.spill(batch).await? {
                return Ok(self.held);
            }
        }
    }

    /// The next batch and its bytes.
    async fn next(&mut self) -> Result<Option<(RecordBatch, usize)>> {
        while let Some(batch) = self.rows.next().await.transpose()? {
            if batch.num_rows() > 0 {
                let bytes = get_record_batch_memory_size(&batch);
                self.bytes += bytes;
                return Ok(Some((batch, bytes)));
            }
        }
        Ok(None)
    }

    /// Writes the batches in memory to a file, then `batch`, then as many bytes as there are so far: others need the memory, and
    /// files are to be few. True when those were all.
    async fn spill(&mut self, batch: RecordBatch) -> Result<bool> {
        let mut file = self.part.spills.create_in_progress_file("shared rows")?;
        for batch in self.part.written(self.in_files).into_iter().chain([batch]) {
            file.append_batch(&batch)?;
        }
        self.held.free();
        self.made += 1;
        let most = self.bytes.max(LEAST_FILE_BYTES).saturating_add(self.bytes);
        let mut is_all = false;
        while self.bytes < most && !is_all {
            match self.next().await? {
                Some((batch, _)) => {
                    file.append_batch(&batch)?;
                    self.made += 1;
                }
                None => is_all = true,
            }
        }
        let file = file.finish()?.ok_or_else(|| internal_datafusion_err!("shared rows were written to no file"))?;
        let (from, count) = (self.in_files, self.made - self.in_files);
        self.part.made.send_modify(|made| {
            made.batches.truncate(from);
            made.batches.extend((0..count).map(|number| KeptBatch::Spilled(Arc::clone(&file), number)));
        });
        self.in_files = self.made;
        Ok(is_all)
    }
}

impl KeptPart {
    /// The batches from that number on, which are in memory: readers wait for the file from now on.
    fn written(&self, from: usize) -> Vec<RecordBatch> {
        let mut batches = Vec::new();
        self.made.send_modify(|made| {
            for kept in &mut made.batches[from..] {
                if let KeptBatch::Memory(batch) = std::mem::replace(kept, KeptBatch::Written) {
                    batches.push(batch);
                }
            }
        });
        batches
    }

    /// The batch of that number, once it is there; `None` behind the last one.
    async fn kept(&self, number: usize) -> Result<Option<KeptBatch>> {
        self.wanted.send_if_modified(|wanted| {
            let is_more = *wanted <= number;
            *wanted = (*wanted).max(number + 1);
            is_more
        });
        let mut made = self.made.subscribe();
        let made = made.wait_for(|made| match made.batches.get(number) {
            Some(KeptBatch::Written) | None => made.end.is_some(),
            Some(_) => true,
        });
        let made = made.await.map_err(|_| internal_datafusion_err!("nobody makes shared rows"))?;
        match (made.batches.get(number), &made.end) {
            (Some(KeptBatch::Written) | None, Some(Err(error))) => Err(DataFusionError::Shared(Arc::clone(error))),
            (kept, _) => Ok(kept.cloned()),
        }
    }
}

/// A reader's place in a part.
pub(super) struct PartReader {
    part: Arc<KeptPart>,
    next: usize,
    file: Option<OpenFile>,
}

/// A file that a reader is in.
struct OpenFile {
    file: Arc<dyn SpillFile>,
    next: usize,
    rows: SendableRecordBatchStream,
}

impl PartReader {
    /// At the start of a part.
    pub(super) fn new(part: Arc<KeptPart>) -> Self {
        Self { part, next: 0, file: None }
    }

    /// The next batch.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let batch = match self.part.kept(self.next).await? {
            None | Some(KeptBatch::Written) => return Ok(None),
            Some(KeptBatch::Memory(batch)) => {
                self.file = None;
                batch
            }
            Some(KeptBatch::Spilled(file, number)) => self.of_file(file, number).await?,
        };
        self.next += 1;
        Ok(Some(batch))
    }

    async fn of_file(&mut self, file: Arc<dyn SpillFile>, number: usize) -> Result<RecordBatch> {
        let mut open = match self.file.take().filter(|open| Arc::ptr_eq(&open.file, &file) && open.next <= number) {
            Some(open) => open,
            None => {
                let rows = self.part.spills.read_spill_as_stream(Arc::clone(&file), None)?;
                OpenFile { file, next: 0, rows }
            }
        };
        loop {
            let batch = open.rows.next().await.transpose()?;
            let batch = batch.ok_or_else(|| internal_datafusion_err!("batch {number} is not in its file"))?;
            open.next += 1;
            if open.next > number {
                self.file = Some(open);
                return Ok(batch);
            }
        }
    }
}
