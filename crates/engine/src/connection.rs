//! A connection: statements in, batches out.

use crate::connection::launch::Caller;
use crate::files::file_functions;
use crate::load::{LoadOptions, LoadReport};
use crate::session::{
    CancelToken, Notices, Session, StatementContext, StatementHandle, StatementProgress, StatementTables,
};
use crate::session::{TransactionStatus, wait};
use crate::sql::ignored::writes;
use crate::sql::split;
use crate::statements::kind::{StatementKind, kind};
use crate::statements::transfer::stream::{CopyStream, stream_of};
use crate::{QueryResult, Result, load, statements};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::Statement as Sql;
use gingham_storage::panics::guarded;
use gingham_storage::snapshot::TableSnapshot;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

mod appender;
mod copies;
mod each;
mod launch;
mod parsed;
mod prepared;
mod registered;
mod running;
mod sessions;
mod tables;
mod transaction;
mod with_values;
mod workload;

pub use appender::Appender;
pub use parsed::Values;
pub use prepared::Prepared;
pub use running::RunningStatement;
pub use transaction::Transaction;

/// A connection to a database. `Send`, and cheap to clone; clones share settings, prepared statements and temporary
/// tables and a transaction, and may run statements at the same time. A transaction that is open when the last clone is dropped
/// is rolled back.
///
/// ```
/// use gingham::{Database, ScalarValue};
///
/// let connection = Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE fruit (name VARCHAR, price DECIMAL(6,2))")?;
/// assert_eq!(connection.execute("INSERT INTO fruit VALUES ('apple', 0.45), ('quince', 1.20)")?, 2);
///
/// let dear = connection.prepare("SELECT name FROM fruit WHERE price > $1")?;
/// assert_eq!(dear.parameters(), 1);
/// let batches = dear.query(&[ScalarValue::from(1.0)])?.collect_batches()?;
/// assert_eq!(batches[0].num_rows(), 1);
/// assert_eq!(connection.table("fruit")?.rows(), 2);
///
/// let error = connection.query("SELECT * FROM friut").unwrap_err();
/// assert_eq!(error.to_string(), "table 'friut' does not exist; did you mean 'fruit'? (line 1, column 15)");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Connection {
    session: Arc<Session>,
    /// The tables that its statements find besides.
    tables: StatementTables,
}

impl Connection {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session, tables: StatementTables::new() }
    }

    /// What its clones share.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The tables that its statements find besides.
    pub(crate) fn tables(&self) -> &StatementTables {
        &self.tables
    }

    /// Runs one statement and gives its result as a stream of batches. Errors while planning come back here, errors
    /// while running from the stream. Waits for the statement to be planned (and, when it returns no rows, to be done),
    /// so that asynchronous code calls [`Connection::query_async`].
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let mut rows = 0;
    /// for batch in connection.query("SELECT value FROM generate_series(1, 10000)")? {
    ///     rows += batch?.num_rows();
    /// }
    /// assert_eq!(rows, 10_000);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn query(&self, sql: &str) -> Result<QueryResult> {
        wait(launch::text(&self.session, sql, Caller::waits(&self.tables))?.result())
    }

    /// Runs a query for asynchronous code, of any runtime.
    ///
    /// ```
    /// use futures::TryStreamExt;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let batches = futures::executor::block_on(async {
    ///     connection.query_async("SELECT 1 AS n").await?.try_collect::<Vec<_>>().await
    /// })?;
    /// assert_eq!(batches[0].num_rows(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn query_async(&self, sql: &str) -> Result<QueryResult> {
        launch::text(&self.session, sql, Caller::goes_on(&self.tables))?.result().await
    }

    /// Runs one or more statements to their end, stopping at the first that fails. Returns the records that the last one
    /// inserted, or returned.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let inserted = connection.execute("CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2)")?;
    /// assert_eq!(inserted, 2);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn execute(&self, sql: &str) -> Result<u64> {
        let mut records = 0;
        let whole = launch::shown(sql);
        let mut texts = if self.session.records() { split::split_statements(sql) } else { Vec::new() }.into_iter();
        for statement in statements::parse(sql)? {
            let recording = self.session.recording(|| texts.next());
            let started =
                launch::statement(&self.session, &statement, None, Caller::waits(&self.tables).of_text(&whole))?;
            let result = wait(started.recorded(recording).result())?;
            records = result.rows_affected().unwrap_or(0);
            for batch in result {
                records += batch?.num_rows() as u64;
            }
        }
        Ok(records)
    }

    /// Begins a transaction, as the statement BEGIN does: it reads the database as it is now, and its own changes. The first
    /// statement that writes fails with [`Error::Conflict`](crate::Error::Conflict) when others have committed since; then do it all again.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT)")?;
    /// let transaction = connection.transaction()?;
    /// transaction.execute("INSERT INTO t VALUES (1)")?;
    /// drop(transaction);
    /// assert_eq!(connection.table("t")?.rows(), 0);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn transaction(&self) -> Result<Transaction<'_>> {
        Transaction::begin(self, "BEGIN")
    }

    /// Begins a transaction that writes, as BEGIN IMMEDIATE does: it waits until no other one writes, and never fails with
    /// [`Error::Conflict`](crate::Error::Conflict).
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let transaction = connection.write_transaction()?;
    /// transaction.execute("CREATE TABLE t (n INT)")?;
    /// transaction.commit()?;
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn write_transaction(&self) -> Result<Transaction<'_>> {
        Transaction::begin(self, "BEGIN IMMEDIATE")
    }

    /// Cuts a script into statements, each with its `;` (comments, and `;` in quotes, respected). What follows the last
    /// `;` is an unfinished statement, and left out when it is blanks and comments only.
    ///
    /// ```
    /// let parts = gingham::Connection::split_statements("SELECT ';'; SELECT 2");
    /// assert_eq!(parts, ["SELECT ';';", "SELECT 2"]);
    /// ```
    pub fn split_statements(sql: &str) -> Vec<String> {
        split::split_statements(sql)
    }

    /// Whether a text is one query, which changes nothing: a front end may run it when its rows are wanted, and again. Any other
    /// statement is to be run once.
    ///
    /// ```
    /// use gingham::Connection;
    ///
    /// assert!(Connection::is_query("SELECT 1")?);
    /// assert!(!Connection::is_query("WITH w AS (SELECT 1 AS n) INSERT INTO t SELECT n FROM w RETURNING n")?);
    /// assert!(!Connection::is_query("VACUUM")?);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn is_query(sql: &str) -> Result<bool> {
        let statement = statements::parse_single(sql)?;
        Ok(matches!(statement.tree(), Some(Sql::Query(query)) if !writes(query)))
    }

    /// The names of the functions that statements can call, in order.
    ///
    /// ```
    /// let functions = gingham::Database::in_memory()?.connect().functions();
    /// assert!(["count", "read_csv", "row_number", "upper"].iter().all(|name| functions.contains(&name.to_string())));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn functions(&self) -> Vec<String> {
        let (state, _) = self.session.state();
        let scalars = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        let others = state.window_functions().keys().chain(state.table_functions().keys());
        let files = file_functions().into_iter().map(str::to_owned);
        let names: BTreeSet<String> = scalars.chain(others).cloned().chain(files).collect();
        names.into_iter().collect()
    }

    /// The word that a text's first statement begins with, behind blanks and comments, which is all that is looked at; empty where it
    /// begins with something else.
    ///
    /// ```
    /// assert_eq!(gingham::Connection::first_word("-- now\n begin;"), "begin");
    /// ```
    pub fn first_word(sql: &str) -> &str {
        split::first_word(sql)
    }

    /// Whether a statement asks for a plan: it begins with EXPLAIN, behind blanks and comments.
    ///
    /// ```
    /// assert!(gingham::Connection::is_explain("/* why? */ explain (analyze) SELECT 1"));
    /// assert!(!gingham::Connection::is_explain("-- EXPLAIN\nSELECT 1"));
    /// ```
    pub fn is_explain(sql: &str) -> bool {
        split::first_word(sql).eq_ignore_ascii_case("explain")
    }

    /// Whether a text is one statement that leaves the database as it is, so that it may run where that is open for reading only:
    /// a query, EXPLAIN (with ANALYZE, of a query), SHOW, DESCRIBE, SUMMARIZE, SET, or a COPY to a file or a stream.
    ///
    /// ```
    /// use gingham::Connection;
    ///
    /// assert!(Connection::only_reads("EXPLAIN DELETE FROM t")?);
    /// assert!(Connection::only_reads("COPY t TO 'file.csv'")?);
    /// assert!(!Connection::only_reads("EXPLAIN ANALYZE DELETE FROM t")?);
    /// assert!(!Connection::only_reads("SELECT gingham_clear_workload()")?);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn only_reads(sql: &str) -> Result<bool> {
        Ok(statements::only_reads(&statements::parse_single(sql)?))
    }

    /// The stream that a statement is about: `COPY … FROM STDIN` or `COPY … TO STDOUT`, for [`copy_in`](Self::copy_in) and
    /// [`copy_out`](Self::copy_out). `None` for all other statements, and for what can't be parsed.
    ///
    /// ```
    /// use gingham::{Connection, CopyStream};
    ///
    /// assert_eq!(Connection::copy_stream("COPY t FROM STDIN (FORMAT csv)"), Some(CopyStream::In));
    /// assert_eq!(Connection::copy_stream("COPY (SELECT 1) TO STDOUT"), Some(CopyStream::Out));
    /// assert_eq!(Connection::copy_stream("COPY t TO 'file.csv'"), None);
    /// ```
    pub fn copy_stream(sql: &str) -> Option<CopyStream> {
        stream_of(sql)
    }

    /// What a front end has to know of a statement before it runs it.
    ///
    /// # Errors
    ///
    /// The text is not one statement, or can't be parsed.
    ///
    /// ```
    /// use gingham::{Connection, StatementKind};
    ///
    /// assert_eq!(Connection::statement_kind("COPY t FROM STDIN")?, StatementKind::CopyIn);
    /// assert!(Connection::statement_kind("SELEKT").is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn statement_kind(sql: &str) -> Result<StatementKind> {
        Ok(kind(&statements::parse_single(sql)?))
    }

    /// The schema of the rows of a cursor that DECLARE has opened.
    ///
    /// # Errors
    ///
    /// There is no such cursor.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("BEGIN; DECLARE c CURSOR FOR SELECT 1 AS n")?;
    /// assert_eq!(connection.cursor_schema("c")?.field(0).name(), "n");
    /// assert!(connection.cursor_schema("d").is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn cursor_schema(&self, name: &str) -> Result<SchemaRef> {
        self.session.cursors.schema(name)
    }

    /// A number that the settings have until one of them is changed.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let before = connection.settings_number();
    /// connection.execute("SET application_name = 'report'")?;
    /// assert_ne!(connection.settings_number(), before);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn settings_number(&self) -> u64 {
        self.session.settings_number()
    }

    /// The value of a setting, as SHOW gives it.
    ///
    /// # Errors
    ///
    /// There is no such setting.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("SET application_name = 'report'")?;
    /// assert_eq!(connection.setting("application_name")?, "report");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn setting(&self, name: &str) -> Result<String> {
        Ok(self.session.shown_setting(name)?.value)
    }

    /// Parses a statement with parameters for repeated use, and plans it to find its mistakes, the schema of its rows and the
    /// types of its parameters. Parameters stand as `$1`, as `?` or as `$name`.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT)")?;
    /// let insert = connection.prepare("INSERT INTO t VALUES (?)")?;
    /// for n in 1..=3 {
    ///     insert.query(&[ScalarValue::from(n)])?;
    /// }
    /// assert_eq!(connection.table("t")?.rows(), 3);
    /// assert!(connection.prepare("SELECT nosuch FROM t").is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn prepare(&self, sql: &str) -> Result<Prepared> {
        wait(Prepared::of(&self.session, &self.tables, sql, None))
    }

    /// As [`Connection::prepare`] for asynchronous code, of a statement whose parameters have these types, `None` for those that are
    /// open: the schema of its rows heeds them, and a parameter that nothing tells the type of counts as a text.
    ///
    /// ```
    /// use arrow::datatypes::DataType;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let prepared = connection.prepare_with("SELECT $1 + 1, $2", &[Some(DataType::Int64), None]);
    /// let prepared = futures::executor::block_on(prepared)?;
    /// assert_eq!(prepared.parameter_types(), [Some(DataType::Int64), None]);
    /// let schema = prepared.schema().expect("a query has one");
    /// assert_eq!((schema.field(0).data_type(), schema.field(1).data_type()), (&DataType::Int64, &DataType::Utf8View));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn prepare_with(&self, sql: &str, types: &[Option<DataType>]) -> Result<Prepared> {
        Prepared::of(&self.session, &self.tables, sql, Some(types)).await
    }

    /// Starts a statement and gives it at once: it can be cancelled while it is planned, and waited for by a thread or by
    /// asynchronous code.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let running = connection.start("SELECT count(*) AS n FROM generate_series(1, 1000)")?;
    /// assert_eq!(running.wait()?.collect_batches()?[0].num_rows(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn start(&self, sql: &str) -> Result<RunningStatement> {
        Ok(RunningStatement::new(launch::text(&self.session, sql, Caller::goes_on(&self.tables))?))
    }

    /// Whether the connection is in a transaction.
    ///
    /// ```
    /// use gingham::{Database, TransactionStatus};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let transaction = connection.transaction()?;
    /// assert_eq!(connection.transaction_status(), TransactionStatus::Open);
    /// transaction.commit()?;
    /// assert_eq!(connection.transaction_status(), TransactionStatus::None);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn transaction_status(&self) -> TransactionStatus {
        self.session.transaction_status()
    }

    /// Appends rows or batches to `table`, all of them at once when it is finished.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT, name VARCHAR)")?;
    /// let mut appender = connection.appender("t")?;
    /// appender.append_row(&[ScalarValue::from(1), ScalarValue::from("one")])?;
    /// assert_eq!(appender.finish()?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn appender(&self, table: &str) -> Result<Appender> {
        Appender::start(&self.session, &TableReference::parse_str(table))
    }

    /// Loads files into a table, creating it when it does not exist. `handle` cancels it from another thread, and tells how far it
    /// is.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle, load::LoadOptions};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("fruit.csv");
    /// std::fs::write(&file, "name, price\napple, 0.45\nquince, 1.20\n")?;
    /// let connection = Database::in_memory()?.connect();
    /// let options = LoadOptions { table: "fruit".into(), ..Default::default() };
    /// assert_eq!(connection.load(&[file], &options, &StatementHandle::new())?.rows, 2);
    /// assert_eq!(connection.execute("SELECT * FROM fruit WHERE price > 1")?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(&self, files: &[PathBuf], options: &LoadOptions, handle: &StatementHandle) -> Result<LoadReport> {
        let cancel = handle.token().part();
        cancel.check()?;
        self.session.require_admin("loading files")?;
        let _running = self.session.running.enter(cancel.clone(), format!("COPY {}", options.table).into())?;
        let context = self.session.begin_writing(cancel)?;
        guarded(|| load::load_files(&context, files, options, None))
    }

    /// A handle that cancels whatever this connection runs, from any thread.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let handle = connection.cancel_handle();
    /// // Given to another thread, say; it does nothing while the connection runs nothing.
    /// std::thread::spawn(move || handle.cancel()).join().expect("cancelling never fails");
    /// assert_eq!(connection.execute("SELECT 1")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { session: Arc::clone(&self.session) }
    }

    /// The notices of the connection's statements; see [`Notices::take`].
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("SELECT 1")?;
    /// assert!(connection.notices().take().is_empty());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn notices(&self) -> Notices {
        self.session.notices.clone()
    }

    /// How far the statement is that this connection has started last, among those that count; for a progress bar on another
    /// thread.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INTEGER); ALTER TABLE t SET (layout = 'byteslice')")?;
    /// assert_eq!(connection.progress(), None, "all have ended");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn progress(&self) -> Option<StatementProgress> {
        self.session.running.progress()
    }

    /// The latest state of a table: its definition, segments and statistics (for `gingham layout`).
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t AS SELECT value FROM generate_series(1, 1000)")?;
    /// let table = connection.table("t")?;
    /// assert_eq!((table.rows(), table.definition.columns[0].name.as_str()), (1000, "value"));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn table(&self, name: &str) -> Result<Arc<TableSnapshot>> {
        let context = self.context()?;
        guarded(|| Ok(context.table(&TableReference::parse_str(name))?.table))
    }

    fn context(&self) -> Result<StatementContext> {
        self.session.begin_with(CancelToken::new(), self.tables.clone())
    }
}

/// Cancels the statements of one connection.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let handle = connection.cancel_handle();
/// let endless = connection.query("SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000) b")?;
/// handle.cancel();
/// assert!(matches!(endless.collect_batches(), Err(gingham::Error::Cancelled)));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CancelHandle {
    session: Arc<Session>,
}

impl CancelHandle {
    /// Cancels whatever the connection runs now; no effect when it runs nothing.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let endless = connection.query("SELECT * FROM generate_series(1, 1000000000)")?;
    /// connection.cancel_handle().cancel();
    /// assert!(matches!(endless.collect_batches(), Err(gingham::Error::Cancelled)));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn cancel(&self) {
        self.session.running.cancel_all();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Database, Error};
    use std::time::Duration;

    /// Statements that run for hours unless they are stopped: their work is in joins, in functions of many rows, in
    /// recursion, or goes into a table.
    const ENDLESS: &[&str] = &[
        "SELECT sum(a.value * b.value % 7) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b",
        "SELECT count(*) FROM generate_series(1, 10000000) a JOIN generate_series(1, 10000000) b ON a.value % b.value = 7",
        "SELECT count(*) FROM generate_series(1, 5000000) a JOIN generate_series(1, 5000000) b ON a.value % 2 = b.value % 2",
        "SELECT max(value) FROM generate_series(1, 100000000000) WHERE value % 7 = 8",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT -n FROM r) SELECT count(*) FROM r",
        "INSERT INTO t SELECT value % 10 FROM generate_series(1, 100000000000) WHERE value < 0",
        "CREATE TABLE u AS SELECT value FROM generate_series(1, 100000000000) WHERE value < 0",
    ];

    /// Not just its reader is told: what runs the statement ends too, and with it what the statement holds. (A statement
    /// that does not end keeps this test from ending.)
    #[test]
    fn a_cancelled_statement_stops_running() {
        for sql in ENDLESS {
            let connection = Database::in_memory().unwrap().connect();
            connection.execute("CREATE TABLE t (a BIGINT)").unwrap();
            let handle = connection.cancel_handle();
            let runs = connection.clone();
            let statement = std::thread::spawn(move || runs.execute(sql));
            while connection.session.running.is_empty() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(200));
            assert!(!statement.is_finished(), "{sql}");
            handle.cancel();
            assert!(matches!(statement.join().unwrap(), Err(Error::Cancelled)), "{sql}");
            while !connection.session.running.is_empty() {
                std::thread::yield_now();
            }
        }
    }
}
