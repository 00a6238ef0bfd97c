//! In which order the parts of an AND are evaluated: first what drops most records for the least work.

use super::condition::Condition;
use super::translate::{CodePredicate, CodeTest, Leaf};
use crate::Layout;
use crate::segment::GroupMeta;

/// Picoseconds to copy a code together from rows, measured on an AMD EPYC with AVX-512 at records of 48 bytes. Chunks of two
/// cost more, being loops of two; from then on it is the loop that is shared by k records, down to a plain copy.
const FROM_ROWS: f64 = 450.0;
const PER_RUN: f64 = 1800.0;
const FROM_PAIRS: f64 = 800.0;
const FROM_LONG_RUNS: f64 = 50.0;

/// Sorts the parts of an AND. The best order of independent filters ascends by cost / (1 - share passed).
pub(super) fn order_by_cost(parts: &mut [CodePredicate]) {
    parts.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
}

fn rank(predicate: &CodePredicate) -> f64 {
    let (cost, passed) = estimate(predicate);
    cost / (1.001 - passed)
}

/// Rough picoseconds per record, and the share of records that pass.
fn estimate(predicate: &CodePredicate) -> (f64, f64) {
    match predicate {
        CodePredicate::Constant(value) => (0.0, f64::from(u8::from(*value))),
        CodePredicate::Leaf(leaf) => estimate_leaf(leaf),
        CodePredicate::And(parts) => parts.iter().fold((0.0, 1.0), |(cost, passed), part| {
            let (part_cost, part_passed) = estimate(part);
            (cost + part_cost * passed, passed * part_passed)
        }),
        CodePredicate::Or(parts) => parts.iter().fold((0.0, 0.0), |(cost, passed), part| {
            let (part_cost, part_passed) = estimate(part);
            (cost + part_cost, passed + part_passed * (1.0 - passed))
        }),
    }
}

/// Rough picoseconds a record to bring codes together that lie in chunks: a load each in rows, the copying of short runs
/// in small chunks. Packed codes are compared where they lie.
pub(super) fn gathering(group: &GroupMeta) -> f64 {
    match (group.columns.len(), group.layout) {
        (0 | 1, _) | (_, Layout::Column) => 0.0,
        (_, Layout::Row | Layout::MemPax(1)) => FROM_ROWS,
        (_, Layout::MemPax(k)) => (PER_RUN / f64::from(k)).clamp(FROM_LONG_RUNS, FROM_PAIRS),
    }
}

fn estimate_leaf(leaf: &Leaf) -> (f64, f64) {
    let (cost, passed) = estimate_codes(leaf);
    match leaf.codes {
        CodeTest::All | CodeTest::None | CodeTest::Values => (cost, passed),
        _ => (cost + leaf.gathering, passed),
    }
}

fn estimate_codes(leaf: &Leaf) -> (f64, f64) {
    let codes = leaf.max_code as f64 + 1.0;
    let share = |low: u64, high: u64| ((high.min(leaf.max_code) as f64 - low as f64 + 1.0) / codes).clamp(0.0, 1.0);
    let either = |share: f64, negated: bool| if negated { 1.0 - share } else { share };
    match &leaf.codes {
        CodeTest::All => (5.0, 0.9),
        CodeTest::None => (5.0, 0.1),
        CodeTest::Range { low, high } => (50.0, share(*low, *high)),
        CodeTest::Outside { low, high } => (50.0, 1.0 - share(*low, *high)),
        CodeTest::Any { codes: list, negated } => {
            (40.0 * list.len() as f64, either(list.len() as f64 / codes, *negated))
        }
        CodeTest::Bitmap { words, negated } => {
            let set: u32 = words.iter().map(|word| word.count_ones()).sum();
            (400.0, either(f64::from(set) / codes, *negated))
        }
        CodeTest::Sorted { codes: list, negated } => (10_000.0, either(list.len() as f64 / codes, *negated)),
        CodeTest::Values => match &*leaf.condition {
            Condition::Keys { .. } => (700.0, 0.3),
            Condition::KeySet { negated, .. } => (5_000.0, either(0.1, *negated)),
            Condition::Bytes { .. } => (5_000.0, 0.3),
            Condition::BytesSet { negated, .. } => (5_000.0, either(0.1, *negated)),
            _ => (50_000.0, 0.3),
        },
    }
}
