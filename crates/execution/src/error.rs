//! The execution crate's one error type.

use gingham_storage::panics::Panic;

/// Result of every operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a pipeline could not be made, or did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Data contradicts its own metadata.
    #[error("corrupt data in {place}: {detail}")]
    Corrupt {
        /// The table and column.
        place: String,
        /// What was found.
        detail: String,
    },
    /// Not something that a pipeline does: another operator must.
    #[error("{0}")]
    Unsupported(String),
    /// A value left the type of its expression. Which one, the caller finds by an operator that looks at each.
    #[error("overflow in a compiled expression")]
    Overflow,
    /// The memory limit does not allow it.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The query was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// From below: reading the table.
    #[error(transparent)]
    Storage(#[from] gingham_storage::Error),
    /// A defect of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<Panic> for Error {
    fn from(panic: Panic) -> Self {
        Self::Internal(panic.to_string())
    }
}
