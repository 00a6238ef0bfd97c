//! Interval arithmetic: where the result of an operation lies when its operands lie in given ranges.

use crate::data::limits::Limits;
use crate::program::expression::{Arithmetic, Comparison, FloatArithmetic};
use crate::program::float;

/// Truth: 0 or 1.
pub(super) const TRUTH: Limits = Limits { min: 0, max: 1 };

/// The range of `left operator right`; `None` when it is not within 128 bits.
pub(super) fn arithmetic(operator: Arithmetic, left: Limits, right: Limits) -> Option<Limits> {
    let (min, max) = match operator {
        Arithmetic::Add => (left.min.checked_add(right.min)?, left.max.checked_add(right.max)?),
        Arithmetic::Subtract => (left.min.checked_sub(right.max)?, left.max.checked_sub(right.min)?),
        Arithmetic::Multiply => {
            let corners = [(left.min, right.min), (left.min, right.max), (left.max, right.min), (left.max, right.max)];
            let (mut min, mut max) = (i128::MAX, i128::MIN);
            for (a, b) in corners {
                let product = a.checked_mul(b)?;
                (min, max) = (min.min(product), max.max(product));
            }
            (min, max)
        }
    };
    Some(Limits { min, max })
}

/// The range of a quotient, or of a remainder, whatever the divisor is but zero.
pub(super) fn division(remainder: bool, left: Limits, right: Limits) -> Limits {
    let dividend = left.magnitude() as i128;
    // The nearest that a divisor comes to zero, and the farthest it lies from it.
    let nearest = if right.min > 0 {
        right.min
    } else if right.max < 0 {
        -right.max
    } else {
        1
    };
    let largest = if remainder { dividend.min(right.magnitude() as i128 - 1).max(0) } else { dividend / nearest };
    let signs_differ = left.min < 0 || (!remainder && right.min < 0);
    let may_be_positive = left.max > 0 || (!remainder && right.min < 0);
    Limits { min: if signs_differ { -largest } else { 0 }, max: if may_be_positive { largest } else { 0 } }
}

/// The range of floats combined: rounding keeps order, so that the ends say all, unless something is not finite.
pub(super) fn floats(operator: FloatArithmetic, left: Limits, right: Limits) -> Limits {
    let any = float::ANY;
    let zeros = Limits::new(float::ordered(-0.0), float::ordered(0.0));
    let by_zero = operator == FloatArithmetic::Divide && right.min <= zeros.max && zeros.min <= right.max;
    if by_zero || !float::FINITE.covers(left.union(right)) {
        return any;
    }
    let corners = [(left.min, right.min), (left.min, right.max), (left.max, right.min), (left.max, right.max)];
    let ends = corners.map(|(a, b)| float::combine(operator, a as i64, b as i64));
    let (min, max) = ends.iter().fold((i64::MAX, i64::MIN), |(min, max), end| (min.min(*end), max.max(*end)));
    let range = Limits::new(min, max);
    if float::FINITE.covers(range) { range } else { any }
}

/// `Some` when a comparison has the same answer for all values of the ranges.
pub(super) fn decided(operator: Comparison, left: Limits, right: Limits) -> Option<bool> {
    let apart = left.max < right.min || right.max < left.min;
    match operator {
        Comparison::Equal if apart => Some(false),
        Comparison::NotEqual if apart => Some(true),
        Comparison::Less if left.max < right.min => Some(true),
        Comparison::Less if left.min >= right.max => Some(false),
        Comparison::LessOrEqual if left.max <= right.min => Some(true),
        Comparison::LessOrEqual if left.min > right.max => Some(false),
        Comparison::Greater => decided(Comparison::Less, right, left),
        Comparison::GreaterOrEqual => decided(Comparison::LessOrEqual, right, left),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_every_result_and_no_more() {
        let ranges: Vec<Limits> = (-3..4).flat_map(|min| (min..4).map(move |max| Limits::new(min, max))).collect();
        for (left, right) in ranges.iter().flat_map(|left| ranges.iter().map(move |right| (*left, *right))) {
            let pairs = (left.min..=left.max).flat_map(|a| (right.min..=right.max).map(move |b| (a, b)));
            for (operator, compute) in [
                (Arithmetic::Add, (|a, b| a + b) as fn(i128, i128) -> i128),
                (Arithmetic::Subtract, |a, b| a - b),
                (Arithmetic::Multiply, |a, b| a * b),
            ] {
                let results: Vec<i128> = pairs.clone().map(|(a, b)| compute(a, b)).collect();
                let expected = Limits { min: *results.iter().min().unwrap(), max: *results.iter().max().unwrap() };
                assert_eq!(arithmetic(operator, left, right), Some(expected), "{operator:?} of {left:?}, {right:?}");
            }
            for operator in [
                Comparison::Equal,
                Comparison::NotEqual,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ] {
                if let Some(answer) = decided(operator, left, right) {
                    assert!(
                        pairs.clone().all(|(a, b)| operator.holds(&a, &b) == answer),
                        "{operator:?} {left:?} {right:?}"
                    );
                }
            }
        }
        assert_eq!(arithmetic(Arithmetic::Multiply, Limits::new(0, i128::MAX), Limits::new(0, 2)), None);
    }
}
