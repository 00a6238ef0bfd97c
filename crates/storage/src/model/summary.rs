//! The summary of a column: its bounds, NULLs and distinct values over a whole table.

use crate::Datum;

/// What is known of a column over the whole table.
#[derive(Debug, Clone)]
pub struct ColumnSummary {
    /// Smallest value or a lower bound; NULL when there is none.
    pub min: Datum,
    /// Largest value or an upper bound.
    pub max: Datum,
    /// True when `min` and `max` are values, not bounds.
    pub exact: bool,
    /// NULLs; never 0 where there are some.
    pub nulls: u64,
    /// True when `nulls` is a count, not an estimate.
    pub nulls_exact: bool,
    /// Distinct values.
    pub distinct: u64,
    /// True when `distinct` is a count, not an estimate.
    pub distinct_exact: bool,
}
