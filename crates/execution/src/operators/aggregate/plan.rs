//! From keys and functions to a program: the words of each record's keys, and what it does to its group's state.

use crate::data::limits::Limits;
use crate::data::source::Field;
use crate::operators::aggregate::out_of_line::{Gathering, OutOfLine, OutOfLinePlan};
use crate::operators::keys::{KeyPlace, KeyWords};
use crate::program::expression::{Arithmetic, Expression};
use crate::program::float::FINITE;
use crate::program::stage::{Stage, StageBuilder, condition};
use crate::program::steps::{Builder, Nullable, StepId};
use crate::{Error, Result};
use std::hash::{BuildHasher, RandomState};

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

/// How a result is read from a state.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    /// A word that counts.
    Count(usize),
    /// A sum; NULL where the counting word is 0.
    Sum { word: usize, wide: bool, count: usize },
    /// A sum of floats in units of two to this power; NULL where the counting word is 0.
    FloatSum { word: usize, unit: i32, count: usize },
    /// How many values the group has in the set with this number.
    Distinct(usize),
    /// The sum of floats of an item that is kept apart.
    Apart(usize),
    /// The sum of the values that the group has in such a set; NULL where there are none.
    DistinctSum(usize),
    /// Bits, all turned when `inverted`; NULL where the counting word is 0.
    Bits { word: usize, count: usize, inverted: bool },
    /// A distance from the end of the range: `end` minus it when `down`, else plus it; NULL where it is 0.
    Extreme { word: usize, end: i128, down: bool },
}

/// An aggregation ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The stage whose outputs are the words of the record's keys, most often one, which is the number of its group then, from 0 to
    /// `groups - 1`; what goes into the state is computed with them.
    pub(crate) stage: Stage,
    /// What a record does to its group's words. The first slot counts records.
    pub(crate) slots: Vec<Slot>,
    /// Words of a state.
    pub(crate) stride: usize,
    /// Groups that the keys' ranges allow, 2^64 - 1 of keys that take more than a word.
    pub(crate) groups: u64,
    pub(super) keys: Vec<KeyPlace>,
    pub(super) readings: Vec<Reading>,
    /// The source's column that is the only key, where its integers alone tell groups apart.
    pub(crate) clustered: Option<usize>,
    /// What sets of different values gather.
    pub(crate) distinct: Vec<Distinct>,
    /// What is kept apart from states, if anything is.
    pub(crate) apart: Option<Box<OutOfLinePlan>>,
    /// The number that hashes of keys begin from.
    pub(super) seed: u64,
}

/// A set of values by groups: of words as keys have them, the values behind the keys.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// Gives the words of each record, and whether it counts.
    pub(crate) part: Stage,
    value: KeyPlace,
    /// Words of a group's keys, of which there are some.
    group: usize,
    keyed: bool,
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
    /// the range of an argument of MIN or MAX over 64, a sum over 128, a float that is not finite.
    pub fn new(
        aggregation: &Aggregation,
        columns: impl IntoIterator<Item = (Field, Limits, bool)>,
        rows: u64,
    ) -> Result<Self> {
        let (fields, facts): (Vec<_>, Vec<_>) =
            columns.into_iter().map(|(field, limits, nullable)| (field, (limits, nullable))).unzip();
        let draft =
            || StageBuilder::new(Builder::new(facts.iter().copied()), fields.clone(), aggregation.filter.as_ref());
        let seed = RandomState::new().hash_one(0u8);
        let mut distinct = Vec::new();
        let mut main = draft()?;
        let builder = &mut main.builder;
        let group = KeyWords::of_groups(builder, &aggregation.keys)?;
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
                distinct.push(Distinct::new(draft()?, &aggregation.keys, aggregate)?);
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
            apart => Some(Box::new(OutOfLinePlan::new(draft()?, &aggregation.keys, seed, apart)?)),
        };
        let (groups, keys) = (group.groups(), group.places);
        let SlotBuilder { slots, words: stride, .. } = slots;
        let stage = main.finish(group.words, slots.iter().map(|slot| slot.step));
        let clustered = match (aggregation.keys.as_slice(), keys.as_slice()) {
            ([Expression::Column(key)], [KeyPlace::Digit { nullable: false, .. }]) => Some(stage.fields[*key]),
            _ => None,
        };
        let clustered = clustered.filter(|field| field.input == 0 && distinct.is_empty() && apart.is_none());
        let clustered = clustered.map(|field| field.column);
        Ok(Self { stage, slots, stride, groups, keys, readings, clustered, distinct, apart, seed })
    }

    /// Stages beside the one that updates states.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Stage> {
        self.distinct.iter().map(|distinct| &distinct.part).chain(self.apart.iter().map(|apart| &apart.part))
    }

    /// Groups that the keys' ranges allow: 1 without keys, 2^64 - 1 of keys that take more than a word.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Words of a group's keys.
    pub(crate) fn width(&self) -> usize {
        self.stage.outputs.len()
    }

    /// Bytes of a group's state.
    pub fn state_bytes(&self) -> usize {
        self.stride * size_of::<u64>()
    }
}

impl Distinct {
    /// The words of the records that count, of what its part gave, a record's behind those of the one before, in place of what
    /// `out` had.
    pub(crate) fn counted(outputs: &[Vec<i64>], out: &mut Vec<u64>) {
        out.clear();
        let Some((counts, words)) = outputs.split_last() else { return };
        for (record, _) in counts.iter().enumerate().filter(|(_, counts)| **counts != 0) {
            out.extend(words.iter().map(|word| word[record] as u64));
        }
    }

    fn new(mut draft: StageBuilder, keys: &[Expression], aggregate: &Aggregate) -> Result<Self> {
        let builder = &mut draft.builder;
        let mut words = KeyWords::new(builder, keys)?;
        let group = words.words.len().max(1);
        let (counts, argument) = counted(builder, aggregate)?;
        words.add(builder, Nullable { valid: None, ..argument })?;
        let value = words.places[keys.len()];
        let outputs = words.words.into_iter().chain([counts]).collect();
        let summed = aggregate.function == Function::SumDistinct;
        // A filter would have its argument's overflow looked for in records that WHERE leaves out.
        Ok(Self { part: draft.finish(outputs, std::iter::empty()), value, group, keyed: !keys.is_empty(), summed })
    }

    /// Words of a value with its group.
    pub(super) fn width(&self) -> usize {
        self.part.outputs.len() - 1
    }

    /// Words of a group's keys.
    pub(super) fn group_width(&self) -> usize {
        self.group
    }

    /// The value that has these words with its group, whose words are added to `group`.
    pub(super) fn split(&self, words: &[u64], group: &mut Vec<u64>) -> Option<i128> {
        let first = group.len();
        match self.keyed {
            true => group.extend_from_slice(&words[..self.group]),
            false => group.push(0),
        }
        self.value.take_from(words, &mut group[first..]);
        self.value.of(words)
    }
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
