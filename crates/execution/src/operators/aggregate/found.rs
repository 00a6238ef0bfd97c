//! The groups that have records, and of these the ones that fulfil a condition over their columns (HAVING). The condition is
//! looked at a few thousand groups at a time, before anything else is made of them: often it keeps next to none.

use crate::Result;
use crate::data::limits::Limits;
use crate::data::relation::{ColumnBounds, Relation};
use crate::data::rows::{Column, Rows, collected};
use crate::data::source::{Field, Records, VECTOR, Vector, VectorInput};
use crate::operators::aggregate::moments::Moment;
use crate::operators::aggregate::out_of_line::GatheredTexts;
use crate::operators::aggregate::outcome::Finish;
use crate::operators::aggregate::plan::{Distinct, Plan};
use crate::operators::aggregate::states::States;
use crate::operators::aggregate::table::GroupTable;
use crate::operators::interpret::Interpreter;
use crate::program::expression::Expression;
use crate::program::stage::{Stage, StageBuilder};
use crate::program::steps::Builder;
use gingham_kernels::Isa;
use std::borrow::Cow;
use std::sync::Arc;

/// Groups that are given in the order of their keys.
const SORTED: usize = 1 << 16;

/// A condition over the columns of groups.
#[derive(Debug)]
pub(crate) struct Having {
    stage: Stage,
    /// The columns that it reads.
    columns: Vec<Finish>,
}

/// Groups and their states.
pub(super) struct Found<'a> {
    stride: usize,
    words: Cow<'a, [u64]>,
    /// A group's number at each state.
    numbers: Cow<'a, [u64]>,
    /// The order of the rows, when it is another.
    order: Option<Vec<u32>>,
    beside: Arc<Beside>,
}

/// What groups have beside their states.
#[derive(Default)]
struct Beside {
    /// How many different values each has, of each set.
    distinct: Vec<Counts>,
    /// What is kept apart.
    apart: Option<Arc<GatheredTexts>>,
}

/// A count for each of some groups.
struct Counts {
    groups: GroupTable,
    counts: Vec<u32>,
    /// Their sums, where these are wanted.
    sums: Vec<i128>,
}

impl Having {
    /// Over these columns, of which this is known.
    pub(crate) fn new(condition: &Expression, finishes: &[Finish], facts: &[ColumnBounds]) -> Result<Self> {
        let fields = (0..facts.len()).map(|column| Field { input: 0, column }).collect();
        // Of integers past 64 bits there is no column: a run that meets one is left.
        let within = |end: i128| end.clamp(i64::MIN.into(), i64::MAX.into());
        let short = facts
            .iter()
            .map(|(limits, nullable)| (Limits { min: within(limits.min), max: within(limits.max) }, *nullable));
        let draft = StageBuilder::new(Builder::new(short), fields, Some(condition))?;
        let mut stage = draft.finish(Vec::new(), std::iter::empty());
        // Only the columns that it reads are made, one behind the other.
        let mut columns = Vec::new();
        for ((field, read), finish) in stage.fields.iter_mut().zip(&stage.columns).zip(finishes) {
            if read.integers || read.validity {
                field.column = columns.len();
                columns.push(*finish);
            }
        }
        Ok(Self { stage, columns })
    }

    /// Appends the numbers and states of the groups that fulfil it, of those without sets of different values.
    pub(super) fn keep<'a>(
        &self,
        plan: &Plan,
        isa: Isa,
        groups: impl Iterator<Item = (u64, &'a [u64])>,
        (numbers, words): (&mut Vec<u64>, &mut Vec<u64>),
    ) -> Result<()> {
        let found = self.of(plan, isa, groups, &Arc::default())?;
        numbers.extend_from_slice(&found.numbers);
        words.extend_from_slice(&found.words);
        Ok(())
    }

    /// The groups that fulfil it, of some states at their places.
    fn of<'a>(
        &self,
        plan: &Plan,
        isa: Isa,
        mut groups: impl Iterator<Item = (u64, &'a [u64])>,
        beside: &Arc<Beside>,
    ) -> Result<Found<'static>> {
        let (mut kept, mut interpreter) = (Found::none(plan, beside), Interpreter::new(&self.stage));
        let mut passed = Vec::new();
        loop {
            let mut some = Found::none(plan, beside);
            groups.by_ref().take(VECTOR).for_each(|(number, state)| some.push(number, state));
            if some.len() == 0 {
                return Ok(kept);
            }
            let columns = self.columns.iter().map(|column| column.of(plan, &some)).collect::<Result<_>>()?;
            let relation = Relation::new(&Rows { rows: some.len(), columns })?;
            let records = Records::Run { first: 0, length: some.len() };
            let vector = Vector { inputs: &[VectorInput { views: &relation.views, records }], isa };
            interpreter.emit(&self.stage, &vector, &mut passed, &mut [])?;
            for group in &passed {
                let (number, state) = some.at(*group as usize);
                kept.push(number, state);
            }
        }
    }
}

/// The groups that have records; without keys there is one, of no records perhaps.
pub(super) fn found<'a>(
    plan: &Plan,
    states: &'a States,
    having: Option<(&Having, Isa)>,
    place: &str,
) -> Result<Found<'a>> {
    let stride = plan.stride;
    let sets = states.sets.iter().zip(&plan.distinct);
    let distinct = sets.map(|(set, distinct)| Counts::of(set, distinct)).collect();
    let beside = Arc::new(Beside { distinct, apart: states.apart.clone() });
    let Some(table) = &states.table else {
        if let Some(taken) = &states.taken {
            // The condition was looked at as they were taken.
            return listed(plan, (&taken.numbers, &taken.words), None, beside);
        }
        states.check_spare(|| place.to_owned())?;
        let spare = states.spare() as usize;
        let groups = (0..).zip(states.words.chunks_exact(stride).take(spare));
        let mut groups = groups.filter(|(_, state)| state[0] != 0 || plan.keys.is_empty());
        if let Some((having, isa)) = having {
            return having.of(plan, isa, groups, &beside);
        }
        let mut found = Found::none(plan, &beside);
        groups.by_ref().for_each(|(number, state)| found.push(number, state));
        return Ok(found);
    };
    listed(plan, (table.numbers(), &states.words), having, beside)
}

/// Groups with these numbers and states.
fn listed<'a>(
    plan: &Plan,
    (numbers, words): (&'a [u64], &'a [u64]),
    having: Option<(&Having, Isa)>,
    beside: Arc<Beside>,
) -> Result<Found<'a>> {
    let stride = plan.stride;
    let mut found = match having {
        Some((having, isa)) => {
            let groups = numbers.iter().copied().zip(words.chunks_exact(stride));
            having.of(plan, isa, groups, &beside)?
        }
        None => {
            let (words, numbers) = (Cow::Borrowed(words), Cow::Borrowed(numbers));
            Found { stride, words, numbers, order: None, beside }
        }
    };
    // Who looks at so many rows does not care for their order, and it costs more than all else.
    if found.len() <= SORTED {
        let mut order: Vec<u32> = (0..found.len() as u32).collect();
        order.sort_unstable_by_key(|place| found.numbers[*place as usize]);
        found.order = Some(order);
    }
    Ok(found)
}

impl Found<'_> {
    fn none(plan: &Plan, beside: &Arc<Beside>) -> Self {
        let (words, numbers) = (Cow::Owned(Vec::new()), Cow::Owned(Vec::new()));
        Self { stride: plan.stride, words, numbers, order: None, beside: Arc::clone(beside) }
    }

    fn push(&mut self, number: u64, state: &[u64]) {
        self.words.to_mut().extend_from_slice(state);
        self.numbers.to_mut().push(number);
    }

    fn at(&self, place: usize) -> (u64, &[u64]) {
        (self.numbers[place], &self.words[place * self.stride..][..self.stride])
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Different values of a group, in the set with this number.
    pub(super) fn different(&self, set: usize, group: u64) -> u32 {
        let Counts { groups, counts, .. } = &self.beside.distinct[set];
        groups.place(group).map_or(0, |place| counts[place])
    }

    /// Their sum; `None` of none.
    pub(super) fn sum_of_different(&self, set: usize, group: u64) -> Option<i128> {
        let Counts { groups, sums, .. } = &self.beside.distinct[set];
        sums.get(groups.place(group)?).copied()
    }

    /// What floats that are kept apart make of a group.
    pub(super) fn moment(&self, item: usize, moment: Moment, group: u64) -> Option<f64> {
        let (floats, place) = self.beside.apart.as_ref()?.floats(item, group)?;
        floats.get(moment, place)
    }

    /// How many a group has of what is kept apart.
    pub(super) fn counted(&self, item: usize, group: u64) -> u64 {
        let floats = self.beside.apart.as_ref().and_then(|apart| apart.floats(item, group));
        floats.map_or(0, |(floats, place)| floats.counted(place))
    }

    /// The number of a group's string that is kept apart.
    pub(super) fn text(&self, item: usize, group: u64) -> Option<i128> {
        self.beside.apart.as_ref()?.text(item, group)
    }

    /// A column of what `read` gives for the number and the state of each group.
    pub(super) fn column(&self, read: impl Fn(u64, &[u64]) -> Option<i128>) -> Column {
        match &self.order {
            None => {
                let states = self.words.chunks_exact(self.stride).zip(&*self.numbers);
                collected(states.map(|(state, number)| read(*number, state)))
            }
            Some(order) => collected(order.iter().map(|place| {
                let (number, state) = self.at(*place as usize);
                read(number, state)
            })),
        }
    }
}

impl Counts {
    /// Counts of the numbers in a set.
    fn of(set: &GroupTable, distinct: &Distinct) -> Self {
        let Distinct { size, low, summed, .. } = *distinct;
        let mut groups = GroupTable::new();
        let mut places: Vec<u64> = set.numbers().iter().map(|number| number / size).collect();
        groups.places(&mut places);
        let mut counts = vec![0; groups.numbers().len()];
        let mut sums = vec![0; if summed { counts.len() } else { 0 }];
        for (place, number) in places.into_iter().zip(set.numbers()) {
            counts[place as usize] += 1;
            if let Some(sum) = sums.get_mut(place as usize) {
                *sum += low + i128::from(number % size);
            }
        }
        Self { groups, counts, sums }
    }
}
