//! Records taken away and others in their place, as one change: keys and references are checked over what is left and what is
//! new, so that `SET k = k + 1` is right whatever the order of the records.

use crate::lmdb::heap_record::RecordId;
use crate::snapshot::table_snapshot::referred_columns;
use crate::write::heap::writer::HeapWriter;
use crate::write::keys;
use crate::write::keys::new_rows::NewRows;
use crate::write::table_writer::WrittenRows;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Error, Result, TableDefinition, TableId};
use arrow::array::RecordBatch;
use std::sync::Arc;

/// Records that are deleted together before someone looks whether the change is still wanted.
const TOGETHER: usize = 8192;

/// What a statement changes of a table's records.
#[derive(Debug, Default)]
pub struct RowChange {
    /// Ids of the records that go, as a scan of [`TableSnapshot::with_record_ids`](crate::snapshot::table_snapshot::TableSnapshot) gives them,
    /// ascending, none twice.
    pub ids: Vec<u64>,
    /// What these have in the columns that tables refer to ([`Transaction::referred_columns`]), in any order. Not needed when
    /// none of them is among `columns`.
    pub referred: Vec<RecordBatch>,
    /// The columns that are changed, when each record gets a successor that differs from it in these alone.
    pub columns: Option<Vec<ColumnId>>,
    /// The most threads that segments of which little is left are written anew on; one in any case.
    pub threads: usize,
}

impl RowChange {
    /// Whether a constraint over these columns may be violated by the change.
    pub(crate) fn touches(&self, columns: &[ColumnId]) -> bool {
        self.columns.as_ref().is_none_or(|changed| columns.iter().any(|column| changed.contains(column)))
    }
}

impl Transaction<'_> {
    /// The columns of a table that any table's REFERENCES names, each once.
    pub fn referred_columns(&self, table: TableId) -> Result<Vec<ColumnId>> {
        let definitions =
            self.table_ids().into_iter().map(|id| Ok(self.record(id)?.definition)).collect::<Result<Vec<_>>>()?;
        Ok(referred_columns(&definitions, table))
    }

    /// Deletes records and makes new ones visible after checking PRIMARY KEY, UNIQUE and REFERENCES, of the table and of
    /// those that refer to it, and that the table's columns are those that the records were written for. A violated
    /// constraint is named, with the values. Nobody may have changed the table since the ids were read. While a heap table is
    /// changed, and while segments are written anew, `wanted` is asked now and then.
    pub fn change(
        &mut self,
        table: TableId,
        change: &RowChange,
        mut rows: WrittenRows,
        wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let mut record = self.record(table)?;
        rows.require_columns_of(&record.definition)?;
        let definition = Arc::new(record.definition.clone());
        if record.heap.is_some() {
            // The segments are read into pages, and their files go with `rows`.
            let new = NewRows::open(self.store, rows.table, &definition, &rows)?;
            keys::check(self, &definition, &new, Some(&rows), change)?;
            self.in_pages(table, &change.ids, wanted, |heap, ids| heap.delete_all(ids))?;
            self.take_runs(&record, &rows.runs)?;
            let others = !rows.segments.is_empty() || !rows.delta.is_empty();
            return if others { self.put_into_pages(&definition, &new) } else { Ok(()) };
        }
        self.take_runs(&record, &rows.runs)?;
        if rows.rows > 0 {
            self.check_ranges(table, &definition, &rows, &change.ids)?;
        }
        if let Some(files) = rows.take_files() {
            self.changes.made.absorb(files);
        }
        self.place_files(rows.table, table, &rows.segments)?;
        if definition.has_constraints() || !change.ids.is_empty() {
            let new = NewRows::open(self.store, table, &definition, &rows)?;
            keys::check(self, &definition, &new, Some(&rows), change)?;
        }
        let before = self.current(table)?;
        self.delete_numbers(&mut record, &before, &change.ids, change.threads, wanted)?;
        self.join_columns(&mut record, &before, std::mem::take(&mut rows.columns))?;
        for segment in &rows.segments {
            self.add_segment(&mut record, segment)?;
        }
        if !rows.delta.is_empty() {
            self.add_to_delta(&mut record, std::mem::take(&mut rows.delta))?;
        }
        self.put_record(record)?;
        self.sync_segments(table)
    }

    /// Changes columns of a heap table's records in place, after checking as [`Transaction::change`] does. The batches, whose
    /// rows are those of the records `ids`, have the columns of `read`: those that change, and all of the constraints over them.
    pub fn change_in_place(
        &mut self,
        change: &RowChange,
        ids: &[RecordId],
        read: &Arc<TableDefinition>,
        batches: &[RecordBatch],
        wanted: &dyn Fn() -> bool,
    ) -> Result<()> {
        let definition = Arc::new(self.record(read.id)?.definition);
        keys::check(self, &definition, &NewRows::of_batches(read, batches), None, change)?;
        let columns = change.columns.clone().unwrap_or_default();
        let places = columns.iter().filter_map(|id| read.columns.iter().position(|column| column.id == *id));
        let (places, mut left): (Vec<usize>, _) = (places.collect(), batches.iter());
        let (mut batch, mut row) = (left.next(), 0);
        self.in_pages(read.id, ids, wanted, |heap, mut ids| {
            while let Some(values) = batch.filter(|_| !ids.is_empty()) {
                let rows = ids.len().min(values.num_rows() - row);
                let (own, others) = ids.split_at(rows);
                heap.update_all(own, &columns, &values.project(&places)?.slice(row, rows))?;
                (ids, row) = (others, row + rows);
                if row == values.num_rows() {
                    (batch, row) = (left.next(), 0);
                }
            }
            Ok(())
        })
    }

    /// Does something with the records of a heap table that are changed, some at a time.
    fn in_pages(
        &mut self,
        table: TableId,
        ids: &[RecordId],
        wanted: &dyn Fn() -> bool,
        mut work: impl FnMut(&mut HeapWriter<'_, '_>, &[RecordId]) -> Result<()>,
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.heap(table, |heap| {
            ids.chunks(TOGETHER).try_for_each(|ids| if wanted() { work(heap, ids) } else { Err(Error::Cancelled) })
        })
    }
}
