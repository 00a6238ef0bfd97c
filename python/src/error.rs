//! Errors as the exceptions of DB-API 2.0, by the class of their SQLSTATE.

use gingham::Error;
use gingham::storage::panics::caught;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The exception for a code, as psycopg sorts them.
fn exception(sqlstate: &str) -> &'static str {
    match sqlstate.get(..2).unwrap_or_default() {
        "0A" => "NotSupportedError",
        "22" => "DataError",
        "23" => "IntegrityError",
        "25" | "3B" | "XX" => "InternalError",
        "40" | "53" | "54" | "55" | "57" | "58" => "OperationalError",
        _ => "ProgrammingError",
    }
}

/// The exception for an error of the engine: its text, and `sqlstate`, `line` and `column` as attributes.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let position = error.position().map(|position| (position.line, position.column));
    raise(py, exception(error.sqlstate()), &error.to_string(), Some(error.sqlstate()), position)
}

/// A mistake in the use of the package, which no code of SQL stands for.
pub(crate) fn misuse(py: Python<'_>, text: &str) -> PyErr {
    raise(py, "InterfaceError", text, None, None)
}

/// A value of Python that no column can have.
pub(crate) fn unfit(py: Python<'_>, text: &str) -> PyErr {
    raise(py, "DataError", text, Some("22000"), None)
}

/// A type of Python or Arrow that is not offered.
pub(crate) fn unsupported(py: Python<'_>, text: &str) -> PyErr {
    raise(py, "NotSupportedError", text, Some("0A000"), None)
}

/// Does `work`; a panic in it is raised as the engine's error, where pyo3 would raise what no `except Exception` catches.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    caught(work).unwrap_or_else(|panic| Err(raised(py, &panic.into())))
}

fn raise(py: Python<'_>, class: &str, text: &str, sqlstate: Option<&str>, position: Option<(u32, u32)>) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let exception = py.import("gingham._errors")?.getattr(class)?.call1((text,))?;
        exception.setattr("sqlstate", sqlstate)?;
        exception.setattr("line", position.map(|(line, _)| line))?;
        exception.setattr("column", position.map(|(_, column)| column))?;
        Ok(PyErr::from_value(exception))
    };
    // Where the exceptions can't be had, the text is not lost.
    make().unwrap_or_else(|_| PyRuntimeError::new_err(text.to_owned()))
}
