//! Whole tables as Arrow batches, for merging and for key checks, batches sorted as the table wants, and the bytes that their
//! records take.

use crate::scan::TableScan;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnId, Predicate, Result, TableDefinition};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take};
use arrow::datatypes::DataType;
use std::ops::Range;
use std::sync::Arc;

/// Records of a batch that is read to be rewritten.
const BATCH: usize = 1 << 16;

/// All records of a table, in record order.
pub(crate) fn read_rows(table: &Arc<TableSnapshot>) -> Result<Vec<RecordBatch>> {
    let columns = table.definition.columns.iter().map(|column| column.id).collect();
    let mut batches = Vec::new();
    for_each_batch(table, columns, Predicate::Constant(true), |batch| {
        batches.push(batch);
        Ok(())
    })?;
    Ok(batches)
}

/// Calls `visit` with the records that match, in record order.
pub(crate) fn for_each_batch(
    table: &Arc<TableSnapshot>,
    columns: Vec<ColumnId>,
    predicate: Predicate,
    mut visit: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let isa = gingham_kernels::Isa::best();
    let scan = Arc::new(TableScan::new(Arc::clone(table), columns, predicate, BATCH, isa)?);
    for morsel in 0..scan.morsels() {
        for batch in scan.read(morsel)? {
            visit(batch?)?;
        }
    }
    Ok(())
}

/// Calls `visit` with all records of a run of a table's: those that are not deleted, counted from 0 in record order.
pub(crate) fn for_each_batch_of(
    table: &Arc<TableSnapshot>,
    columns: Vec<ColumnId>,
    records: Range<u64>,
    mut visit: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let isa = gingham_kernels::Isa::best();
    let scan = Arc::new(TableScan::new(Arc::clone(table), columns, Predicate::Constant(true), BATCH, isa)?);
    let mut end = 0;
    for morsel in 0..scan.morsels() {
        let mut start = end;
        end += scan.count(morsel)? as u64;
        if end <= records.start || records.end <= start {
            continue;
        }
        for batch in scan.read(morsel)? {
            let batch = batch?;
            let rows = batch.num_rows() as u64;
            let from = records.start.saturating_sub(start).min(rows) as usize;
            let to = records.end.saturating_sub(start).min(rows) as usize;
            if from < to {
                visit(batch.slice(from, to - from))?;
            }
            start += rows;
        }
    }
    Ok(())
}

/// These records sorted by the table's `sort_by` columns (NULLs last, equal ones in their order), or as they are when it has
/// none.
pub(crate) fn sort_rows(definition: &TableDefinition, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
    if definition.sort_by.is_empty() || batches.is_empty() {
        return Ok(batches);
    }
    let whole = concat_batches(&definition.arrow_schema(), &batches)?;
    drop(batches);
    let order = sort_order(definition, &whole)?;
    if order.values().is_sorted() {
        return Ok(vec![whole]);
    }
    let columns = whole.columns().iter().map(|column| take(column, &order, None)).collect::<Result<_, _>>()?;
    Ok(vec![RecordBatch::try_new(whole.schema(), columns)?])
}

/// Row ids of `batch` in the table's order.
fn sort_order(definition: &TableDefinition, batch: &RecordBatch) -> Result<UInt32Array> {
    let options = arrow::compute::SortOptions { descending: false, nulls_first: false };
    let position = |id: ColumnId| definition.columns.iter().position(|column| column.id == id);
    let mut columns: Vec<SortColumn> = definition
        .sort_by
        .iter()
        .filter_map(|id| position(*id))
        .map(|index| SortColumn { values: Arc::clone(batch.column(index)), options: Some(options) })
        .collect();
    // Arrow's sort is not stable: the record's number breaks ties.
    columns.push(SortColumn {
        values: Arc::new(UInt32Array::from_iter_values(0..batch.num_rows() as u32)),
        options: Some(options),
    });
    Ok(lexsort_to_indices(&columns, None)?)
}

/// Bytes of a view that may hold its value itself.
const WITHIN_VIEW: u32 = 12;

/// Bytes that a batch's records take: slices by their part, byte strings by their lengths. The buffers that views point into may
/// hold a whole dictionary, which many batches share: of them the values that the batch has are counted.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| slice_bytes(column) + outside_views(column)).sum()
}

/// Bytes of an array's slice; of views, of themselves alone.
fn slice_bytes(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or(0)
}

/// Bytes of the values that do not fit into views.
fn outside_views(array: &ArrayRef) -> usize {
    let views = match array.data_type() {
        DataType::Utf8View => array.as_string_view().views(),
        DataType::BinaryView => array.as_binary_view().views(),
        _ => return 0,
    };
    // The low half of a view's first word is the length of its value.
    let lengths = views.iter().map(|view| *view as u32).filter(|length| *length > WITHIN_VIEW);
    lengths.map(|length| length as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryViewArray, Int32Array, StringViewArray};

    fn of(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap()
    }

    #[test]
    fn views_count_their_values() {
        let long = "x".repeat(1000);
        let texts = || (0..100).map(|row| if row % 2 == 0 { long.as_str() } else { "twelve bytes" });
        let batch = of(Arc::new(StringViewArray::from_iter_values(texts())));
        assert_eq!(batch_bytes(&batch), 100 * 16 + 50 * 1000);
        assert_eq!(batch_bytes(&batch.slice(10, 10)), 10 * 16 + 5 * 1000);
        let bytes = of(Arc::new(BinaryViewArray::from_iter_values(texts().map(str::as_bytes))));
        assert_eq!(batch_bytes(&bytes), batch_bytes(&batch));
        assert_eq!(batch_bytes(&of(Arc::new(Int32Array::from_iter_values(0..100))).slice(5, 10)), 40);
    }

    #[test]
    fn a_shared_buffer_counts_for_the_records_that_use_it() {
        let dictionary = StringViewArray::from_iter_values((0..10_000).map(|id| format!("entry number {id:8}")));
        let few = of(Arc::new(dictionary.slice(7, 2)));
        assert_eq!(batch_bytes(&few), 2 * (16 + 21));
        assert!(few.get_array_memory_size() > 200_000);
    }
}
