//! Rows of results as readers of Arrow.

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use gingham::{Prepared, QueryResult, ScalarValue, readable, require_arrow_times};

/// The reader of one batch.
pub(crate) fn reader_of(batch: RecordBatch) -> Box<dyn RecordBatchReader + Send> {
    let schema = batch.schema();
    Box::new(arrow::array::RecordBatchIterator::new([Ok(batch)], schema))
}

/// A batch of a result, whose values Arrow has.
fn given(batch: gingham::Result<RecordBatch>) -> Result<RecordBatch, ArrowError> {
    let checked = batch.and_then(|batch| require_arrow_times(&batch).map(|()| batch));
    checked.map_err(|error| ArrowError::ExternalError(Box::new(error)))
}

/// The rows of a statement, which are waited for batch by batch.
pub(crate) struct ResultRows {
    pub(crate) result: QueryResult,
}

impl Iterator for ResultRows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(given(Iterator::next(&mut self.result)?))
    }
}

impl RecordBatchReader for ResultRows {
    fn schema(&self) -> SchemaRef {
        self.result.schema()
    }
}

/// Rows of bound parameters, one list of values after the other.
pub(crate) struct BoundValues {
    reader: Box<dyn RecordBatchReader + Send>,
    current: Option<(RecordBatch, usize)>,
}

impl BoundValues {
    /// The rows of a stream whose columns are the parameters in order.
    pub(crate) fn new(reader: Box<dyn RecordBatchReader + Send>) -> Self {
        Self { reader, current: None }
    }
}

impl Iterator for BoundValues {
    type Item = Result<Vec<ScalarValue>, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((batch, row)) = &mut self.current
                && *row < batch.num_rows()
            {
                let values = batch.columns().iter().map(|column| ScalarValue::try_from_array(column, *row));
                let values = values.collect::<Result<Vec<_>, _>>();
                *row += 1;
                return Some(values.map_err(|error| ArrowError::ExternalError(Box::new(error))));
            }
            match self.reader.next()? {
                Ok(batch) => match readable(&batch) {
                    Ok(batch) => self.current = Some((batch, 0)),
                    Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
                },
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The rows of a query for each list of bound values, one result after the other.
pub(crate) struct RowsOfEach {
    pub(crate) prepared: Prepared,
    pub(crate) values: BoundValues,
    pub(crate) current: QueryResult,
    /// The form that each result is given.
    pub(crate) shape: fn(QueryResult) -> QueryResult,
}

impl Iterator for RowsOfEach {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = Iterator::next(&mut self.current) {
                return Some(given(batch));
            }
            let result = match self.values.next()? {
                Ok(values) => self.prepared.query(&values).map_err(|error| ArrowError::ExternalError(Box::new(error))),
                Err(error) => return Some(Err(error)),
            };
            let next = match result {
                Ok(next) => (self.shape)(next),
                Err(error) => return Some(Err(error)),
            };
            // A value of another type may give another column.
            if next.schema().fields() != self.current.schema().fields() {
                let text = format!(
                    "the values of one row of parameters give columns {} and those of another {}",
                    self.current.schema(),
                    next.schema()
                );
                return Some(Err(ArrowError::SchemaError(text)));
            }
            self.current = next;
        }
    }
}

impl RecordBatchReader for RowsOfEach {
    fn schema(&self) -> SchemaRef {
        self.current.schema()
    }
}
