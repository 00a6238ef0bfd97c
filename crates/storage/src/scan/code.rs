//! A predicate on the codes of one segment: what [`crate::scan::translate`] makes, [`crate::scan::rank`] puts in order and
//! [`crate::scan::evaluate`] runs.

use crate::model::view::Format;
use crate::scan::condition::Condition;
use crate::{ColumnDefinition, IntegerSet};
use gingham_kernels::packing::{Connective, Way};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A predicate on the codes of one segment.
#[derive(Debug, Clone)]
pub(super) enum CodePredicate {
    Constant(bool),
    Leaf(Leaf),
    Junction(Junction),
}

/// Predicates joined by AND or OR.
#[derive(Debug, Clone)]
pub(super) struct Junction {
    pub(super) connective: Connective,
    /// At least two, in the order in which they are evaluated; none is a constant.
    pub(super) parts: Vec<CodePredicate>,
    /// How they are evaluated.
    pub(super) way: Way,
    /// Its number in the scan, the same in every segment.
    pub(super) node: usize,
    /// Share of the records that the segment's metadata lets expect to qualify.
    pub(super) expected: f64,
}

impl CodePredicate {
    /// All of `parts`: the conjunction number `node`.
    pub(super) fn all(parts: Vec<Self>, node: usize) -> Self {
        match Self::flattened(Connective::And, parts).and_then(intersect_ranges) {
            Some(flat) => Self::joined(Connective::And, flat, node),
            None => Self::Constant(false),
        }
    }

    /// Any of `parts`: the disjunction number `node`.
    pub(super) fn any(parts: Vec<Self>, node: usize) -> Self {
        match Self::flattened(Connective::Or, parts) {
            Some(flat) => Self::joined(Connective::Or, flat, node),
            None => Self::Constant(true),
        }
    }

    /// The parts without constants, those of parts that are joined alike among them; `None` when a constant decides all.
    fn flattened(connective: Connective, parts: Vec<Self>) -> Option<Vec<Self>> {
        let neutral = connective == Connective::And;
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self::Constant(value) if value == neutral => {}
                Self::Constant(_) => return None,
                Self::Junction(junction) if junction.connective == connective => flat.extend(junction.parts),
                other => flat.push(other),
            }
        }
        Some(flat)
    }

    /// Bytes of memory that it takes; sets that segments share count once for each.
    pub(super) fn bytes(&self) -> usize {
        let own = match self {
            Self::Constant(_) => 0,
            Self::Leaf(leaf) => match &leaf.codes {
                CodeTest::Any { codes: words, .. }
                | CodeTest::Sorted { codes: words, .. }
                | CodeTest::Bitmap { words, .. } => size_of_val(&**words),
                _ => 0,
            },
            Self::Junction(junction) => junction.parts.iter().map(Self::bytes).sum(),
        };
        size_of::<Self>() + own
    }

    fn joined(connective: Connective, mut parts: Vec<Self>, node: usize) -> Self {
        match parts.len() {
            0 => Self::Constant(connective == Connective::And),
            1 => parts.remove(0),
            _ => Self::Junction(Junction { connective, parts, way: Way::ColumnFirst, node, expected: 0.5 }),
        }
    }
}

/// A condition on the codes of one column of one segment.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) column: Arc<ColumnDefinition>,
    /// The condition on values, for what has no codes.
    pub(super) condition: Arc<Condition>,
    /// Which codes of values qualify.
    pub(super) codes: CodeTest,
    /// Whether NULL qualifies.
    pub(super) nulls: bool,
    /// Largest code of the segment, to judge how much a test lets through.
    pub(super) max_code: u64,
    /// Where the codes lie.
    pub(super) reach: Reach,
    /// Its number in the scan, the same in every segment.
    pub(super) node: usize,
    /// Share of the records that the segment's metadata lets expect to qualify.
    pub(super) expected: f64,
}

/// Where the codes of a column lie, as far as it matters to what comparing them costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reach {
    /// Next to each other, each in so many bytes.
    Native(u8),
    /// In chunks beside other columns: so many picoseconds to bring a record's code together with its neighbours'.
    Chunks {
        /// Bytes of a code.
        width: u8,
        gathering: f64,
    },
    /// Packed.
    Packed(Format),
    /// There are values only.
    Values,
}

impl Leaf {
    /// Whether it is one comparison of packed codes, which NULL does not fulfil: what all ways of
    /// [`gingham_kernels::packing::evaluate`] take.
    pub(super) fn in_place(&self) -> bool {
        let compared = matches!(self.codes, CodeTest::Range { .. } | CodeTest::Outside { .. });
        compared && !self.nulls && matches!(self.reach, Reach::Packed(_))
    }
}

/// Which codes qualify.
#[derive(Debug, Clone)]
pub(super) enum CodeTest {
    /// Every value.
    All,
    /// No value.
    None,
    /// `low..=high`.
    Range { low: u64, high: u64 },
    /// All but `low..=high`.
    Outside { low: u64, high: u64 },
    /// One of a few, or none of them.
    Any { codes: Arc<[u64]>, negated: bool },
    /// Those whose bit is set, or those whose bit is not; `members` bits are set.
    Bitmap { words: Arc<[u64]>, members: u64, negated: bool },
    /// Those of integers in the set: `base` more than the code.
    Set { set: Arc<IntegerSet>, base: i128 },
    /// One of many (ascending) over a domain too wide for a bitmap, or none of them.
    Sorted { codes: Arc<[u64]>, negated: bool },
    /// The condition must be evaluated on values.
    Values,
}

/// Lists up to this long are compared code by code.
pub(super) const FEW: usize = 6;
/// Bitmaps of a list may take this many words (8 MB); wider domains are searched.
pub(super) const BITMAP_WORDS: u64 = 1 << 20;

impl CodeTest {
    /// The test for membership in `codes`, ascending without duplicates, of the domain `0..=max_code`.
    pub(super) fn members(codes: &[u64], negated: bool, max_code: u64) -> Self {
        let (&[low, ..], &[.., high]) = (codes, codes) else {
            return if negated { Self::All } else { Self::None };
        };
        if high - low == codes.len() as u64 - 1 {
            return Self::span(low..=high, negated, max_code);
        }
        let codes: Arc<[u64]> = codes.into();
        if codes.len() <= FEW {
            Self::Any { codes, negated }
        } else if high / 64 < BITMAP_WORDS {
            let mut words = vec![0u64; (high / 64 + 1) as usize];
            codes.iter().for_each(|code| words[(code / 64) as usize] |= 1 << (code % 64));
            Self::Bitmap { words: words.into(), members: codes.len() as u64, negated }
        } else {
            Self::Sorted { codes, negated }
        }
    }

    /// The test for a range of the domain `0..=max_code`.
    pub(super) fn span(range: RangeInclusive<u64>, negated: bool, max_code: u64) -> Self {
        let (low, high) = range.into_inner();
        match (low == 0 && high >= max_code, negated) {
            (true, false) => Self::All,
            (true, true) => Self::None,
            (false, false) => Self::Range { low, high },
            (false, true) => Self::Outside { low, high },
        }
    }
}

/// Makes one range of all ranges of a column: a BETWEEN that was written as two comparisons. `None` when no code is in
/// all of them.
fn intersect_ranges(parts: Vec<CodePredicate>) -> Option<Vec<CodePredicate>> {
    let mut merged: Vec<CodePredicate> = Vec::with_capacity(parts.len());
    for part in parts {
        if let CodePredicate::Leaf(Leaf { column, codes: CodeTest::Range { low, high }, nulls: false, .. }) = &part {
            let same = merged.iter_mut().find_map(|other| match other {
                CodePredicate::Leaf(other @ Leaf { codes: CodeTest::Range { .. }, nulls: false, .. })
                    if other.column.id == column.id =>
                {
                    Some(other)
                }
                _ => None,
            });
            if let Some(other) = same
                && let CodeTest::Range { low: other_low, high: other_high } = &mut other.codes
            {
                *other_low = (*other_low).max(*low);
                *other_high = (*other_high).min(*high);
                if other_low > other_high {
                    return None;
                }
                continue;
            }
        }
        merged.push(part);
    }
    Some(merged)
}

/// A part of a predicate that is evaluated on codes.
#[derive(Debug, Clone, PartialEq)]
pub struct PartOnCodes {
    /// The column that it is about.
    pub column: String,
    /// The share of records that it was expected to let through, from 0 to 1.
    pub expected: f64,
    /// The share that it was seen to let through.
    pub seen: Option<f64>,
}
