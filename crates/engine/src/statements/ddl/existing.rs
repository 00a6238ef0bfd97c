//! CHECKs and NOT NULL that ALTER TABLE adds, asked of the records that exist: columns that are read from the table, and the one
//! value that a new column has in all of them.

use crate::Result;
use crate::session::StatementContext;
use crate::statements::ddl::alter::uses_column;
use crate::statements::dml::ingest::{ConvertError, Converter};
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{CheckDefinition, ColumnId, Predicate, TableDefinition};
use std::sync::Arc;

/// Records of a batch that is read to be checked.
const BATCH: usize = 1 << 16;

/// Errors on the first record of `table` for which a CHECK of `after` that the table does not have yet is false, or that is NULL in a
/// column that is NOT NULL from now on.
pub(crate) fn check(context: &StatementContext, table: &Arc<TableSnapshot>, after: &TableDefinition) -> Result<()> {
    let before = &table.definition;
    let is_known = |check: &CheckDefinition| {
        let is_held = !before.not_valid.contains(&check.name) && before.checks.iter().any(|own| own.name == check.name);
        is_held || after.not_valid.contains(&check.name)
    };
    let new: Vec<CheckDefinition> = after.checks.iter().filter(|check| !is_known(check)).cloned().collect();
    let is_tightened = |id: ColumnId| {
        let before = table.definition.column_by_id(id).is_some_and(|column| column.nullable);
        before && after.column_by_id(id).is_some_and(|column| !column.nullable)
    };
    let tightened: Vec<ColumnId> =
        after.columns.iter().map(|column| column.id).filter(|id| is_tightened(*id)).collect();
    if (new.is_empty() && tightened.is_empty()) || table.rows() == 0 {
        return Ok(());
    }
    let mut used = TableDefinition { checks: new, ..after.clone() };
    let mut names = Vec::new();
    for check in &used.checks {
        for column in &used.columns {
            if uses_column(&check.condition, &column.name)? {
                names.push(column.name.clone());
            }
        }
    }
    used.columns.retain(|column| names.contains(&column.name) || tightened.contains(&column.id));
    // Their values are kept, and are not computed anew.
    used.columns.iter_mut().for_each(|column| column.generation = None);
    let read: Vec<ColumnId> =
        used.columns.iter().map(|column| column.id).filter(|id| table.definition.column_by_id(*id).is_some()).collect();
    let given: Vec<String> =
        read.iter().filter_map(|id| used.column_by_id(*id)).map(|column| column.name.clone()).collect();
    let converter = Converter::new(&context.state, &used, Some(&given))?;
    if read.is_empty() {
        // All records have the same values.
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
        return ask(&converter, &one, 0, table);
    }
    let isa = context.settings().effective_isa();
    let scan = Arc::new(TableScan::new(Arc::clone(table), read, Predicate::Constant(true), BATCH, isa)?);
    let mut first = 0;
    for morsel in 0..scan.morsels() {
        for batch in scan.read(morsel)? {
            context.cancel.check()?;
            let batch = batch?;
            ask(&converter, &batch, first, table)?;
            first += batch.num_rows();
        }
    }
    Ok(())
}

/// Asks records from number `first` of the table on.
fn ask(converter: &Converter, batch: &RecordBatch, first: usize, table: &TableSnapshot) -> Result<()> {
    match converter.convert(batch) {
        Ok(_) => Ok(()),
        Err(ConvertError::Row(bad)) => {
            let place = format!("record {} of table '{}'", first + bad.row + 1, table.definition.name);
            Err(bad.into_error(&place))
        }
        Err(ConvertError::Other(error)) => Err(error),
    }
}
