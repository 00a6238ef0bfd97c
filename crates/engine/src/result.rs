//! The result of a statement: a schema and a stream of batches.

use crate::Result;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

/// The result of a statement: an iterator of Arrow batches (each `next` waits for one) and a [`futures::Stream`].
/// Dropping it cancels the statement.
#[derive(Debug)]
pub struct QueryResult {
    _private: (),
}

impl QueryResult {
    /// Schema of the batches; without columns for a statement that returns no rows.
    pub fn schema(&self) -> SchemaRef {
        todo!()
    }

    /// Records inserted, loaded or removed, for a statement that changes data.
    pub fn rows_affected(&self) -> Option<u64> {
        todo!()
    }

    /// All batches.
    pub fn collect_batches(self) -> Result<Vec<RecordBatch>> {
        self.collect()
    }
}

impl Iterator for QueryResult {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
