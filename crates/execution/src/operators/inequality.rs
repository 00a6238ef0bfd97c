//! Joins by inequalities: a record's matches lie next to each other when the build side's rows are in the order of the column
//! that is compared, and two searches find the first and the last. What the condition says is looked at all the same, so
//! that a range need not be exact.

use crate::Result;
use crate::program::expression::{Arithmetic, Comparison, Expression};
use crate::program::steps::{Builder, StepId};
use std::ops::Range as Span;

/// A column of the build side and where its values lie for a match.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// The build side's column, by position.
    pub column: usize,
    /// Values are larger than this, or equal when it is not strict.
    pub low: Option<Bound>,
    /// Values are smaller.
    pub high: Option<Bound>,
}

/// An end of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Over the probing record's columns.
    pub value: Expression,
    /// The value itself is outside.
    pub strict: bool,
}

/// A range whose ends are outputs of a stage, the second and the third or only one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RangeEnds {
    /// The lower end: the output that has it, and whether the end is outside of the range.
    low: Option<(usize, bool)>,
    high: Option<(usize, bool)>,
}

impl Range {
    /// What a condition says of one of the columns `build`: of that with most ends. `None` when it compares none of them with
    /// other columns.
    pub fn of(condition: &Expression, build: Span<usize>) -> Option<Self> {
        let mut ranges: Vec<Self> = Vec::new();
        for part in condition.conjuncts() {
            let Expression::Compare { operator, left, right } = part else { continue };
            let sides = [(left, right, *operator), (right, left, turned(*operator))];
            for (own, other, operator) in sides {
                let Some(column) = column(own) else { continue };
                if build.contains(&column) && !reads(other, &build) {
                    add(&mut ranges, column - build.start, operator, other);
                }
            }
        }
        ranges.into_iter().reduce(|best, next| if next.ends() > best.ends() { next } else { best })
    }

    fn ends(&self) -> usize {
        usize::from(self.low.is_some()) + usize::from(self.high.is_some())
    }

    /// This range with other leaves in its expressions.
    pub(crate) fn with(&self, with: impl Fn(&Expression) -> Expression) -> Self {
        let bound = |bound: &Bound| Bound { value: with(&bound.value), strict: bound.strict };
        Self { column: self.column, low: self.low.as_ref().map(bound), high: self.high.as_ref().map(bound) }
    }

    /// Adds the ends to the outputs of a stage. `None`, and none added, when they are no integers of 64 bits.
    pub(crate) fn lower(&self, builder: &mut Builder, outputs: &mut Vec<StepId>) -> Result<Option<RangeEnds>> {
        let before = outputs.len();
        let mut end = |bound: &Option<Bound>, none: i64| -> Result<Option<Option<(usize, bool)>>> {
            let Some(Bound { value, strict }) = bound else { return Ok(Some(None)) };
            let value = builder.lower(value)?;
            let mut step = value.value;
            if let Some(valid) = value.valid {
                let none = builder.constant(none.into());
                step = builder.choose(valid, step, none);
            }
            if !builder.range(step).is_short() {
                return Ok(None);
            }
            outputs.push(step);
            Ok(Some(Some((outputs.len() - 1, *strict))))
        };
        // NULL is in no range.
        let ends = (end(&self.low, i64::MAX)?, end(&self.high, i64::MIN)?);
        let (Some(low), Some(high)) = ends else {
            outputs.truncate(before);
            return Ok(None);
        };
        Ok(Some(RangeEnds { low, high }))
    }
}

/// The column that an expression is, in another type perhaps.
fn column(expression: &Expression) -> Option<usize> {
    match expression {
        Expression::Column(column) => Some(*column),
        Expression::Arithmetic { operator: Arithmetic::Multiply, left, right, .. } => {
            (**right == Expression::Constant(Some(1))).then(|| column(left))?
        }
        _ => None,
    }
}

fn turned(operator: Comparison) -> Comparison {
    match operator {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// Whether an expression is over one of some columns.
fn reads(expression: &Expression, columns: &Span<usize>) -> bool {
    let found = std::cell::Cell::new(false);
    expression.with_leaves(&|leaf| {
        let inside = matches!(leaf, Expression::Column(column) if columns.contains(column));
        found.set(found.get() || inside);
        leaf.clone()
    });
    found.get()
}

/// A comparison of a column with a value; of several for one end, the first counts.
fn add(ranges: &mut Vec<Range>, column: usize, operator: Comparison, value: &Expression) {
    let strict = matches!(operator, Comparison::Less | Comparison::Greater);
    let place = ranges.iter().position(|range| range.column == column).unwrap_or_else(|| {
        ranges.push(Range { column, low: None, high: None });
        ranges.len() - 1
    });
    let bound = || Bound { value: value.clone(), strict };
    let Range { low, high, .. } = &mut ranges[place];
    match operator {
        Comparison::Greater | Comparison::GreaterOrEqual => drop(low.get_or_insert_with(bound)),
        Comparison::Less | Comparison::LessOrEqual => drop(high.get_or_insert_with(bound)),
        // Keys are equal; here it is an expression that was no key.
        Comparison::Equal => {
            low.get_or_insert_with(bound);
            high.get_or_insert_with(bound);
        }
        Comparison::NotEqual => ranges.retain(|range| range.ends() > 0),
    }
}

impl RangeEnds {
    /// For each record the rows of its range, of values that ascend, in place of what `spans` had.
    pub(crate) fn find(self, outputs: &[Vec<i64>], values: &[i64], spans: &mut Vec<Span<u32>>) {
        spans.clear();
        let records = outputs.first().map_or(0, Vec::len);
        spans.extend((0..records).map(|record| {
            let first = self.low.map_or(0, |(output, strict)| {
                let low = outputs[output][record];
                values.partition_point(|value| *value < low || (strict && *value == low))
            });
            let end = self.high.map_or(values.len(), |(output, strict)| {
                let high = outputs[output][record];
                values.partition_point(|value| *value < high || (!strict && *value == high))
            });
            first as u32..end.max(first) as u32
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(column: usize) -> Expression {
        Expression::Column(column)
    }

    /// A column in another type.
    fn widened(number: usize) -> Expression {
        let limits = crate::Limits::new(i64::MIN, i64::MAX);
        Expression::arithmetic(Arithmetic::Multiply, column(number), Expression::Constant(Some(1)), limits)
    }

    #[test]
    fn the_column_with_two_ends_is_taken() {
        let less = Expression::compare(Comparison::Less, column(2), column(0));
        let from = Expression::compare(Comparison::LessOrEqual, column(0), column(3));
        let to = Expression::compare(Comparison::Greater, column(1), widened(3));
        let both = Expression::compare(Comparison::Less, column(3), column(2));
        let all = [both, less.clone(), from, to].into_iter().reduce(|a, b| Expression::And(Box::new(a), Box::new(b)));
        let range = Range::of(&all.expect("parts"), 2..4).expect("a range");
        assert_eq!(range.column, 1);
        assert_eq!(range.low, Some(Bound { value: column(0), strict: false }));
        assert_eq!(range.high, Some(Bound { value: column(1), strict: true }));
        let one = Range::of(&less, 2..4).expect("a range");
        assert_eq!((one.column, one.low), (0, None));
        let unequal = Expression::compare(Comparison::NotEqual, column(2), column(0));
        assert_eq!(Range::of(&unequal, 2..4), None);
        assert_eq!(Range::of(&less, 3..4), None);
    }

    proptest! {
        #[test]
        fn rows_in_a_range_are_those_that_compare(
            mut values in prop::collection::vec(-9..9i64, 0..40),
            bounds in prop::collection::vec((-10..10i64, -10..10i64), 0..20),
            low in prop::option::of(any::<bool>()),
            high in prop::option::of(any::<bool>()),
        ) {
            values.sort_unstable();
            let outputs = [bounds.iter().map(|_| 0).collect(), bounds.iter().map(|(low, _)| *low).collect(),
                bounds.iter().map(|(_, high)| *high).collect::<Vec<i64>>()];
            let ends = RangeEnds { low: low.map(|strict| (1, strict)), high: high.map(|strict| (2, strict)) };
            let mut spans = vec![7..9, 1..3];
            ends.find(&outputs, &values, &mut spans);
            prop_assert_eq!(spans.len(), bounds.len());
            for ((from, to), span) in bounds.iter().zip(spans) {
                for (row, value) in values.iter().enumerate() {
                    let above = low.is_none_or(|strict| value > from || (!strict && value == from));
                    let below = high.is_none_or(|strict| value < to || (!strict && value == to));
                    prop_assert_eq!(span.contains(&(row as u32)), above && below, "{} in {}..{}", value, from, to);
                }
            }
        }
    }
}
