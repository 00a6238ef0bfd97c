//! An open database and its connections.

use crate::session::{Engine, Session};
use crate::{Connection, Error, Result};
use gingham_storage::catalog::{CheckReport, OpenOptions, Store};
use gingham_storage::memory::MemoryBudget;
use std::path::Path;
use std::sync::Arc;

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
    /// Opens the database folder `path`, making it when it is missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &DatabaseOptions::default())
    }

    /// Opens the database folder `path`. Errors when another process has it open for writing, when it is missing and
    /// `create` is off, and when its files are damaged.
    pub fn open_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        let budget = budget(options.memory_limit);
        let how = OpenOptions { create: options.create, read_only: options.read_only };
        let store = Store::open(path.as_ref(), &how, Arc::clone(&budget))?;
        Ok(Self { engine: Engine::start(store, budget, options.threads)? })
    }

    /// A database in a temporary folder, gone when the last clone is dropped.
    pub fn in_memory() -> Result<Self> {
        Self::in_memory_with(&DatabaseOptions::default())
    }

    /// The same with the memory limit and threads of `options`.
    pub fn in_memory_with(options: &DatabaseOptions) -> Result<Self> {
        if options.read_only {
            return Err(Error::InvalidInput("a database in memory can't be read-only: it would stay empty".into()));
        }
        let budget = budget(options.memory_limit);
        let store = Store::scratch(Arc::clone(&budget))?;
        Ok(Self { engine: Engine::start(store, budget, options.threads)? })
    }

    /// A new connection, with settings and temporary tables of its own.
    pub fn connect(&self) -> Connection {
        Connection::new(Session::new(Arc::clone(&self.engine)))
    }

    /// The database folder.
    pub fn path(&self) -> &Path {
        self.engine.store.path()
    }

    /// Verifies every checksum and the catalog's structure.
    pub fn check(&self) -> Result<CheckReport> {
        Ok(self.engine.store.check()?)
    }

    /// Copies a consistent snapshot to `to` (missing or empty), while the database is in use. Returns bytes copied.
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
