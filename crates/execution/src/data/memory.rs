//! The memory limit, as execution asks for it.

use crate::Result;

/// Who is asked before memory is taken.
pub trait Memory: Send + Sync {
    /// Takes so many bytes more; they are given back when the query has ended. An error when they are too many.
    fn grow(&self, bytes: usize) -> Result<()>;
}
