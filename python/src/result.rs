//! The rows of a statement: as tuples, as an Arrow stream, as NumPy arrays, or as text.

use crate::error::{misuse, raised};
use crate::to_numpy;
use crate::to_python::tuples;
use crate::wait::wait;
use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchReader, StructArray};
use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::error::ArrowError;
use futures::StreamExt;
use gingham::lab::{PanicPoint, pass};
use gingham::storage::{LogicalType, panics};
use gingham::{QueryResult, StatementHandle};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};
use std::sync::{Arc, Mutex, PoisonError};

/// An Arrow type as SQL writes it, where SQL can.
pub(crate) fn type_name(data_type: &DataType) -> String {
    LogicalType::from_arrow("", data_type).map_or_else(|_| data_type.to_string(), |known| known.to_string())
}

/// Name, type as SQL writes it, precision, scale, and whether NULL may be.
type ColumnDescription = (String, String, Option<u8>, Option<i8>, bool);

/// The result of a statement.
#[pyclass(frozen, module = "gingham._internal", name = "Result")]
pub(crate) struct CoreResult {
    rows: Mutex<Rows>,
    schema: SchemaRef,
    affected: Option<u64>,
    handle: StatementHandle,
}

/// What is still to be fetched.
struct Rows {
    /// Taken by whoever takes all of it.
    result: Option<QueryResult>,
    /// The batch that rows are fetched from, and how many of it were.
    current: Option<(RecordBatch, usize)>,
    command: String,
}

impl CoreResult {
    pub(crate) fn new(result: QueryResult) -> Self {
        let (schema, affected, handle) = (result.schema(), result.rows_affected(), result.handle());
        let command = result.tag().to_string();
        let rows = Mutex::new(Rows { result: Some(result), current: None, command });
        Self { rows, schema, affected, handle }
    }

    fn rows(&self) -> std::sync::MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All batches that are left.
    fn batches(&self, py: Python<'_>) -> PyResult<Vec<RecordBatch>> {
        let (mut result, current) = self.take(py)?;
        let mut batches: Vec<RecordBatch> = current.into_iter().collect();
        while let Some(batch) = wait(py, &self.handle, next(&mut result))? {
            batches.push(batch);
        }
        Ok(batches)
    }

    /// The rest of the rows, for one who takes all of them.
    fn take(&self, py: Python<'_>) -> PyResult<(QueryResult, Option<RecordBatch>)> {
        let mut rows = self.rows();
        let current = rows.current.take().map(|(batch, from)| batch.slice(from, batch.num_rows() - from));
        let result = rows.result.take().ok_or_else(|| misuse(py, "the rows of this result were taken already"))?;
        Ok((result, current))
    }
}

async fn next(result: &mut QueryResult) -> gingham::Result<Option<RecordBatch>> {
    StreamExt::next(result).await.transpose()
}

#[pymethods]
impl CoreResult {
    /// The columns of its rows.
    #[getter]
    fn columns(&self) -> Vec<ColumnDescription> {
        let column = |field: &Arc<Field>| {
            let (precision, scale) = match field.data_type() {
                DataType::Decimal128(precision, scale) => (Some(*precision), Some(*scale)),
                _ => (None, None),
            };
            (field.name().clone(), type_name(field.data_type()), precision, scale, field.is_nullable())
        };
        self.schema.fields().iter().map(column).collect()
    }

    /// Records that the statement changed.
    #[getter]
    fn affected(&self) -> Option<u64> {
        self.affected
    }

    /// The command tag: `INSERT 0 3`.
    #[getter]
    fn tag(&self) -> String {
        let rows = self.rows();
        rows.result.as_ref().map_or_else(|| rows.command.clone(), |result| result.tag().to_string())
    }

    /// The next rows as tuples: at most `most` of them, or all.
    #[pyo3(signature = (most=None))]
    fn fetch<'py>(&self, py: Python<'py>, most: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let fetched = PyList::empty(py);
        let mut left = most.unwrap_or(usize::MAX);
        while left > 0 {
            let Some(batch) = self.portion(py, left)? else { break };
            left -= batch.num_rows();
            for row in tuples(py, &batch)? {
                fetched.append(row)?;
            }
        }
        Ok(fetched)
    }

    /// The next rows as text, at most `most`; `None` for NULL.
    fn texts(&self, py: Python<'_>, most: usize) -> PyResult<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        while rows.len() < most {
            let Some(batch) = self.portion(py, most - rows.len())? else { break };
            let columns = panics::guarded(|| batch.columns().iter().map(texts).collect::<gingham::Result<Vec<_>>>());
            let columns = columns.map_err(|error| raised(py, &error))?;
            rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
        }
        Ok(rows)
    }

    /// All columns as NumPy arrays; see `to_numpy` for what a column is.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let batches = self.batches(py)?;
        let columns = PyList::empty(py);
        for (position, field) in self.schema.fields().iter().enumerate() {
            let chunks: Vec<ArrayRef> = batches.iter().map(|batch| Arc::clone(batch.column(position))).collect();
            columns.append(to_numpy::column(py, field, &chunks)?)?;
        }
        Ok(columns)
    }

    /// The rows as a stream of Arrow batches, with strings as views or plain.
    #[pyo3(signature = (views, requested_schema=None))]
    fn stream<'py>(
        &self,
        py: Python<'py>,
        views: bool,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (result, current) = self.take(py)?;
        let result = if views { result } else { result.with_plain_strings() };
        let reader = Batches { schema: result.schema(), current, result };
        let field = Arc::new(Field::new_struct("", reader.schema().fields().clone(), false));
        // Its readers are written in C, through which no panic may go.
        let mut batches = reader.fuse();
        let arrays = std::iter::from_fn(move || {
            let next = panics::caught(|| {
                pass(PanicPoint::Show);
                Some(batches.next()?.map(|batch| Arc::new(StructArray::from(batch)) as ArrayRef))
            });
            next.unwrap_or_else(|panic| Some(Err(ArrowError::ExternalError(Box::new(gingham::Error::from(panic))))))
        });
        Ok(to_stream_pycapsule(py, Box::new(ArrayIterator::new(arrays, field)), requested_schema)?)
    }

    /// Gives up the rows that are left, and stops the statement.
    fn close(&self, py: Python<'_>) {
        let taken = {
            let mut rows = self.rows();
            rows.current = None;
            rows.result.take()
        };
        py.detach(|| drop(taken));
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a result can't be pickled; fetch its rows first"))
    }
}

impl CoreResult {
    /// Waits for the first rows, so that most errors come from the statement and not from the first fetch.
    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let mut rows = self.rows();
        if let Some(result) = rows.result.as_mut()
            && !self.schema.fields().is_empty()
        {
            rows.current = wait(py, &self.handle, next(result))?.map(|batch| (batch, 0));
        }
        Ok(())
    }

    /// The next rows, of one batch, at most `most`; `None` at the end.
    fn portion(&self, py: Python<'_>, most: usize) -> PyResult<Option<RecordBatch>> {
        loop {
            let mut result = {
                let mut rows = self.rows();
                if let Some((batch, from)) = rows.current.take() {
                    let count = most.min(batch.num_rows() - from);
                    if count > 0 {
                        let portion = batch.slice(from, count);
                        rows.current = (from + count < batch.num_rows()).then_some((batch, from + count));
                        return Ok(Some(portion));
                    }
                }
                // Taken while it is waited for: another thread that fetches at the same time is told so.
                rows.result.take().ok_or_else(|| misuse(py, "the rows of this result were taken already"))?
            };
            let batch = wait(py, &self.handle, next(&mut result));
            let mut rows = self.rows();
            rows.result = Some(result);
            match batch? {
                Some(batch) => rows.current = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

fn texts(values: &ArrayRef) -> gingham::Result<Vec<Option<String>>> {
    match gingham::as_text(values) {
        Ok(texts) => Ok(texts.as_string_view().iter().map(|text| text.map(str::to_owned)).collect()),
        // Lists and records have no text in SQL.
        Err(_) => {
            let formatter = arrow::util::display::ArrayFormatter::try_new(values, &Default::default())?;
            Ok((0..values.len()).map(|row| values.is_valid(row).then(|| formatter.value(row).to_string())).collect())
        }
    }
}

/// The batches of a result for readers of Arrow, which wait for each.
struct Batches {
    schema: SchemaRef,
    current: Option<RecordBatch>,
    result: QueryResult,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.current.take() {
            Some(batch) => batch,
            None => match Iterator::next(&mut self.result)? {
                Ok(batch) => return Some(Ok(batch)),
                Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
            },
        };
        let cast = |(values, field): (&ArrayRef, &Arc<Field>)| arrow::compute::cast(values, field.data_type());
        let columns = batch.columns().iter().zip(self.schema.fields()).map(cast).collect::<Result<Vec<_>, _>>();
        Some(columns.and_then(|columns| RecordBatch::try_new(Arc::clone(&self.schema), columns)))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
