//! The storage crate's one error type: what went wrong, where, and what the caller can do about it.

use crate::panics::Panic;
use crate::sql_state::{Problem, SqlState};
use std::path::{Path, PathBuf};

/// Result of every storage operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a storage operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes on disk are not what was written: a checksum, magic number or structure does not hold.
    #[error("corrupt data in {place}: {detail}")]
    Corrupt {
        /// File, and block, key or offset in it.
        place: String,
        /// What was expected and what was found.
        detail: String,
    },
    /// The caller asked for something that makes no sense: a wrong name, type or value.
    #[error("{0}")]
    InvalidInput(Problem),
    /// A row breaks a constraint of its table.
    #[error("{0}")]
    Constraint(Problem),
    /// Understood, but not offered (a type, a format version, a layout).
    #[error("{0}")]
    Unsupported(String),
    /// The database is open for writing by another process, or the folder can't be written.
    #[error("{0}")]
    Locked(String),
    /// Somebody committed after the transaction had begun to read: it can't write any more.
    #[error("{0}")]
    Conflict(String),
    /// Another transaction was writing for longer than this one would wait.
    #[error("{0}")]
    LockTimeout(String),
    /// The transaction was rolled back: there is nothing to do in it any more.
    #[error("{0}")]
    RolledBack(String),
    /// The operating system refused a file operation.
    #[error("{action} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// What was attempted, as a verb: "reading", "creating".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A reservation went past `gingham.memory_limit`.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The operation was cancelled by its caller.
    #[error("cancelled")]
    Cancelled,
    /// A defect of this crate: something that it takes for impossible. Nothing was changed.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

/// The advice for when nobody knows whether a commit is on the disk.
pub(crate) const REOPEN: &str = "; close the database and open it again, which undoes the change, then run it again";

/// What to do about a table that is damaged.
const OF_TABLE: &str = "; restore it from a backup, or drop the table";
/// What to do about one of a published database.
const OF_PUBLISHED: &str = "; REFRESH, or publish the database anew";

/// What to do about an error of the operating system that comes with a disk's end.
fn advice(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match source.kind() {
        _ if source.to_string().ends_with(REOPEN) => "",
        StorageFull | QuotaExceeded | FileTooLarge => "; nothing was changed: make room and run it again",
        ReadOnlyFilesystem => "; open the database for reading only (--read-only)",
        _ => "",
    }
}

impl Error {
    /// A mistake of the caller.
    pub fn invalid(state: SqlState, text: impl Into<String>) -> Self {
        Self::InvalidInput(Problem::new(state, text))
    }

    /// A row, or a change, that breaks a constraint.
    pub fn constraint(state: SqlState, text: impl Into<String>) -> Self {
        Self::Constraint(Problem::new(state, text))
    }

    /// A corruption found at `place`.
    pub fn corrupt(place: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Corrupt { place: place.into(), detail: detail.into() }
    }

    /// Whether what it tells of a table's bytes keeps that table alone from being read: they are not what was written, were
    /// written by a newer Gingham, or the operating system does not give them.
    pub(crate) fn is_of_bytes(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::Unsupported(_) | Self::Io { .. })
    }

    /// This error with the table's name, where it is about [bytes](Self::is_of_bytes); others stay as they are. What is not there, or
    /// is a folder, is damage.
    pub(crate) fn in_table(self, table: &dyn std::fmt::Display) -> Self {
        use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
        let named = format!("table '{table}'");
        match self {
            Self::Corrupt { place, detail } if place.starts_with(&named) => Self::Corrupt { place, detail },
            Self::Corrupt { place, detail } => Self::Corrupt { place: format!("{named}, {place}"), detail },
            Self::Unsupported(text) if text.starts_with(&named) => Self::Unsupported(text),
            Self::Unsupported(text) => Self::Unsupported(format!("{named}: {text}")),
            Self::Io { path, source, .. } if matches!(source.kind(), NotFound | IsADirectory | NotADirectory) => {
                let what = if source.kind() == IsADirectory { "is a folder" } else { "is missing" };
                Self::Corrupt { place: format!("{named}, {}", path.display()), detail: format!("this file {what}") }
            }
            Self::Io { action, path, source } => {
                let text = source.to_string();
                let text = if text.contains(&named) { text } else { format!("{text} ({named} needs it)") };
                Self::Io { action, path, source: std::io::Error::new(source.kind(), text) }
            }
            other => other,
        }
    }

    /// [`in_table`](Self::in_table) for a statement that needs the table: a corruption comes with what can be done.
    pub(crate) fn of_table(self, table: &dyn std::fmt::Display) -> Self {
        match self.in_table(table) {
            Self::Corrupt { place, detail } => {
                let is_published = place.contains("://");
                let advice = if is_published { OF_PUBLISHED } else { OF_TABLE };
                let advice = if detail.ends_with(advice) { "" } else { advice };
                Self::Corrupt { detail: format!("{detail}{advice}"), place }
            }
            other => other,
        }
    }

    /// This error of the disk, for a commit that others may have seen, and whoever opens the database next undoes.
    pub(crate) fn of_unsynced_commit(self) -> Self {
        match self {
            Self::Io { action, path, source } => {
                let source = std::io::Error::new(source.kind(), format!("{source}{REOPEN}"));
                Self::Io { action, path, source }
            }
            other => other,
        }
    }

    /// This error once more, for another of those whom it concerns.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Corrupt { place, detail } => Self::Corrupt { place: place.clone(), detail: detail.clone() },
            Self::InvalidInput(text) => Self::InvalidInput(text.clone()),
            Self::Constraint(text) => Self::Constraint(text.clone()),
            Self::Unsupported(text) => Self::Unsupported(text.clone()),
            Self::Locked(text) => Self::Locked(text.clone()),
            Self::Conflict(text) => Self::Conflict(text.clone()),
            Self::LockTimeout(text) => Self::LockTimeout(text.clone()),
            Self::RolledBack(text) => Self::RolledBack(text.clone()),
            Self::Io { action, path, source } => {
                let source = std::io::Error::new(source.kind(), source.to_string());
                Self::Io { action, path: path.clone(), source }
            }
            Self::OutOfMemory(text) => Self::OutOfMemory(text.clone()),
            Self::Cancelled => Self::Cancelled,
            Self::Internal(text) => Self::Internal(text.clone()),
        }
    }

    /// An I/O error with the verb and the path it belongs to, for `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

impl From<Panic> for Error {
    fn from(panic: Panic) -> Self {
        Self::Internal(panic.to_string())
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::invalid(SqlState::DataException, error.to_string())
    }
}
