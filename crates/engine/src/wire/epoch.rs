//! Where PostgreSQL's times begin.

/// Microseconds from 1970-01-01, where Arrow's times begin, to 2000-01-01, where PostgreSQL's do.
pub(super) const EPOCH_MICROSECONDS: i64 = 946_684_800_000_000;
/// Days from 1970-01-01 to 2000-01-01.
pub(super) const EPOCH_DAYS: i32 = 10_957;
