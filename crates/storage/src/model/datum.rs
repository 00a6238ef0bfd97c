//! A single value outside an array: a constant of a predicate, a minimum or maximum, a default.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// One value of a column. Which variant a column uses follows from its type's [`ValueClass`](crate::ValueClass).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Datum {
    /// NULL.
    Null,
    /// The ordered integer of the integer class: days, unscaled decimals, 0 and 1 for booleans.
    Integer(i128),
    /// A float; a REAL widened, which is exact.
    Float(FloatBits),
    /// A byte string or text.
    Bytes(Box<[u8]>),
}

/// A float kept by its bits, so that NaN and -0.0 survive serialisation and compare by IEEE 754's total order, as
/// Arrow's kernels do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloatBits(pub u64);

impl FloatBits {
    /// Keeps `value`.
    pub fn new(value: f64) -> Self {
        Self(value.to_bits())
    }

    /// The float.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl Datum {
    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Order of two values of one column, `None` when either is NULL (or they are of different classes).
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => Some(a.get().total_cmp(&b.get())),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}
