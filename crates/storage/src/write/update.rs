//! New values of some columns, as an UPDATE has them, written before the write lock is taken. In a segment of which many records
//! change, the columns are written anew as a file of their own, and its records stay where they are. Records of other
//! segments and of the delta are written as whole new ones.

use crate::SqlState;
use crate::decode::arrays::whole;
use crate::lmdb::folder;
use crate::open::shared::Store;
use crate::scan::records::fetch_all;
use crate::segment::reader::Segment;
use crate::segment::writer::write_unsynced;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::append::make_folder;
use crate::write::column_files::ColumnFile;
use crate::write::ranges::is_bounded;
use crate::write::side_by_side::{RunningSyncs, side_by_side};
use crate::write::table_writer::WrittenRows;
use crate::{ColumnId, Error, Result, TableDefinition};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, RecordBatch, UInt32Array, downcast_primitive};
use arrow::compute::{concat_batches, interleave, take_record_batch};
use gingham_kernels::Isa;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A column of a segment is written anew when that is at most so many times as many values as whole new records would be. A
/// value costs about half as much where it lies among its neighbours, and records that stay leave nothing behind.
const CHEAPER: usize = 2;
/// Where all records lie in the delta, columns are read alone when the table has at least so many times as many.
const FEW_OF_MANY: usize = 8;
/// Records that are read to be written elsewhere, at a time.
const TOGETHER: usize = 1 << 16;

/// New values of some columns of a table's records.
#[derive(Debug)]
pub struct NewValues {
    columns: Vec<ColumnId>,
    /// Numbers of the records, ascending.
    ids: Vec<u64>,
    /// A row for each.
    values: RecordBatch,
}

impl NewValues {
    /// `batches`, which have these columns, are about the records `ids`, row by row, in any order.
    pub fn new(columns: Vec<ColumnId>, ids: Vec<u64>, mut batches: Vec<RecordBatch>) -> Result<Self> {
        batches.retain(|batch| batch.num_rows() > 0);
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let Some(first) = batches.first().filter(|_| rows == ids.len()) else {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("{rows} rows of new values for {} records", ids.len()),
            ));
        };
        let mut start = 0;
        let mut runs = Vec::with_capacity(batches.len());
        for batch in &batches {
            runs.push((start..start + batch.num_rows(), batch));
            start += batch.num_rows();
        }
        // A scan gives batches that are in order.
        runs.sort_by_key(|(run, _)| ids[run.start]);
        let values = concat_batches(&first.schema(), runs.iter().map(|(_, batch)| *batch))?;
        let ids: Vec<u64> = runs.iter().flat_map(|(run, _)| &ids[run.clone()]).copied().collect();
        if ids.is_sorted() {
            return Ok(Self { columns, ids, values });
        }
        let mut order: Vec<u32> = (0..ids.len() as u32).collect();
        order.sort_unstable_by_key(|row| ids[*row as usize]);
        let values = take_record_batch(&values, &UInt32Array::from(order.clone()))?;
        Ok(Self { columns, ids: order.iter().map(|row| ids[*row as usize]).collect(), values })
    }

    /// Ids of the records, ascending.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// The values of a column at some of the rows.
    fn of(&self, column: ColumnId, rows: &Range<usize>) -> Option<ArrayRef> {
        let place = self.columns.iter().position(|known| *known == column)?;
        Some(self.values.column(place).slice(rows.start, rows.len()))
    }
}

/// What has become of them.
#[derive(Debug)]
pub struct WrittenValues {
    /// New records, and columns of segments.
    pub rows: WrittenRows,
    /// Ids of the records that go, for which there are new ones.
    pub ids: Vec<u64>,
}

/// A segment whose columns are written anew.
struct SegmentUpdate<'a> {
    segment: &'a Segment,
    /// Number of its first record.
    first: u64,
    /// The rows of the new values that are its records'.
    rows: Range<usize>,
}

impl TableSnapshot {
    /// Whether these columns' values may be given to [`Store::write_values`]: no record's place depends on them, and no other
    /// value's.
    pub fn takes_values(&self, columns: &[ColumnId]) -> bool {
        let definition = &self.definition;
        let bounded = |column: &ColumnId| {
            definition.column_by_id(*column).is_none_or(|column| is_bounded(&definition.design, column))
        };
        // The delta's records are written whole: they are read so at once where most of their columns change.
        let is_cheaper = !self.segments.is_empty() || columns.len() * FEW_OF_MANY <= definition.columns.len();
        self.heap.is_none()
            && is_cheaper
            && !columns.iter().any(|column| definition.sort_by.contains(column) || bounded(column))
    }

    /// The columns that are written with these: whole groups of the design.
    fn written_with(&self, columns: &[ColumnId]) -> Arc<TableDefinition> {
        let mut definition = TableDefinition::clone(&self.definition);
        let all: Vec<ColumnId> = definition.columns.iter().map(|column| column.id).collect();
        let changed: HashSet<ColumnId> = columns.iter().copied().collect();
        let groups = definition.design.resolve(&all);
        let touched = groups.iter().filter(|group| group.columns.iter().any(|column| changed.contains(column)));
        let touched: HashSet<ColumnId> = touched.flat_map(|group| group.columns.iter().copied()).collect();
        definition.columns.retain(|column| touched.contains(&column.id));
        Arc::new(definition)
    }
}

impl Store {
    /// Writes new values, of no record twice, for a change of `table`, on at most `threads` threads. `wanted` is asked now and then whether the
    /// change still is.
    pub fn write_values(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        values: &NewValues,
        threads: usize,
        wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<WrittenValues> {
        if !table.takes_values(&values.columns) || !values.ids.is_sorted_by(|a, b| a < b) {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("new values for table {}", table.definition.name),
            ));
        }
        let writer = self.table_writer(table)?;
        let written_with = table.written_with(&values.columns);
        let (jobs, others) = split(table, values, written_with.columns.len());
        let mut files = self.written_files();
        let files_of_jobs = Mutex::new(&mut files);
        let write = |job: &SegmentUpdate<'_>| {
            let id = self.allocate_segment();
            make_folder(&folder::table_segments(self.path(), table.definition.id))?;
            let path = folder::segment_file(self.path(), table.definition.id, id);
            files_of_jobs.lock().unwrap_or_else(PoisonError::into_inner).add(path.clone());
            let batches = batches(&written_with, job, values, wanted)?;
            let (written, file) = write_unsynced(&path, id, &written_with, batches, job.segment.full_zone())?;
            Ok::<_, Error>((ColumnFile { of: job.segment.id(), written }, path, file))
        };
        // The disk has its time while the next files are made. Their names are synced with the commit.
        let columns = std::thread::scope(|scope| {
            let syncs = RunningSyncs::new(scope);
            let written = side_by_side(threads, jobs.len(), |job| {
                let (column, path, file) = write(&jobs[job])?;
                if self.durable {
                    syncs.begin(move || file.sync_all().map_err(Error::io("syncing", &path)))?;
                }
                Ok(column)
            })?;
            syncs.end()?;
            Ok::<_, Error>(written)
        })?;
        let rows = others.iter().map(Range::len).sum::<usize>();
        let lanes = threads.min(rows / TOGETHER + 1);
        side_by_side(lanes, lanes, |lane| {
            let own = rows * lane / lanes..rows * (lane + 1) / lanes;
            write_rows(table, values, &within(&others, own), wanted, |batch| writer.append(lane, batch))
        })?;
        let ids = others.into_iter().flat_map(|rows| &values.ids[rows]).copied().collect();
        Ok(WrittenValues { rows: writer.finish()?.with_columns(columns, files), ids })
    }
}

/// The segments of which `columns` columns are written anew, and the rows of the new values that others have.
fn split<'t>(
    table: &'t TableSnapshot,
    values: &NewValues,
    columns: usize,
) -> (Vec<SegmentUpdate<'t>>, Vec<Range<usize>>) {
    let (mut jobs, mut others) = (Vec::new(), Vec::new());
    let (mut first, mut start) = (0, 0);
    for segment in table.segments.iter().chain(&table.delta) {
        let next = first + segment.rows() as u64;
        let rows = start..start + values.ids[start..].partition_point(|id| *id < next);
        let whole = rows.len() * table.definition.columns.len();
        if !rows.is_empty() && !segment.is_delta() && segment.rows() * columns <= whole * CHEAPER {
            jobs.push(SegmentUpdate { segment, first, rows: rows.clone() });
        } else if !rows.is_empty() {
            others.push(rows.clone());
        }
        (first, start) = (next, rows.end);
    }
    if start < values.ids.len() {
        // Deleting them tells what is wrong.
        others.push(start..values.ids.len());
    }
    (jobs, others)
}

/// [`replaced`] for numbers without NULLs, in their place.
macro_rules! replaced_numbers {
    ($type:ty, $old:ident, $new:ident, $places:ident) => {{
        let (data_type, values, _) = $old.as_primitive::<$type>().clone().into_parts();
        drop($old);
        let mut values = values.into_inner().into_vec().unwrap_or_else(|shared| shared.typed_data().to_vec());
        for (place, new) in $places.iter().zip($new.as_primitive::<$type>().values()) {
            values[*place] = *new;
        }
        return Ok(Arc::new(PrimitiveArray::<$type>::new(values.into(), None).with_data_type(data_type)));
    }};
}

/// The records of a segment in the columns that are written anew.
fn batches(
    columns: &Arc<TableDefinition>,
    job: &SegmentUpdate<'_>,
    values: &NewValues,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<RecordBatch>> {
    let (schema, mut rows) = (columns.arrow_schema(), job.rows.clone());
    let mut batches = Vec::with_capacity(job.segment.zones());
    for zone in 0..job.segment.zones() {
        if !wanted() {
            return Err(Error::Cancelled);
        }
        let tids = job.segment.zone_rows(zone);
        let (start, end) = (job.first + tids.start as u64, job.first + tids.end as u64);
        let own = rows.start..rows.start + values.ids[rows.clone()].partition_point(|id| *id < end);
        let places: Vec<usize> = values.ids[own.clone()].iter().map(|id| (id - start) as usize).collect();
        let column = |column| {
            let old = whole(&job.segment.view(column, zone)?, Isa::best())?;
            match values.of(column.id, &own).filter(|new| !new.is_empty()) {
                Some(new) => replaced(old, &new, &places),
                None => Ok(old),
            }
        };
        let arrays = columns.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        batches.push(RecordBatch::try_new(Arc::clone(&schema), arrays)?);
        rows.start = own.end;
    }
    Ok(batches)
}

/// The values of a zone with new ones at these places.
fn replaced(old: ArrayRef, new: &ArrayRef, places: &[usize]) -> Result<ArrayRef> {
    if old.null_count() == 0 && new.null_count() == 0 {
        downcast_primitive! {
            old.data_type() => (replaced_numbers, old, new, places),
            _ => {}
        }
    }
    // For each record whether its value is an old (0) or a new one (1), and which.
    let mut from: Vec<(usize, usize)> = (0..old.len()).map(|row| (0, row)).collect();
    places.iter().enumerate().for_each(|(row, place)| from[*place] = (1, row));
    Ok(interleave(&[&old as &dyn Array, new], &from)?)
}

/// Gives the records of these rows of the new values as they will be, whole.
fn write_rows(
    table: &TableSnapshot,
    values: &NewValues,
    rows: &[Range<usize>],
    wanted: &(dyn Fn() -> bool + Sync),
    mut write: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let definition = &table.definition;
    let all = definition.columns.iter().map(|column| column.id);
    let others: Vec<ColumnId> = all.filter(|column| !values.columns.contains(column)).collect();
    for rows in rows.iter().flat_map(|rows| rows.clone().step_by(TOGETHER).map(|at| at..rows.end.min(at + TOGETHER))) {
        if !wanted() {
            return Err(Error::Cancelled);
        }
        let ids: Vec<Option<u64>> = values.ids[rows.clone()].iter().copied().map(Some).collect();
        let mut old = fetch_all(table, &others, &ids, Isa::best())?.into_iter();
        let arrays = definition.columns.iter().filter_map(|column| values.of(column.id, &rows).or_else(|| old.next()));
        write(RecordBatch::try_new(definition.arrow_schema(), arrays.collect())?)?;
    }
    Ok(())
}

/// The part `part` of what lies in some ranges one after the other.
fn within(ranges: &[Range<usize>], part: Range<usize>) -> Vec<Range<usize>> {
    let mut before = 0;
    let cut = ranges.iter().map(|range| {
        let at = |place: usize| range.start + place.saturating_sub(before).min(range.len());
        let cut = at(part.start)..at(part.end);
        before += range.len();
        cut
    });
    cut.filter(|range| !range.is_empty()).collect()
}
