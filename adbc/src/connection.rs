//! A connection: its transactions, and what it tells of the database.

use crate::error::{not_offered, told, unknown_option, wrong_argument, wrong_state};
use crate::options;
use crate::rows::reader_of;
use crate::statement::PlainStatement;
use crate::{info, objects};
use adbc_core::error::Result;
use adbc_core::options::{InfoCode, IsolationLevel, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::schemas::{GET_STATISTIC_NAMES_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use adbc_core::{CancelHandle, Connection, Optionable};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchReader, StringArray};
use arrow::datatypes::Schema;
use gingham::{TransactionStatus, plain_strings, quoted};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The catalog that all tables are in.
pub(crate) const CATALOG: &str = "gingham";
/// The schema of names without one.
pub(crate) const SCHEMA: &str = "public";
/// Kinds of tables, as GetObjects and GetTableTypes name them.
pub(crate) const TABLE_TYPES: [&str; 3] = ["BASE TABLE", "VIEW", "LOCAL TEMPORARY"];

/// A connection, as `guarded` describes it.
#[derive(Debug)]
pub struct PlainConnection {
    shared: Arc<Shared>,
}

/// The state that a connection and its statements share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) connection: gingham::Connection,
    autocommit: AtomicBool,
}

impl Shared {
    /// Begins the transaction that the next statement is in, where each statement is not one of its own.
    pub(crate) fn enter(&self) -> Result<()> {
        let begins =
            !self.autocommit.load(Ordering::Acquire) && self.connection.transaction_status() == TransactionStatus::None;
        if begins {
            self.connection.execute("BEGIN").map_err(told)?;
        }
        Ok(())
    }

    fn end(&self, how: &str) -> Result<()> {
        if self.autocommit.load(Ordering::Acquire) {
            return Err(wrong_state(format!("{how} has no transaction to end: the connection commits each statement")));
        }
        if self.connection.transaction_status() != TransactionStatus::None {
            self.connection.execute(how).map_err(told)?;
        }
        Ok(())
    }
}

impl PlainConnection {
    pub(crate) fn new(connection: gingham::Connection) -> Self {
        Self { shared: Arc::new(Shared { connection, autocommit: AtomicBool::new(true) }) }
    }

    fn set_autocommit(&self, on: bool) -> Result<()> {
        if on && !self.shared.autocommit.load(Ordering::Acquire) {
            // ADBC: switching it on commits what is open.
            self.shared.end("COMMIT")?;
        }
        self.shared.autocommit.store(on, Ordering::Release);
        Ok(())
    }
}

impl Optionable for PlainConnection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        let name = key.as_ref().to_owned();
        match key {
            OptionConnection::AutoCommit => self.set_autocommit(options::truth(&name, &value)?),
            OptionConnection::ReadOnly => match options::truth(&name, &value)? {
                false => Ok(()),
                true => Err(not_offered("a read-only connection (open the database with gingham.read_only)")),
            },
            OptionConnection::CurrentCatalog if options::text(&name, &value)? == CATALOG => Ok(()),
            OptionConnection::CurrentSchema if options::text(&name, &value)? == SCHEMA => Ok(()),
            OptionConnection::IsolationLevel => {
                let wanted = options::text(&name, &value)?;
                let offered = [IsolationLevel::Default, IsolationLevel::Snapshot].map(String::from);
                if offered.contains(&wanted) { Ok(()) } else { Err(not_offered(format!("isolation level '{wanted}'"))) }
            }
            OptionConnection::Other(own) if own.starts_with("gingham.") => {
                let text = options::text(&own, &value)?.replace('\'', "''");
                self.shared.connection.execute(&format!("SET {own} = '{text}'")).map_err(told).map(drop)
            }
            _ => Err(not_offered(format!("option '{name}' of a connection with this value"))),
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match &key {
            OptionConnection::AutoCommit => Ok(self.shared.autocommit.load(Ordering::Acquire).to_string()),
            OptionConnection::CurrentCatalog => Ok(CATALOG.to_owned()),
            OptionConnection::CurrentSchema => Ok(SCHEMA.to_owned()),
            OptionConnection::IsolationLevel => Ok(IsolationLevel::Snapshot.into()),
            OptionConnection::Other(own) if own.starts_with("gingham.") => {
                let rows = objects::texts(&self.shared.connection, &format!("SHOW {own}"), &[])?;
                rows.into_iter()
                    .next()
                    .and_then(|row| row.into_iter().next())
                    .flatten()
                    .ok_or_else(|| unknown_option(own))
            }
            other => Err(unknown_option(other.as_ref())),
        }
    }

    options::only_texts!(OptionConnection);
}

/// Cancels whatever a connection runs.
struct CancelsConnection(gingham::CancelHandle);

impl CancelHandle for CancelsConnection {
    fn try_cancel(&self) -> Result<()> {
        self.0.cancel();
        Ok(())
    }
}

impl Connection for PlainConnection {
    type StatementType = PlainStatement;

    fn new_statement(&mut self) -> Result<PlainStatement> {
        Ok(PlainStatement::new(Arc::clone(&self.shared)))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(CancelsConnection(self.shared.connection.cancel_handle()))
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Box<dyn RecordBatchReader + Send>> {
        Ok(reader_of(info::batch(codes.as_ref())?))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Box<dyn RecordBatchReader + Send>> {
        let wanted = objects::Wanted {
            depth,
            catalog,
            schema: db_schema,
            table: table_name,
            types: table_type,
            column: column_name,
        };
        Ok(reader_of(objects::batch(&self.shared.connection, &wanted)?))
    }

    fn get_table_schema(&self, catalog: Option<&str>, db_schema: Option<&str>, table_name: &str) -> Result<Schema> {
        if catalog.is_some_and(|catalog| catalog != CATALOG) {
            return Err(wrong_argument(format!("there is one catalog, '{CATALOG}'")));
        }
        let schema = db_schema.map(|schema| format!("{}.", quoted(schema))).unwrap_or_default();
        let text = format!("SELECT * FROM {schema}{}", quoted(table_name));
        let prepared = self.shared.connection.prepare(&text).map_err(told)?;
        // As queries give them.
        Ok(prepared.schema().map_or_else(Schema::empty, |schema| plain_strings(&schema).as_ref().clone()))
    }

    fn get_table_types(&self) -> Result<Box<dyn RecordBatchReader + Send>> {
        let types: ArrayRef = Arc::new(StringArray::from_iter_values(TABLE_TYPES));
        Ok(reader_of(RecordBatch::try_new(Arc::clone(&GET_TABLE_TYPES_SCHEMA), vec![types])?))
    }

    fn get_statistic_names(&self) -> Result<Box<dyn RecordBatchReader + Send>> {
        Ok(reader_of(RecordBatch::new_empty(Arc::clone(&GET_STATISTIC_NAMES_SCHEMA))))
    }

    fn get_statistics(
        &self,
        _catalog: Option<&str>,
        _db_schema: Option<&str>,
        _table_name: Option<&str>,
        _approximate: bool,
    ) -> Result<Box<dyn RecordBatchReader + Send>> {
        Err(not_offered("GetStatistics (the table gingham_columns has statistics)"))
    }

    fn commit(&mut self) -> Result<()> {
        self.shared.end("COMMIT")
    }

    fn rollback(&mut self) -> Result<()> {
        self.shared.end("ROLLBACK")
    }

    fn read_partition(&self, _partition: impl AsRef<[u8]>) -> Result<Box<dyn RecordBatchReader + Send>> {
        Err(not_offered("a result in partitions"))
    }
}
