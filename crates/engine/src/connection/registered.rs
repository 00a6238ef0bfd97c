//! Arrow data of the program under a name of one connection.

use crate::Result;
use crate::connection::{Connection, launch};
use crate::session::CancelToken;
use crate::statements::named::named_tables;
use crate::statements::{free_name, parse};
use crate::table::RegisteredTable;
use arrow::array::{RecordBatch, RecordBatchReader};
use datafusion::catalog::SchemaProvider;
use gingham_storage::panics::guarded;
use std::sync::Arc;

impl Connection {
    /// Lets this connection and its clones read `batches` as the table `name`, without copying them, until
    /// [`Connection::unregister`]; [`Connection::with_tables`] does so for single statements. What was registered under the name
    /// before is not any more. The name is read as SQL reads it.
    ///
    /// # Errors
    ///
    /// A table or view has the name, there is no batch to tell the columns, the batches differ in their columns, or one is of a
    /// type that SQL has not.
    ///
    /// ```
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// use std::sync::Arc;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// connection.register("numbers", vec![RecordBatch::try_from_iter([("n", numbers)])?])?;
    /// assert_eq!(connection.execute("SELECT n FROM numbers WHERE n > 1")?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register(&self, name: &str, batches: Vec<RecordBatch>) -> Result<()> {
        self.put(name, RegisteredTable::of_named(name, batches)?)
    }

    /// As [`Connection::register`] for a stream, of which no more than a few batches are in memory at a time. A stream can be
    /// read once: the second statement that reads it fails, and says so.
    ///
    /// ```
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
    /// use std::sync::Arc;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("n", numbers)])?;
    /// let schema = batch.schema();
    /// connection.register_stream("numbers", Box::new(RecordBatchIterator::new([Ok(batch)], schema)))?;
    /// assert_eq!(connection.execute("CREATE TABLE t AS SELECT n FROM numbers")?, 3);
    /// assert!(connection.execute("SELECT n FROM numbers").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_stream(&self, name: &str, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.put(name, RegisteredTable::of_stream(name, reader)?)
    }

    /// Forgets what is registered under a name; false when nothing is.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert!(!connection.unregister("numbers")?);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn unregister(&self, name: &str) -> Result<bool> {
        let name = self.session().begin(CancelToken::new())?.name(&name.into())?;
        Ok(self.session().externals.deregister_table(&name.table)?.is_some())
    }

    /// The tables that the statements of a text name and nothing has, as they are written; a front end may know values of its
    /// program by these names, and give them [with the statement](Connection::with_tables).
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT)")?;
    /// let sql = "WITH w AS (SELECT 1 AS n) SELECT * FROM t JOIN Frame ON t.n = Frame.n JOIN w ON w.n = t.n";
    /// assert_eq!(connection.unknown_tables(sql)?, ["Frame"]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn unknown_tables(&self, sql: &str) -> Result<Vec<String>> {
        self.named_tables(sql, false)
    }

    /// The tables and views of the database that the statements of a text name without a schema, as they are written.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT)")?;
    /// assert_eq!(connection.known_tables("SELECT * FROM T, frame")?, ["T"]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn known_tables(&self, sql: &str) -> Result<Vec<String>> {
        self.named_tables(sql, true)
    }

    fn named_tables(&self, sql: &str, exists: bool) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for mut statement in parse(sql)? {
            let context = self.context()?;
            let found =
                launch::wait_for(self.session(), async move { named_tables(&context, &mut statement, exists).await })?;
            all.extend(found.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
        }
        Ok(all)
    }

    fn put(&self, name: &str, table: RegisteredTable) -> Result<()> {
        let context = self.session().begin(CancelToken::new())?;
        let name = guarded(|| free_name(&context, &name.into()))?;
        let externals = &context.session.externals;
        externals.deregister_table(&name.table)?;
        externals.register_table(name.table, Arc::new(table))?;
        Ok(())
    }
}
