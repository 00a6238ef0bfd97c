//! The report of a check.

use crate::Error;

/// What `check` found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Catalog values, segment blocks and LMDB pages verified.
    pub verified: u64,
    /// One per damaged place.
    pub errors: Vec<Error>,
    /// Oddities that are not damage: orphan files, an unclean end.
    pub notes: Vec<String>,
}
