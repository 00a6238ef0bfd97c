//! Records of files of text into a table: lanes that read the files at the same time.

use crate::Result;
use crate::files::{FileColumn, FileRecords, FileSet, ValueTypes, without};
use crate::load::sink::{RecordPosition, Sink, run_lanes};
use crate::statements::dml::ingest::BadRow;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use gingham_storage::LogicalType;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Loads files into columns. A `provisional` type was found in a sample: a value of another one ends the load, which is begun again
/// with a better one: false when that is so. Where `others` says so, objects may have fields that no column is of.
pub(super) fn load(
    files: &FileSet,
    columns: &Arc<[FileColumn]>,
    (provisional, others): (bool, bool),
    threads: usize,
    sink: &Sink<'_>,
) -> Result<bool> {
    let lanes = files.lanes(threads)?;
    let fits = AtomicBool::new(true);
    let lane = |number: usize| -> Result<()> {
        let mut lane = files.lane(columns, ValueTypes::Near, others, lanes[number].clone());
        while sink.goes_on()?
            && let Some(records) = lane.next()?
        {
            let misfit = |(_, column, _): &(usize, usize, _)| {
                let column = &columns[*column];
                !matches!(column.logical_type(), LogicalType::Varchar(_)) && !column.is_given()
            };
            if provisional && records.misfits.iter().any(misfit) {
                fits.store(false, Ordering::Relaxed);
                sink.stop();
                return Ok(());
            }
            let bytes = records.bytes;
            take(number, columns, records, sink)?;
            sink.advance(bytes);
        }
        Ok(())
    };
    run_lanes(lanes.len(), sink, lane)?;
    Ok(fits.into_inner())
}

/// Adds records, and puts bad ones on the list.
fn take(lane: usize, columns: &[FileColumn], mut records: FileRecords, sink: &Sink<'_>) -> Result<()> {
    let file = records.file;
    for (start, problem) in records.unreadable.drain(..) {
        sink.reject(file, RecordPosition::Offset(start), BadRow { row: 0, column: None, problem });
    }
    let field = |(column, array): (&FileColumn, &ArrayRef)| Field::new(&column.name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().zip(&records.arrays).map(field).collect::<Vec<_>>());
    let rows = records.misfit_rows();
    let mut batch = RecordBatch::try_new(Arc::new(schema), records.arrays)?;
    let mut starts = Cow::Borrowed(&records.starts);
    if !rows.is_empty() {
        records.misfits.dedup_by_key(|(row, ..)| *row);
        for (row, column, problem) in records.misfits {
            let column = Some(columns[column].name.clone());
            sink.reject(file, RecordPosition::Offset(records.starts[row]), BadRow { row, column, problem });
        }
        batch = without(&batch, &rows)?;
        let mut row = 0;
        starts.to_mut().retain(|_| {
            row += 1;
            rows.binary_search(&(row - 1)).is_err()
        });
    }
    sink.append(lane, file, &batch, &|row| RecordPosition::Offset(starts[row]))
}
