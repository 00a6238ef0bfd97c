//! Whole tables as Arrow batches, for merging and for key checks, and batches sorted as the table wants.

use crate::catalog::TableSnapshot;
use crate::scan::TableScan;
use crate::{ColumnId, Predicate, Result, TableDefinition};
use arrow::array::{Array, RecordBatch, UInt32Array};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take};
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

/// The same records sorted by the table's `sort_by` columns (NULLs last, equal ones in their order), or as they are when
/// it has none.
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

/// Record numbers of `batch` in the table's order.
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

/// Bytes that a batch's records take, counting slices by their part.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}
