//! Tables of one statement: Arrow data of the program, which the statement's names find before all others. They travel with the
//! statement, so that threads which share a connection never see each other's.

use crate::sql::names::unsupported;
use crate::table::RegisteredTable;
use crate::{Error, Result};
use arrow::array::{RecordBatch, RecordBatchReader};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use gingham_storage::SqlState;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Arrow data of the program under the names that single statements have for it; see
/// [`Connection::with_tables`](crate::Connection::with_tables). Cloning copies no data.
///
/// ```
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use gingham::{Database, StatementTables};
/// use std::sync::Arc;
///
/// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
/// let mut tables = StatementTables::new();
/// tables.insert("numbers", vec![RecordBatch::try_from_iter([("n", numbers)])?])?;
/// let connection = Database::in_memory()?.connect();
/// assert_eq!(connection.with_tables(tables).execute("SELECT n FROM numbers WHERE n > 1")?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct StatementTables {
    tables: Arc<BTreeMap<String, Arc<RegisteredTable>>>,
}

impl StatementTables {
    /// No table.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.with_tables(gingham::StatementTables::new()).execute("SELECT 1")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `batches` be the table `name`, in the place of what had the name here. They are not copied. The name is read as SQL
    /// reads it.
    ///
    /// # Errors
    ///
    /// There is no batch to tell the columns, the batches differ in their columns, one is of a type that SQL has not, or the name
    /// has a schema.
    ///
    /// ```
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// use std::sync::Arc;
    ///
    /// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let mut tables = gingham::StatementTables::new();
    /// tables.insert("numbers", vec![RecordBatch::try_from_iter([("n", numbers)])?])?;
    /// assert!(tables.insert("none", Vec::new()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&mut self, name: &str, batches: Vec<RecordBatch>) -> Result<()> {
        self.put(name, RegisteredTable::of_named(name, batches)?)
    }

    /// As [`StatementTables::insert`] for a stream, of which no more than a few batches are in memory at a time. It can be read
    /// once: the second statement that reads it fails, and says so.
    ///
    /// ```
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
    /// use gingham::{Database, StatementTables};
    /// use std::sync::Arc;
    ///
    /// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("n", numbers)])?;
    /// let schema = batch.schema();
    /// let mut tables = StatementTables::new();
    /// tables.insert_stream("numbers", Box::new(RecordBatchIterator::new([Ok(batch)], schema)))?;
    /// let connection = Database::in_memory()?.connect().with_tables(tables);
    /// assert_eq!(connection.execute("CREATE TABLE t AS SELECT n FROM numbers")?, 3);
    /// assert!(connection.execute("SELECT n FROM numbers").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_stream(&mut self, name: &str, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.put(name, RegisteredTable::of_stream(name, reader)?)
    }

    fn put(&mut self, name: &str, table: RegisteredTable) -> Result<()> {
        let TableReference::Bare { table: folded } = TableReference::parse_str(name) else {
            return Err(unsupported(format!("a table of one statement in a schema ('{name}')")));
        };
        if folded.is_empty() {
            return Err(Error::invalid(SqlState::InvalidName, "the name of a table can't be empty"));
        }
        Arc::make_mut(&mut self.tables).insert(folded.to_string(), Arc::new(table));
        Ok(())
    }

    /// These and `others`, which go first where a name is in both.
    pub(crate) fn and(mut self, others: Self) -> Self {
        if self.tables.is_empty() {
            return others;
        }
        Arc::make_mut(&mut self.tables).extend(others.tables.iter().map(|(name, own)| (name.clone(), Arc::clone(own))));
        self
    }

    /// Whether a name that stands alone means one of them.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    /// The table of a name that stands alone.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        self.tables.get(name).map(|own| Arc::clone(own) as _)
    }

    /// Their names, as statements look them up.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }
}
