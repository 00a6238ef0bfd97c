//! A table's records in the order of its `sort_by`, without holding them all: every segment is sorted in itself when it
//! is written, so that segments are runs, and merging the runs record by record sorts the table. One zone of each run is
//! in memory at a time.

use crate::scan::TableScan;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnId, Predicate, Result, TableDefinition};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{SortOptions, interleave_record_batch};
use arrow::datatypes::DataType;
use arrow::row::{OwnedRow, RowConverter, Rows, SortField};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

/// Records of a batch, read or given.
const BATCH: usize = 4096;

/// Records of one run, in order.
pub(crate) type SortedRun<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

/// The records of a table that has one segment.
pub(crate) fn run(table: &Arc<TableSnapshot>) -> Result<SortedRun<'static>> {
    let columns = table.definition.columns.iter().map(|column| column.id).collect();
    let scan = scan(table, columns)?;
    Ok(morsels(&scan, 0..scan.morsels()))
}

/// The columns of `sort_by` of the first and the last records of a table that has one segment.
pub(crate) fn ends(table: &Arc<TableSnapshot>) -> Result<SortedRun<'static>> {
    let scan = scan(table, table.definition.sort_by.clone())?;
    let last = scan.morsels().saturating_sub(1);
    Ok(Box::new(morsels(&scan, 0..last.min(1)).chain(morsels(&scan, last..scan.morsels()))))
}

fn scan(table: &Arc<TableSnapshot>, columns: Vec<ColumnId>) -> Result<Arc<TableScan>> {
    let isa = gingham_kernels::Isa::best();
    Ok(Arc::new(TableScan::new(Arc::clone(table), columns, Predicate::Constant(true), BATCH, isa)?))
}

fn morsels(scan: &Arc<TableScan>, range: Range<usize>) -> SortedRun<'static> {
    let scan = Arc::clone(scan);
    Box::new(range.flat_map(move |morsel| match scan.read(morsel) {
        Ok(batches) => Box::new(batches) as SortedRun<'static>,
        Err(error) => Box::new(std::iter::once(Err(error))),
    }))
}

/// Keys that compare as the order of `sort_by` has it: NULLs last.
#[derive(Debug)]
pub(crate) struct SortKeys {
    converter: RowConverter,
    /// Places of the columns in the table.
    places: Vec<usize>,
}

impl SortKeys {
    /// Keys of a table's records.
    pub(crate) fn new(definition: &TableDefinition) -> Result<Self> {
        let place = |id: &ColumnId| definition.columns.iter().position(|column| column.id == *id);
        let places: Vec<usize> = definition.sort_by.iter().filter_map(place).collect();
        let options = SortOptions { descending: false, nulls_first: false };
        let field =
            |place: &usize| SortField::new_with_options(definition.columns[*place].logical_type.to_arrow(), options);
        Ok(Self { converter: RowConverter::new(places.iter().map(field).collect())?, places })
    }

    /// Places of the columns of `sort_by` in the table.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }

    /// Keys of whole records.
    fn of_records(&self, batch: &RecordBatch) -> Result<Rows> {
        self.of_columns(&self.places.iter().map(|place| Arc::clone(batch.column(*place))).collect::<Vec<_>>())
    }

    /// Keys of the columns of `sort_by` alone.
    fn of_columns(&self, columns: &[ArrayRef]) -> Result<Rows> {
        Ok(self.converter.convert_columns(columns)?)
    }

    /// The first and the last key of a run of the columns of `sort_by`; `None` when it is empty.
    pub(crate) fn bounds(&self, run: SortedRun<'_>) -> Result<Option<(OwnedRow, OwnedRow)>> {
        let mut bounds: Option<(OwnedRow, OwnedRow)> = None;
        for batch in run {
            let batch = batch?;
            let rows = batch.num_rows();
            if rows == 0 {
                continue;
            }
            // Of all records between nobody asks.
            let ends = |at: usize| -> Result<OwnedRow> {
                let columns: Vec<ArrayRef> = batch.columns().iter().map(|column| column.slice(at, 1)).collect();
                Ok(self.of_columns(&columns)?.row(0).owned())
            };
            let last = ends(rows - 1)?;
            bounds = Some(match bounds {
                Some((first, _)) => (first, last),
                None => (ends(0)?, last),
            });
        }
        Ok(bounds)
    }
}

/// Calls `visit` with the records of all runs in the order of `sort_by`; equal ones in the order of their runs.
pub(crate) fn merge(
    keys: &SortKeys,
    runs: Vec<SortedRun<'_>>,
    mut visit: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut gathered = MergedRows::default();
    let mut cursors = Vec::with_capacity(runs.len());
    let mut next = BinaryHeap::with_capacity(runs.len());
    for batches in runs {
        let mut cursor = Cursor { batches, keys: None, row: 0, place: 0 };
        if cursor.advance(keys, &mut gathered)? {
            next.push(Reverse((cursor.key()?, cursors.len())));
        }
        cursors.push(cursor);
    }
    while let Some(Reverse((_, number))) = next.pop() {
        loop {
            let cursor = &mut cursors[number];
            gathered.rows.push((cursor.place, cursor.row));
            let more = cursor.advance(keys, &mut gathered)?;
            if gathered.rows.len() == BATCH {
                visit(gathered.take(&mut cursors)?)?;
            }
            let cursor = &cursors[number];
            if !more {
                break;
            }
            // A run goes on while its records come before those of the others.
            if let Some(Reverse((least, other))) = next.peek()
                && !cursor.precedes(least, number < *other)
            {
                next.push(Reverse((cursor.key()?, number)));
                break;
            }
        }
    }
    if gathered.rows.is_empty() { Ok(()) } else { visit(gathered.take(&mut cursors)?) }
}

/// Where the merge stands in one run.
struct Cursor<'a> {
    batches: SortedRun<'a>,
    /// Keys of the batch; `None` before the first and after the last.
    keys: Option<Rows>,
    row: usize,
    /// The batch's place among those that are held.
    place: usize,
}

impl Cursor<'_> {
    /// Goes to the next record; false when there is none.
    fn advance(&mut self, keys: &SortKeys, gathered: &mut MergedRows) -> Result<bool> {
        if let Some(known) = &self.keys
            && self.row + 1 < known.num_rows()
        {
            self.row += 1;
            return Ok(true);
        }
        self.keys = None;
        for batch in self.batches.by_ref() {
            let batch = batch?;
            if batch.num_rows() > 0 {
                self.keys = Some(keys.of_records(&batch)?);
                (self.row, self.place) = (0, gathered.held.len());
                gathered.held.push(batch);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The key of the record that it stands at.
    fn key(&self) -> Result<OwnedRow> {
        let ended = || crate::Error::Internal("a run of records ended while it was merged".to_owned());
        Ok(self.keys.as_ref().ok_or_else(ended)?.row(self.row).owned())
    }

    /// Whether its record comes before one of key `other`; `wins` says so of equal ones.
    fn precedes(&self, other: &OwnedRow, wins: bool) -> bool {
        self.keys.as_ref().is_some_and(|keys| match keys.row(self.row).cmp(&other.row()) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => wins,
            std::cmp::Ordering::Greater => false,
        })
    }
}

/// Records that were merged and not given yet.
#[derive(Default)]
struct MergedRows {
    held: Vec<RecordBatch>,
    /// Place of the batch, and row in it.
    rows: Vec<(usize, usize)>,
}

impl MergedRows {
    /// The gathered records as a batch. Afterwards only the batches are held in which a cursor stands.
    fn take(&mut self, cursors: &mut [Cursor<'_>]) -> Result<RecordBatch> {
        let batch = interleave_record_batch(&self.held.iter().collect::<Vec<_>>(), &self.rows)?;
        self.rows.clear();
        let before = std::mem::take(&mut self.held);
        for cursor in cursors.iter_mut().filter(|cursor| cursor.keys.is_some()) {
            let place = std::mem::replace(&mut cursor.place, self.held.len());
            self.held.push(before[place].clone());
        }
        let columns = batch.columns().iter().map(compact).collect();
        Ok(RecordBatch::try_new(batch.schema(), columns)?)
    }
}

/// Views with bytes of their own, which do not keep those of all runs in memory.
fn compact(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()),
        DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
        _ => Arc::clone(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::rows::sort_rows;
    use crate::{ColumnDefinition, LogicalType, TableName};
    use arrow::array::{Float64Array, Int32Array, StringViewArray, UInt64Array};
    use arrow::compute::concat_batches;
    use proptest::prelude::*;

    fn definition() -> TableDefinition {
        let types = [LogicalType::Varchar(None), LogicalType::Float64, LogicalType::Int(32), LogicalType::UInt(64)];
        let column = |(id, logical_type)| ColumnDefinition::new(id, format!("c{id}"), logical_type);
        TableDefinition {
            id: 1,
            sort_by: vec![2, 0, 1],
            auto: None,
            ..TableDefinition::new(
                TableName { schema: "public".into(), table: "t".into() },
                (0..).zip(types).map(column).collect(),
            )
        }
    }

    type Record = (Option<u8>, Option<i8>, Option<i8>);

    /// Records of few different values, with their number in the order of all runs.
    fn batch(records: &[Record], first: usize) -> RecordBatch {
        let text = |number: u8| format!("text {:0>20}", number % 4);
        let float = |number: i8| [0.0, -0.0, f64::NAN, 1.5, f64::INFINITY][usize::from(number.unsigned_abs()) % 5];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(records.iter().map(|record| record.0.map(text)).collect::<StringViewArray>()),
            Arc::new(records.iter().map(|record| record.1.map(float)).collect::<Float64Array>()),
            Arc::new(records.iter().map(|record| record.2.map(|n| i32::from(n) % 3)).collect::<Int32Array>()),
            Arc::new((first..first + records.len()).map(|number| Some(number as u64)).collect::<UInt64Array>()),
        ];
        RecordBatch::try_new(definition().arrow_schema(), columns).unwrap()
    }

    proptest! {
        /// Merging sorted runs gives what sorting all of their records gives, equal ones in the order of the runs.
        #[test]
        fn merging_runs_sorts(runs in prop::collection::vec(prop::collection::vec(any::<Record>(), 0..40), 0..6), piece in 1usize..9) {
            let definition = definition();
            let keys = SortKeys::new(&definition).unwrap();
            let mut first = 0;
            let mut sorted: Vec<RecordBatch> = Vec::new();
            for records in &runs {
                let whole = batch(records, first);
                first += records.len();
                sorted.extend(sort_rows(&definition, vec![whole]).unwrap());
            }
            let pieces = sorted.iter().map(|run| -> SortedRun<'_> {
                let starts = (0..run.num_rows()).step_by(piece);
                Box::new(starts.map(move |start| Ok(run.slice(start, piece.min(run.num_rows() - start)))))
            });
            let mut merged = Vec::new();
            merge(&keys, pieces.collect(), |batch| {
                merged.push(batch);
                Ok(())
            }).unwrap();
            let schema = definition.arrow_schema();
            let merged = concat_batches(&schema, &merged).unwrap();
            let expected = sort_rows(&definition, vec![concat_batches(&schema, &sorted).unwrap()]).unwrap().remove(0);
            prop_assert_eq!(merged.column(3).as_ref(), expected.column(3).as_ref());
            prop_assert_eq!(merged.column(0).as_ref(), expected.column(0).as_ref());
        }
    }

    #[test]
    fn many_records_are_given_in_batches_and_bounds_are_those_of_the_run() {
        let definition = definition();
        let keys = SortKeys::new(&definition).unwrap();
        let records: Vec<Record> = (0..10_000u32).map(|n| (Some((n % 7) as u8), None, Some((n % 5) as i8))).collect();
        let runs: Vec<RecordBatch> = [0, 10_000]
            .into_iter()
            .map(|first| sort_rows(&definition, vec![batch(&records, first)]).unwrap().remove(0))
            .collect();
        let mut rows = Vec::new();
        let run = |batch: &RecordBatch| -> SortedRun<'static> { Box::new(std::iter::once(Ok(batch.clone()))) };
        merge(&keys, runs.iter().map(run).collect(), |batch| {
            rows.push(batch.num_rows());
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, [BATCH, BATCH, BATCH, BATCH, 20_000 - 4 * BATCH]);
        let projected = runs[0].project(&[2, 0, 1]).unwrap();
        let (first, last) = keys.bounds(run(&projected)).unwrap().unwrap();
        assert!(first < last);
        assert_eq!(last, keys.of_records(&runs[0]).unwrap().row(9_999).owned());
        assert!(keys.bounds(Box::new(std::iter::empty())).unwrap().is_none());
    }
}
