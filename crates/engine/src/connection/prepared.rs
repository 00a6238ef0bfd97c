//! A statement with parameters, parsed and described once.

use crate::connection::launch;
use crate::connection::launch::Caller;
use crate::connection::parsed::ParsedStatement;
use crate::connection::running::RunningStatement;
use crate::session::{CancelToken, Session, Started, StatementTables, wait};
use crate::statements::described::{StatementDescription, describe};
use crate::statements::kind::{StatementKind, kind};
use crate::{QueryResult, Result};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ScalarValue;
use std::sync::Arc;

/// A statement with parameters.
///
/// ```
/// use gingham::{Database, ScalarValue};
///
/// let connection = Database::in_memory()?.connect();
/// let add = connection.prepare("SELECT $1 + $2 AS sum")?;
/// let batches = add.query(&[ScalarValue::from(40), ScalarValue::from(2)])?.collect_batches()?;
/// assert_eq!(ScalarValue::try_from_array(batches[0].column(0), 0)?, ScalarValue::from(42));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(super) session: Arc<Session>,
    /// The tables that it was prepared with.
    pub(super) tables: StatementTables,
    pub(super) parsed: ParsedStatement,
    description: StatementDescription,
}

impl Prepared {
    /// Parses and describes a statement whose parameters have these types, where some are given.
    pub(super) async fn of(
        session: &Arc<Session>,
        tables: &StatementTables,
        sql: &str,
        types: Option<&[Option<DataType>]>,
    ) -> Result<Self> {
        let parsed = ParsedStatement::of(sql)?;
        let mut context = session.begin_with(CancelToken::new(), tables.clone())?;
        let declared = types.map(|types| {
            let mut types = types.to_vec();
            types.resize(parsed.names.len().max(types.len()), None);
            Arc::from(types)
        });
        context.parameter_types = declared.clone();
        let own = parsed.statement.clone();
        let mut description = launch::on_threads(session, async move { describe(&context, own).await })?.await?;
        description.parameters.resize(parsed.names.len(), None);
        for (known, own) in description.parameters.iter_mut().zip(declared.iter().flat_map(|types| types.iter())) {
            if own.is_some() {
                known.clone_from(own);
            }
        }
        Ok(Self { session: Arc::clone(session), tables: tables.clone(), parsed, description })
    }

    /// What a front end has to know of it before it runs it.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.prepare("COMMIT")?.kind(), gingham::StatementKind::Commit);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn kind(&self) -> StatementKind {
        kind(&self.parsed.statement)
    }

    /// Number of its parameters.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.prepare("SELECT $1 + $2 * $1")?.parameters(), 2);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn parameters(&self) -> usize {
        self.parsed.names.len()
    }

    /// Names of `$1`, `$2`, …; `None` for those that are written as a number or as `?`.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let prepared = connection.prepare("SELECT $low + $high")?;
    /// assert_eq!(prepared.parameter_names(), [Some("low".to_owned()), Some("high".to_owned())]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn parameter_names(&self) -> &[Option<String>] {
        &self.parsed.names
    }

    /// Types of `$1`, `$2`, …, where the statement tells them.
    ///
    /// ```
    /// use arrow::datatypes::DataType;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT, day DATE)")?;
    /// let prepared = connection.prepare("INSERT INTO t VALUES (?, ?)")?;
    /// assert_eq!(prepared.parameter_types(), [Some(DataType::Int32), Some(DataType::Date32)]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn parameter_types(&self) -> &[Option<DataType>] {
        &self.description.parameters
    }

    /// The number of PostgreSQL's type of a parameter, counted from 0, where that is more than what [`Prepared::parameter_types`]
    /// tells: of `$1::oid` and `$1::oid[]`.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let prepared = connection.prepare("SELECT $1::oid, $2::bigint")?;
    /// assert_eq!((prepared.parameter_oid(0), prepared.parameter_oid(1)), (Some(26), None));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn parameter_oid(&self, parameter: usize) -> Option<u32> {
        self.parsed.oids.get(parameter).copied().flatten()
    }

    /// Schema of the rows that it gives: without columns for a statement that gives none, `None` for one that has to be run to
    /// know, such as SHOW. A parameter without a type gives a column of type Null here, and one of its value's type when it runs.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let schema = connection.prepare("SELECT 1 AS n, $1 AS m")?.schema().expect("a query has one");
    /// assert_eq!(schema.field(0).name(), "n");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn schema(&self) -> Option<SchemaRef> {
        self.description.schema.clone()
    }

    /// Values that are given by the names of their parameters, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// A parameter has no value, or a value no parameter.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let difference = connection.prepare("SELECT $high - $low AS n")?;
    /// let values = difference.by_name(&[("low", ScalarValue::from(2)), ("high", ScalarValue::from(44))])?;
    /// let batches = difference.query(&values)?.collect_batches()?;
    /// assert_eq!(ScalarValue::try_from_array(batches[0].column(0), 0)?, ScalarValue::from(42));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn by_name<S: AsRef<str>>(&self, values: &[(S, ScalarValue)]) -> Result<Vec<ScalarValue>> {
        self.parsed.by_name(values)
    }

    /// Runs the statement with `parameters` for `$1`, `$2`, ….
    ///
    /// # Errors
    ///
    /// There are more or fewer values than parameters, or the statement fails.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let count = connection.prepare("SELECT value FROM generate_series(1, 10) WHERE value > $1")?;
    /// let rows = |least: i64| -> gingham::Result<usize> {
    ///     let batches = count.query(&[ScalarValue::from(least)])?.collect_batches()?;
    ///     Ok(batches.iter().map(|batch| batch.num_rows()).sum())
    /// };
    /// assert_eq!((rows(3)?, rows(9)?), (7, 1));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn query(&self, parameters: &[ScalarValue]) -> Result<QueryResult> {
        wait(self.begin(parameters, Caller::waits(&self.tables))?.result())
    }

    /// As [`Prepared::query`] for asynchronous code of any runtime.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let next = connection.prepare("SELECT ? + 1 AS n")?;
    /// let rows = futures::executor::block_on(next.query_async(&[ScalarValue::from(41)]))?;
    /// assert_eq!(rows.schema().field(0).name(), "n");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn query_async(&self, parameters: &[ScalarValue]) -> Result<QueryResult> {
        self.begin(parameters, Caller::goes_on(&self.tables))?.result().await
    }

    /// Starts the statement and gives it at once, as [`Connection::start`](crate::Connection::start) does.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let count = connection.prepare("SELECT count(*) AS n FROM generate_series(1, $1)")?;
    /// let running = count.start(&[ScalarValue::from(100)])?;
    /// assert_eq!(running.wait()?.collect_batches()?[0].num_rows(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn start(&self, parameters: &[ScalarValue]) -> Result<RunningStatement> {
        Ok(RunningStatement::new(self.begin(parameters, Caller::goes_on(&self.tables))?))
    }

    pub(super) fn begin(&self, parameters: &[ScalarValue], caller: Caller) -> Result<Started> {
        self.parsed.begin(&self.session, parameters, caller)
    }
}
