//! Aggregates that have no words of a state: sums of floats of any size and of their products, sums of different floats, and the
//! smallest and largest of strings. They are updated vector by vector beside the loop that updates states, from what a stage of
//! their own gives: the words of a record's keys, and for each of them whether the record counts and its arguments. All of it is exact, so that threads'
//! results merge in any order.

use crate::data::limits::Limits;
use crate::data::rows::{Column, Values};
use crate::operators::aggregate::different::Different;
use crate::operators::aggregate::moments::Floats;
use crate::operators::aggregate::seen::Seen;
use crate::operators::aggregate::texts::Texts;
use crate::operators::keys::{KeyWords, interleave};
use crate::operators::place_table::PlaceTable;
use crate::program::computed::Compute;
use crate::program::stage::Stage;
use crate::program::stage::{StageBuilder, condition};
use crate::{Error, Expression, Memory, Result};
use arrow::array::BinaryViewArray;
use std::sync::Arc;

/// An aggregate over one or two arguments that is kept apart from states.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfLine {
    /// What is gathered.
    pub what: Gathering,
    /// The expressions that the aggregate is computed of.
    pub arguments: Vec<Expression>,
    /// FILTER (WHERE …): records for which it is not 1 do not count here.
    pub filter: Option<Expression>,
}

/// What is gathered of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering {
    /// The sums of one or two floats where none is NULL, exactly, and of the product of two.
    Floats {
        /// Those of their squares too.
        squares: bool,
    },
    /// The sum of the different floats of one argument.
    DistinctFloats,
    /// One of the strings that the function with this number makes of the arguments.
    Text {
        /// By its number among those that the query is run with.
        function: usize,
        /// The largest, else the smallest.
        largest: bool,
    },
}

/// How all of them are computed.
#[derive(Debug)]
pub(crate) struct OutOfLinePlan {
    /// The stage whose first outputs are the words of the record's keys.
    pub(crate) part: Stage,
    items: Vec<Item>,
    /// Words of keys, and the seed of their hashes.
    width: usize,
    seed: u64,
    /// There are keys: groups are found by their numbers.
    keyed: bool,
}

/// One of them.
#[derive(Debug)]
struct Item {
    what: Gathering,
    /// The output that says whether a record counts.
    counts: usize,
    /// The output with each argument, and the one that says where it is not NULL.
    arguments: Vec<(usize, Option<usize>)>,
    /// It looks at the same strings as the one before.
    shares: bool,
    /// Where the only argument of a function lies.
    limits: Option<Limits>,
}

/// What one thread has gathered.
#[derive(Debug)]
pub(crate) struct GatheredTexts {
    /// Places of groups; without keys there is one group.
    groups: Option<PlaceTable>,
    items: Vec<Own>,
    /// The words of a vector's keys, and the places of these.
    words: Vec<u64>,
    places: Vec<u64>,
}

#[derive(Debug)]
enum Own {
    Floats(Floats),
    Different(Different),
    Texts(Texts, Option<Seen>),
}

/// Who makes strings, and who is asked for memory.
pub(crate) type Makers<'m> = (&'m [Arc<dyn Compute>], &'m dyn Memory);

impl OutOfLinePlan {
    pub(super) fn new(mut draft: StageBuilder, keys: &[Expression], seed: u64, all: &[OutOfLine]) -> Result<Self> {
        let builder = &mut draft.builder;
        let (mut outputs, mut items) = (KeyWords::of_groups(builder, keys)?.words, Vec::new());
        let width = outputs.len();
        let mut before: Option<&OutOfLine> = None;
        for apart in all {
            let OutOfLine { what, arguments, filter } = apart;
            let shares = before.is_some_and(|before| before.has_texts_of(apart));
            before = Some(apart);
            let mut counts = match filter {
                Some(filter) => condition(builder, filter)?,
                None => builder.constant(1),
            };
            let mut places = Vec::with_capacity(arguments.len());
            let mut limits = None;
            for argument in arguments {
                let argument = builder.lower(argument)?;
                limits = (arguments.len() == 1).then(|| builder.range(argument.value));
                outputs.push(argument.value);
                let mut valid = None;
                match (what, argument.valid) {
                    (Gathering::Floats { .. } | Gathering::DistinctFloats, Some(valid)) => {
                        counts = builder.and(counts, valid)
                    }
                    // A function may make a string of NULL.
                    (Gathering::Text { .. }, Some(truth)) => {
                        outputs.push(truth);
                        valid = Some(outputs.len() - 1);
                    }
                    (_, None) => {}
                }
                places.push((outputs.len() - 1 - usize::from(valid.is_some()), valid));
            }
            outputs.push(counts);
            items.push(Item { what: *what, counts: outputs.len() - 1, arguments: places, shares, limits });
        }
        let part = draft.finish(outputs, std::iter::empty()).checked()?;
        Ok(Self { part, items, width, seed, keyed: !keys.is_empty() })
    }
}

impl OutOfLine {
    /// Whether both are of the same strings of the same records.
    fn has_texts_of(&self, other: &Self) -> bool {
        let function = |what: &Gathering| match what {
            Gathering::Text { function, .. } => Some(*function),
            Gathering::Floats { .. } | Gathering::DistinctFloats => None,
        };
        function(&self.what).is_some()
            && function(&self.what) == function(&other.what)
            && (&self.arguments, &self.filter) == (&other.arguments, &other.filter)
    }
}

/// The strings of a vector's records.
#[derive(Default)]
struct RecordStrings {
    /// The records whose strings are looked at.
    records: Vec<usize>,
    /// Theirs; `None` where there are none.
    texts: Option<BinaryViewArray>,
}

impl RecordStrings {
    /// The strings that a function makes of an item's arguments, of these records.
    fn of(
        records: Vec<usize>,
        (item, function): (&Item, usize),
        outputs: &[Vec<i64>],
        (functions, _): Makers<'_>,
    ) -> Result<Self> {
        let argument = |(value, valid): &(usize, Option<usize>)| Column {
            values: Values::Short(records.iter().map(|at| outputs[*value][*at]).collect()),
            valid: valid.map(|valid| records.iter().map(|at| outputs[valid][*at] != 0).collect()),
        };
        let texts = match records.len() {
            0 => None,
            rows => {
                let arguments: Vec<Column> = item.arguments.iter().map(argument).collect();
                Some(maker(functions, function)?.texts(&arguments, rows)?)
            }
        };
        Ok(Self { records, texts })
    }
}

/// A function by its number.
pub(super) fn maker(functions: &[Arc<dyn Compute>], number: usize) -> Result<&Arc<dyn Compute>> {
    functions.get(number).ok_or_else(|| Error::Internal(format!("a query without function {number}")))
}

impl GatheredTexts {
    /// Nothing yet.
    pub(super) fn new(plan: &OutOfLinePlan) -> Self {
        let own = |item: &Item| match item.what {
            Gathering::Floats { squares } => Own::Floats(Floats::new(item.arguments.len(), squares)),
            Gathering::DistinctFloats => Own::Different(Different::new(plan.seed)),
            Gathering::Text { function, largest } => {
                let seen = item.limits.filter(|_| !item.shares).and_then(Seen::new);
                Own::Texts(Texts::new(function, largest), seen)
            }
        };
        let groups = plan.keyed.then(|| PlaceTable::new(plan.width, plan.seed));
        let items = plan.items.iter().map(own).collect();
        let mut new = Self { groups, items, words: Vec::new(), places: Vec::new() };
        new.make_room();
        new
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let items = self.items.iter().map(|item| match item {
            Own::Floats(floats) => floats.bytes(),
            Own::Different(different) => different.bytes(),
            Own::Texts(texts, seen) => texts.bytes() + seen.as_ref().map_or(0, Seen::bytes),
        });
        items.sum::<usize>() + self.groups.as_ref().map_or(0, PlaceTable::bytes)
    }

    /// Adds the records of which the plan's stage gave `outputs`.
    pub(crate) fn gather(&mut self, plan: &OutOfLinePlan, outputs: &[Vec<i64>], makers: Makers<'_>) -> Result<()> {
        let (mut words, mut places) = (std::mem::take(&mut self.words), std::mem::take(&mut self.places));
        let rows = outputs[0].len();
        interleave(outputs[..plan.width].iter().map(|word| &word[..rows]), rows, &mut words);
        self.find(&words, rows, &mut places)?;
        self.words = words;
        let mut strings = RecordStrings::default();
        for (item, own) in plan.items.iter().zip(&mut self.items) {
            let counts = outputs[item.counts].iter().map(|counts| *counts != 0);
            match own {
                Own::Floats(floats) => {
                    let argument = |(output, _): &(usize, Option<usize>)| outputs[*output].as_slice();
                    let mut arguments = item.arguments.iter().map(argument);
                    floats.add(&places, counts, arguments.next().unwrap_or_default(), arguments.next());
                }
                Own::Different(different) => {
                    let argument = item.arguments.first().map(|(output, _)| outputs[*output].as_slice());
                    different.add(&places, counts, argument.unwrap_or_default())?;
                }
                Own::Texts(texts, seen) => {
                    if !item.shares {
                        let mut records: Vec<usize> =
                            counts.enumerate().filter_map(|(at, counts)| counts.then_some(at)).collect();
                        if let (Some(seen), [(argument, valid)]) = (seen, item.arguments.as_slice()) {
                            let valid = valid.map(|valid| outputs[valid].as_slice());
                            seen.leave_new(&mut records, &places, (&outputs[*argument], valid));
                        }
                        strings = RecordStrings::of(records, (item, texts.function), outputs, makers)?;
                    }
                    if let Some(made) = &strings.texts {
                        texts.add(made, strings.records.iter().map(|at| places[*at] as usize));
                    }
                }
            }
        }
        self.places = places;
        Ok(())
    }

    /// Adds what another thread has.
    pub(super) fn merge(&mut self, other: Self) -> Result<()> {
        let mut places = Vec::new();
        match &other.groups {
            Some(groups) => self.find(groups.words(), groups.len(), &mut places)?,
            None => self.find(&[], 1, &mut places)?,
        }
        for (own, other) in self.items.iter_mut().zip(other.items) {
            match (own, other) {
                (Own::Floats(own), Own::Floats(other)) => own.merge(&other, &places),
                (Own::Different(own), Own::Different(other)) => own.merge(&other, &places)?,
                (Own::Texts(own, _), Own::Texts(other, _)) => own.merge(other, &places),
                _ => return Err(Error::Internal("threads of one query that gather different things".to_owned())),
            }
        }
        Ok(())
    }

    /// Puts the places of groups that have these words into `places`: of so many.
    fn find(&mut self, words: &[u64], rows: usize, places: &mut Vec<u64>) -> Result<()> {
        match &mut self.groups {
            Some(groups) if groups.len() + rows > u32::MAX as usize => {
                return Err(Error::OutOfMemory("an aggregation into 4,294,967,295 groups".to_owned()));
            }
            Some(groups) => groups.find_or_add(words, places),
            None => {
                places.clear();
                places.resize(rows, 0);
            }
        }
        self.make_room();
        Ok(())
    }

    fn make_room(&mut self) {
        let groups = self.groups.as_ref().map_or(1, PlaceTable::len);
        for item in &mut self.items {
            match item {
                Own::Floats(floats) => floats.resize(groups),
                Own::Different(different) => different.resize(groups),
                Own::Texts(texts, _) => texts.resize(groups),
            }
        }
    }

    /// All records have come: strings get numbers.
    pub(crate) fn end(&mut self, makers: Makers<'_>) -> Result<()> {
        self.items.iter_mut().try_for_each(|item| match item {
            Own::Floats(_) => Ok(()),
            Own::Different(different) => {
                different.end();
                Ok(())
            }
            Own::Texts(texts, _) => texts.end(makers),
        })
    }

    /// Those of an item and a group's place there; `None` of a group that has no record.
    fn of(&self, item: usize, group: &[u64]) -> Option<(&Own, usize)> {
        let place = match &self.groups {
            Some(groups) => groups.place(group)?,
            None => 0,
        };
        self.items.get(item).map(|own| (own, place))
    }

    /// What an item of floats has of a group.
    pub(super) fn floats(&self, item: usize, group: &[u64]) -> Option<(&Floats, usize)> {
        match self.of(item, group)? {
            (Own::Floats(floats), place) | (Own::Different(Different { floats, .. }), place) => Some((floats, place)),
            (Own::Texts(..), _) => None,
        }
    }

    /// The number of the string that an item has of a group.
    pub(super) fn text(&self, item: usize, group: &[u64]) -> Option<i128> {
        match self.of(item, group)? {
            (Own::Texts(texts, _), place) => texts.number(place).map(i128::from),
            (Own::Floats(_) | Own::Different(_), _) => None,
        }
    }
}
