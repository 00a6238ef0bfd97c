//! Frames of the program as the tables of one statement, which no other statement sees.

use crate::error::{raised, unsupported};
use crate::from_numpy;
use crate::result::CoreResult;
use arrow::array::{ArrayRef, NullArray, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use gingham::StatementTables;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3_arrow::PyRecordBatchReader;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What reads a stream of batches.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send>;

/// Tables by the names that a statement has for them. They are added as frames are registered with a connection.
#[pyclass(frozen, module = "gingham._internal", name = "Tables")]
pub(crate) struct CoreTables {
    tables: Mutex<StatementTables>,
}

impl CoreTables {
    /// Those that were added so far.
    pub(crate) fn get(&self) -> StatementTables {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, StatementTables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl CoreTables {
    #[new]
    fn new() -> Self {
        Self { tables: Mutex::default() }
    }

    /// Adds an object with `__arrow_c_stream__`. What can be read again is kept; `once` says that it can't. The columns of `untyped`
    /// have NULLs alone, and no type.
    #[pyo3(signature = (name, stream, once, untyped=Vec::new()))]
    fn register_arrow(
        &self,
        py: Python<'_>,
        name: &str,
        stream: &Bound<'_, PyAny>,
        once: bool,
        untyped: Vec<String>,
    ) -> PyResult<()> {
        let reader = reader_of(py, name, stream)?;
        let added = if once {
            self.lock().insert_stream(name, reader)
        } else {
            let batches = batches_of(py, reader, &untyped)?;
            self.lock().insert(name, batches)
        };
        added.map_err(|error| raised(py, &error))
    }

    /// Adds columns of NumPy arrays; see `from_numpy` for what a column is.
    fn register_columns(&self, py: Python<'_>, name: &str, columns: &Bound<'_, PyList>, rows: usize) -> PyResult<()> {
        let batch = from_numpy::batch(py, columns, rows)?;
        self.lock().insert(name, vec![batch]).map_err(|error| raised(py, &error))
    }

    /// Adds the rows of a result, those that are left.
    fn register_result(&self, py: Python<'_>, name: &str, rows: &CoreResult) -> PyResult<()> {
        let batches = rows.whole(py)?;
        self.lock().insert(name, batches).map_err(|error| raised(py, &error))
    }
}

/// The batches of an object with `__arrow_c_stream__`, called `name` in errors.
pub(crate) fn reader_of(py: Python<'_>, name: &str, stream: &Bound<'_, PyAny>) -> PyResult<Reader> {
    let told = |error: PyErr| {
        if !error.is_instance_of::<PyValueError>(py) {
            return error;
        }
        let text = error.value(py).to_string();
        let text = match text.contains("as a Schema") {
            true => "it gives a column, and not the columns of a table".to_owned(),
            false => text,
        };
        unsupported(py, &format!("'{name}' can't be read as a table: {text}"))
    };
    let stream: PyRecordBatchReader = stream.extract().map_err(|error: PyErr| told(error))?;
    stream.into_reader()
}

/// All batches of a reader; one without rows where it has none, which tells the columns. Those of `untyped` have no type.
pub(crate) fn batches_of(py: Python<'_>, reader: Reader, untyped: &[String]) -> PyResult<Vec<RecordBatch>> {
    let schema = reader.schema();
    let batches = py.detach(|| reader.collect::<Result<Vec<_>, _>>());
    let mut batches = batches.map_err(|error| raised(py, &error.into()))?;
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    if untyped.is_empty() {
        return Ok(batches);
    }
    let batches = batches.into_iter().map(|batch| without_types(&batch, untyped)).collect::<Result<Vec<_>, _>>();
    batches.map_err(|error| raised(py, &error.into()))
}

/// A batch whose columns of these names have NULLs alone, and no type.
pub(crate) fn without_types(batch: &RecordBatch, untyped: &[String]) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, values)| {
        let (data_type, values): (_, ArrayRef) = match untyped.contains(field.name()) {
            true => (DataType::Null, Arc::new(NullArray::new(values.len()))),
            false => (values.data_type().clone(), Arc::clone(values)),
        };
        (field.as_ref().clone().with_data_type(data_type), values)
    });
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}
