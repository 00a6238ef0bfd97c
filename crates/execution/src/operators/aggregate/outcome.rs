//! From the words of states to rows.

use crate::data::rows::Column;
use crate::operators::aggregate::found::Found;
use crate::operators::aggregate::moments::Moment;
use crate::operators::aggregate::plan::{Aggregate, Function, Plan, Reading};
use crate::operators::aggregate::states::wide;
use crate::program::float::{ANY, of_units, ordered, power_of_ten};
use crate::program::quotient::{divided, divided_wide};
use crate::{Error, Expression, InternedStrings, Limits, Result};
use arrow::datatypes::i256;
use std::cell::Cell;

/// A column of the rows that an aggregation gives, one row a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// A key, by its number.
    Key(usize),
    /// The result of an aggregate, by its number.
    Value(usize),
    /// The sum, or an overflow; an overflow outside of what its type can hold.
    Within(usize, Limits),
    /// A mean of decimals, rounded half away from zero.
    Mean {
        /// The aggregate that is the sum.
        sum: usize,
        /// The one that is the count.
        count: usize,
        /// Digits behind the point that the mean has more than the sum.
        digits: u32,
        /// What its type can hold. A mean outside is an overflow.
        limits: Limits,
    },
    /// How far numbers spread, as a float.
    Spread(Spread),
    /// How two numbers spread together, as a float.
    Pair(Pair),
    /// What is made of floats that are kept apart, by their number.
    Moment(usize, Moment),
    /// How many there are of what is kept apart.
    Counted(usize),
    /// A string that is kept apart: its number among those of the query.
    Text(usize),
}

/// Variance or standard deviation of numbers, from exact sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The aggregate that is their sum.
    pub sum: usize,
    /// The one that is the sum of their squares.
    pub squares: usize,
    /// The one that is their count.
    pub count: usize,
    /// Their digits behind the point.
    pub digits: u32,
    /// Whether it is of a sample, which needs two numbers, rather than of a population.
    pub sample: bool,
    /// The standard deviation: the variance's root.
    pub root: bool,
}

/// Covariance or correlation of pairs of numbers, from exact sums of those pairs of which neither is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The aggregates that are the sums of the first and of the second numbers.
    pub sums: [usize; 2],
    /// The one that is the sum of their products.
    pub products: usize,
    /// The aggregates that are the sums of the squares, for a correlation; a covariance needs none.
    pub squares: Option<[usize; 2]>,
    /// The one that counts the pairs.
    pub count: usize,
    /// The numbers' digits behind the point.
    pub digits: [u32; 2],
    /// Whether a covariance is of a sample, which needs two pairs, rather than of a population.
    pub sample: bool,
}

/// The sum of the products of the distances of numbers from their means, times how many there are, from the numbers' sums and
/// the sum of their products. No digit is lost before it becomes a float.
fn distances(count: i128, products: i128, [first, second]: [i128; 2]) -> f64 {
    let [count, products, first, second] = [count, products, first, second].map(i256::from_i128);
    let distances = products.wrapping_mul(count).wrapping_sub(first.wrapping_mul(second));
    let (low, high) = distances.wrapping_abs().to_parts();
    let size = high as f64 * 2f64.powi(128) + low as f64;
    if distances.is_negative() { -size } else { size }
}

impl Spread {
    /// The result; `None` is NULL.
    fn of(self, sum: i128, squares: i128, count: i128) -> Option<f64> {
        let others = count - i128::from(self.sample);
        if others <= 0 {
            return None;
        }
        let distance = distances(count, squares, [sum; 2]);
        let variance = distance / count as f64 / others as f64 / power_of_ten(2 * self.digits);
        Some(if self.root { variance.sqrt() } else { variance })
    }
}

impl Pair {
    /// The result, where `read` gives an aggregate's; `None` is NULL.
    fn of(self, read: impl Fn(usize) -> Option<i128>) -> Option<f64> {
        let (count, products) = (read(self.count)?, read(self.products)?);
        let [first, second] = self.sums;
        let sums = [read(first)?, read(second)?];
        let common = distances(count, products, sums);
        let Some([first, second]) = self.squares else {
            let others = count - i128::from(self.sample);
            let digits = power_of_ten(self.digits[0]) * power_of_ten(self.digits[1]);
            return (others > 0).then(|| common / count as f64 / others as f64 / digits);
        };
        // Units cancel out. Where all of one are the same there is none; a single pair is such a case.
        let [one, other] =
            [distances(count, read(first)?, [sums[0]; 2]), distances(count, read(second)?, [sums[1]; 2])];
        (one > 0.0 && other > 0.0).then(|| (common / one.sqrt() / other.sqrt()).clamp(-1.0, 1.0))
    }
}

/// What a sum or a mean is expected to be at most, before it is there: with it some arithmetic fits 64 bits, and other keys
/// fit beside it.
const LARGEST_SUM: i128 = 1 << 48;

impl Finish {
    /// Where the column's integers lie and whether some may be NULL, as far as that is known before any record is read:
    /// keys and aggregates are over columns with these facts, of at most so many records.
    pub fn facts(
        &self,
        keys: &[Expression],
        aggregates: &[Aggregate],
        (columns, rows): (&[(Limits, bool)], u64),
    ) -> Result<(Limits, bool)> {
        let missing = || Error::Internal(format!("an aggregation without {self:?}"));
        let short = Limits::new(i64::MIN, i64::MAX);
        match *self {
            Self::Key(key) => keys.get(key).ok_or_else(missing)?.facts(columns),
            Self::Value(number) => match aggregates.get(number).ok_or_else(missing)? {
                Aggregate { function: Function::Count | Function::CountDistinct, .. } => {
                    Ok((Limits::new(0, i64::try_from(rows).unwrap_or(i64::MAX)), false))
                }
                Aggregate { function: Function::Min | Function::Max, argument: Some(argument), .. } => {
                    Ok((argument.facts(columns)?.0, true))
                }
                Aggregate { function: Function::FloatSum, .. } => Ok((ANY, true)),
                Aggregate { function: Function::Sum | Function::SumDistinct, argument: Some(argument), .. } => {
                    // From one record to all of them.
                    let (one, _) = argument.facts(columns)?;
                    let all = |end: i128| end.saturating_mul(rows.into());
                    let (min, max) = (one.min.min(all(one.min)), one.max.max(all(one.max)));
                    let within = Limits { min: min.max(short.min), max: max.min(short.max) };
                    // What never fits is no integer of this width.
                    Ok((if within.min > within.max { short } else { within }, true))
                }
                _ => Ok((short, true)),
            },
            Self::Spread(_) | Self::Pair(_) | Self::Moment(..) => Ok((ANY, true)),
            Self::Text(_) => Ok((InternedStrings::LIMITS, true)),
            Self::Counted(_) => Ok((Limits::new(0, i64::try_from(rows).unwrap_or(i64::MAX)), false)),
            Self::Within(_, limits) => {
                Ok((Limits { min: limits.min.max(short.min), max: limits.max.min(short.max) }, true))
            }
            // A mean lies among what it is the mean of.
            Self::Mean { sum, digits, limits, .. } => {
                let argument = aggregates.get(sum).and_then(|sum| sum.argument.as_ref()).ok_or_else(missing)?;
                let (Limits { min, max }, _) = argument.facts(columns)?;
                let scaled = |end: i128| 10i128.checked_pow(digits).and_then(|factor| end.checked_mul(factor));
                let ends = scaled(min).zip(scaled(max));
                Ok((ends.map_or(limits, |(min, max)| Limits { min, max }), true))
            }
        }
    }

    /// Bounds of the results by which later pipelines are planned before anything has run: sums and means are expected to be no
    /// larger than such things are. They are planned again by what the rows have.
    pub fn expected(
        &self,
        keys: &[Expression],
        aggregates: &[Aggregate],
        records: (&[(Limits, bool)], u64),
    ) -> Result<(Limits, bool)> {
        let (limits, nullable) = self.facts(keys, aggregates, records)?;
        let is_sum = |number: usize| {
            aggregates.get(number).is_some_and(|own| matches!(own.function, Function::Sum | Function::SumDistinct))
        };
        let likely = match *self {
            Self::Within(..) | Self::Mean { .. } => true,
            Self::Value(number) => is_sum(number),
            _ => false,
        };
        let within = Limits { min: limits.min.max(-LARGEST_SUM), max: limits.max.min(LARGEST_SUM) };
        Ok((if likely && within.min <= within.max { within } else { limits }, nullable))
    }

    pub(super) fn of(&self, plan: &Plan, found: &Found<'_>) -> Result<Column> {
        let reading = |number: usize| {
            let reading = plan.readings.get(number).copied();
            reading.ok_or_else(|| Error::Internal(format!("an aggregation without result {number}")))
        };
        let overflow = Cell::new(false);
        let within = |value: Option<i128>, limits: Limits| {
            let fits = value.is_none_or(|value| (limits.min..=limits.max).contains(&value));
            overflow.set(overflow.get() || !fits);
            value
        };
        let column = match *self {
            Self::Key(number) => {
                let key = plan.keys[number];
                found.column(|group, _| key.of(group))
            }
            Self::Value(number) => {
                let value = reading(number)?;
                found.column(|group, state| value.read(found, group, state))
            }
            Self::Within(number, limits) => {
                let value = reading(number)?;
                found.column(|group, state| within(value.read(found, group, state), limits))
            }
            Self::Spread(spread) => {
                let readings = [reading(spread.sum)?, reading(spread.squares)?, reading(spread.count)?];
                found.column(|group, state| {
                    let [sum, squares, count] = readings.map(|reading| reading.read(found, group, state));
                    Some(ordered(spread.of(sum?, squares?, count?)?).into())
                })
            }
            Self::Pair(pair) => {
                let all = (0..plan.readings.len()).map(reading).collect::<Result<Vec<_>>>()?;
                let read = |number: usize, group: &[u64], state: &[u64]| all.get(number)?.read(found, group, state);
                found.column(|group, state| Some(ordered(pair.of(|number| read(number, group, state))?).into()))
            }
            Self::Moment(item, moment) => {
                found.column(|group, _| Some(ordered(found.moment(item, moment, group)?).into()))
            }
            Self::Counted(item) => found.column(|group, _| Some(found.counted(item, group).into())),
            Self::Text(item) => found.column(|group, _| found.text(item, group)),
            Self::Mean { sum, count, digits, limits } => {
                let (sum, count) = (reading(sum)?, reading(count)?);
                found.column(|group, state| {
                    let (sum, count) = (sum.read(found, group, state)?, count.read(found, group, state)?);
                    let mean = mean(sum, count, digits);
                    overflow.set(overflow.get() || mean.is_none());
                    within(mean, limits)
                })
            }
        };
        if overflow.get() { Err(Error::Overflow) } else { Ok(column) }
    }
}

/// A mean of decimals, rounded half away from zero. `None` when it does not fit 128 bits.
fn mean(sum: i128, count: i128, digits: u32) -> Option<i128> {
    let factor = 10i128.checked_pow(digits)?;
    match sum.checked_mul(factor) {
        Some(scaled) => divided(scaled, count),
        None => divided_wide(i256::from_i128(sum).checked_mul(i256::from_i128(factor))?, i256::from_i128(count)),
    }
}

/// The groups of the states.
impl Reading {
    fn read(&self, found: &Found<'_>, group: &[u64], state: &[u64]) -> Option<i128> {
        match *self {
            Self::Distinct(set) => Some(found.different(set, group).into()),
            Self::Apart(item) => Some(ordered(found.moment(item, Moment::Sum, group)?).into()),
            Self::DistinctSum(set) => found.sum_of_different(set, group),
            Self::Count(word) => Some(state[word].into()),
            Self::Sum { count, .. } if state[count] == 0 => None,
            Self::Sum { word, wide: true, .. } => Some(wide(&state[word..])),
            Self::Sum { word, wide: false, .. } => Some((state[word] as i64).into()),
            Self::FloatSum { count, .. } | Self::Bits { count, .. } if state[count] == 0 => None,
            Self::FloatSum { word, unit, .. } => Some(ordered(of_units(wide(&state[word..]), unit)).into()),
            Self::Bits { word, inverted, .. } => {
                let bits = if inverted { !state[word] } else { state[word] };
                Some((bits as i64).into())
            }
            Self::Extreme { word, end, down } => {
                let distance = i128::from(state[word]);
                (distance != 0).then_some(if down { end - distance } else { end + distance })
            }
        }
    }
}
