//! What a pipeline computes, as its planner writes it: expressions over integers that may be NULL.
//!
//! Every type of the integer class is an integer here (days, unscaled decimals, 0 and 1 for booleans), and a dictionary
//! column is its newest codes. Scales and types are the planner's business: it writes a change of scale as a product.

use crate::value_map::ValueMap;

/// An expression over the columns of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A column of the source, by its position.
    Column(usize),
    /// A constant; NULL when `None`.
    Constant(Option<i128>),
    /// Two integers combined; NULL when either is.
    Arithmetic {
        /// How.
        operator: Arithmetic,
        /// The left operand.
        left: Box<Expression>,
        /// The right operand.
        right: Box<Expression>,
        /// What the result's type can hold. A result outside is an overflow.
        limits: Limits,
    },
    /// 1 when the comparison holds, 0 when not, NULL when either side is.
    Compare {
        /// Which comparison.
        operator: Comparison,
        /// The left operand.
        left: Box<Expression>,
        /// The right operand.
        right: Box<Expression>,
    },
    /// Both hold, in three-valued logic over 0, 1 and NULL.
    And(Box<Expression>, Box<Expression>),
    /// One holds, in three-valued logic.
    Or(Box<Expression>, Box<Expression>),
    /// It does not hold; NULL when it is NULL.
    Not(Box<Expression>),
    /// 1 when it is NULL, else 0.
    IsNull(Box<Expression>),
    /// The value of the first branch whose condition is 1, else `otherwise`.
    Case {
        /// Conditions and values.
        branches: Vec<(Expression, Expression)>,
        /// NULL when a CASE has no ELSE.
        otherwise: Box<Expression>,
    },
    /// A function of an integer of 64 bits.
    Map {
        /// Which.
        map: ValueMap,
        /// Of what.
        argument: Box<Expression>,
    },
}

/// `+`, `-` or `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
}

/// A comparison of two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

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
    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl Comparison {
    /// Whether it holds.
    pub(crate) fn holds<T: Ord>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

impl Expression {
    /// `left operator right`.
    pub fn arithmetic(operator: Arithmetic, left: Self, right: Self, limits: Limits) -> Self {
        Self::Arithmetic { operator, left: Box::new(left), right: Box::new(right), limits }
    }

    /// `left operator right`.
    pub fn compare(operator: Comparison, left: Self, right: Self) -> Self {
        Self::Compare { operator, left: Box::new(left), right: Box::new(right) }
    }
}
