//! The engine's one error type.

use datafusion::error::DataFusionError;

/// Result of every operation of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a statement or an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The statement can't be parsed or planned, or a value is wrong.
    #[error("{0}")]
    InvalidInput(String),
    /// A row breaks a constraint of its table.
    #[error("{0}")]
    Constraint(String),
    /// Understood, but not offered.
    #[error("{0}")]
    Unsupported(String),
    /// Bytes on disk are not what was written.
    #[error("corrupt data in {place}: {detail}")]
    Corrupt {
        /// File, and block, key or offset in it.
        place: String,
        /// What was expected and what was found.
        detail: String,
    },
    /// The operating system refused a file operation, or the database is locked.
    #[error("{0}")]
    Io(String),
    /// A reservation went past `gingham.memory_limit`.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The statement was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A fault of Gingham's own: please report it.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<gingham_storage::Error> for Error {
    fn from(error: gingham_storage::Error) -> Self {
        use gingham_storage::Error as Storage;
        match error {
            Storage::Corrupt { place, detail } => Self::Corrupt { place, detail },
            Storage::InvalidInput(text) => Self::InvalidInput(text),
            Storage::Constraint(text) => Self::Constraint(text),
            Storage::Unsupported(text) => Self::Unsupported(text),
            Storage::OutOfMemory(text) => Self::OutOfMemory(text),
            Storage::Cancelled => Self::Cancelled,
            other => Self::Io(other.to_string()),
        }
    }
}

impl From<DataFusionError> for Error {
    /// Unwraps contexts and our own errors that travelled through DataFusion.
    fn from(error: DataFusionError) -> Self {
        Self::InvalidInput(error.to_string())
    }
}
