//! A transaction of the Rust API: rolled back when it is dropped.

use crate::{Connection, Error, Result, TransactionStatus};
use gingham_storage::SqlState;
use std::ops::Deref;

const OPEN: &str = "a transaction is open already; COMMIT or ROLLBACK it first";

/// A transaction of a connection: what is run through it, or through the connection and its clones, is part of it. Dropping it
/// without [`Transaction::commit`] rolls it back.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE account (id INT, balance INT) WITH (layout = 'pax')")?;
/// connection.execute("INSERT INTO account VALUES (1, 100), (2, 0)")?;
/// let transfer = connection.transaction()?;
/// transfer.execute("UPDATE account SET balance = balance - 30 WHERE id = 1")?;
/// transfer.execute("UPDATE account SET balance = balance + 30 WHERE id = 2")?;
/// transfer.commit()?;
/// assert_eq!(connection.execute("SELECT * FROM account WHERE balance IN (30, 70)")?, 2);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug)]
pub struct Transaction<'c> {
    connection: &'c Connection,
    open: bool,
}

impl<'c> Transaction<'c> {
    pub(super) fn begin(connection: &'c Connection, sql: &str) -> Result<Self> {
        // To SQL's BEGIN it is a warning: a transaction that another value is to end would be ended twice.
        match connection.transaction_status() {
            TransactionStatus::None => connection.execute(sql)?,
            _ => return Err(Error::invalid(SqlState::ActiveSqlTransaction, OPEN)),
        };
        Ok(Self { connection, open: true })
    }

    /// Makes all changes visible and durable.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let connection = database.connect();
    /// let transaction = connection.transaction()?;
    /// transaction.execute("CREATE TABLE t (n INT)")?;
    /// assert!(database.connect().table("t").is_err());
    /// transaction.commit()?;
    /// assert!(database.connect().table("t").is_ok());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn commit(mut self) -> Result<()> {
        self.require_open("commit")?;
        // What was not committed, as when COMMIT was cancelled, is rolled back.
        let done = self.connection.execute("COMMIT");
        self.open = done.is_err();
        done.map(drop)
    }

    /// Undoes all changes, as dropping the transaction does.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let transaction = connection.transaction()?;
    /// transaction.execute("CREATE TABLE t (n INT)")?;
    /// transaction.roll_back()?;
    /// assert!(connection.table("t").is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn roll_back(mut self) -> Result<()> {
        self.require_open("roll back")?;
        let done = self.connection.execute("ROLLBACK");
        self.open = done.is_err();
        done.map(drop)
    }

    /// Fails when a statement has ended it.
    fn require_open(&self, what: &str) -> Result<()> {
        match self.connection.transaction_status() {
            TransactionStatus::None => {
                let text = format!("there is no transaction to {what}: a statement has ended it");
                Err(Error::invalid(SqlState::NoActiveSqlTransaction, text))
            }
            _ => Ok(()),
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // It may have been ended by a statement.
            drop(self.connection.execute("ROLLBACK"));
        }
    }
}
