//! Experiments have more than users: settings that fix how pipelines are run, and a database's storage.

use crate::Database;
use gingham_storage::store::Store;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Gives the connections that are made from now on the settings of experiments: `gingham.lab_stages`, which fixes how
/// pipelines are cut into stages and what kernels do between them.
///
/// ```
/// let database = gingham::Database::in_memory()?;
/// assert!(database.connect().execute("SET gingham.lab_stages = ''").is_err());
/// gingham::lab::register(&database);
/// database.connect().execute("SET gingham.lab_stages = 'filters=within'")?;
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn register(database: &Database) {
    database.engine().has_lab.store(true, Ordering::Relaxed);
}

/// The storage of a database, whose pages experiments read without SQL.
///
/// ```
/// let database = gingham::Database::in_memory()?;
/// database.connect().execute("CREATE TABLE t (n INT)")?;
/// assert_eq!(gingham::lab::store(&database).snapshot()?.tables.len(), 1);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn store(database: &Database) -> &Arc<Store> {
    &database.engine().store
}
