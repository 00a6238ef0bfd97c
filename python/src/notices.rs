//! What statements say besides their results: to the program's handler, or as Python's warnings.

use gingham::{Notice, Notices, Severity};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// The callable that a program has given its connection for notices. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct NoticeHandler(Arc<Mutex<Option<Py<PyAny>>>>);

impl NoticeHandler {
    /// The callable.
    pub(crate) fn get(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|own| own.clone_ref(py))
    }

    /// Has another callable from now on, or none.
    pub(crate) fn set(&self, handler: Option<Py<PyAny>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = handler;
    }

    /// Tells the notices that nobody was told yet: the handler all of them, or, without one, Python's filters the warnings.
    pub(crate) fn tell(&self, py: Python<'_>, notices: &Notices) -> PyResult<()> {
        for Notice { severity, sqlstate, text } in notices.take() {
            match self.get(py) {
                Some(handler) => {
                    handler.call1(py, (severity.to_string(), sqlstate.sqlstate(), text))?;
                }
                None if severity == Severity::Warning => {
                    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?, 2)?;
                }
                None => {}
            }
        }
        Ok(())
    }
}
