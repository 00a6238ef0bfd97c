//! Statements with tables of their own.

use crate::connection::Connection;
use crate::session::StatementTables;

impl Connection {
    /// This connection, whose statements find `tables` besides: those that are run, described or prepared by what this gives, and
    /// no others, so that several threads may each give theirs under the same name. All else is shared, as among clones:
    /// transaction, settings and temporary tables.
    ///
    /// A name without a schema means one of these before it means any other table, but not within a view, which has to mean the
    /// same to everybody. They are read, not changed. What is prepared, by [`Connection::prepare`] or by PREPARE, keeps them;
    /// a view can't be of them. Where this has such tables already, the ones that come last go first.
    ///
    /// ```
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// use gingham::{Connection, Database, ScalarValue, StatementTables};
    /// use std::sync::Arc;
    ///
    /// fn sum(connection: &Connection, numbers: Vec<i64>) -> gingham::Result<ScalarValue> {
    ///     let numbers: ArrayRef = Arc::new(Int64Array::from(numbers));
    ///     let mut tables = StatementTables::new();
    ///     tables.insert("numbers", vec![RecordBatch::try_from_iter([("n", numbers)])?])?;
    ///     let sum = "SELECT CAST(sum(n) AS BIGINT) FROM numbers WHERE n > $1";
    ///     let batches = connection.with_tables(tables).query_with(sum, [ScalarValue::from(0)])?.collect_batches()?;
    ///     Ok(ScalarValue::try_from_array(batches[0].column(0), 0)?)
    /// }
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let other = connection.clone();
    /// let thread = std::thread::spawn(move || sum(&other, vec![1, 2]));
    /// assert_eq!(sum(&connection, vec![30, 40])?, ScalarValue::from(70_i64));
    /// assert_eq!(thread.join().expect("it does not panic")?, ScalarValue::from(3_i64));
    /// assert!(connection.query("SELECT n FROM numbers").is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn with_tables(&self, tables: StatementTables) -> Self {
        Self { session: self.session.clone(), tables: self.tables.clone().and(tables) }
    }
}
