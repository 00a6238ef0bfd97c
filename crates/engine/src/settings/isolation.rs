//! What a transaction sees of others, and whether it writes.

use crate::{Error, Result};
use gingham_storage::SqlState;

/// What a transaction sees of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsolationLevel {
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// All statements see what was committed before the first of them began.
    RepeatableRead,
}

impl IsolationLevel {
    /// The name of the level in SQL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
        }
    }

    /// The level that a name of SQL stands for. SERIALIZABLE is REPEATABLE READ, which keeps what it promises: see
    /// docs/transactions.md.
    pub(crate) fn of(name: &str) -> Result<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "read uncommitted" | "read committed" => Ok(Self::ReadCommitted),
            "repeatable read" | "serializable" => Ok(Self::RepeatableRead),
            other => Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("an isolation level is READ COMMITTED, REPEATABLE READ or SERIALIZABLE, not '{other}'"),
            )),
        }
    }
}

/// What a transaction is told of itself; `None` is as the session has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TransactionModes {
    pub(crate) isolation: Option<IsolationLevel>,
    pub(crate) read_only: Option<bool>,
}
