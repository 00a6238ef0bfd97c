//! From keys and functions to a program: one number per record that says its group, and what it does to the group's words.

use crate::data::limits::Limits;
use crate::data::source::Field;
use crate::operators::aggregate::out_of_line::{Gathering, OutOfLine, OutOfLinePlan};
use crate::program::expression::{Arithmetic, Expression};
use crate::program::float::FINITE;
use crate::program::stage::{Stage, StageBuilder, condition};
use crate::program::steps::{Builder, Nullable, StepId};
use crate::{Error, Result};

/// GROUP BY over the records of a source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregation {
    /// Records for which it is not 1 do not count.
    pub filter: Option<Expression>,
    /// The keys; without any there is one group, of no records perhaps.
    pub keys: Vec<Expression>,
    /// What is computed per group.
    pub aggregates: Vec<Aggregate>,
    /// What is computed per group and takes more than words of a state.
    pub apart: Vec<OutOfLine>,
}

/// One aggregate function over an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The aggregate function.
    pub function: Function,
    /// Its argument. A count without one counts records.
    pub argument: Option<Expression>,
    /// FILTER (WHERE …): records for which it is not 1 do not count here.
    pub filter: Option<Expression>,
}

/// The aggregate functions. All leave out NULLs, and of nothing give NULL, but for the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// How many.
    Count,
    /// The exact sum.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The exact sum of floats, rounded once.
    FloatSum,
    /// How many different ones.
    CountDistinct,
    /// The exact sum of the different ones.
    SumDistinct,
    /// The bits that all have.
    BitAnd,
    /// The bits that some have.
    BitOr,
    /// The bits that an odd number of them have.
    BitXor,
}

/// What a record does to a word of its group's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// Adds to one word, modulo 2^64: the sum is proved to fit.
    Add,
    /// Adds to two words, the lower first: 128 bits.
    AddWide,
    /// Raises the word to the value, which has no sign.
    Raise,
    /// Sets the value's bits in the word.
    Or,
    /// Turns the value's bits in the word.
    Xor,
}

impl SlotKind {
    /// Words that it takes.
    pub(crate) fn words(self) -> usize {
        if self == Self::AddWide { 2 } else { 1 }
    }
}

/// Words of a state and the step whose result goes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) kind: SlotKind,
    /// First word within the state.
    pub(crate) word: usize,
    pub(crate) step: StepId,
}

/// A key's share in the group's number.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyRange {
    pub(super) low: i128,
    /// Its values, and one more when it may be NULL.
    pub(super) size: i128,
    pub(super) nullable: bool,
}

/// How a result is read from a state.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    /// A word that counts.
    Count(usize),
    /// A sum; NULL where the counting word is 0.
    Sum { word: usize, wide: bool, count: usize },
    /// A sum of floats in units of two to this power; NULL where the counting word is 0.
    FloatSum { word: usize, unit: i32, count: usize },
    /// The group's numbers in the set with this number.
    Distinct(usize),
    /// The sum of floats of an item that is kept apart.
    Apart(usize),
    /// How many such an item has.
    ApartCount(usize),
    /// The sum of their last digits' values; NULL where there are none.
    DistinctSum(usize),
    /// Bits, all turned when `inverted`; NULL where the counting word is 0.
    Bits { word: usize, count: usize, inverted: bool },
    /// A distance from the end of the range: `end` minus it when `down`, else plus it; NULL where it is 0.
    Extreme { word: usize, end: i128, down: bool },
}

/// An aggregation ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Its first output is the number of the record's group, from 0 to `groups - 1`; what goes into the words is computed
    /// with it.
    pub(crate) stage: Stage,
    /// What a record does to its group's words. The first slot counts records.
    pub(crate) slots: Vec<Slot>,
    /// Words of a state.
    pub(crate) stride: usize,
    /// Groups that the keys' ranges allow.
    pub(crate) groups: u64,
    pub(super) keys: Vec<KeyRange>,
    pub(super) readings: Vec<Reading>,
    /// The source's column that is the only key, where its integers alone tell groups apart.
    pub(crate) clustered: Option<usize>,
    /// What sets of different values gather.
    pub(crate) distinct: Vec<Distinct>,
    /// What is kept apart from states, if anything is.
    pub(crate) apart: Option<Box<OutOfLinePlan>>,
}

/// A set of numbers, each a group's number and, as its last digit, a value that the group has.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// Gives the number of each record, and whether it counts.
    pub(crate) part: Stage,
    /// Values that the last digit can have, and the first of them.
    pub(super) size: u64,
    pub(super) low: i128,
    /// The values are summed up.
    pub(super) summed: bool,
}

/// Gathers slots, each only once.
struct SlotBuilder {
    slots: Vec<Slot>,
    words: usize,
    /// Records that may be summed.
    rows: u64,
}

impl SlotBuilder {
    fn add(&mut self, kind: SlotKind, step: StepId) -> usize {
        if let Some(slot) = self.slots.iter().find(|slot| slot.kind == kind && slot.step == step) {
            return slot.word;
        }
        let word = self.words;
        self.slots.push(Slot { kind, word, step });
        self.words += kind.words();
        word
    }

    /// A sum in one word, where the largest that can come about fits it, or two.
    fn sum(&mut self, builder: &Builder, step: StepId) -> Result<(usize, bool)> {
        let largest = builder.range(step).magnitude().saturating_mul(self.rows.into());
        if largest > i128::MAX as u128 {
            return Err(Error::Unsupported("a sum that may need more than 128 bits".to_owned()));
        }
        let wide = largest > i64::MAX as u128;
        Ok((self.add(if wide { SlotKind::AddWide } else { SlotKind::Add }, step), wide))
    }
}

impl Plan {
    /// Plans an aggregation of at most `rows` records with these columns: where each lies, the range of its integers and
    /// whether it may be NULL. Fails when it needs numbers that are too large: an expression over 128 bits, a key over 64,
    /// keys over 63 together, the range of an argument of MIN or MAX over 64, a sum over 128, a float that is not finite.
    pub fn new(
        aggregation: &Aggregation,
        columns: impl IntoIterator<Item = (Field, Limits, bool)>,
        rows: u64,
    ) -> Result<Self> {
        let (fields, facts): (Vec<_>, Vec<_>) =
            columns.into_iter().map(|(field, limits, nullable)| (field, (limits, nullable))).unzip();
        let draft =
            || StageBuilder::new(Builder::new(facts.iter().copied()), fields.clone(), aggregation.filter.as_ref());
        let mut distinct = Vec::new();
        let mut main = draft()?;
        let builder = &mut main.builder;
        let (group, keys) = group_number(builder, &aggregation.keys)?;
        let mut slots = SlotBuilder { slots: Vec::new(), words: 0, rows };
        let one = builder.constant(1);
        slots.add(SlotKind::Add, one);
        let mut apart = aggregation.apart.clone();
        let mut keep_apart = |what, aggregate: &Aggregate| {
            let (arguments, filter) = (aggregate.argument.iter().cloned().collect(), aggregate.filter.clone());
            apart.push(OutOfLine { what, arguments, filter });
            apart.len() - 1
        };
        let readings = aggregation.aggregates.iter().map(|aggregate| match aggregate.function {
            function @ (Function::CountDistinct | Function::SumDistinct) => {
                match Distinct::new(draft()?, &aggregation.keys, aggregate) {
                    Ok(set) => distinct.push(set),
                    Err(Error::Unsupported(_)) if function == Function::CountDistinct => {
                        return Ok(Reading::ApartCount(keep_apart(Gathering::Different { summed: false }, aggregate)));
                    }
                    Err(error) => return Err(error),
                }
                let set = distinct.len() - 1;
                let summed = function == Function::SumDistinct;
                Ok(if summed { Reading::DistinctSum(set) } else { Reading::Distinct(set) })
            }
            Function::FloatSum if !has_unit(builder, aggregate)? => {
                Ok(Reading::Apart(keep_apart(Gathering::Floats { squares: false }, aggregate)))
            }
            _ => reading(builder, &mut slots, aggregate),
        });
        let readings = readings.collect::<Result<Vec<_>>>()?;
        let apart = match apart.as_slice() {
            [] => None,
            apart => Some(Box::new(OutOfLinePlan::new(draft()?, &aggregation.keys, apart)?)),
        };
        let groups = builder.range(group).max as u64 + 1;
        let SlotBuilder { slots, words: stride, .. } = slots;
        let stage = main.finish(vec![group], slots.iter().map(|slot| slot.step));
        let clustered = match aggregation.keys.as_slice() {
            [Expression::Column(key)] if distinct.is_empty() && apart.is_none() && !facts[*key].1 => {
                Some(stage.fields[*key])
            }
            _ => None,
        };
        let clustered = clustered.filter(|field| field.input == 0).map(|field| field.column);
        Ok(Self { stage, slots, stride, groups, keys, readings, clustered, distinct, apart })
    }

    /// Stages beside the one that updates states.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Stage> {
        self.distinct.iter().map(|distinct| &distinct.part).chain(self.apart.iter().map(|apart| &apart.part))
    }

    /// Groups that the keys' ranges allow: 1 without keys.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Bytes of a group's state.
    pub fn state_bytes(&self) -> usize {
        self.stride * size_of::<u64>()
    }
}

impl Distinct {
    /// The numbers of the records that count, of what its part gave, in place of what `out` had.
    pub(crate) fn counted([numbers, counts]: &[Vec<i64>; 2], out: &mut Vec<u64>) {
        out.clear();
        let counting = numbers.iter().zip(counts).filter(|(_, counts)| **counts != 0);
        out.extend(counting.map(|(number, _)| *number as u64));
    }

    fn new(mut draft: StageBuilder, keys: &[Expression], aggregate: &Aggregate) -> Result<Self> {
        let builder = &mut draft.builder;
        let (group, _) = group_number(builder, keys)?;
        let (counts, argument) = counted(builder, aggregate)?;
        let Limits { min, max } = builder.range(argument.value);
        let summed = aggregate.function == Function::SumDistinct;
        let low = builder.constant(min);
        let digit = builder.combine(Arithmetic::Subtract, argument.value, low)?;
        let size = max.checked_sub(min).and_then(|last| u64::try_from(last).ok()?.checked_add(1));
        let wide =
            || Error::Unsupported("different values of a range that needs more than 63 bits with the keys".to_owned());
        let size = size.ok_or_else(wide)?;
        let number = builder.with_digit(group, digit, size.into())?;
        if !builder.range(number).is_short() {
            return Err(wide());
        }
        // A filter would have its argument's overflow looked for in records that WHERE leaves out.
        Ok(Self { part: draft.finish(vec![number, counts], std::iter::empty()), size, low: min, summed })
    }
}

/// The keys as digits of one number, the first the highest.
pub(super) fn group_number(builder: &mut Builder, keys: &[Expression]) -> Result<(StepId, Vec<KeyRange>)> {
    let too_many = || Error::Unsupported("keys whose ranges need more than 63 bits together".to_owned());
    let mut number = builder.constant(0);
    let mut ranges = Vec::with_capacity(keys.len());
    for key in keys {
        let key = builder.lower(key)?;
        let Limits { min: low, .. } = builder.range(key.value);
        if !builder.range(key.value).is_short() {
            return Err(Error::Unsupported("a key of more than 64 bits".to_owned()));
        }
        let nullable = key.valid.is_some();
        let from = builder.constant(low);
        let mut digit = builder.combine(Arithmetic::Subtract, key.value, from)?;
        if !builder.range(digit).is_short() {
            return Err(too_many());
        }
        let size = builder.range(digit).max + 1 + i128::from(nullable);
        if let Some(valid) = key.valid {
            let null = builder.constant(size - 1);
            digit = builder.choose(valid, digit, null);
        }
        number = builder.with_digit(number, digit, size)?;
        ranges.push(KeyRange { low, size, nullable });
        if builder.range(number).max >= i128::from(i64::MAX) {
            return Err(too_many());
        }
    }
    Ok((number, ranges))
}

/// The truth that a record counts, and what is computed of it where it does.
fn counted(builder: &mut Builder, aggregate: &Aggregate) -> Result<(StepId, Nullable)> {
    let mut counts = match &aggregate.filter {
        Some(filter) => condition(builder, filter)?,
        None => builder.constant(1),
    };
    let argument = match &aggregate.argument {
        Some(argument) => builder.lower(argument)?,
        None if aggregate.function == Function::Count => Nullable { value: builder.constant(0), valid: None },
        None => return Err(Error::Internal(format!("{:?} without an argument", aggregate.function))),
    };
    if let Some(valid) = argument.valid {
        counts = builder.and(counts, valid);
    }
    Ok((counts, argument))
}

/// Whether floats can be summed in units that are known before they come: all are finite.
fn has_unit(builder: &mut Builder, aggregate: &Aggregate) -> Result<bool> {
    let (_, argument) = counted(builder, aggregate)?;
    Ok(FINITE.covers(builder.range(argument.value)))
}

fn reading(builder: &mut Builder, slots: &mut SlotBuilder, aggregate: &Aggregate) -> Result<Reading> {
    let (counts, argument) = counted(builder, aggregate)?;
    let zero = builder.constant(0);
    let Limits { min, max } = builder.range(argument.value);
    Ok(match aggregate.function {
        Function::Count => Reading::Count(slots.add(SlotKind::Add, counts)),
        Function::CountDistinct | Function::SumDistinct => {
            return Err(Error::Internal("a set of different values as a word of a state".to_owned()));
        }
        Function::Sum => {
            let value = builder.choose(counts, argument.value, zero);
            let (word, wide) = slots.sum(builder, value)?;
            Reading::Sum { word, wide, count: slots.add(SlotKind::Add, counts) }
        }
        Function::FloatSum => {
            // 0 is 0.0.
            let value = builder.choose(counts, argument.value, zero);
            let (value, unit) = builder.units(value, slots.rows)?;
            let word = slots.add(SlotKind::AddWide, value);
            Reading::FloatSum { word, unit, count: slots.add(SlotKind::Add, counts) }
        }
        function @ (Function::BitAnd | Function::BitOr | Function::BitXor) => {
            if !builder.range(argument.value).is_short() {
                return Err(Error::Unsupported("bits of more than 64".to_owned()));
            }
            let inverted = function == Function::BitAnd;
            let value = if inverted {
                // All that some lack, by turning them.
                let ones = builder.constant(-1);
                builder.combine(Arithmetic::Subtract, ones, argument.value)?
            } else {
                argument.value
            };
            let value = builder.choose(counts, value, zero);
            let kind = if function == Function::BitXor { SlotKind::Xor } else { SlotKind::Or };
            Reading::Bits { word: slots.add(kind, value), count: slots.add(SlotKind::Add, counts), inverted }
        }
        Function::Min | Function::Max => {
            let down = aggregate.function == Function::Min;
            // From 1 at the end that never wins.
            let end = builder.constant(if down { max.saturating_add(1) } else { min.saturating_sub(1) });
            let (from, to) = if down { (argument.value, end) } else { (end, argument.value) };
            let distance = builder.combine(Arithmetic::Subtract, to, from)?;
            if builder.range(distance).max > u64::MAX.into() {
                return Err(Error::Unsupported("MIN or MAX over a range of more than 64 bits".to_owned()));
            }
            let distance = builder.choose(counts, distance, zero);
            let end = builder.range(end).min;
            Reading::Extreme { word: slots.add(SlotKind::Raise, distance), end, down }
        }
    })
}
