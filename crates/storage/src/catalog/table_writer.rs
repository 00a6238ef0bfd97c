//! New records of one table, gathered in lanes and written as segment files outside the writer's lock.

use crate::catalog::Store;
use crate::catalog::append::make_folder;
use crate::catalog::folder;
use crate::catalog::keys::KeySummary;
use crate::catalog::pending::WrittenFiles;
use crate::catalog::rows::{batch_bytes, sort_rows};
use crate::segment::{SEGMENT_ROWS, WrittenSegment, write_segment_file};
use crate::{Error, Result, TableDefinition, TableId};
use arrow::array::RecordBatch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Arrow bytes at which a segment is written though it is not full.
const SEGMENT_BYTES: usize = 256 << 20;
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
}

/// One lane: segments written, and the records that do not fill one yet.
#[derive(Debug, Default)]
struct Lane {
    segments: Vec<Written>,
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

/// A segment and what is known of the keys in it.
#[derive(Debug)]
struct Written {
    segment: WrittenSegment,
    keys: Vec<KeySummary>,
}

/// New records, written but not visible.
#[derive(Debug)]
pub struct WrittenRows {
    /// Full segments, in order.
    pub segments: Vec<WrittenSegment>,
    /// Few records, for the delta.
    pub delta: Vec<RecordBatch>,
    /// Records in all.
    pub rows: u64,
    /// What the records were written for.
    pub(crate) definition: Arc<TableDefinition>,
    pub(crate) table: TableId,
    /// Per segment, and in it per key of the table.
    pub(crate) keys: Vec<Vec<KeySummary>>,
    files: Option<WrittenFiles>,
}

impl WrittenRows {
    /// The files, which the caller now has to commit or drop.
    pub(crate) fn take_files(&mut self) -> Option<WrittenFiles> {
        self.files.take()
    }

    /// Adds the segments of `other`, written for the same definition, behind these.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.segments.append(&mut other.segments);
        self.delta.append(&mut other.delta);
        self.keys.append(&mut other.keys);
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
        let full = definition.design.segment_rows();
        Self { store, definition, lanes: Mutex::default(), files, delta: true, full }
    }

    /// Writes even few records as a segment.
    pub(crate) fn without_delta(mut self) -> Self {
        self.delta = false;
        self
    }

    /// Writes segments of that many records at most, where they are more than the design's. In a segment that is no
    /// multiple of a chunk the last chunk is short.
    pub(crate) fn with_segments_of(mut self, rows: usize) -> Self {
        self.full = self.full.max(rows);
        self
    }

    /// Adds a batch in the table's Arrow schema to lane `lane`; encodes and writes a segment when the lane is full. The
    /// lanes' records are stored in the order of their numbers, short ends of lanes after all that is full. Callable from
    /// several threads, one per lane.
    pub fn append(&self, lane: usize, batch: RecordBatch) -> Result<()> {
        self.require_schema(&batch)?;
        let lane = {
            let mut lanes = lock(&self.lanes);
            while lanes.len() <= lane {
                lanes.push(Arc::default());
            }
            Arc::clone(&lanes[lane])
        };
        let mut lane = lock(&lane);
        let (mut rest, full) = (batch, self.full);
        while rest.num_rows() > 0 {
            let taken = rest.num_rows().min(full - lane.rows);
            let part = rest.slice(0, taken);
            rest = rest.slice(taken, rest.num_rows() - taken);
            let bytes = batch_bytes(&part);
            self.store.budget.reserve(bytes);
            lane.rows += taken;
            lane.bytes += bytes;
            lane.batches.push(part);
            if lane.rows >= full || lane.bytes >= SEGMENT_BYTES {
                self.write_lane(&mut lane)?;
            }
        }
        Ok(())
    }

    /// Refuses batches that do not fit the table.
    fn require_schema(&self, batch: &RecordBatch) -> Result<()> {
        let name = &self.definition.name;
        if batch.num_columns() != self.definition.columns.len() {
            return Err(Error::InvalidInput(format!(
                "{} columns can't be stored in table '{name}', which has {}",
                batch.num_columns(),
                self.definition.columns.len()
            )));
        }
        for (column, values) in self.definition.columns.iter().zip(batch.columns()) {
            if *values.data_type() != column.logical_type.to_arrow() {
                return Err(Error::InvalidInput(format!(
                    "column '{}' of table '{name}' is {}, values of type {} can't be stored in it",
                    column.name,
                    column.logical_type,
                    values.data_type()
                )));
            }
            if !column.nullable && values.null_count() > 0 {
                return Err(Error::Constraint(format!(
                    "NULL in column '{}' of table '{name}', which is NOT NULL",
                    column.name
                )));
            }
        }
        Ok(())
    }

    fn write_lane(&self, lane: &mut Lane) -> Result<()> {
        let (batches, bytes) = (std::mem::take(&mut lane.batches), std::mem::take(&mut lane.bytes));
        lane.rows = 0;
        let written = self.write(batches);
        self.store.budget.release(bytes);
        lane.segments.push(written?);
        Ok(())
    }

    /// Writes one segment.
    fn write(&self, batches: Vec<RecordBatch>) -> Result<Written> {
        let (store, definition) = (&self.store, &self.definition);
        let id = store.allocate_segment();
        make_folder(&folder::table_segments(store.path(), definition.id))?;
        let file = folder::segment_file(store.path(), definition.id, id);
        lock(&self.files).add(file.clone());
        let batches = sort_rows(definition, batches)?;
        let keys = KeySummary::of_table(definition, &batches)?;
        let segment = write_segment_file(&file, id, definition, batches, store.durable)?;
        Ok(Written { segment, keys })
    }

    /// Ends all lanes. Files of a writer that is dropped before its records are committed are removed.
    pub fn finish(self) -> Result<WrittenRows> {
        let lanes = std::mem::take(&mut *lock(&self.lanes));
        let mut lanes: Vec<MutexGuard<'_, Lane>> = lanes.iter().map(|lane| lock(lane)).collect();
        let rest: usize = lanes.iter().map(|lane| lane.rows).sum();
        let full = lanes.iter().any(|lane| !lane.segments.is_empty());
        let (mut written, mut ends, mut delta) = (Vec::new(), Vec::new(), Vec::new());
        if self.delta && !full && rest <= FEW_ROWS {
            for lane in &mut lanes {
                delta.append(&mut lane.batches);
            }
        } else {
            for lane in &mut lanes {
                if lane.rows >= OWN_SEGMENT_ROWS {
                    self.write_lane(lane)?;
                }
                written.append(&mut lane.segments);
                ends.append(&mut lane.batches);
                // The ends of several lanes may be more than a segment takes.
                if ends.iter().map(RecordBatch::num_rows).sum::<usize>() >= OWN_SEGMENT_ROWS {
                    written.push(self.write(std::mem::take(&mut ends))?);
                }
            }
            if !ends.is_empty() {
                written.push(self.write(ends)?);
            }
        }
        let delta_rows: usize = delta.iter().map(RecordBatch::num_rows).sum();
        let rows = written.iter().map(|written| written.segment.rows).sum::<u64>() + delta_rows as u64;
        self.store.budget.release(lanes.iter().map(|lane| lane.bytes).sum());
        drop(lanes);
        let (segments, keys) = written.into_iter().map(|written| (written.segment, written.keys)).unzip();
        let files = Some(std::mem::replace(&mut *lock(&self.files), self.store.written_files()));
        let (definition, table) = (Arc::clone(&self.definition), self.definition.id);
        Ok(WrittenRows { segments, delta, rows, definition, table, keys, files })
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        let held: usize = lock(&self.lanes).iter().map(|lane| lock(lane).bytes).sum();
        self.store.budget.release(held);
    }
}
