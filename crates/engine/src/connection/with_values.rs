//! One statement with values for its parameters, run at once.

use crate::connection::Connection;
use crate::connection::launch::Caller;
use crate::connection::parsed::{ParsedStatement, Values};
use crate::connection::running::RunningStatement;
use crate::session::wait;
use crate::{QueryResult, Result};

impl Connection {
    /// Runs one statement with values for its parameters, which stand as `$1`, as `?` or as `$name`. A statement that is run often is
    /// [prepared](Connection::prepare) instead.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let rows = connection.query_with("SELECT $high - $low AS n", [("low", 2.into()), ("high", 44.into())])?;
    /// assert_eq!(ScalarValue::try_from_array(rows.collect_batches()?[0].column(0), 0)?, ScalarValue::from(42));
    /// connection.query_with("CREATE TABLE t AS SELECT ? AS word", [ScalarValue::from("one")])?;
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn query_with(&self, sql: &str, values: impl Into<Values>) -> Result<QueryResult> {
        let parsed = ParsedStatement::of(sql)?;
        wait(parsed.begin(self.session(), &parsed.in_order(values.into())?, Caller::waits(self.tables()))?.result())
    }

    /// Starts one statement with values for its parameters, and gives it at once, as [`Connection::start`] does.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let running = connection.start_with("SELECT ? + 1 AS n", [ScalarValue::from(41)])?;
    /// assert_eq!(running.wait()?.collect_batches()?[0].num_rows(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn start_with(&self, sql: &str, values: impl Into<Values>) -> Result<RunningStatement> {
        let parsed = ParsedStatement::of(sql)?;
        let values = parsed.in_order(values.into())?;
        Ok(RunningStatement::new(parsed.begin(self.session(), &values, Caller::goes_on(self.tables()))?))
    }
}
