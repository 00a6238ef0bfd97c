//! A statement between its start and its result.

use crate::session::{Started, StatementHandle, wait};
use crate::{QueryResult, Result};

/// A statement that was started. Dropping it cancels it.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let running = connection.start("SELECT 42 AS n")?;
/// assert_eq!(running.wait()?.schema().field(0).name(), "n");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug)]
pub struct RunningStatement {
    started: Started,
}

impl RunningStatement {
    pub(super) fn new(started: Started) -> Self {
        Self { started }
    }

    /// Cancels it, and tells how far it is, from any thread.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let running = connection.start("CREATE TABLE t AS SELECT value FROM generate_series(1, 100000000000)")?;
    /// running.handle().cancel();
    /// assert!(matches!(running.wait(), Err(gingham::Error::Cancelled)));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn handle(&self) -> StatementHandle {
        StatementHandle::of(self.started.token().clone())
    }

    /// Waits until the statement is planned, and done where it gives no rows.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert!(connection.start("SELECT nosuch")?.wait().is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn wait(self) -> Result<QueryResult> {
        wait(self.result())
    }

    /// As [`RunningStatement::wait`] for asynchronous code of any runtime.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let running = connection.start("SELECT 1 AS n")?;
    /// let rows = futures::executor::block_on(running.result())?;
    /// assert_eq!(rows.schema().fields().len(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn result(self) -> Result<QueryResult> {
        self.started.result().await
    }
}
