//! Settings that experiments have beyond users: they fix how pipelines are run, for measurements alone.

use crate::Database;
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
