//! How a column is encoded in a segment, and what is known of its values there.

use crate::Datum;
use serde::{Deserialize, Serialize};

/// Value <-> code of one column in one segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Integer class: code = value - base.
    FrameOfReference {
        /// Smallest value.
        base: i128,
    },
    /// Float class: code = value * 10^digits - base, when exact for every value.
    ScaledFloat {
        /// Smallest scaled value.
        base: i64,
        /// Decimal digits behind the point.
        digits: u8,
    },
    /// Float class: code = ordered bits - base.
    FloatOrder {
        /// Smallest ordered pattern.
        base: u64,
    },
    /// Bytes class: code = position among the sorted entries of a dictionary version.
    Dictionary,
    /// The value itself: 128-bit integers whose range exceeds 64 bits, and byte strings of high cardinality.
    Plain,
}

/// What is known of a column's values in one segment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// Smallest value, NULL when all are NULL. Byte strings longer than 64 bytes are cut (a lower bound).
    pub min: Datum,
    /// Largest value, likewise; a cut byte string is rounded up (an upper bound).
    pub max: Datum,
    /// True when `min` and `max` are values, not bounds.
    pub exact: bool,
    /// NULLs.
    pub nulls: u64,
    /// HyperLogLog sketch of the distinct values ([`crate::encoding::sketch`]); empty in the delta.
    #[serde(skip)]
    pub sketch: Vec<u8>,
}
