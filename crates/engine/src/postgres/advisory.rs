//! Advisory locks as functions ask for them.

/// The name of an advisory lock: a number, or two of half the width, which are never the same lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AdvisoryKey {
    /// `pg_advisory_lock(1)`.
    One(i64),
    /// `pg_advisory_lock(1, 2)`.
    Two(i32, i32),
}

/// A lock as a function names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AdvisoryRequest {
    /// Its name.
    pub(crate) key: AdvisoryKey,
    /// Whether others may have it, shared, at the same time.
    pub(crate) shared: bool,
    /// Whether it ends with the transaction, and not with the session.
    pub(crate) of_transaction: bool,
}
