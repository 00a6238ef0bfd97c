//! Zone maps: what a zone's smallest and largest code already decide.

use super::translate::{CodePredicate, CodeTest, Leaf};
use crate::ColumnId;
use crate::segment::ZoneMap;

/// What is known without reading a zone's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No record qualifies.
    None,
    /// The blocks must be read.
    Some,
    /// Every record qualifies.
    All,
}

impl Verdict {
    fn of(holds: bool) -> Self {
        if holds { Self::All } else { Self::None }
    }

    fn not(self) -> Self {
        match self {
            Self::None => Self::All,
            Self::Some => Self::Some,
            Self::All => Self::None,
        }
    }
}

/// Judges a zone of `rows` records.
pub(super) fn judge(predicate: &CodePredicate, rows: usize, zone_map: &dyn Fn(ColumnId) -> Option<ZoneMap>) -> Verdict {
    match predicate {
        CodePredicate::Constant(value) => Verdict::of(*value),
        CodePredicate::Leaf(leaf) => judge_leaf(leaf, rows, zone_map(leaf.column.id)),
        CodePredicate::And(parts) => {
            let mut verdicts = parts.iter().map(|part| judge(part, rows, zone_map));
            verdicts
                .try_fold(Verdict::All, |all, verdict| match (all, verdict) {
                    (_, Verdict::None) => Err(Verdict::None),
                    (Verdict::All, Verdict::All) => Ok(Verdict::All),
                    _ => Ok(Verdict::Some),
                })
                .unwrap_or_else(|none| none)
        }
        CodePredicate::Or(parts) => {
            let mut verdicts = parts.iter().map(|part| judge(part, rows, zone_map));
            verdicts
                .try_fold(Verdict::None, |none, verdict| match (none, verdict) {
                    (_, Verdict::All) => Err(Verdict::All),
                    (Verdict::None, Verdict::None) => Ok(Verdict::None),
                    _ => Ok(Verdict::Some),
                })
                .unwrap_or_else(|all| all)
        }
    }
}

/// Judges a leaf.
pub(super) fn judge_leaf(leaf: &Leaf, rows: usize, zone_map: Option<ZoneMap>) -> Verdict {
    let Some(map) = zone_map else { return Verdict::Some };
    let of_nulls = Verdict::of(leaf.nulls);
    if map.nulls as usize == rows {
        return of_nulls;
    }
    let of_values = judge_codes(&leaf.codes, &map);
    if map.nulls == 0 || of_values == of_nulls { of_values } else { Verdict::Some }
}

fn judge_codes(codes: &CodeTest, map: &ZoneMap) -> Verdict {
    let within = |low: u64, high: u64| {
        if high < map.min || low > map.max {
            Verdict::None
        } else if low <= map.min && high >= map.max {
            Verdict::All
        } else {
            Verdict::Some
        }
    };
    let signed = |verdict: Verdict, negated: bool| if negated { verdict.not() } else { verdict };
    match codes {
        CodeTest::All => Verdict::All,
        CodeTest::None => Verdict::None,
        _ if !map.coded => Verdict::Some,
        CodeTest::Range { low, high } => within(*low, *high),
        CodeTest::Outside { low, high } => within(*low, *high).not(),
        CodeTest::Any { codes, negated } | CodeTest::Sorted { codes, negated } => {
            let first = codes.partition_point(|code| *code < map.min);
            let verdict = match codes.get(first) {
                Some(code) if *code <= map.max && map.min == map.max => Verdict::All,
                Some(code) if *code <= map.max => Verdict::Some,
                _ => Verdict::None,
            };
            signed(verdict, *negated)
        }
        CodeTest::Bitmap { words, negated } if map.min == map.max => {
            let word = usize::try_from(map.min / 64).ok().and_then(|at| words.get(at));
            signed(Verdict::of(word.is_some_and(|word| word >> (map.min % 64) & 1 == 1)), *negated)
        }
        CodeTest::Bitmap { .. } | CodeTest::Values => Verdict::Some,
    }
}
