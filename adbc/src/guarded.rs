//! The driver as programs get it: a panic in any call is that call's error, with status Internal and SQLSTATE XX000.
//!
//! Behind the C interface nobody could catch one: rows are read by functions that must not unwind, and the layer that exports the
//! rest refuses all calls of the process after the first.

use crate::error::told;
use crate::{connection, driver, statement};
use adbc_core::error::Result;
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{CancelHandle, Connection, Database, Driver, Optionable, PartitionedResult, Statement};
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use gingham::lab::{PanicPoint, pass};
use gingham::storage::panics::caught;
use std::collections::HashSet;

/// Gingham as a driver.
///
/// ```
/// use gingham_adbc::GinghamDriver;
/// use gingham_adbc::adbc_core::{Connection, Database, Driver, Statement};
///
/// let database = GinghamDriver::default().new_database()?;
/// let mut statement = database.new_connection()?.new_statement()?;
/// statement.set_sql_query("SELECT 42 AS answer")?;
/// assert_eq!(statement.execute()?.map(|batch| batch.expect("rows").num_rows()).sum::<usize>(), 1);
/// # Ok::<(), gingham_adbc::adbc_core::error::Error>(())
/// ```
pub type GinghamDriver = Guarded<driver::PlainDriver>;

/// A database folder, or a temporary database where no `uri` is given; opened by its first connection.
///
/// Options: `uri` (a path, with `file:` before it or not, or `:memory:`), `gingham.memory_limit` (bytes), `gingham.threads`,
/// `gingham.read_only`, all of which hold from the first connection on.
pub type AdbcDatabase = Guarded<driver::PlainDatabase>;

/// A connection. It commits each statement, unless its option `adbc.connection.autocommit` is false: then a transaction begins with
/// the first statement after a commit or rollback.
///
/// Settings of SQL are options: `gingham.threads` is `SET gingham.threads`.
pub type AdbcConnection = Guarded<connection::PlainConnection>;

/// A statement. Its parameters are bound as the rows of a batch or a stream, for each of which it is run.
pub type AdbcStatement = Guarded<statement::PlainStatement>;

/// Something whose calls give panics as errors.
#[derive(Debug, Default)]
pub struct Guarded<T>(T);

/// Rows of a result.
type Rows = Box<dyn RecordBatchReader + Send>;

/// Does a call.
fn guarded<R>(call: impl FnOnce() -> Result<R>) -> Result<R> {
    let call = || {
        pass(PanicPoint::Show);
        call()
    };
    caught(call).unwrap_or_else(|panic| Err(told(panic.into())))
}

/// Rows, of which a panic ends the reading.
struct GuardedRows {
    rows: Rows,
    panicked: bool,
}

impl Iterator for GuardedRows {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.panicked {
            return None;
        }
        let next = || {
            pass(PanicPoint::Show);
            self.rows.next()
        };
        caught(next).unwrap_or_else(|panic| {
            self.panicked = true;
            Some(Err(ArrowError::ExternalError(Box::new(gingham::Error::from(panic)))))
        })
    }
}

impl RecordBatchReader for GuardedRows {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

/// Does a call that gives rows.
fn guarded_rows(call: impl FnOnce() -> Result<Rows>) -> Result<Rows> {
    Ok(Box::new(GuardedRows { rows: guarded(call)?, panicked: false }))
}

impl<T: Optionable> Optionable for Guarded<T> {
    type Option = T::Option;

    fn set_option(&mut self, key: T::Option, value: OptionValue) -> Result<()> {
        guarded(|| self.0.set_option(key, value))
    }

    fn get_option_string(&self, key: T::Option) -> Result<String> {
        guarded(|| self.0.get_option_string(key))
    }

    fn get_option_bytes(&self, key: T::Option) -> Result<Vec<u8>> {
        guarded(|| self.0.get_option_bytes(key))
    }

    fn get_option_int(&self, key: T::Option) -> Result<i64> {
        guarded(|| self.0.get_option_int(key))
    }

    fn get_option_double(&self, key: T::Option) -> Result<f64> {
        guarded(|| self.0.get_option_double(key))
    }
}

impl<T: Driver> Driver for Guarded<T> {
    type DatabaseType = Guarded<T::DatabaseType>;

    fn new_database(&mut self) -> Result<Self::DatabaseType> {
        guarded(|| self.0.new_database()).map(Guarded)
    }

    fn new_database_with_opts(
        &mut self,
        opts: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<Self::DatabaseType> {
        guarded(|| self.0.new_database_with_opts(opts)).map(Guarded)
    }
}

impl<T: Database> Database for Guarded<T> {
    type ConnectionType = Guarded<T::ConnectionType>;

    fn new_connection(&self) -> Result<Self::ConnectionType> {
        guarded(|| self.0.new_connection()).map(Guarded)
    }

    fn new_connection_with_opts(
        &self,
        opts: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<Self::ConnectionType> {
        guarded(|| self.0.new_connection_with_opts(opts)).map(Guarded)
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.0.get_cancel_handle()
    }
}

impl<T: Connection> Connection for Guarded<T> {
    type StatementType = Guarded<T::StatementType>;

    fn new_statement(&mut self) -> Result<Self::StatementType> {
        guarded(|| self.0.new_statement()).map(Guarded)
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.0.get_cancel_handle()
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Rows> {
        guarded_rows(|| self.0.get_info(codes))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Rows> {
        guarded_rows(|| self.0.get_objects(depth, catalog, db_schema, table_name, table_type, column_name))
    }

    fn get_table_schema(&self, catalog: Option<&str>, db_schema: Option<&str>, table_name: &str) -> Result<Schema> {
        guarded(|| self.0.get_table_schema(catalog, db_schema, table_name))
    }

    fn get_table_types(&self) -> Result<Rows> {
        guarded_rows(|| self.0.get_table_types())
    }

    fn get_statistic_names(&self) -> Result<Rows> {
        guarded_rows(|| self.0.get_statistic_names())
    }

    fn get_statistics(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        approximate: bool,
    ) -> Result<Rows> {
        guarded_rows(|| self.0.get_statistics(catalog, db_schema, table_name, approximate))
    }

    fn commit(&mut self) -> Result<()> {
        guarded(|| self.0.commit())
    }

    fn rollback(&mut self) -> Result<()> {
        guarded(|| self.0.rollback())
    }

    fn read_partition(&self, partition: impl AsRef<[u8]>) -> Result<Rows> {
        guarded_rows(|| self.0.read_partition(partition))
    }
}

impl<T: Statement> Statement for Guarded<T> {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        guarded(|| self.0.bind(batch))
    }

    fn bind_stream(&mut self, reader: Rows) -> Result<()> {
        guarded(|| self.0.bind_stream(reader))
    }

    fn execute(&mut self) -> Result<Rows> {
        guarded_rows(|| self.0.execute())
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        guarded(|| self.0.execute_update())
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        guarded(|| self.0.execute_schema())
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        guarded(|| self.0.execute_partitions())
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        guarded(|| self.0.get_parameter_schema())
    }

    fn prepare(&mut self) -> Result<()> {
        guarded(|| self.0.prepare())
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        guarded(|| self.0.set_sql_query(query))
    }

    fn set_substrait_plan(&mut self, plan: impl AsRef<[u8]>) -> Result<()> {
        guarded(|| self.0.set_substrait_plan(plan))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.0.get_cancel_handle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adbc_core::error::{Error, Status};
    use gingham::lab::{disarm, panic_at};

    fn expect_fault(error: &Error, point: PanicPoint) {
        let state: Vec<u8> = error.sqlstate.iter().map(|letter| *letter as u8).collect();
        assert_eq!((error.status, state.as_slice()), (Status::Internal, b"XX000".as_slice()), "{}", error.message);
        let told = format!("internal error: a fault made by a test at '{}'", point.name());
        assert!(error.message.starts_with(&told), "{}", error.message);
    }

    /// Faults are made process-wide, so that one test does all.
    #[test]
    fn a_panic_is_the_error_of_its_call() {
        let folder = tempfile::tempdir().expect("a folder");
        let uri = folder.path().join("db").display().to_string();
        let options = [(OptionDatabase::Uri, OptionValue::String(uri))];
        let database = GinghamDriver::default().new_database_with_opts(options).expect("a database");
        let mut connection = database.new_connection().expect("a connection");
        let mut statement = connection.new_statement().expect("a statement");
        let mut update = |sql: &str| {
            statement.set_sql_query(sql).expect("a text");
            statement.execute_update()
        };
        update("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 100000)").expect("a table");
        for point in
            [PanicPoint::Launch, PanicPoint::Statement, PanicPoint::Blocking, PanicPoint::Job, PanicPoint::Commit]
        {
            panic_at(point, 0);
            let ended = update("INSERT INTO t VALUES (0)");
            assert!(!disarm(), "{point:?}");
            expect_fault(&ended.expect_err("there was a panic"), point);
            assert_eq!(update("INSERT INTO t VALUES (-1)").expect("it goes on"), Some(1));
        }
        // Each call, and each batch of rows.
        panic_at(PanicPoint::Show, 0);
        expect_fault(&connection.get_table_types().map(drop).expect_err("there was a panic"), PanicPoint::Show);
        statement.set_sql_query("SELECT n FROM t ORDER BY n").expect("a text");
        for point in [PanicPoint::Show, PanicPoint::Deliver] {
            let mut rows = statement.execute().expect("rows");
            panic_at(point, 1);
            let batches: Vec<_> = rows.by_ref().collect();
            assert!(!disarm(), "{point:?}");
            let (last, others) = batches.split_last().expect("batches");
            assert!(others.iter().all(|other| other.is_ok()) && others.len() == 1, "{point:?}: {}", others.len());
            let error = last.as_ref().expect_err("there was a panic").to_string();
            assert!(error.contains("internal error: a fault made by a test"), "{error}");
            assert!(rows.next().is_none());
        }
        let all = statement.execute().expect("rows").map(|batch| batch.expect("rows").num_rows()).sum::<usize>();
        assert_eq!(all, 100_005);
    }
}
