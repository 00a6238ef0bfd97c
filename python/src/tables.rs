//! Frames of the program as the tables of one statement, which no other statement sees.

use crate::error::raised;
use crate::from_numpy;
use crate::result::CoreResult;
use arrow::array::{RecordBatch, RecordBatchReader};
use gingham::StatementTables;
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3_arrow::PyRecordBatchReader;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

    /// Adds an object with `__arrow_c_stream__`. What can be read again is kept; `once` says that it can't.
    fn register_arrow(&self, py: Python<'_>, name: &str, stream: PyRecordBatchReader, once: bool) -> PyResult<()> {
        let added = if once {
            let reader = stream.into_reader()?;
            self.lock().insert_stream(name, reader)
        } else {
            let batches = batches_of_stream(py, stream)?;
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

/// All batches of a stream; one without rows where it has none, which tells the columns.
pub(crate) fn batches_of_stream(py: Python<'_>, stream: PyRecordBatchReader) -> PyResult<Vec<RecordBatch>> {
    let reader = stream.into_reader()?;
    let schema = reader.schema();
    let batches = py.detach(|| reader.collect::<Result<Vec<_>, _>>());
    let mut batches = batches.map_err(|error| raised(py, &error.into()))?;
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Ok(batches)
}
