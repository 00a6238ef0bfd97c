//! An open database and its connections.

use crate::{Connection, Result};
use gingham_storage::catalog::CheckReport;
use std::path::Path;

/// How to open a database.
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
#[derive(Debug, Clone)]
pub struct Database {
    _private: (),
}

impl Database {
    /// Opens the database folder `path`, making it when it is missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &DatabaseOptions::default())
    }

    /// Opens the database folder `path`.
    pub fn open_with(path: impl AsRef<Path>, options: &DatabaseOptions) -> Result<Self> {
        let _ = (path.as_ref(), options);
        todo!()
    }

    /// A database in a temporary folder, gone when the last clone is dropped.
    pub fn in_memory() -> Result<Self> {
        todo!()
    }

    /// A new connection, with settings and temporary tables of its own.
    pub fn connect(&self) -> Connection {
        todo!()
    }

    /// The database folder.
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// Verifies every checksum and the catalog's structure.
    pub fn check(&self) -> Result<CheckReport> {
        todo!()
    }

    /// Copies a consistent snapshot to `to` (missing or empty), while the database is in use. Returns bytes copied.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<u64> {
        let _ = to.as_ref();
        todo!()
    }
}
