//! Changes: new records gathered outside the writer's lock, and the transaction that makes changes visible.

use crate::catalog::{Snapshot, ViewDefinition};
use crate::segment::WrittenSegment;
use crate::{ColumnId, Result, TableDefinition, TableId, TableName};
use arrow::array::RecordBatch;
use std::marker::PhantomData;

/// Gathers new records of one table into segment files, in lanes.
#[derive(Debug)]
pub struct TableWriter {
    _private: (),
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
}

impl TableWriter {
    /// Adds a batch in the table's Arrow schema to lane `lane`; encodes and writes a segment when the lane is full. The
    /// lanes' records are stored in the order of their numbers. Callable from several threads, one per lane.
    pub fn append(&self, lane: usize, batch: RecordBatch) -> Result<()> {
        let _ = (lane, batch);
        todo!()
    }

    /// Ends all lanes. Files of a writer that is dropped before its records are committed are removed.
    pub fn finish(self) -> Result<WrittenRows> {
        todo!()
    }
}

/// A write transaction: changes to definitions and data, all or nothing.
#[derive(Debug)]
pub struct Transaction<'store> {
    _private: PhantomData<&'store ()>,
}

impl Transaction<'_> {
    /// The latest committed state, on which this transaction builds (its own changes left out).
    pub fn base(&self) -> &Snapshot {
        todo!()
    }

    /// Creates a schema. Errors when it exists.
    pub fn create_schema(&mut self, name: &str) -> Result<()> {
        let _ = name;
        todo!()
    }

    /// Drops an empty schema, or with `cascade` all that is in it.
    pub fn drop_schema(&mut self, name: &str, cascade: bool) -> Result<()> {
        let _ = (name, cascade);
        todo!()
    }

    /// Creates a table; gives it its number. Errors when a table or view of that name exists.
    pub fn create_table(&mut self, definition: TableDefinition) -> Result<TableId> {
        let _ = definition;
        todo!()
    }

    /// Drops a table. Errors when another table refers to it.
    pub fn drop_table(&mut self, name: &TableName) -> Result<()> {
        let _ = name;
        todo!()
    }

    /// Replaces the definition of a table: renamed, added or dropped columns. Data stays.
    pub fn alter_table(&mut self, definition: TableDefinition) -> Result<()> {
        let _ = definition;
        todo!()
    }

    /// Creates or replaces a view.
    pub fn create_view(&mut self, view: ViewDefinition, replace: bool) -> Result<()> {
        let _ = (view, replace);
        todo!()
    }

    /// Drops a view.
    pub fn drop_view(&mut self, name: &TableName) -> Result<()> {
        let _ = name;
        todo!()
    }

    /// Removes all records of a table.
    pub fn truncate(&mut self, table: TableId) -> Result<u64> {
        let _ = table;
        todo!()
    }

    /// Makes new records visible after checking PRIMARY KEY, UNIQUE and REFERENCES of the table, and that the table's
    /// columns are those that the records were written for. A violated key names the constraint and the values.
    pub fn append(&mut self, table: TableId, rows: WrittenRows) -> Result<()> {
        let _ = (table, rows);
        todo!()
    }

    /// A column definition with the next free number for `definition`.
    pub fn next_column(definition: &mut TableDefinition) -> ColumnId {
        let id = definition.next_column;
        definition.next_column += 1;
        id
    }
}
