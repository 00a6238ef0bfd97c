//! From the words of states to rows.

use super::plan::{Aggregate, Function, KeyRange, Plan, Reading};
use super::states::{States, wide};
use super::table::GroupTable;
use crate::float::{ANY, of_units, ordered, power_of_ten};
use crate::rows::{Column, Rows, Values};
use crate::{Error, Expression, Limits, Result};
use arrow::datatypes::i256;
use std::borrow::Cow;
use std::cell::Cell;

/// Groups that are given in the order of their keys.
const SORTED: usize = 1 << 16;

/// A column of the rows that an aggregation gives, one row a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// A key, by its number.
    Key(usize),
    /// The result of an aggregate, by its number.
    Value(usize),
    /// The same; it is an overflow outside of what its type can hold.
    Within(usize, Limits),
    /// A mean of decimals, towards zero.
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
    /// Of a sample, which needs two numbers, rather than of all.
    pub sample: bool,
    /// The standard deviation: the variance's root.
    pub root: bool,
}

impl Spread {
    /// The result; `None` is NULL.
    fn of(self, sum: i128, squares: i128, count: i128) -> Option<f64> {
        let others = count - i128::from(self.sample);
        if others <= 0 {
            return None;
        }
        // No digit is lost before the one division.
        let [sum, squares, numbers] = [sum, squares, count].map(i256::from_i128);
        let (low, high) = squares.wrapping_mul(numbers).wrapping_sub(sum.wrapping_mul(sum)).to_parts();
        let distance = high as f64 * 2f64.powi(128) + low as f64;
        let variance = distance / count as f64 / others as f64 / power_of_ten(2 * self.digits);
        Some(if self.root { variance.sqrt() } else { variance })
    }
}

/// Groups that have records.
struct Found<'a> {
    stride: usize,
    /// Their states: those of an array brought together, so that what follows reads no others.
    words: Cow<'a, [u64]>,
    /// Their numbers and places among these states, in the order of the rows.
    groups: Groups<'a>,
    /// How many different values each has, of each set.
    distinct: Vec<Counts>,
}

/// A count for each of some groups.
struct Counts {
    groups: GroupTable,
    counts: Vec<u32>,
}

impl Counts {
    /// Of the numbers in a set whose last digit has so many values.
    fn of(set: &GroupTable, size: u64) -> Self {
        let mut groups = GroupTable::new();
        let mut places: Vec<u64> = set.numbers().iter().map(|number| number / size).collect();
        groups.places(&mut places);
        let mut counts = vec![0; groups.numbers().len()];
        for place in places {
            counts[place as usize] += 1;
        }
        Self { groups, counts }
    }

    fn get(&self, group: u64) -> u32 {
        self.groups.place(group).map_or(0, |place| self.counts[place])
    }
}

enum Groups<'a> {
    /// Each at its place.
    Array(Vec<u32>),
    Table {
        places: Vec<u32>,
        numbers: &'a [u64],
    },
}

/// The rows of the groups that have records; without keys there is one, of no records perhaps. `place` names the source,
/// for the error of values outside of what its metadata says; `take` is asked for the bytes that they need.
pub(crate) fn rows(
    plan: &Plan,
    states: &States,
    columns: &[Finish],
    place: &str,
    take: impl FnOnce(usize) -> Result<()>,
) -> Result<Rows> {
    let found = found(plan, states, place)?;
    take(found.len() * (columns.len() + plan.stride) * size_of::<i64>())?;
    let columns = columns.iter().map(|column| column.of(plan, &found)).collect::<Result<_>>()?;
    Ok(Rows { rows: found.len(), columns })
}

impl Finish {
    /// Where the column's integers lie and whether some may be NULL, as far as that is known before any record is read:
    /// keys and aggregates are over columns with these facts.
    pub fn facts(
        &self,
        keys: &[Expression],
        aggregates: &[Aggregate],
        columns: &[(Limits, bool)],
    ) -> Result<(Limits, bool)> {
        let missing = || Error::Internal(format!("an aggregation without {self:?}"));
        let short = Limits::new(i64::MIN, i64::MAX);
        match *self {
            Self::Key(key) => keys.get(key).ok_or_else(missing)?.facts(columns),
            Self::Value(number) => match aggregates.get(number).ok_or_else(missing)? {
                Aggregate { function: Function::Count | Function::CountDistinct, .. } => {
                    Ok((Limits::new(0, i64::MAX), false))
                }
                Aggregate { function: Function::Min | Function::Max, argument: Some(argument), .. } => {
                    Ok((argument.facts(columns)?.0, true))
                }
                Aggregate { function: Function::FloatSum, .. } => Ok((ANY, true)),
                _ => Ok((short, true)),
            },
            Self::Spread(_) => Ok((ANY, true)),
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

    fn of(&self, plan: &Plan, found: &Found<'_>) -> Result<Column> {
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
                let lower = plan.keys[number + 1..].iter().map(|key| key.size as u64).product::<u64>();
                let KeyRange { low, size, nullable } = plan.keys[number];
                let digit = move |number: u64| i128::from(number / lower % size as u64);
                found.column(|number, _| {
                    Some(digit(number)).filter(|digit| !nullable || *digit != size - 1).map(|digit| low + digit)
                })
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

/// A mean of decimals: towards zero, as DataFusion's. `None` when it does not fit 128 bits.
fn mean(sum: i128, count: i128, digits: u32) -> Option<i128> {
    sum.checked_mul(10i128.checked_pow(digits)?)?.checked_div(count)
}

/// The groups of the states.
fn found<'a>(plan: &Plan, states: &'a States, place: &str) -> Result<Found<'a>> {
    let stride = plan.stride;
    let sets = states.sets.iter().zip(&plan.distinct);
    let distinct = sets.map(|(set, distinct)| Counts::of(set, distinct.size)).collect();
    let Some(table) = &states.table else {
        let spare = states.spare() as usize;
        if states.words[spare * stride] != 0 {
            let detail = "a column has values outside of the range in its metadata; run `check`";
            return Err(Error::Corrupt { place: place.to_owned(), detail: detail.to_owned() });
        }
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        for (state, number) in states.words.chunks_exact(stride).take(spare).zip(0..) {
            if state[0] != 0 || plan.keys.is_empty() {
                words.extend_from_slice(state);
                numbers.push(number);
            }
        }
        return Ok(Found { stride, words: Cow::Owned(words), groups: Groups::Array(numbers), distinct });
    };
    let numbers = table.numbers();
    let mut places: Vec<u32> = (0..numbers.len() as u32).collect();
    // Who looks at so many rows does not care for their order, and it costs more than all else.
    if places.len() <= SORTED {
        places.sort_unstable_by_key(|place| numbers[*place as usize]);
    }
    let groups = Groups::Table { places, numbers };
    Ok(Found { stride, words: Cow::Borrowed(&states.words), groups, distinct })
}

impl Found<'_> {
    fn len(&self) -> usize {
        match &self.groups {
            Groups::Array(numbers) => numbers.len(),
            Groups::Table { places, .. } => places.len(),
        }
    }

    /// A column of what `read` gives for the number and the state of each group.
    fn column(&self, read: impl Fn(u64, &[u64]) -> Option<i128>) -> Column {
        match &self.groups {
            Groups::Array(numbers) => {
                let states = self.words.chunks_exact(self.stride).zip(numbers);
                collected(states.map(|(state, number)| read((*number).into(), state)))
            }
            Groups::Table { places, numbers } => collected(places.iter().map(|place| {
                let place = *place as usize;
                read(numbers[place], &self.words[place * self.stride..][..self.stride])
            })),
        }
    }
}

/// A column of values; `None` is NULL.
fn collected(values: impl ExactSizeIterator<Item = Option<i128>> + Clone) -> Column {
    let (mut nulls, mut fits) = (false, true);
    let short = |value: Option<i128>| match value {
        Some(value) => {
            fits &= i64::try_from(value).is_ok();
            value as i64
        }
        None => {
            nulls = true;
            0
        }
    };
    let short: Vec<i64> = values.clone().map(short).collect();
    let valid = nulls.then(|| values.clone().map(|value| value.is_some()).collect());
    let wide = || values.map(Option::unwrap_or_default).collect();
    Column { values: if fits { Values::Short(short) } else { Values::Wide(wide()) }, valid }
}

impl Reading {
    fn read(&self, found: &Found<'_>, group: u64, state: &[u64]) -> Option<i128> {
        match *self {
            Self::Distinct(set) => Some(found.distinct[set].get(group).into()),
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
