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
use crate::operators::interpret::Interpreter;
use crate::operators::place_table::PlaceTable;
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
    /// Words of a group's keys.
    width: usize,
    /// These of the group at each state.
    keys: Cow<'a, [u64]>,
    /// The order of the rows, when it is another.
    order: Option<Vec<u32>>,
    beside: Arc<Beside>,
}

/// Counts of different values and what is kept apart, which groups have beside their states.
#[derive(Default)]
pub(super) struct Beside {
    /// How many different values each has, of each set.
    distinct: Vec<Counts>,
    /// What is kept apart.
    apart: Option<Arc<GatheredTexts>>,
}

/// A count for each of some groups.
struct Counts {
    groups: PlaceTable,
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

    /// Appends the words of the keys and the states of the groups that fulfil it, of those without sets of different values.
    pub(super) fn keep<'a>(
        &self,
        plan: &Plan,
        isa: Isa,
        groups: impl Iterator<Item = (impl AsRef<[u64]>, &'a [u64])>,
        (keys, words): (&mut Vec<u64>, &mut Vec<u64>),
    ) -> Result<()> {
        let found = self.of(plan, isa, groups, &Arc::default())?;
        keys.extend_from_slice(&found.keys);
        words.extend_from_slice(&found.words);
        Ok(())
    }

    /// The groups that fulfil it, of some states at their places.
    fn of<'a>(
        &self,
        plan: &Plan,
        isa: Isa,
        mut groups: impl Iterator<Item = (impl AsRef<[u64]>, &'a [u64])>,
        beside: &Arc<Beside>,
    ) -> Result<Found<'static>> {
        let (mut kept, mut interpreter) = (Found::none(plan, beside), Interpreter::new(&self.stage));
        let mut passed = Vec::new();
        loop {
            let mut some = Found::none(plan, beside);
            groups.by_ref().take(VECTOR).for_each(|(key, state)| some.push(key.as_ref(), state));
            if some.len() == 0 {
                return Ok(kept);
            }
            let columns = self.columns.iter().map(|column| column.of(plan, &some)).collect::<Result<_>>()?;
            let relation = Relation::new(&Rows { rows: some.len(), columns })?;
            let records = Records::Run { first: 0, length: some.len() };
            let vector = Vector { inputs: &[VectorInput { views: &relation.views, records }], isa };
            interpreter.emit(&self.stage, &vector, &mut passed, &mut [])?;
            for group in &passed {
                let (key, state) = some.at(*group as usize);
                kept.push(key, state);
            }
        }
    }
}

/// The groups that have records and fulfil the condition; without keys there is one, of no records perhaps. In the order of their
/// keys, where that is wanted and they are few.
pub(super) fn found<'a>(
    plan: &Plan,
    states: &'a States,
    (beside, is_ordered): (&Arc<Beside>, bool),
    having: Option<(&Having, Isa)>,
    place: &str,
) -> Result<Found<'a>> {
    let stride = plan.stride;
    let Some(table) = &states.table else {
        if let Some(taken) = &states.taken {
            // The condition was looked at as they were taken.
            let mut found = listed(plan, (&taken.numbers, &taken.words), None, beside)?;
            found.sort();
            return Ok(found);
        }
        states.check_spare(|| place.to_owned())?;
        let spare = states.spare() as usize;
        let groups = (0..).zip(states.words.chunks_exact(stride).take(spare));
        let groups = groups.filter(|(_, state)| state[0] != 0 || plan.keys.is_empty());
        let groups = groups.map(|(number, state)| ([number], state));
        if let Some((having, isa)) = having {
            return having.of(plan, isa, groups, beside);
        }
        let mut found = Found::none(plan, beside);
        groups.for_each(|(number, state)| found.push(&number, state));
        return Ok(found);
    };
    let mut found = listed(plan, (table.words(), &states.words), having, beside)?;
    if is_ordered {
        found.sort();
    }
    Ok(found)
}

/// Groups whose keys have these words, and their states.
fn listed<'a>(
    plan: &Plan,
    (keys, words): (&'a [u64], &'a [u64]),
    having: Option<(&Having, Isa)>,
    beside: &Arc<Beside>,
) -> Result<Found<'a>> {
    let (stride, width) = (plan.stride, plan.width());
    Ok(match having {
        Some((having, isa)) => {
            let groups = keys.chunks_exact(width).zip(words.chunks_exact(stride));
            having.of(plan, isa, groups, beside)?
        }
        None => {
            let (words, keys) = (Cow::Borrowed(words), Cow::Borrowed(keys));
            Found { stride, words, width, keys, order: None, beside: Arc::clone(beside) }
        }
    })
}

impl Beside {
    /// Counts the plan's sets of different values by group.
    pub(super) fn of(plan: &Plan, sets: &[PlaceTable], apart: Option<Arc<GatheredTexts>>) -> Self {
        let sets = sets.iter().zip(&plan.distinct);
        Self { distinct: sets.map(|(set, distinct)| Counts::of(set, distinct, plan.seed)).collect(), apart }
    }
}

impl Found<'_> {
    fn none(plan: &Plan, beside: &Arc<Beside>) -> Self {
        let (words, keys) = (Cow::Owned(Vec::new()), Cow::Owned(Vec::new()));
        Self { stride: plan.stride, words, width: plan.width(), keys, order: None, beside: Arc::clone(beside) }
    }

    /// Orders the rows by keys. Who looks at very many rows does not care for their order, and it costs more than all else.
    fn sort(&mut self) {
        if self.len() <= SORTED {
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            match self.width {
                1 => order.sort_unstable_by_key(|place| self.keys[*place as usize]),
                _ => order.sort_unstable_by_key(|place| self.key(*place as usize)),
            }
            self.order = Some(order);
        }
    }

    #[inline]
    fn push(&mut self, key: &[u64], state: &[u64]) {
        self.words.to_mut().extend_from_slice(state);
        match key {
            [number] => self.keys.to_mut().push(*number),
            words => self.keys.to_mut().extend_from_slice(words),
        }
    }

    #[inline]
    fn key(&self, place: usize) -> &[u64] {
        &self.keys[place * self.width..][..self.width]
    }

    #[inline]
    fn at(&self, place: usize) -> (&[u64], &[u64]) {
        (self.key(place), &self.words[place * self.stride..][..self.stride])
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len() / self.width
    }

    /// Different values of a group, in the set with this number.
    pub(super) fn different(&self, set: usize, group: &[u64]) -> u32 {
        let Counts { groups, counts, .. } = &self.beside.distinct[set];
        groups.place(group).map_or(0, |place| counts[place])
    }

    /// Their sum; `None` of none.
    pub(super) fn sum_of_different(&self, set: usize, group: &[u64]) -> Option<i128> {
        let Counts { groups, sums, .. } = &self.beside.distinct[set];
        sums.get(groups.place(group)?).copied()
    }

    /// What floats that are kept apart make of a group.
    pub(super) fn moment(&self, item: usize, moment: Moment, group: &[u64]) -> Option<f64> {
        let (floats, place) = self.beside.apart.as_ref()?.floats(item, group)?;
        floats.get(moment, place)
    }

    /// How many a group has of what is kept apart.
    pub(super) fn counted(&self, item: usize, group: &[u64]) -> u64 {
        let floats = self.beside.apart.as_ref().and_then(|apart| apart.floats(item, group));
        floats.map_or(0, |(floats, place)| floats.counted(place))
    }

    /// The number of a group's string that is kept apart.
    pub(super) fn text(&self, item: usize, group: &[u64]) -> Option<i128> {
        self.beside.apart.as_ref()?.text(item, group)
    }

    /// A column of what `read` gives for the words of the keys and the state of each group.
    pub(super) fn column(&self, read: impl Fn(&[u64], &[u64]) -> Option<i128>) -> Column {
        match &self.order {
            None => {
                let keys = self.keys.chunks_exact(self.width);
                collected(keys.zip(self.words.chunks_exact(self.stride)).map(|(key, state)| read(key, state)))
            }
            Some(order) => collected(order.iter().map(|place| {
                let (key, state) = self.at(*place as usize);
                read(key, state)
            })),
        }
    }
}

impl Counts {
    /// Counts the values of a set by their groups.
    fn of(set: &PlaceTable, distinct: &Distinct, seed: u64) -> Self {
        let mut groups = PlaceTable::new(distinct.group_width(), seed);
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        let values: Vec<Option<i128>> = set.keys().map(|words| distinct.split(words, &mut keys)).collect();
        groups.find_or_add(&keys, &mut places);
        let mut counts = vec![0; groups.len()];
        let mut sums = vec![0; if distinct.summed { counts.len() } else { 0 }];
        for (place, value) in places.into_iter().zip(values) {
            counts[place as usize] += 1;
            if let (Some(sum), Some(value)) = (sums.get_mut(place as usize), value) {
                *sum += value;
            }
        }
        Self { groups, counts, sums }
    }
}
