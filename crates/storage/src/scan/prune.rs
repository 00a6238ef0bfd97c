//! Zone maps: what a zone's smallest and largest code already decide.

use crate::ColumnId;
use crate::scan::code::{CodePredicate, CodeTest, Junction, Leaf};
use crate::segment::ZoneMap;
use gingham_kernels::packing::Connective;

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
        CodePredicate::Junction(Junction { connective, parts, .. }) => {
            // One part with this verdict decides; without any, all others must agree.
            let (decides, neutral) = match connective {
                Connective::And => (Verdict::None, Verdict::All),
                Connective::Or => (Verdict::All, Verdict::None),
            };
            let mut joined = neutral;
            for part in parts {
                let verdict = judge(part, rows, zone_map);
                if verdict == decides {
                    return decides;
                }
                if verdict == Verdict::Some {
                    joined = Verdict::Some;
                }
            }
            joined
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
        CodeTest::Bitmap { words, negated, .. } => signed(judge_bits(words, map.min, map.max), *negated),
        CodeTest::Set { set, base } => {
            let outside = base + i128::from(map.max) < set.low() || base + i128::from(map.min) > set.high();
            if outside { Verdict::None } else { Verdict::Some }
        }
        CodeTest::Values => Verdict::Some,
    }
}

/// Whether the bits `min..=max` are set; those past the end are not. Looks no further than a bit that is and one that
/// is not.
fn judge_bits(words: &[u64], min: u64, max: u64) -> Verdict {
    let (mut set, mut unset) = (false, max / 64 >= words.len() as u64);
    let first = (min / 64).min(words.len() as u64) as usize;
    let after = (max / 64 + 1).min(words.len() as u64) as usize;
    for (at, word) in words.iter().enumerate().take(after).skip(first) {
        let mut mask = u64::MAX;
        if at as u64 == min / 64 {
            mask &= u64::MAX << (min % 64);
        }
        if at as u64 == max / 64 {
            mask &= u64::MAX >> (63 - max % 64);
        }
        set |= word & mask != 0;
        unset |= !word & mask != 0;
        if set && unset {
            return Verdict::Some;
        }
    }
    Verdict::of(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_of_a_range(words in proptest::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], 0..4),
            min in 0u64..300, length in 0u64..300) {
            let bit = |at: u64| words.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1);
            let set = (min..=min + length).filter(|at| bit(*at)).count() as u64;
            let expected = match set {
                0 => Verdict::None,
                all if all == length + 1 => Verdict::All,
                _ => Verdict::Some,
            };
            prop_assert_eq!(judge_bits(&words, min, min + length), expected);
        }
    }
}
