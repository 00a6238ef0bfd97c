//! What share of the records a condition is expected to let through, from zone maps and distinct counts alone.

use crate::ColumnId;
use crate::scan::code::{CodePredicate, CodeTest, Junction, Leaf};
use crate::scan::condition::Condition;
use crate::scan::prune::{Verdict, judge_leaf};
use crate::segment::ZoneMap;
use gingham_kernels::packing::Connective;

/// What the metadata says of a segment (or of any run of zones).
pub(super) struct Metadata<'a> {
    /// Records of each zone.
    pub(super) zones: &'a [usize],
    /// A column's zone map, by the zone's place in `zones`.
    pub(super) zone_map: &'a dyn Fn(ColumnId, usize) -> Option<ZoneMap>,
    /// Distinct values of a column, about; `None` where nobody knows.
    pub(super) distinct: &'a dyn Fn(ColumnId) -> Option<u64>,
}

impl Metadata<'_> {
    /// Writes the expected shares into the leaves and junctions of `predicate`: among the records of the zones that
    /// zone maps leave undecided. Columns are taken to be independent of each other.
    pub(super) fn estimate(&self, predicate: &mut CodePredicate) -> f64 {
        match predicate {
            CodePredicate::Constant(value) => f64::from(u8::from(*value)),
            CodePredicate::Leaf(leaf) => {
                leaf.expected = self.leaf(leaf);
                leaf.expected
            }
            CodePredicate::Junction(Junction { connective, parts, expected, .. }) => {
                let shares = parts.iter_mut().map(|part| self.estimate(part));
                *expected = joined(*connective, shares);
                *expected
            }
        }
    }

    fn leaf(&self, leaf: &Leaf) -> f64 {
        // Only tests for few values need it, and it may have to be computed.
        let few = !matches!(leaf.codes, CodeTest::All | CodeTest::None | CodeTest::Values);
        let distinct = if few { (self.distinct)(leaf.column.id) } else { None };
        let (mut records, mut qualifying) = (0.0, 0.0);
        for (zone, rows) in self.zones.iter().enumerate() {
            let map = (self.zone_map)(leaf.column.id, zone);
            if judge_leaf(leaf, *rows, map) != Verdict::Some {
                continue;
            }
            let nulls = map.map_or(0.0, |map| f64::from(map.nulls));
            let (min, max) = map.filter(|map| map.coded).map_or((0, leaf.max_code), |map| (map.min, map.max));
            let rows = *rows as f64;
            records += rows;
            qualifying += (rows - nulls) * among_codes(leaf, min, max, distinct) + nulls * f64::from(leaf.nulls);
        }
        if records == 0.0 { among_codes(leaf, 0, leaf.max_code, distinct) } else { qualifying / records }
    }
}

/// The share of independent parts that are joined.
pub(super) fn joined(connective: Connective, shares: impl Iterator<Item = f64>) -> f64 {
    match connective {
        Connective::And => shares.product(),
        Connective::Or => 1.0 - shares.map(|share| 1.0 - share).product::<f64>(),
    }
}

/// The share of values that qualify, their codes taken as evenly spread over `min..=max`.
fn among_codes(leaf: &Leaf, min: u64, max: u64, distinct: Option<u64>) -> f64 {
    let span = max.saturating_sub(min) as f64 + 1.0;
    let distinct = distinct.map_or(span, |distinct| (distinct.max(1) as f64).min(span));
    let either = |share: f64, negated: bool| {
        let share = share.clamp(0.0, 1.0);
        if negated { 1.0 - share } else { share }
    };
    let range = |low: u64, high: u64| match (low.max(min), high.min(max)) {
        // A range that holds some code is not taken to hold less than one value.
        (low, high) if low <= high => ((high - low) as f64 + 1.0).max(span / distinct) / span,
        _ => 0.0,
    };
    match &leaf.codes {
        CodeTest::All => 1.0,
        CodeTest::None => 0.0,
        CodeTest::Range { low, high } => either(range(*low, *high), false),
        CodeTest::Outside { low, high } => either(range(*low, *high), true),
        CodeTest::Any { codes, negated } | CodeTest::Sorted { codes, negated } => {
            let within = codes.partition_point(|code| *code <= max) - codes.partition_point(|code| *code < min);
            either(within as f64 / distinct, *negated)
        }
        CodeTest::Bitmap { members, negated, .. } => {
            let domain = leaf.max_code as f64 + 1.0;
            either(*members as f64 / distinct.max(domain * distinct / span), *negated)
        }
        CodeTest::Set { set, .. } => either(set.len() as f64 / distinct, false),
        CodeTest::Values => match &*leaf.condition {
            Condition::KeySet { negated, .. } | Condition::BytesSet { negated, .. } => either(0.1, *negated),
            _ => 0.3,
        },
    }
}
