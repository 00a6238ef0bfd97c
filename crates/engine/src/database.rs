//! An open database and its connections.

use crate::published::UrlOptions;
use crate::session::{Engine, Session};
use crate::{Connection, Error, Result};
use gingham_storage::SqlState;
use gingham_storage::io::MemoryBudget;
use gingham_storage::panics::guarded;
use gingham_storage::rescue::{RescueReport, rescue};
use gingham_storage::store::{CheckReport, OpenOptions, Store};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

mod published;
mod sessions;

/// How to open a database.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let options = gingham::DatabaseOptions::new().memory_limit(256 << 20).threads(1);
/// let database = options.open(folder.path().join("shop.gingham"))?;
/// assert_eq!(database.path(), folder.path().join("shop.gingham"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    create: bool,
    read_only: bool,
    memory_limit: Option<usize>,
    threads: Option<usize>,
    url: UrlOptions,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self { create: true, read_only: false, memory_limit: None, threads: None, url: UrlOptions::default() }
    }
}

impl DatabaseOptions {
    /// The options of [`Database::open`].
    ///
    /// ```
    /// let connection = gingham::DatabaseOptions::new().temporary()?.connect();
    /// assert_eq!(connection.execute("SELECT 1")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the database is made when its folder is missing or empty; it is unless this says no.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let options = gingham::DatabaseOptions::new().create(false);
    /// assert!(options.open(folder.path().join("missing.gingham")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Whether it is opened for reading alone: others may write it meanwhile, and this process can't.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// drop(gingham::Database::open(folder.path().join("shop.gingham"))?);
    /// let database = gingham::DatabaseOptions::new().read_only(true).open(folder.path().join("shop.gingham"))?;
    /// assert!(database.connect().execute("CREATE TABLE t (n INT)").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read_only(self, read_only: bool) -> Self {
        Self { read_only, ..self }
    }

    /// Bytes for the cache and queries together; `None`, the default, means three quarters of the machine's memory.
    ///
    /// ```
    /// let database = gingham::DatabaseOptions::new().memory_limit(64 << 20).temporary()?;
    /// assert_eq!(database.connect().execute("SHOW gingham.memory_limit")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn memory_limit(self, bytes: impl Into<Option<usize>>) -> Self {
        Self { memory_limit: bytes.into(), ..self }
    }

    /// Threads of a query; `None`, the default, means all cores.
    ///
    /// ```
    /// let database = gingham::DatabaseOptions::new().threads(1).temporary()?;
    /// assert_eq!(database.connect().execute("SELECT 1")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn threads(self, threads: impl Into<Option<usize>>) -> Self {
        Self { threads: threads.into(), ..self }
    }

    /// Opens the database folder `path`. A folder that this process has open already is not opened again: both share one store,
    /// with the memory limit of the first.
    ///
    /// # Errors
    ///
    /// Another process has it open for writing, it is missing and is not to be made, or its files are damaged.
    ///
    /// ```
    /// use gingham::{Database, DatabaseOptions};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("shop.gingham");
    /// let (one, two) = (DatabaseOptions::new().open(&path)?, Database::open(&path)?);
    /// one.connect().execute("CREATE TABLE t (n INT)")?;
    /// assert_eq!(two.connect().table("t")?.rows(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Database> {
        let budget = budget(self.memory_limit);
        let how = OpenOptions { create: self.create, read_only: self.read_only };
        guarded(|| {
            let store = Store::open(path.as_ref(), &how, Arc::clone(&budget))?;
            Ok(Database { engine: Engine::start(store, budget, self.threads)? })
        })
    }

    /// Makes a database in a temporary folder, gone when the last clone is dropped or the process ends.
    ///
    /// # Errors
    ///
    /// It was to be read-only.
    ///
    /// ```
    /// use gingham::DatabaseOptions;
    ///
    /// assert!(DatabaseOptions::new().temporary().is_ok());
    /// assert!(DatabaseOptions::new().read_only(true).temporary().is_err());
    /// ```
    pub fn temporary(&self) -> Result<Database> {
        if self.read_only {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                "a database in memory can't be read-only: it would stay empty",
            ));
        }
        let budget = budget(self.memory_limit);
        guarded(|| {
            let store = Store::scratch(Arc::clone(&budget))?;
            Ok(Database { engine: Engine::start(store, budget, self.threads)? })
        })
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
        DatabaseOptions::new().open(path)
    }

    /// A database in a temporary folder, gone when the last clone is dropped or the process ends.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.execute("CREATE TABLE t AS SELECT 1 AS n")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn in_memory() -> Result<Self> {
        DatabaseOptions::new().temporary()
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
    /// From then on its files may be moved, and another process may write; those of a temporary database are gone. False when
    /// something has it after `patience`, such as a connection that is still there.
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
        guarded(|| Ok(self.engine.store.check()?))
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
        guarded(|| Ok(self.engine.store.backup(to.as_ref())?))
    }

    /// Makes a database in the folder `to`, which must not be there, of what is sound of a damaged one, which nobody has open and which
    /// stays as it is. Each table is in it with all of its records, or the report names it.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let (damaged, rescued) = (folder.path().join("shop.gingham"), folder.path().join("rescued.gingham"));
    /// gingham::Database::open(&damaged)?.connect().execute("CREATE TABLE t AS SELECT 1 AS n")?;
    /// let data = damaged.join("catalog/data.mdb");
    /// let mut bytes = std::fs::read(&data)?;
    /// bytes[..4096].fill(0);
    /// std::fs::write(&data, bytes)?;
    /// assert!(gingham::Database::open(&damaged).is_err());
    /// let report = gingham::Database::rescue(&damaged, &rescued)?;
    /// assert!(report.is_whole());
    /// assert_eq!(gingham::Database::open(rescued)?.connect().table("t")?.rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rescue(damaged: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<RescueReport> {
        let to = to.as_ref();
        let mut report = guarded(|| Ok::<_, Error>(rescue(damaged.as_ref(), to, &budget(None))?))?;
        if !report.lost.is_empty() {
            drop_views(&Self::open(to)?, &mut report)?;
        }
        Ok(report)
    }
}

/// Drops the views of a rescued database that need tables which are lost.
fn drop_views(database: &Database, report: &mut RescueReport) -> Result<()> {
    let (connection, snapshot) = (database.connect(), database.engine.store.snapshot()?);
    for name in snapshot.views.keys() {
        let quoted = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
        let view = format!("{}.{}", quoted(&name.schema), quoted(&name.table));
        if let Err(error) = connection.query(&format!("SELECT * FROM {view} LIMIT 0"))
            && error.sqlstate() == SqlState::UndefinedTable.sqlstate()
        {
            connection.execute(&format!("DROP VIEW {view}"))?;
            report.changed.push(format!("view '{name}' was dropped: {error}"));
        }
    }
    Ok(())
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
