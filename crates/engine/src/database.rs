//! An open database and its connections.

use crate::session::{Engine, Session};
use crate::{Connection, Error, Result};
use gingham_storage::SqlState;
use gingham_storage::io::MemoryBudget;
use gingham_storage::store::{CheckReport, OpenOptions, Store};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How to open a database.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let options = gingham::DatabaseOptions { memory_limit: Some(256 << 20), threads: Some(1), ..Default::default() };
/// let database = gingham::Database::open_with(folder.path().join("shop.gingham"), &options)?;
/// assert_eq!(database.path(), folder.path().join("shop.gingham"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    /// Make the database when the folder is missing or empty (default true).
    pub create: bool,
    /// Never write (default false).
    pub read_only: bool,
    /// Bytes for cache and queries together; default three quarters of the machine's memory.
    pub memory_limit: Option<usize>,
    /// Threads of a query; default all cores.
    pub threads: Option<usize>,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self { create: true, read_only: false, memory_limit: None, threads: None }
    }
}

/// An open database. Cloning is cheap and gives the same database.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("shop.gingham");
/// let database = gingham::Database::open(&path)?;
/// database.connect().execute("CREATE TABLE fruit (name VARCHAR)")?;
/// assert!(database.check()?.errors.is_empty());
/// database.backup(folder.path().join("copy.gingham"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Database {
    engine: Arc<Engine>,
}

impl Database {
    /// The engine that all sessions share.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Opens the database folder `path`, making it when it is missing.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("shop.gingham");
    /// gingham::Database::open(&path)?.connect().execute("CREATE TABLE fruit (name VARCHAR)")?;
    /// // Opened again, the table is there.
    /// assert_eq!(gingham::Database::open(&path)?.connect().table("fruit")?.rows(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &DatabaseOptions::default())
    }

    /// Opens the database folder `path`. Errors when another process has it open for writing, when it is missing and
    /// `create` is off, and when its files are damaged.
    ///
    /// ```
    /// use gingham::{Database, DatabaseOptions};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let options = DatabaseOptions { create: false, ..Default::default() };
    /// assert!(Database::open_with(folder.path().join("missing.gingham"), &options).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        let budget = budget(options.memory_limit);
        let how = OpenOptions { create: options.create, read_only: options.read_only };
        let store = Store::open(path.as_ref(), &how, Arc::clone(&budget))?;
        Ok(Self { engine: Engine::start(store, budget, options.threads)? })
    }

    /// A database in a temporary folder, gone when the last clone is dropped.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.execute("CREATE TABLE t AS SELECT 1 AS n")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn in_memory() -> Result<Self> {
        Self::in_memory_with(&DatabaseOptions::default())
    }

    /// A database in memory with the memory limit and threads of `options`.
    ///
    /// ```
    /// use gingham::{Database, DatabaseOptions};
    ///
    /// let options = DatabaseOptions { memory_limit: Some(64 << 20), ..Default::default() };
    /// let connection = Database::in_memory_with(&options)?.connect();
    /// assert_eq!(connection.execute("SHOW gingham.memory_limit")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn in_memory_with(options: &DatabaseOptions) -> Result<Self> {
        if options.read_only {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                "a database in memory can't be read-only: it would stay empty",
            ));
        }
        let budget = budget(options.memory_limit);
        let store = Store::scratch(Arc::clone(&budget))?;
        Ok(Self { engine: Engine::start(store, budget, options.threads)? })
    }

    /// A scratch database in this one's folder with its tables as they are now, under its memory limit.
    pub(crate) fn scratch_copy(&self) -> Result<Self> {
        let Engine { store, budget, threads, .. } = self.engine();
        Ok(Self { engine: Engine::start(store.scratch_copy()?, Arc::clone(budget), Some(*threads))? })
    }

    /// A new connection, with settings and temporary tables of its own.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let (one, two) = (database.connect(), database.connect());
    /// one.execute("CREATE TABLE shared (n INT); CREATE TEMP TABLE own (n INT)")?;
    /// assert!(two.table("shared").is_ok() && two.table("own").is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn connect(&self) -> Connection {
        Connection::new(Session::new(Arc::clone(&self.engine)))
    }

    /// Gives the database up, and waits until nothing in this process has it open: the last query's threads may for a moment.
    /// From then on its files may be moved, and another process may write. False when something has it after `patience`, such as
    /// a connection that is still there.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let database = gingham::Database::open(folder.path().join("shop.gingham"))?;
    /// let (other, connection) = (database.clone(), database.connect());
    /// assert!(!other.close(Duration::ZERO));
    /// drop(connection);
    /// assert!(database.close(Duration::from_secs(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self, patience: Duration) -> bool {
        let path = self.path().to_path_buf();
        drop(self);
        Store::wait_until_closed(&path, patience)
    }

    /// The database folder.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// assert!(database.path().is_dir());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn path(&self) -> &Path {
        self.engine.store.path()
    }

    /// Verifies every checksum and the catalog's structure.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// database.connect().execute("CREATE TABLE t AS SELECT value FROM generate_series(1, 1000)")?;
    /// let report = database.check()?;
    /// assert!(report.errors.is_empty());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn check(&self) -> Result<CheckReport> {
        Ok(self.engine.store.check()?)
    }

    /// Copies a consistent snapshot to `to` (missing or empty), while the database is in use. Returns bytes copied.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let database = gingham::Database::in_memory()?;
    /// database.connect().execute("CREATE TABLE t AS SELECT 1 AS n")?;
    /// let copy = folder.path().join("copy.gingham");
    /// assert!(database.backup(&copy)? > 0);
    /// assert_eq!(gingham::Database::open(copy)?.connect().table("t")?.rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<u64> {
        Ok(self.engine.store.backup(to.as_ref())?)
    }
}

fn budget(limit: Option<usize>) -> Arc<MemoryBudget> {
    MemoryBudget::new(limit.unwrap_or_else(|| machine_memory() / 4 * 3))
}

/// Bytes of memory that this process may use: the machine's, or its control group's when that is less.
fn machine_memory() -> usize {
    const UNKNOWN: usize = 4 << 30;
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
    });
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .find_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<usize>().ok());
    match (machine, group) {
        (Some(machine), Some(group)) => machine.min(group),
        (Some(memory), None) | (None, Some(memory)) => memory,
        (None, None) => UNKNOWN,
    }
}
