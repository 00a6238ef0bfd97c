//! Experiments and the advisor's measurements have more than users: settings that fix how pipelines are run, a database's
//! storage, scratch copies, and tables in the place of others. Tests let threads panic.

use crate::session::TableStandIn;
use crate::{Connection, Database, Result};
use gingham_storage::TableName;
pub use gingham_storage::lab::{PanicPoint, disarm, panic_at};
use gingham_storage::store::Store;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Gives the connections that are made from now on the settings of experiments: `gingham.lab_stages`, which fixes how
/// pipelines are cut into stages and what kernels do between them, and `gingham.lab_delta_rows`, past which number of records a
/// statement merges a table's delta into a segment.
///
/// ```
/// let database = gingham::Database::in_memory()?;
/// assert!(database.connect().execute("SET gingham.lab_stages = ''").is_err());
/// gingham::lab::register(&database);
/// database.connect().execute("SET gingham.lab_stages = 'filters=within'; SET gingham.lab_delta_rows = 0")?;
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

/// A scratch database with the tables of another as they are now, in a folder within that one's. Files are linked where the file
/// system can; nothing is synced, and all of it is gone when the last clone is dropped.
///
/// ```
/// let database = gingham::Database::in_memory()?;
/// database.connect().execute("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 1000)")?;
/// let scratch = gingham::lab::scratch_copy(&database)?;
/// scratch.connect().execute("DELETE FROM t WHERE n > 10")?;
/// assert_eq!((database.connect().table("t")?.rows(), scratch.connect().table("t")?.rows()), (1000, 10));
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn scratch_copy(database: &Database) -> Result<Database> {
    database.scratch_copy()
}

/// Lets the statements of a connection find table `stands_in` where they name `hidden`, in views too. The two have the same
/// columns. A connection has one stand-in at most.
///
/// ```
/// use gingham::storage::TableName;
///
/// let connection = gingham::Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE t (n INT); CREATE SCHEMA other; CREATE TABLE other.t AS SELECT 7 AS n")?;
/// let name = |schema: &str| TableName { schema: schema.into(), table: "t".into() };
/// gingham::lab::stand_in(&connection, name("public"), name("other"))?;
/// assert_eq!(connection.table("t")?.rows(), 1);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn stand_in(connection: &Connection, hidden: TableName, stands_in: TableName) -> Result<()> {
    connection.session().let_stand_in(TableStandIn { hidden, stands_in })
}

/// Bytes that queries and caches of a database may hold together.
///
/// ```
/// let database = gingham::Database::in_memory()?;
/// database.connect().execute("SET gingham.memory_limit = '1GB'")?;
/// assert_eq!(gingham::lab::memory_limit(&database), 1 << 30);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn memory_limit(database: &Database) -> usize {
    database.engine().budget.limit()
}

/// Bytes of the memory limit of a database that queries hold.
///
/// ```
/// let database = gingham::Database::in_memory()?;
/// assert_eq!(gingham::lab::memory_reserved(&database), 0);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn memory_reserved(database: &Database) -> usize {
    database.engine().budget.reserved()
}

/// A program over the engine passes a point, as it shows or converts rows: a panic where [`panic_at`] asked for one.
///
/// ```
/// use gingham::lab::{PanicPoint, panic_at, pass};
///
/// panic_at(PanicPoint::Show, 0);
/// let error = gingham::storage::panics::guarded(|| Ok::<_, gingham::Error>(pass(PanicPoint::Show))).unwrap_err();
/// assert_eq!(error.sqlstate(), "XX000");
/// ```
pub fn pass(point: PanicPoint) {
    gingham_storage::panics::pass(point);
}
