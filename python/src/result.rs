//! The rows of a statement: as tuples, as an Arrow stream, as NumPy arrays, or as text.

use crate::error::{misuse, raised, unsupported};
use crate::notices::NoticeHandler;
use crate::rows::{Batches, KeptRows, Source, shaped};
use crate::to_numpy;
use crate::to_python::tuples;
use crate::wait::wait;
use arrow::array::{
    ArrayRef, AsArray, DurationMicrosecondArray, DurationNanosecondArray, RecordBatch, RecordBatchOptions,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use gingham::storage::panics;
use gingham::{Notices, QueryResult, StatementHandle, plain_strings, require_arrow_times, type_name};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use pyo3_arrow::{PyRecordBatch, PySchema};
use std::sync::{Arc, Mutex, PoisonError};

/// Name, type as SQL writes it, precision, scale, and whether NULL may be.
type ColumnDescription = (String, String, Option<u8>, Option<i8>, bool);

/// The result of a statement.
#[pyclass(frozen, module = "gingham._internal", name = "Result")]
pub(crate) struct CoreResult {
    rows: Mutex<Rows>,
    schema: SchemaRef,
    affected: Option<u64>,
    handle: StatementHandle,
    /// What statements of the connection have to say; of a statement that is run.
    notices: Option<(Notices, NoticeHandler)>,
}

/// What is still to be fetched.
struct Rows {
    /// Taken by whoever takes all of it.
    source: Option<Source>,
    /// The batch that rows are fetched from, and how many of it were.
    current: Option<(RecordBatch, usize)>,
    command: String,
}

impl CoreResult {
    pub(crate) fn new(result: QueryResult, notices: Notices, handler: NoticeHandler) -> Self {
        let (schema, affected, handle) = (result.schema(), result.rows_affected(), result.handle());
        let command = result.tag().to_string();
        Self::of(Source::Statement(result), schema, affected, handle, command, Some((notices, handler)))
    }

    pub(crate) fn of(
        source: Source,
        schema: SchemaRef,
        affected: Option<u64>,
        handle: StatementHandle,
        command: String,
        notices: Option<(Notices, NoticeHandler)>,
    ) -> Self {
        let rows = Mutex::new(Rows { source: Some(source), current: None, command });
        Self { rows, schema, affected, handle, notices }
    }

    fn rows(&self) -> std::sync::MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All batches that are left, with columns as `schema` has them.
    fn batches(&self, py: Python<'_>, schema: &SchemaRef) -> PyResult<Vec<RecordBatch>> {
        let (mut source, current) = self.take(py)?;
        let shaped = |batch| py.detach(|| shaped(batch, schema)).map_err(|error| raised(py, &error.into()));
        let mut batches = current.into_iter().map(shaped).collect::<PyResult<Vec<_>>>()?;
        while let Some(batch) = wait(py, &self.handle, source.next())? {
            batches.push(shaped(batch)?);
        }
        self.warn(py)?;
        Ok(batches)
    }

    /// All batches that are left; one without rows where there are none, which tells the columns.
    pub(crate) fn whole(&self, py: Python<'_>) -> PyResult<Vec<RecordBatch>> {
        let mut batches = self.batches(py, &self.schema)?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        Ok(batches)
    }

    /// The rest of the rows, for one who takes all of them.
    fn take(&self, py: Python<'_>) -> PyResult<(Source, Option<RecordBatch>)> {
        let mut rows = self.rows();
        let current = rows.current.take().map(|(batch, from)| batch.slice(from, batch.num_rows() - from));
        let source = rows.source.take().ok_or_else(|| misuse(py, "the rows of this result were taken already"))?;
        Ok((source, current))
    }

    /// The schema with strings as views, or without.
    fn schema(&self, views: bool) -> SchemaRef {
        if views { Arc::clone(&self.schema) } else { plain_strings(&self.schema) }
    }
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
        match &rows.source {
            Some(Source::Statement(result)) => result.tag().to_string(),
            _ => rows.command.clone(),
        }
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
        let batches = self.batches(py, &self.schema)?;
        let columns = PyList::empty(py);
        for (position, field) in self.schema.fields().iter().enumerate() {
            let chunks: Vec<ArrayRef> = batches.iter().map(|batch| Arc::clone(batch.column(position))).collect();
            columns.append(to_numpy::column(py, field, &chunks)?)?;
        }
        Ok(columns)
    }

    /// The rows as a stream of Arrow batches, with strings as views or plain, which are waited for one by one.
    #[pyo3(signature = (views, requested_schema=None))]
    fn stream<'py>(
        &self,
        py: Python<'py>,
        views: bool,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (source, current) = self.take(py)?;
        let batches = Batches { schema: self.schema(views), current, source, handle: self.handle.clone() };
        batches.capsule(py, requested_schema)
    }

    /// As `stream`, once all rows are there: reading it waits for nothing. With `durations`, intervals are durations.
    #[pyo3(signature = (views, durations=false))]
    fn collected<'py>(&self, py: Python<'py>, views: bool, durations: bool) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.schema(views);
        let mut batches = self.batches(py, &schema)?;
        for batch in &batches {
            require_arrow_times(batch).map_err(|error| raised(py, &error))?;
        }
        let schema = if durations { with_durations(py, &schema, &mut batches)? } else { schema };
        let source = Source::Kept(batches.into_iter());
        Batches { schema, current: None, source, handle: self.handle.clone() }.capsule(py, None)
    }

    /// The schema of the batches that `batch` gives, as one of pyarrow.
    fn arrow_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PySchema::new(self.schema(false)).into_pyarrow(py)
    }

    /// The next batch, with plain strings, as one of pyarrow; `None` at the end.
    fn batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(batch) = self.portion(py, usize::MAX)? else { return Ok(None) };
        require_arrow_times(&batch).map_err(|error| raised(py, &error))?;
        let batch = shaped(batch, &self.schema(false)).map_err(|error| raised(py, &error.into()))?;
        PyRecordBatch::new(batch).into_pyarrow(py).map(Some)
    }

    /// All rows that are left, to be read as often as they are wanted.
    fn keep(&self, py: Python<'_>) -> PyResult<KeptRows> {
        let batches = self.batches(py, &self.schema)?;
        Ok(KeptRows::new(Arc::clone(&self.schema), batches, self.affected, self.tag()))
    }

    /// Gives up the rows that are left, and stops the statement.
    fn close(&self, py: Python<'_>) {
        let taken = {
            let mut rows = self.rows();
            rows.current = None;
            rows.source.take()
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
        if let Some(source) = rows.source.as_mut()
            && !self.schema.fields().is_empty()
        {
            rows.current = wait(py, &self.handle, source.next())?.map(|batch| (batch, 0));
        }
        drop(rows);
        if self.schema.fields().is_empty() { self.warn(py) } else { Ok(()) }
    }

    /// The next rows, of one batch, at most `most`; `None` at the end.
    fn portion(&self, py: Python<'_>, most: usize) -> PyResult<Option<RecordBatch>> {
        loop {
            let mut source = {
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
                rows.source.take().ok_or_else(|| misuse(py, "the rows of this result were taken already"))?
            };
            let batch = wait(py, &self.handle, source.next());
            let mut rows = self.rows();
            rows.source = Some(source);
            match batch? {
                Some(batch) => rows.current = Some((batch, 0)),
                None => {
                    drop(rows);
                    self.warn(py)?;
                    return Ok(None);
                }
            }
        }
    }

    /// Tells what the statement had to say besides its rows.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        match &self.notices {
            Some((notices, handler)) => handler.tell(py, notices),
            None => Ok(()),
        }
    }
}

/// Intervals of batches as durations, which have no months. Gives the schema that they have then.
fn with_durations(py: Python<'_>, schema: &SchemaRef, batches: &mut [RecordBatch]) -> PyResult<SchemaRef> {
    let mut columns: Vec<Vec<ArrayRef>> = batches.iter().map(|batch| batch.columns().to_vec()).collect();
    let mut fields: Vec<Arc<Field>> = schema.fields().to_vec();
    for (position, field) in fields.iter_mut().enumerate() {
        if !matches!(field.data_type(), DataType::Interval(_)) {
            continue;
        }
        let chunks: Vec<ArrayRef> = columns.iter().map(|own| Arc::clone(&own[position])).collect();
        let (counts, unit) = to_numpy::durations(py, field, &chunks)?;
        *field = Arc::new(field.as_ref().clone().with_data_type(DataType::Duration(unit)));
        for (own, counts) in columns.iter_mut().zip(counts) {
            own[position] = match unit {
                TimeUnit::Nanosecond => Arc::new(DurationNanosecondArray::from(counts)),
                _ => Arc::new(DurationMicrosecondArray::from(counts)),
            };
        }
    }
    if let Some(nested) = fields.iter().find(|field| has_intervals(field.data_type())) {
        let text = format!("column '{}' has intervals within {}", nested.name(), type_name(nested.data_type()));
        return Err(unsupported(py, &format!("{text}, which polars has no type for; CAST them to VARCHAR")));
    }
    let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    for (batch, columns) in batches.iter_mut().zip(columns) {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let made = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options);
        *batch = made.map_err(|error| raised(py, &error.into()))?;
    }
    Ok(schema)
}

fn has_intervals(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(_) => true,
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _) => has_intervals(inner.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_intervals(field.data_type())),
        _ => false,
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
