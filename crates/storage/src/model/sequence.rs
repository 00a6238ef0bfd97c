//! Sequences: how they count, and how far they have come.

use crate::{ColumnId, TableId, TableName};
use serde::{Deserialize, Serialize};

/// How a sequence counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceDefinition {
    /// Number within the database, of the counter that tables have theirs from; 0 until created.
    pub number: u64,
    /// Schema and name. Tables, views and sequences have their names in common.
    pub name: TableName,
    /// Bits of its integers: 16, 32 or 64.
    pub bits: u8,
    /// The step from one value to the next, not 0.
    pub increment: i64,
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub most: i64,
    /// The first value.
    pub start: i64,
    /// Values that are taken at once, at least 1.
    pub cache: u64,
    /// Whether it begins anew behind its last value.
    pub cycle: bool,
    /// The column that it is for.
    pub owner: Option<SequenceOwner>,
    /// What COMMENT ON says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// The column that a sequence goes with: it is dropped when that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceOwner {
    /// The table.
    pub table: TableId,
    /// Its column.
    pub column: ColumnId,
    /// Whether it counts for an identity column, and can't be dropped alone.
    pub identity: bool,
}

/// How far a sequence has come, as a commit keeps it: all values up to `last` may have been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequencePosition {
    /// The last value of the block that was taken last, or the one to begin with.
    pub last: i64,
    /// Whether `last` may have been given.
    pub called: bool,
    /// Another number after each start anew, so that nothing is left of what was known before.
    pub generation: u64,
    /// Number of the block that was taken last.
    pub block: u64,
}

/// A sequence as the catalog keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceRecord {
    /// How it counts.
    pub definition: SequenceDefinition,
    /// How far it has come.
    pub position: SequencePosition,
}

impl SequenceDefinition {
    /// An ascending sequence of 64 bits from 1, which has no number yet.
    pub fn new(name: TableName) -> Self {
        Self {
            number: 0,
            name,
            bits: 64,
            increment: 1,
            least: 1,
            most: i64::MAX,
            start: 1,
            cache: 1,
            cycle: false,
            owner: None,
            comment: None,
        }
    }

    /// The value behind `last`; `None` behind the last one of all.
    pub(crate) fn after(&self, last: i64) -> Option<i64> {
        let next = last.checked_add(self.increment).filter(|next| (self.least..=self.most).contains(next));
        let first = if self.increment > 0 { self.least } else { self.most };
        next.or(Some(first).filter(|_| self.cycle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_or_begin_anew() {
        let name = TableName { schema: "public".into(), table: "s".into() };
        let up = SequenceDefinition { increment: 3, most: 7, ..SequenceDefinition::new(name) };
        assert_eq!((up.after(1), up.after(4), up.after(7)), (Some(4), Some(7), None));
        let down = SequenceDefinition { increment: -3, cycle: true, ..up.clone() };
        assert_eq!((down.after(7), down.after(2)), (Some(4), Some(7)));
        let far = SequenceDefinition { most: i64::MAX, ..up };
        assert_eq!(far.after(i64::MAX), None);
    }
}
