//! In which order the parts of an AND are evaluated: first what drops most records for the least work.

use super::condition::Condition;
use super::translate::{CodePredicate, CodeTest, Leaf};

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

fn estimate_leaf(leaf: &Leaf) -> (f64, f64) {
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
