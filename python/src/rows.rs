//! Where the rows of a result come from: a statement that runs, or rows that were kept; and readers of them for Arrow.

use crate::result::CoreResult;
use crate::wait::wait_anywhere;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{Field, SchemaRef};
use arrow::error::ArrowError;
use futures::StreamExt;
use gingham::lab::{PanicPoint, pass};
use gingham::storage::panics;
use gingham::{QueryResult, StatementHandle, require_arrow_times};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};
use std::sync::Arc;

/// What gives the batches of a result.
pub(crate) enum Source {
    /// A statement that runs.
    Statement(QueryResult),
    /// Those that were kept.
    Kept(std::vec::IntoIter<RecordBatch>),
}

impl Source {
    /// The next batch; `None` at the end.
    pub(crate) async fn next(&mut self) -> gingham::Result<Option<RecordBatch>> {
        match self {
            Self::Statement(result) => StreamExt::next(result).await.transpose(),
            Self::Kept(batches) => Ok(batches.next()),
        }
    }
}

/// A batch as a schema has its columns: with strings as views, or without.
pub(crate) fn shaped(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == schema {
        return Ok(batch);
    }
    let column = |(values, field): (&ArrayRef, &Arc<Field>)| match values.data_type() == field.data_type() {
        true => Ok(Arc::clone(values)),
        false => cast(values, field.data_type()),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// The batches of a result for readers of Arrow, which wait for each.
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    /// One that was taken from the source before.
    pub(crate) current: Option<RecordBatch>,
    pub(crate) source: Source,
    pub(crate) handle: StatementHandle,
}

impl Batches {
    /// These batches as a stream of Arrow's C interface.
    pub(crate) fn capsule<'py>(
        self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let field = Arc::new(Field::new_struct("", self.schema.fields().clone(), false));
        // Its readers are written in C, through which no panic may go.
        let mut batches = self.fuse();
        let arrays = std::iter::from_fn(move || {
            let next = panics::caught(|| {
                pass(PanicPoint::Show);
                Some(batches.next()?.map(|batch| Arc::new(StructArray::from(batch)) as ArrayRef))
            });
            next.unwrap_or_else(|panic| Some(Err(ArrowError::ExternalError(Box::new(gingham::Error::from(panic))))))
        });
        Ok(to_stream_pycapsule(py, Box::new(ArrayIterator::new(arrays, field)), requested_schema)?)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.current.take() {
            Some(batch) => Ok(Some(batch)),
            None => wait_anywhere(&self.handle, self.source.next()),
        };
        Some(next.transpose()?.and_then(|batch| {
            require_arrow_times(&batch).map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
            shaped(batch, &self.schema)
        }))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The rows of a statement that was run once, to be read as often as they are wanted.
#[pyclass(frozen, module = "gingham._internal", name = "KeptRows")]
pub(crate) struct KeptRows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    affected: Option<u64>,
    command: String,
}

impl KeptRows {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>, affected: Option<u64>, command: String) -> Self {
        Self { schema, batches, affected, command }
    }
}

#[pymethods]
impl KeptRows {
    /// A result with all of them.
    fn result(&self) -> CoreResult {
        let batches = Source::Kept(self.batches.clone().into_iter());
        let schema = Arc::clone(&self.schema);
        CoreResult::of(batches, schema, self.affected, StatementHandle::new(), self.command.clone(), None)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("rows can't be pickled; fetch them first"))
    }
}
