//! Statements about the session, as they are parsed.

use crate::settings::TransactionModes;
use datafusion::sql::sqlparser::ast::{ObjectName, Query};
use std::fmt;

/// A statement about the session.
#[derive(Debug, Clone)]
pub(crate) enum SessionStatement {
    /// SET; without a value `SET name TO DEFAULT`.
    Set { scope: SetScope, name: String, value: Option<String> },
    /// RESET of a setting, or of all.
    Reset(Option<String>),
    /// SHOW of a setting, or of all.
    Show { name: Option<String>, verbose: bool },
    /// DISCARD.
    Discard(Discarded),
    /// SET CONSTRAINTS: all are checked at once, none is deferred.
    SetConstraints { deferred: bool },
    /// BEGIN and START TRANSACTION; `immediate` takes the turn to write at once.
    Begin { immediate: bool, modes: TransactionModes },
    /// SET TRANSACTION, and SET SESSION CHARACTERISTICS AS TRANSACTION when `session`.
    SetTransaction { session: bool, modes: TransactionModes },
    /// COMMIT, END, ROLLBACK and ABORT, of the whole transaction.
    End { commit: bool, chain: bool },
    /// LOCK TABLE.
    Lock { tables: Vec<ObjectName>, nowait: bool },
    /// DECLARE … CURSOR.
    Declare(Box<Declare>),
    /// FETCH, and MOVE, which tells the number of rows alone.
    Fetch(Fetch),
    /// CLOSE of a cursor, or of all.
    Close(Option<String>),
    /// LISTEN and UNLISTEN, `None` for all channels: nobody can notify.
    Listen { stop: bool },
    /// ANALYZE, and VACUUM ANALYZE.
    Analyze(Analyze),
    /// REFRESH: the newest state of a published database.
    Refresh,
}

/// ANALYZE of some tables, or of all when there are none.
#[derive(Debug, Clone)]
pub(crate) struct Analyze {
    pub(crate) tables: Vec<ObjectName>,
    /// It stands behind VACUUM, which is done too.
    pub(crate) vacuum: bool,
}

impl SessionStatement {
    /// What the statement is called: PostgreSQL's tag.
    pub(crate) fn command(&self) -> &'static str {
        match self {
            Self::Set { .. } | Self::SetTransaction { .. } => "SET",
            Self::Reset(_) => "RESET",
            Self::Show { .. } => "SHOW",
            Self::Discard(what) => what.command(),
            Self::SetConstraints { .. } => "SET CONSTRAINTS",
            Self::Begin { .. } => "BEGIN",
            Self::End { commit: true, .. } => "COMMIT",
            Self::End { commit: false, .. } => "ROLLBACK",
            Self::Lock { .. } => "LOCK TABLE",
            Self::Declare(_) => "DECLARE CURSOR",
            Self::Fetch(fetch) if fetch.moves => "MOVE",
            Self::Fetch(_) => "FETCH",
            Self::Close(None) => "CLOSE CURSOR ALL",
            Self::Close(Some(_)) => "CLOSE CURSOR",
            Self::Listen { stop: false } => "LISTEN",
            Self::Listen { stop: true } => "UNLISTEN",
            Self::Analyze(Analyze { vacuum: true, .. }) => "VACUUM",
            Self::Analyze(_) => "ANALYZE",
            Self::Refresh => "REFRESH",
        }
    }
}

impl fmt::Display for SessionStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { name, value: Some(value), .. } => write!(f, "SET {name} = '{}'", value.replace('\'', "''")),
            Self::Set { name, value: None, .. } => write!(f, "SET {name} TO DEFAULT"),
            Self::Declare(declare) => write!(f, "DECLARE {} CURSOR FOR {}", declare.name, declare.query),
            Self::Fetch(fetch) => write!(f, "{} {}", self.command(), fetch.cursor),
            other => f.write_str(other.command()),
        }
    }
}

/// For how long a setting is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetScope {
    /// As long as the session, unless the transaction is rolled back.
    Session,
    /// To the end of the transaction.
    Local,
}

/// What DISCARD gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discarded {
    /// Everything that the session has: settings, cursors, prepared statements, TEMP tables.
    All,
    /// Plans that are kept.
    Plans,
    /// What is remembered of sequences.
    Sequences,
    /// TEMP tables.
    Temp,
}

impl Discarded {
    /// Whether everything is given up.
    pub(crate) fn is_all(self) -> bool {
        matches!(self, Self::All)
    }

    pub(super) fn command(self) -> &'static str {
        match self {
            Self::All => "DISCARD ALL",
            Self::Plans => "DISCARD PLANS",
            Self::Sequences => "DISCARD SEQUENCES",
            Self::Temp => "DISCARD TEMP",
        }
    }
}

/// DECLARE of a cursor.
#[derive(Debug, Clone)]
pub(crate) struct Declare {
    pub(crate) name: String,
    /// It outlasts its transaction.
    pub(crate) hold: bool,
    /// It was said to go backwards, or not to; `None` is what it can.
    pub(crate) scroll: Option<bool>,
    pub(crate) query: Query,
}

/// FETCH or MOVE of a cursor.
#[derive(Debug, Clone)]
pub(crate) struct Fetch {
    pub(crate) cursor: String,
    pub(crate) count: Count,
    /// It is MOVE: the rows are passed over.
    pub(crate) moves: bool,
}

/// Which rows FETCH gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// So many forward; backward when negative; the current one again for 0.
    Relative(i64),
    /// All that are left.
    ForwardAll,
    /// All before.
    BackwardAll,
    /// The one at that place, counted from 1, or from the end when negative.
    Absolute(i64),
    /// The one so many places from here.
    OneRelative(i64),
}
