//! What a pipeline computes, as its planner writes it: expressions over integers that may be NULL.
//!
//! Every type of the integer class is an integer here (days, unscaled decimals, 0 and 1 for booleans), a float is the
//! integer that orders as it does ([`float`](mod@crate::program::float)), and a dictionary column is its newest codes. Scales and types are the planner's business: it writes a change of scale as a product.

use crate::Limits;
use crate::data::lookup_table::LookupTable;
use std::cell::RefCell;

/// An expression over the columns of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A column of the source, by its position.
    Column(usize),
    /// A constant; NULL when `None`.
    Constant(Option<i128>),
    /// What a run gives under a number; before, a value of its type or NULL.
    Parameter {
        /// The number.
        number: usize,
        /// What its type can hold.
        limits: Limits,
    },
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
    /// Two integers divided, towards zero; NULL when either is. By zero, it is an overflow.
    Division {
        /// The remainder, with the dividend's sign, rather than the quotient.
        remainder: bool,
        /// The dividend.
        left: Box<Expression>,
        /// The divisor.
        right: Box<Expression>,
        /// What the result's type can hold. A result outside is an overflow.
        limits: Limits,
    },
    /// Two floats combined, as [`ordered`](crate::ordered) integers; NULL when either is.
    Float {
        /// How.
        operator: FloatArithmetic,
        /// The left operand.
        left: Box<Expression>,
        /// The right operand.
        right: Box<Expression>,
    },
    /// An integer as a float.
    ToFloat {
        /// The integer.
        argument: Box<Expression>,
        /// Its digits behind the point.
        digits: u32,
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
        /// The table that is read.
        map: LookupTable,
        /// The integer that its results are looked up by.
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

/// `+`, `-`, `*` or `/` of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatArithmetic {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient.
    Divide,
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
    /// Where its integers lie and whether it may be NULL, over columns of which that is known. Fails when it may need more
    /// than 128 bits, and for an unknown column.
    pub fn facts(&self, columns: &[(Limits, bool)]) -> crate::Result<(Limits, bool)> {
        // Of a parameter no more is known than of a column that may have anything.
        let known = RefCell::new(columns.to_vec());
        let unknown = self.with_leaves(&|leaf| match leaf {
            Self::Parameter { limits, .. } => {
                known.borrow_mut().push((*limits, true));
                Self::Column(known.borrow().len() - 1)
            }
            other => other.clone(),
        });
        let mut builder = crate::program::steps::Builder::new(known.into_inner());
        let result = builder.lower(&unknown)?;
        Ok((builder.range(result.value), result.valid.is_some()))
    }

    /// This expression with other leaves: what `leaf` gives for each column, constant and parameter.
    pub fn with_leaves(&self, leaf: &impl Fn(&Self) -> Self) -> Self {
        let again = |inner: &Self| Box::new(inner.with_leaves(leaf));
        match self {
            Self::Column(_) | Self::Constant(_) | Self::Parameter { .. } => leaf(self),
            Self::Arithmetic { operator, left, right, limits } => {
                Self::Arithmetic { operator: *operator, left: again(left), right: again(right), limits: *limits }
            }
            Self::Division { remainder, left, right, limits } => {
                Self::Division { remainder: *remainder, left: again(left), right: again(right), limits: *limits }
            }
            Self::Float { operator, left, right } => {
                Self::Float { operator: *operator, left: again(left), right: again(right) }
            }
            Self::ToFloat { argument, digits } => Self::ToFloat { argument: again(argument), digits: *digits },
            Self::Compare { operator, left, right } => {
                Self::Compare { operator: *operator, left: again(left), right: again(right) }
            }
            Self::And(left, right) => Self::And(again(left), again(right)),
            Self::Or(left, right) => Self::Or(again(left), again(right)),
            Self::Not(inner) => Self::Not(again(inner)),
            Self::IsNull(inner) => Self::IsNull(again(inner)),
            Self::Case { branches, otherwise } => Self::Case {
                branches: branches.iter().map(|(when, then)| (*again(when), *again(then))).collect(),
                otherwise: again(otherwise),
            },
            Self::Map { map, argument } => Self::Map { map: map.clone(), argument: again(argument) },
        }
    }

    /// The parts of which it is the AND.
    pub(crate) fn conjuncts(&self) -> Vec<&Self> {
        match self {
            Self::And(left, right) => [left.conjuncts(), right.conjuncts()].concat(),
            other => vec![other],
        }
    }

    /// A condition beside another, if there is one.
    pub fn and(known: Option<Self>, condition: Self) -> Self {
        match known {
            Some(known) => Self::And(Box::new(known), Box::new(condition)),
            None => condition,
        }
    }

    /// `left operator right`.
    pub fn arithmetic(operator: Arithmetic, left: Self, right: Self, limits: Limits) -> Self {
        Self::Arithmetic { operator, left: Box::new(left), right: Box::new(right), limits }
    }

    /// `left operator right`, of floats.
    pub fn float(operator: FloatArithmetic, left: Self, right: Self) -> Self {
        Self::Float { operator, left: Box::new(left), right: Box::new(right) }
    }

    /// `left operator right`.
    pub fn compare(operator: Comparison, left: Self, right: Self) -> Self {
        Self::Compare { operator, left: Box::new(left), right: Box::new(right) }
    }
}
