//! A connection: statements in, batches out.

use crate::load::{LoadOptions, LoadReport, Progress};
use crate::{QueryResult, Result};
use arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use gingham_storage::catalog::TableSnapshot;
use std::path::PathBuf;
use std::sync::Arc;

/// A connection to a database. `Send`, and cheap to clone; clones share settings, prepared statements and temporary
/// tables, and may run statements at the same time.
#[derive(Debug, Clone)]
pub struct Connection {
    _private: (),
}

impl Connection {
    /// Runs one statement and gives its result as a stream of batches. Errors while planning come back here, errors
    /// while running from the stream.
    pub fn query(&self, sql: &str) -> Result<QueryResult> {
        let _ = sql;
        todo!()
    }

    /// Runs one or more statements to their end, stopping at the first that fails. Returns the records that the last one
    /// inserted, or returned.
    pub fn execute(&self, sql: &str) -> Result<u64> {
        let _ = sql;
        todo!()
    }

    /// Cuts a script into statements (comments, quotes and `;` in them respected); the last may be unfinished.
    pub fn split_statements(sql: &str) -> Vec<String> {
        let _ = sql;
        todo!()
    }

    /// Parses and plans a statement with parameters `$1`, `$2`, … for repeated use.
    pub fn prepare(&self, sql: &str) -> Result<Prepared> {
        let _ = sql;
        todo!()
    }

    /// Appends rows or batches to `table`, all of them at once when it is finished.
    pub fn appender(&self, table: &str) -> Result<Appender> {
        let _ = table;
        todo!()
    }

    /// Loads files into a table, creating it when it does not exist.
    pub fn load(&self, files: &[PathBuf], options: &LoadOptions, progress: &dyn Progress) -> Result<LoadReport> {
        let _ = (files, options, progress);
        todo!()
    }

    /// A handle that cancels whatever this connection runs, from any thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        todo!()
    }

    /// The latest state of a table: its definition, segments and statistics (for `gingham layout`).
    pub fn table(&self, name: &str) -> Result<Arc<TableSnapshot>> {
        let _ = name;
        todo!()
    }
}

/// A statement with parameters.
#[derive(Debug)]
pub struct Prepared {
    _private: (),
}

impl Prepared {
    /// Runs the statement with `parameters` for `$1`, `$2`, ….
    pub fn query(&self, parameters: &[ScalarValue]) -> Result<QueryResult> {
        let _ = parameters;
        todo!()
    }
}

/// Gathers rows for one table; nothing is visible before [`Appender::finish`].
#[derive(Debug)]
pub struct Appender {
    _private: (),
}

impl Appender {
    /// Adds a row: one value per column of the table, cast to the column's type.
    pub fn append_row(&mut self, values: &[ScalarValue]) -> Result<()> {
        let _ = values;
        todo!()
    }

    /// Adds a batch with the table's columns, in order.
    pub fn append_batch(&mut self, batch: RecordBatch) -> Result<()> {
        let _ = batch;
        todo!()
    }

    /// Makes all rows visible, or none. Returns their number.
    pub fn finish(self) -> Result<u64> {
        todo!()
    }
}

/// Cancels the statements of one connection.
#[derive(Debug, Clone)]
pub struct CancelHandle {
    _private: (),
}

impl CancelHandle {
    /// Cancels whatever the connection runs now; no effect when it runs nothing.
    pub fn cancel(&self) {
        todo!()
    }
}
