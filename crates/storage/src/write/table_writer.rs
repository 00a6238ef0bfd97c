//! New records of one table, gathered in lanes and written outside the writer's lock: as segment files, or as the pages of a
//! heap table that has nothing to be checked.

use crate::SqlState;
use crate::io::memory::MemoryBudget;
use crate::lmdb::folder;
use crate::model::design::SEGMENT_ROWS;
use crate::model::heap_options::{HeapLayout, HeapOptions};
use crate::open::pending::WrittenFiles;
use crate::open::shared::Store;
use crate::pages::run::{PageRun, RunWriter};
use crate::panics::{self, PanicPoint, guarded, joined};
use crate::scan::rows::{batch_bytes, sort_rows};
use crate::segment::writer::{WrittenSegment, write_segment_file};
use crate::write::append::make_folder;
use crate::write::column_files::ColumnFile;
use crate::write::keys::summary::KeySummary;
use crate::{Error, Result, TableDefinition, TableId};
use arrow::array::RecordBatch;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Arrow bytes at which a segment is written though it is not full.
const SEGMENT_BYTES: usize = 256 << 20;
/// Records that are put into pages at once, at most.
const PAGE_ROWS: usize = 8 << 10;
/// Up to this many records of a writer without a full segment go to the delta.
const FEW_ROWS: usize = 16 << 10;
/// The rest of a lane below this many records shares a segment with those of other lanes.
const OWN_SEGMENT_ROWS: usize = SEGMENT_ROWS / 4;

/// Gathers new records of one table into segment files, in lanes.
#[derive(Debug)]
pub struct TableWriter {
    store: Arc<Store>,
    definition: Arc<TableDefinition>,
    lanes: Mutex<Vec<Arc<Mutex<Lane>>>>,
    files: Mutex<WrittenFiles>,
    /// Whether few records may go to the delta.
    delta: bool,
    /// Records of a full segment.
    full: usize,
    /// What the records of a segment are a multiple of, but for the last one.
    chunk: usize,
    /// What the pages are like that records are put into at once.
    pages: Option<HeapOptions>,
    /// Why some of the records could not be written.
    failed: OnceLock<Error>,
}

/// One lane: segments written, and the records that do not fill one yet.
#[derive(Debug)]
struct Lane {
    segments: Vec<WrittenWithKeys>,
    /// Pages that records were put into.
    run: Option<RunWriter>,
    /// Whether records go into pages.
    paged: bool,
    batches: Vec<RecordBatch>,
    rows: usize,
    /// Arrow bytes of the records, which the budget counts as long as they are here.
    bytes: usize,
    budget: Arc<MemoryBudget>,
}

impl Lane {
    fn new(budget: Arc<MemoryBudget>, paged: bool) -> Self {
        Self { segments: Vec::new(), run: None, paged, batches: Vec::new(), rows: 0, bytes: 0, budget }
    }

    fn push(&mut self, batch: RecordBatch) {
        let bytes = batch_bytes(&batch);
        self.budget.reserve(bytes);
        self.bytes += bytes;
        self.rows += batch.num_rows();
        self.batches.push(batch);
    }

    /// Takes the first `rows` records, which the budget still counts until [`Lane::settle`].
    fn take(&mut self, rows: usize) -> Vec<RecordBatch> {
        let (mut taken, mut left) = (Vec::with_capacity(self.batches.len()), rows);
        for batch in std::mem::take(&mut self.batches) {
            let own = batch.num_rows().min(left);
            if own > 0 {
                taken.push(batch.slice(0, own));
            }
            if own < batch.num_rows() {
                self.batches.push(batch.slice(own, batch.num_rows() - own));
            }
            left -= own;
        }
        self.rows -= rows;
        taken
    }

    /// Gives back the bytes of records that are no longer here.
    fn settle(&mut self) {
        let bytes = self.batches.iter().map(batch_bytes).sum();
        self.budget.release(self.bytes.saturating_sub(bytes));
        self.bytes = bytes;
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

/// A segment and what is known of the keys in it.
#[derive(Debug)]
struct WrittenWithKeys {
    segment: WrittenSegment,
    keys: Vec<KeySummary>,
}

/// New records, written but not visible.
#[derive(Debug)]
pub struct WrittenRows {
    /// Full segments, in order.
    pub segments: Vec<WrittenSegment>,
    /// Runs of pages, in order, for a heap table.
    pub(crate) runs: Vec<PageRun>,
    /// Few records, for the delta.
    pub delta: Vec<RecordBatch>,
    /// Records in all.
    pub rows: u64,
    /// What the records were written for.
    pub(crate) definition: Arc<TableDefinition>,
    pub(crate) table: TableId,
    /// Per segment, and in it per key of the table.
    pub(crate) keys: Vec<Vec<KeySummary>>,
    /// Columns of segments that the table has, written anew.
    pub(crate) columns: Vec<ColumnFile>,
    files: Option<WrittenFiles>,
}

impl WrittenRows {
    /// The files, which the caller now has to commit or drop.
    pub(crate) fn take_files(&mut self) -> Option<WrittenFiles> {
        self.files.take()
    }

    /// These rows with columns of segments that the table has, in these files.
    pub(crate) fn with_columns(mut self, columns: Vec<ColumnFile>, others: WrittenFiles) -> Self {
        self.columns = columns;
        match &mut self.files {
            Some(files) => files.absorb(others),
            none => *none = Some(others),
        }
        self
    }

    /// Adds the segments of `other`, written for the same definition, behind these.
    pub fn absorb(&mut self, mut other: Self) {
        self.segments.append(&mut other.segments);
        self.runs.append(&mut other.runs);
        self.delta.append(&mut other.delta);
        self.keys.append(&mut other.keys);
        self.columns.append(&mut other.columns);
        self.rows += other.rows;
        match (&mut self.files, other.files.take()) {
            (Some(files), Some(others)) => files.absorb(others),
            (files, others) => *files = files.take().or(others),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TableWriter {
    /// A writer for tables of this definition.
    pub(crate) fn new(store: Arc<Store>, definition: Arc<TableDefinition>) -> Self {
        let files = Mutex::new(store.written_files());
        let (full, chunk) = (definition.design.segment_rows(), definition.design.chunk_rows());
        // Keys, and entries of indexes, are made of columns: records that have some are written as segments first.
        let plain = !definition.has_constraints() && definition.indexes.is_empty();
        let pages = definition.design.heap.filter(|options| plain && options.layout != HeapLayout::Dsm);
        Self {
            store,
            definition,
            lanes: Mutex::default(),
            files,
            delta: true,
            full,
            chunk,
            pages,
            failed: OnceLock::new(),
        }
    }

    /// Writes even few records as a segment.
    pub(crate) fn without_delta(mut self) -> Self {
        self.delta = false;
        self
    }

    /// Adds a batch in the table's Arrow schema to lane `lane`; encodes and writes a segment when the lane is full. The
    /// lanes' records are stored in the order of their numbers, short ends of lanes after all that is full; of a heap table
    /// those behind all others that a lane has from the first one on that may not fit a page. Callable from several
    /// threads, one per lane. All segments but the last hold whole chunks.
    pub fn append(&self, lane: usize, batch: RecordBatch) -> Result<()> {
        self.require_schema(&batch)?;
        // After an error nobody knows which records of the lane were written.
        self.require_whole()?;
        guarded(|| self.add(lane, batch)).inspect_err(|error| drop(self.failed.set(error.again())))
    }

    /// Refuses to go on when some of the records could not be written, with the error that told so first: whoever hears of it by
    /// another lane is to know why.
    fn require_whole(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |error| Err(error.again()))
    }

    /// Adds a batch to a lane, and writes what makes it full.
    fn add(&self, lane: usize, batch: RecordBatch) -> Result<()> {
        let lane = {
            let mut lanes = lock(&self.lanes);
            while lanes.len() <= lane {
                lanes.push(Arc::new(Mutex::new(Lane::new(Arc::clone(&self.store.budget), self.pages.is_some()))));
            }
            Arc::clone(&lanes[lane])
        };
        let mut lane = lock(&lane);
        let (mut rest, full) = (batch, self.full);
        while rest.num_rows() > 0 {
            let taken = rest.num_rows().min(if lane.paged { PAGE_ROWS } else { full - lane.rows });
            lane.push(rest.slice(0, taken));
            rest = rest.slice(taken, rest.num_rows() - taken);
            if lane.paged && lane.rows > FEW_ROWS {
                self.fill_pages(&mut lane)?;
            }
            if lane.rows >= full || lane.bytes >= SEGMENT_BYTES {
                self.write_lane(&mut lane, self.chunk)?;
            }
        }
        Ok(())
    }

    /// Refuses batches that do not fit the table.
    fn require_schema(&self, batch: &RecordBatch) -> Result<()> {
        let name = &self.definition.name;
        if batch.num_columns() != self.definition.columns.len() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "{} columns can't be stored in table '{name}', which has {}",
                    batch.num_columns(),
                    self.definition.columns.len()
                ),
            ));
        }
        for (column, values) in self.definition.columns.iter().zip(batch.columns()) {
            if *values.data_type() != column.logical_type.to_arrow() {
                return Err(Error::invalid(
                    SqlState::DatatypeMismatch,
                    format!(
                        "column '{}' of table '{name}' is {}, values of type {} can't be stored in it",
                        column.name,
                        column.logical_type,
                        values.data_type()
                    ),
                ));
            }
            if !column.nullable && values.null_count() > 0 {
                return Err(Error::constraint(
                    SqlState::NotNullViolation,
                    format!("NULL in column '{}' of table '{name}', which is NOT NULL", column.name),
                ));
            }
        }
        Ok(())
    }

    /// Writes the records of a lane as a segment, but for the last ones, which are no multiple of `multiple` or more
    /// than a segment takes.
    fn write_lane(&self, lane: &mut Lane, multiple: usize) -> Result<()> {
        if lane.rows == 0 || self.fill_pages(lane)? {
            return Ok(());
        }
        let rows = lane.rows.min(self.full) / multiple * multiple;
        if rows == 0 {
            return Ok(());
        }
        let batches = lane.take(rows);
        let written = self.write(batches);
        lane.settle();
        lane.segments.push(written?);
        Ok(())
    }

    /// Puts the records of a lane into pages. False when some of them don't fit a page as they are, and these and all that
    /// follow become segments.
    fn fill_pages(&self, lane: &mut Lane) -> Result<bool> {
        let Some(options) = self.pages.filter(|_| lane.paged) else { return Ok(false) };
        let run = match &mut lane.run {
            Some(run) => run,
            none => none.insert(self.begin_run(options)?),
        };
        let mut filled = 0;
        for batch in &lane.batches {
            lane.paged = run.push(batch)?;
            if !lane.paged {
                break;
            }
            lane.rows -= batch.num_rows();
            filled += 1;
        }
        lane.batches.drain(..filled);
        lane.settle();
        Ok(lane.paged)
    }

    fn begin_run(&self, options: HeapOptions) -> Result<RunWriter> {
        let (database, table) = (self.store.path(), self.definition.id);
        make_folder(&folder::table_segments(database, table))?;
        let file = folder::run_file(database, table, self.store.allocate_segment());
        lock(&self.files).add(file.clone());
        RunWriter::create(file, &self.definition, options)
    }

    /// Writes one segment.
    fn write(&self, batches: Vec<RecordBatch>) -> Result<WrittenWithKeys> {
        let (store, definition) = (&self.store, &self.definition);
        let id = store.allocate_segment();
        make_folder(&folder::table_segments(store.path(), definition.id))?;
        let file = folder::segment_file(store.path(), definition.id, id);
        lock(&self.files).add(file.clone());
        let batches = sort_rows(definition, batches)?;
        let keys = KeySummary::of_table(definition, &batches)?;
        let segment = write_segment_file(&file, id, definition, batches, store.durable)?;
        Ok(WrittenWithKeys { segment, keys })
    }

    /// Ends all lanes; fails when an append has failed for what it could not write. Files of a writer that is dropped before
    /// its records are committed are removed.
    pub fn finish(self) -> Result<WrittenRows> {
        self.require_whole()?;
        let lanes = std::mem::take(&mut *lock(&self.lanes));
        let mut lanes: Vec<MutexGuard<'_, Lane>> = lanes.iter().map(|lane| lock(lane)).collect();
        let rest: usize = lanes.iter().map(|lane| lane.rows).sum();
        let full = lanes.iter().any(|lane| !lane.segments.is_empty() || lane.run.is_some());
        let mut delta = Vec::new();
        let (written, runs) = if self.delta && !full && rest <= FEW_ROWS {
            lanes.iter_mut().for_each(|lane| delta.append(&mut lane.batches));
            (Vec::new(), Vec::new())
        } else {
            self.end_lanes(&mut lanes)?
        };
        let delta_rows: usize = delta.iter().map(RecordBatch::num_rows).sum();
        let in_runs: u64 = runs.iter().map(|run: &PageRun| run.rows).sum();
        let rows = written.iter().map(|written| written.segment.rows).sum::<u64>() + in_runs + delta_rows as u64;
        drop(lanes);
        let (segments, keys) = written.into_iter().map(|written| (written.segment, written.keys)).unzip();
        let files = Some(std::mem::replace(&mut *lock(&self.files), self.store.written_files()));
        let (definition, table) = (Arc::clone(&self.definition), self.definition.id);
        Ok(WrittenRows { segments, runs, delta, rows, definition, table, keys, columns: Vec::new(), files })
    }

    /// Writes the ends that need no other lane's: of lanes that have pages, and the longer ones where segments need no whole
    /// chunks.
    fn end_side_by_side(&self, lanes: &mut [MutexGuard<'_, Lane>]) -> Result<()> {
        let alone = |lane: &Lane| lane.run.is_some() || (self.chunk == 1 && lane.rows >= OWN_SEGMENT_ROWS);
        std::thread::scope(|scope| {
            let own = lanes.iter_mut().map(|lane| &mut **lane).filter(|lane| alone(lane));
            let write = |lane| {
                panics::pass(PanicPoint::Part);
                self.write_lane(lane, 1)
            };
            let threads: Vec<_> = own.map(|lane| scope.spawn(move || guarded(|| write(lane)))).collect();
            threads.into_iter().try_for_each(|thread| joined(thread.join()))
        })
    }

    /// Writes what does not fill segments: the longer ends of lanes each by themselves, the others together. A lane that has
    /// pages fills its last one with its own end.
    fn end_lanes(&self, lanes: &mut [MutexGuard<'_, Lane>]) -> Result<(Vec<WrittenWithKeys>, Vec<PageRun>)> {
        self.end_side_by_side(lanes)?;
        let last = lanes.iter().rposition(|lane| lane.rows > 0);
        let mut written = Vec::new();
        let mut ends = Lane::new(Arc::clone(&self.store.budget), self.pages.is_some());
        for (number, lane) in lanes.iter_mut().enumerate() {
            if lane.rows >= OWN_SEGMENT_ROWS {
                let whole = Some(number) == last && ends.rows == 0;
                self.write_lane(lane, if whole { 1 } else { self.chunk })?;
            }
            written.append(&mut lane.segments);
            let rest = lane.rows;
            lane.take(rest).into_iter().for_each(|batch| ends.push(batch));
            lane.settle();
            // The ends of several lanes may be more than a segment takes.
            if ends.rows >= OWN_SEGMENT_ROWS {
                let whole = last.is_none_or(|last| number >= last);
                self.write_lane(&mut ends, if whole { 1 } else { self.chunk })?;
                written.append(&mut ends.segments);
            }
        }
        while ends.rows > 0 {
            self.write_lane(&mut ends, 1)?;
        }
        written.append(&mut ends.segments);
        let runs = lanes.iter_mut().map(|lane| &mut lane.run).chain([&mut ends.run]).filter_map(Option::take);
        Ok((written, runs.map(RunWriter::finish).collect::<Result<_>>()?))
    }
}
