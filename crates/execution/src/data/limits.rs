//! Ranges of integers.

/// A range of integers, both ends in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The smallest.
    pub min: i128,
    /// The largest.
    pub max: i128,
}

impl Limits {
    /// From `min` to `max`.
    pub fn new(min: impl Into<i128>, max: impl Into<i128>) -> Self {
        Self { min: min.into(), max: max.into() }
    }

    /// True when all of `other` lies within.
    pub fn covers(self, other: Self) -> bool {
        self.min <= other.min && other.max <= self.max
    }

    /// True when all of it are integers of 64 bits.
    pub fn is_short(self) -> bool {
        Self::new(i64::MIN, i64::MAX).covers(self)
    }

    /// The largest distance from zero.
    pub fn magnitude(self) -> u128 {
        self.min.unsigned_abs().max(self.max.unsigned_abs())
    }

    /// The smallest range that has both.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}
