//! What a scan asks of each code, and how its answer meets the bits that are there.

/// A comparison of two codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 6] = [Self::Equal, Self::NotEqual, Self::Less, Self::AtMost, Self::Greater, Self::AtLeast];

    /// Whether it holds of two codes.
    pub const fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
        }
    }

    /// The operator as one of two relations, of the operands in order or swapped, and negated or not.
    pub(super) const fn relation(self) -> (Relation, Order, bool) {
        match self {
            Self::Equal => (Relation::Equal, Order::Given, false),
            Self::NotEqual => (Relation::Equal, Order::Given, true),
            Self::Less => (Relation::Less, Order::Given, false),
            Self::AtLeast => (Relation::Less, Order::Given, true),
            Self::Greater => (Relation::Less, Order::Swapped, false),
            Self::AtMost => (Relation::Less, Order::Swapped, true),
        }
    }
}

/// What kernels that compare two columns know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Less,
}

impl Relation {
    /// Whether it holds of two codes.
    #[inline(always)]
    pub(super) const fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Less => left < right,
        }
    }
}

/// Which operand of a comparison comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Given,
    Swapped,
}

/// What a scan asks of each code. Constants may lie outside the codes' domain: then all codes qualify, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Test {
    /// `code OPERATOR constant`
    Compare(Operator, u64),
    /// `low <= code AND code <= high`; none when `low > high`.
    Between(u64, u64),
    /// `code < low OR code > high`; all when `low > high`.
    Outside(u64, u64),
}

impl Test {
    /// Whether a code qualifies.
    pub const fn holds(self, code: u64) -> bool {
        match self {
            Self::Compare(operator, constant) => operator.holds(code, constant),
            Self::Between(low, high) => low <= code && code <= high,
            Self::Outside(low, high) => code < low || high < code,
        }
    }

    /// The test as one of the three comparisons that kernels know, for codes up to `max`.
    #[inline]
    pub(super) fn plan(self, max: u64) -> Plan {
        match self {
            Self::Compare(Operator::Equal, constant) => between(constant, constant, max),
            Self::Compare(Operator::NotEqual, constant) => between(constant, constant, max).negated(),
            Self::Compare(Operator::Less, constant) => less(constant, max),
            Self::Compare(Operator::AtLeast, constant) => less(constant, max).negated(),
            Self::Compare(Operator::AtMost, constant) => at_most(constant, max),
            Self::Compare(Operator::Greater, constant) => at_most(constant, max).negated(),
            Self::Between(low, high) => between(low, high, max),
            Self::Outside(low, high) => between(low, high, max).negated(),
        }
    }
}

fn less(constant: u64, max: u64) -> Plan {
    match constant {
        0 => Plan::Nothing,
        _ if constant > max => Plan::All,
        _ => Plan::Compare(Comparison::Less(constant), false),
    }
}

fn at_most(constant: u64, max: u64) -> Plan {
    if constant >= max { Plan::All } else { less(constant + 1, max) }
}

fn between(low: u64, high: u64, max: u64) -> Plan {
    match (low, high) {
        _ if low > high || low > max => Plan::Nothing,
        (0, _) => at_most(high, max),
        _ if high >= max && low < max => less(low, max).negated(),
        _ if low == high || low == max => Plan::Compare(Comparison::Equal(low), false),
        _ => Plan::Compare(Comparison::Within { low, end: high + 1 }, false),
    }
}

/// A [`Test`] on codes of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// Every code qualifies.
    All,
    /// No code qualifies.
    Nothing,
    /// Those qualify for which the comparison holds, or, when the flag is set, those for which it does not.
    Compare(Comparison, bool),
}

impl Plan {
    fn negated(self) -> Self {
        match self {
            Self::All => Self::Nothing,
            Self::Nothing => Self::All,
            Self::Compare(comparison, negate) => Self::Compare(comparison, !negate),
        }
    }
}

/// What kernels know; every [`Test`] is one of these, or the negation of one. Constants are within the codes' domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// `code = constant`
    Equal(u64),
    /// `code < constant`, which is not 0.
    Less(u64),
    /// `low <= code AND code < end`, with `0 < low` and `low + 1 < end`.
    Within { low: u64, end: u64 },
}

impl Comparison {
    /// Whether it holds of a code.
    #[inline(always)]
    pub(super) const fn holds(self, code: u64) -> bool {
        match self {
            Self::Equal(constant) => code == constant,
            Self::Less(constant) => code < constant,
            Self::Within { low, end } => low <= code && code < end,
        }
    }

    /// Its one or two constants.
    pub(super) const fn constants(self) -> [u64; 2] {
        match self {
            Self::Equal(constant) | Self::Less(constant) => [constant, 0],
            Self::Within { low, end } => [low, end],
        }
    }
}

/// How the answer of a scan meets the bits that are in `out`.
///
/// `And` and `Or` are the column-first way of the ByteSlice paper (Algorithm 2): with early stop, codes whose answer
/// the bits in `out` have decided are not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Combine {
    /// The answer replaces them.
    #[default]
    Set,
    /// Those stay set that the answer has too.
    And,
    /// The answer's are set as well.
    Or,
}

impl Combine {
    /// The bits of which the answer matters, given 64 bits of `out`.
    #[inline(always)]
    pub(super) const fn interest(self, out: u64) -> u64 {
        match self {
            Self::Set => u64::MAX,
            Self::And => out,
            Self::Or => !out,
        }
    }

    /// 64 bits of `out` with the answer's.
    #[inline(always)]
    pub(super) const fn apply(self, out: u64, answer: u64) -> u64 {
        match self {
            Self::Set => answer,
            Self::And => out & answer,
            Self::Or => out | answer,
        }
    }
}

/// How a scan goes about it; its answer depends on `combine` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// How the answer meets the bits that are in `out`.
    pub combine: Combine,
    /// Leave a run of codes as soon as what was read of them decides the answer.
    pub early_stop: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { combine: Combine::Set, early_stop: true }
    }
}

impl From<Combine> for Options {
    fn from(combine: Combine) -> Self {
        Self { combine, early_stop: true }
    }
}
