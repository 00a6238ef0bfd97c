//! A connection: statements with parameters, frames of the program as tables, and loading of files.

use crate::appender::CoreAppender;
use crate::error::{misuse, raised};
use crate::from_numpy;
use crate::from_python::values_of;
use crate::notices::NoticeHandler;
use crate::result::CoreResult;
use crate::tables::{self, CoreTables};
use crate::wait::wait;
use gingham::load::{LoadOptions, OptionValue};
use gingham::storage::panics;
use gingham::{Connection, Database, DatabaseOptions, StatementHandle, TransactionStatus, Values};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A connection as the package's classes use it.
#[pyclass(frozen, module = "gingham._internal", name = "Connection")]
pub(crate) struct CoreConnection {
    /// Taken when it is closed.
    connection: Mutex<Option<Opened>>,
    /// The process that opened it: a child has neither its threads nor its locks.
    process: u32,
    notices: NoticeHandler,
}

/// An open database with a connection to it, which is counted.
struct Opened {
    connection: Connection,
    database: Database,
}

/// How many connections there are to each database folder.
static OPENED: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());
/// How long the last connection of a database waits for the threads that still have it.
const PATIENCE: Duration = Duration::from_secs(1);

impl Opened {
    fn new(database: Database) -> Self {
        *opened().entry(database.path().to_path_buf()).or_default() += 1;
        Self { connection: database.connect(), database }
    }

    /// Gives the database up. When nobody else has it, and the threads that do end in time, its files are free for others then.
    fn close(self, patience: Duration) {
        let Self { connection, database } = self;
        drop(connection);
        let mut all = opened();
        let others = all.get_mut(database.path()).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if others > 0 {
            return;
        }
        all.remove(database.path());
        drop(all);
        database.close(patience);
    }
}

fn opened() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a database folder, a published database by its URL, or a temporary database without a path.
#[pyfunction]
#[pyo3(signature = (path, read_only, memory_limit, threads))]
pub(crate) fn open(
    py: Python<'_>,
    path: Option<PathBuf>,
    read_only: bool,
    memory_limit: Option<usize>,
    threads: Option<usize>,
) -> PyResult<CoreConnection> {
    let options = DatabaseOptions::new().read_only(read_only).create(!read_only);
    let options = options.memory_limit(memory_limit).threads(threads);
    let opened = py.detach(|| match &path {
        Some(url) if url.to_str().is_some_and(gingham::is_url) => options.open_url(&url.to_string_lossy()),
        Some(path) => options.open(path),
        None => options.temporary(),
    });
    let database = opened.map_err(|error| raised(py, &error))?;
    let connection = Mutex::new(Some(Opened::new(database)));
    Ok(CoreConnection { connection, process: std::process::id(), notices: NoticeHandler::default() })
}

impl CoreConnection {
    fn get(&self, py: Python<'_>) -> PyResult<Connection> {
        if self.process != std::process::id() {
            let text = "this connection was opened in another process, of which this one is a fork; connect again here";
            return Err(misuse(py, text));
        }
        let opened = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        opened.as_ref().map(|own| own.connection.clone()).ok_or_else(|| misuse(py, "the connection is closed"))
    }

    /// This connection, whose statements find `tables`, too.
    fn with(&self, py: Python<'_>, tables: Option<&CoreTables>) -> PyResult<Connection> {
        let connection = self.get(py)?;
        Ok(tables.map_or_else(|| connection.clone(), |tables| connection.with_tables(tables.get())))
    }
}

#[pymethods]
impl CoreConnection {
    /// The callable that is told notices, with severity, SQLSTATE and text.
    #[getter]
    fn on_notice(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.notices.get(py)
    }

    #[setter]
    fn set_on_notice(&self, handler: Option<Py<PyAny>>) {
        self.notices.set(handler);
    }

    /// Runs one statement with its parameters, and with tables that nobody else sees.
    #[pyo3(signature = (sql, values=None, tables=None))]
    fn run(
        &self,
        py: Python<'_>,
        sql: &str,
        values: Option<&Bound<'_, PyAny>>,
        tables: Option<&CoreTables>,
    ) -> PyResult<CoreResult> {
        let connection = self.with(py, tables)?;
        let running = match values {
            None => py.detach(|| connection.start(sql)),
            Some(given) => {
                let given = values_of(py, given)?;
                py.detach(|| connection.start_with(sql, given))
            }
        };
        let running = running.map_err(|error| raised(py, &error))?;
        let handle = running.handle();
        let result = wait(py, &handle, running.result())?;
        let result = CoreResult::new(result, connection.notices(), self.notices.clone());
        result.begin(py)?;
        Ok(result)
    }

    /// Runs one statement for each of several lists of parameters: all of them, or none. Gives the number of records changed.
    fn run_many(&self, py: Python<'_>, sql: &str, lists: &Bound<'_, PyAny>) -> PyResult<u64> {
        let connection = self.get(py)?;
        let prepared = py.detach(|| connection.prepare(sql)).map_err(|error| raised(py, &error))?;
        let lists = lists.try_iter()?.map(|values| values_of(py, &values?));
        let lists = lists.collect::<PyResult<Vec<_>>>()?.into_iter().map(|values| match values {
            Values::Numbered(values) => Ok(values),
            Values::Named(values) => prepared.by_name(&values),
        });
        let handle = StatementHandle::new();
        join(py, &handle, || prepared.for_each(lists, &handle))
    }

    /// The statements of a script, each with its `;`.
    #[staticmethod]
    fn split(sql: &str) -> Vec<String> {
        Connection::split_statements(sql)
    }

    /// Whether a text is one query, which changes nothing.
    #[staticmethod]
    fn is_query(py: Python<'_>, sql: &str) -> PyResult<bool> {
        Connection::is_query(sql).map_err(|error| raised(py, &error))
    }

    /// Names of the columns that a query gives, with their types.
    #[pyo3(signature = (sql, tables=None))]
    fn describe(&self, py: Python<'_>, sql: &str, tables: Option<&CoreTables>) -> PyResult<Vec<(String, String)>> {
        let connection = self.with(py, tables)?;
        let prepared = py.detach(|| connection.prepare(sql)).map_err(|error| raised(py, &error))?;
        let column = |field: &arrow::datatypes::Field| (field.name().clone(), gingham::type_name(field.data_type()));
        let schema = prepared.schema();
        Ok(schema.iter().flat_map(|schema| schema.fields()).map(|field| column(field)).collect())
    }

    /// Names that a statement uses for tables, as they are written, and that nothing has.
    fn unknown_tables(&self, py: Python<'_>, sql: &str) -> PyResult<Vec<String>> {
        let connection = self.get(py)?;
        py.detach(|| connection.unknown_tables(sql)).map_err(|error| raised(py, &error))
    }

    /// Names that a statement uses for tables and views of the database, as they are written.
    fn known_tables(&self, py: Python<'_>, sql: &str) -> PyResult<Vec<String>> {
        let connection = self.get(py)?;
        py.detach(|| connection.known_tables(sql)).map_err(|error| raised(py, &error))
    }

    /// Lets an object with `__arrow_c_stream__` stand for a table. What can be read again is kept; `once` says that it can't. The
    /// columns of `untyped` have NULLs alone, and no type.
    #[pyo3(signature = (name, stream, once, untyped=Vec::new()))]
    fn register_arrow(
        &self,
        py: Python<'_>,
        name: &str,
        stream: &Bound<'_, PyAny>,
        once: bool,
        untyped: Vec<String>,
    ) -> PyResult<()> {
        let connection = self.get(py)?;
        let reader = tables::reader_of(py, name, stream)?;
        let registered = if once {
            panics::guarded(|| connection.register_stream(name, reader))
        } else {
            let batches = tables::batches_of(py, reader, &untyped)?;
            panics::guarded(|| connection.register(name, batches))
        };
        registered.map_err(|error| raised(py, &error))
    }

    /// Lets columns of NumPy arrays stand for a table; see `from_numpy` for what a column is.
    fn register_columns(&self, py: Python<'_>, name: &str, columns: &Bound<'_, PyList>, rows: usize) -> PyResult<()> {
        let connection = self.get(py)?;
        let batch = from_numpy::batch(py, columns, rows)?;
        connection.register(name, vec![batch]).map_err(|error| raised(py, &error))
    }

    /// Lets the rows of a result, those that are left, stand for a table.
    fn register_result(&self, py: Python<'_>, name: &str, rows: &CoreResult) -> PyResult<()> {
        let connection = self.get(py)?;
        connection.register(name, rows.whole(py)?).map_err(|error| raised(py, &error))
    }

    /// Forgets a frame; false when there is none of the name.
    fn unregister(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.get(py)?.unregister(name).map_err(|error| raised(py, &error))
    }

    /// Starts to append to a table.
    fn appender(&self, py: Python<'_>, table: &str) -> PyResult<CoreAppender> {
        let connection = self.get(py)?;
        let appender = py.detach(|| connection.appender(table)).map_err(|error| raised(py, &error))?;
        Ok(CoreAppender::new(appender))
    }

    /// Loads files into a table, which is made where it is not there. Gives records and what was skipped.
    #[pyo3(signature = (files, table, options))]
    fn load(
        &self,
        py: Python<'_>,
        files: Vec<PathBuf>,
        table: String,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<(u64, Vec<String>)> {
        let connection = self.get(py)?;
        let mut own = LoadOptions { table, ..LoadOptions::default() };
        for (key, value) in options {
            match key.extract::<String>()?.as_str() {
                "layout" => own.layout = value.extract()?,
                "schema" => own.schema = value.extract()?,
                "skip_bad" => own.skip_bad = value.extract()?,
                // None is what is not said.
                _ if value.is_none() => {}
                name => own.read.set(name, &option_value(&value)?).map_err(|error| raised(py, &error))?,
            }
        }
        let handle = StatementHandle::new();
        let report = join(py, &handle, || connection.load(&files, &own, &handle))?;
        Ok((report.rows, report.skipped))
    }

    /// `none`, `open` or `failed`.
    fn transaction(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(match self.get(py)?.transaction_status() {
            TransactionStatus::None => "none",
            TransactionStatus::Open => "open",
            TransactionStatus::RolledBack => "failed",
        })
    }

    /// How far the statement is that was started last: from 0 to 1, and `None` where nothing counts.
    fn progress(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.get(py)?.progress().map(|progress| progress.fraction()))
    }

    /// Cancels whatever the connection runs.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        self.get(py)?.cancel_handle().cancel();
        Ok(())
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes it; twice does no harm.
    fn close(&self, py: Python<'_>) {
        let taken = self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        if self.process == std::process::id() {
            self.notices.set(None);
            py.detach(|| taken.map(|own| own.close(PATIENCE)));
        } else {
            // The child has no threads that the connection could be taken down with.
            std::mem::forget(taken);
        }
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a connection can't be pickled; open the database again where it is needed"))
    }
}

/// Runs `work` on a thread and waits for it without Python's lock; a signal cancels it by its handle, and is raised.
fn join<T: Send>(
    py: Python<'_>,
    handle: &StatementHandle,
    work: impl FnOnce() -> gingham::Result<T> + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| panics::guarded(work));
        let mut pause = Duration::from_micros(20);
        while !thread.is_finished() {
            py.detach(|| std::thread::sleep(pause));
            pause = (pause * 2).min(Duration::from_millis(20));
            if let Err(signal) = py.check_signals() {
                handle.cancel();
                py.detach(|| drop(thread.join()));
                return Err(signal);
            }
        }
        panics::joined(thread.join()).map_err(|error| raised(py, &error))
    })
}

/// An option of a file: a truth, a number, a text, a list of such, or several by name.
fn option_value(value: &Bound<'_, PyAny>) -> PyResult<OptionValue> {
    if let Ok(pairs) = value.cast::<PyDict>() {
        let pair = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((name.extract()?, option_value(&value)?));
        return Ok(OptionValue::Map(pairs.iter().map(pair).collect::<PyResult<_>>()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let values = value.try_iter()?.map(|value| option_value(&value?));
        return Ok(OptionValue::List(values.collect::<PyResult<_>>()?));
    }
    let text = value.str()?.to_string();
    Ok(OptionValue::Text(if value.is_instance_of::<PyBool>() { text.to_lowercase() } else { text }))
}

impl Drop for CoreConnection {
    fn drop(&mut self) {
        let taken = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.process != std::process::id() {
            std::mem::forget(taken);
        } else if let Some(own) = taken {
            // Nobody asked for it, and nobody waits. Files may have to be removed, which is not to be done with Python's lock.
            let mut own = Some(own);
            let mut close = || own.take().map(|own| own.close(Duration::ZERO));
            if Python::try_attach(|py| py.detach(&mut close)).is_none() {
                close();
            }
        }
    }
}
