//! What a scan filters by: a condition over single columns, evaluated on codes where the encoding allows it.
//!
//! A predicate selects the rows for which it is TRUE. Negation has no node of its own: the caller pushes NOT down to
//! the leaves, where NULL stays "not true", so that AND and OR combine plain bit vectors under SQL's three-valued
//! logic.

use crate::{ColumnId, Datum, IntegerSet, Result};
use arrow::array::{ArrayRef, BooleanArray};
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Arc;

/// A condition on the rows of one table.
#[derive(Debug, Clone)]
pub enum Predicate {
    /// All rows, or none.
    Constant(bool),
    /// Value within bounds; NULL is outside. Comparisons and BETWEEN are ranges.
    Range {
        /// The column compared.
        column: ColumnId,
        /// Lower bound, never [`Datum::Null`].
        low: Bound<Datum>,
        /// Upper bound, never [`Datum::Null`].
        high: Bound<Datum>,
    },
    /// Value is one of `values` (none of them, when `negated`); NULL is neither. `<>` is a negated list of one.
    /// A negated list with a NULL in it is never true, so the caller writes `Constant(false)` for it.
    In {
        /// The column compared.
        column: ColumnId,
        /// The list, without NULLs.
        values: Vec<Datum>,
        /// NOT IN.
        negated: bool,
    },
    /// Value is one of a set; NULL is not. For columns of the integer class only.
    Among {
        /// The column compared.
        column: ColumnId,
        /// The set.
        set: Arc<IntegerSet>,
    },
    /// Value is NULL, or is not.
    IsNull {
        /// The column tested.
        column: ColumnId,
        /// IS NOT NULL.
        negated: bool,
    },
    /// Any other condition on one column: evaluated once per dictionary entry, else on the decoded values.
    Test {
        /// The column tested.
        column: ColumnId,
        /// The condition.
        test: Arc<dyn ColumnTest>,
    },
    /// All of these.
    And(Vec<Predicate>),
    /// Any of these.
    Or(Vec<Predicate>),
}

/// A condition on one column that is not a range: LIKE, a function, anything deterministic.
pub trait ColumnTest: Debug + Send + Sync {
    /// Tests each value of `values`, which has the column's Arrow type and may hold NULLs; one result per value, NULL
    /// counting as not true.
    fn test(&self, values: &ArrayRef) -> Result<BooleanArray>;

    /// Tests strings that lie one behind the other: string t is `bytes[offsets[t]..offsets[t + 1]]`. One bit each, which of a
    /// NULL is any. `None` when there is no faster way than [`test`](Self::test).
    fn test_run(&self, _offsets: &[u32], _bytes: &[u8]) -> Option<Vec<u64>> {
        None
    }
}
