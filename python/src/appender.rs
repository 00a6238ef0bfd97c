//! Rows and frames to a table, all of them at once when the appender is finished.

use crate::error::{guarded, misuse, raised};
use crate::from_numpy;
use crate::from_python::scalar;
use crate::tables;
use gingham::Appender;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Mutex, PoisonError};

/// Gathers rows for one table.
#[pyclass(frozen, module = "gingham._internal", name = "Appender")]
pub(crate) struct CoreAppender {
    /// Taken when it ends.
    appender: Mutex<Option<Appender>>,
}

impl CoreAppender {
    pub(crate) fn new(appender: Appender) -> Self {
        Self { appender: Mutex::new(Some(appender)) }
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Appender) -> gingham::Result<T> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut appender = self.appender.lock().unwrap_or_else(PoisonError::into_inner);
            appender.as_mut().map(work)
        });
        done.ok_or_else(|| misuse(py, "the appender was closed"))?.map_err(|error| raised(py, &error))
    }
}

#[pymethods]
impl CoreAppender {
    /// Appends one row.
    fn append_row(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = guarded(py, || values.try_iter()?.map(|value| scalar(py, &value?)).collect::<PyResult<Vec<_>>>())?;
        self.with(py, |appender| appender.append_row(&values))
    }

    /// Appends the rows of an object with `__arrow_c_stream__`, whose columns are the table's in order. Those of `untyped` have NULLs
    /// alone.
    #[pyo3(signature = (stream, untyped=Vec::new()))]
    fn append_arrow(&self, py: Python<'_>, stream: &Bound<'_, PyAny>, untyped: Vec<String>) -> PyResult<()> {
        let reader = tables::reader_of(py, "the frame", stream)?;
        self.with(py, |appender| {
            reader.into_iter().try_for_each(|batch| appender.append_batch(tables::without_types(&batch?, &untyped)?))
        })
    }

    /// Appends the rows of columns of NumPy arrays; see `from_numpy` for what a column is.
    fn append_columns(&self, py: Python<'_>, columns: &Bound<'_, PyList>, rows: usize) -> PyResult<()> {
        let batch = from_numpy::batch(py, columns, rows)?;
        self.with(py, |appender| appender.append_batch(batch))
    }

    /// Stores all rows, and gives their number.
    fn finish(&self, py: Python<'_>) -> PyResult<u64> {
        let taken = py.detach(|| self.appender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let appender = taken.ok_or_else(|| misuse(py, "the appender was closed"))?;
        py.detach(|| appender.finish()).map_err(|error| raised(py, &error))
    }

    /// Drops all rows.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| drop(self.appender.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("an appender can't be pickled"))
    }
}
