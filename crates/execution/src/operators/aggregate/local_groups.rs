//! Windows on groups. Where records lie in the order of a key, as orders and measurements do, a morsel has few of the groups:
//! those between its smallest and its largest key, which the metadata tells. Its states then lie in a short array that
//! stays in a cache, and are taken out when the morsel ends. Groups that no other morsel can have are complete by then;
//! the others are put together by a hash table, and so are all groups of morsels whose records lie far apart: those of a
//! delta, which have their keys from anywhere. These keys are read before, since a window's groups are complete without them
//! alone.

use crate::Result;
use crate::operators::aggregate::found::Having;
use crate::operators::aggregate::plan::Plan;
use crate::operators::aggregate::states::States;
use crate::operators::keys::KeyPlace;
use gingham_kernels::{Isa, bits};
use std::ops::Range;

/// A morsel is scattered when its groups may be this many times as many as its records: then a window would be empty mostly.
const SPREAD: u64 = 16;
/// So many others there must be for each scattered record: it costs a search in a hash table.
const FEW_SCATTERED: u64 = 8;

/// What is known of a morsel before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MorselBounds {
    /// Its records at most.
    pub(crate) rows: usize,
    /// The smallest and the largest key, where they are known.
    pub(crate) keys: Option<(i64, i64)>,
}

/// The groups that each morsel may have.
#[derive(Debug)]
pub(crate) struct MorselGroups {
    /// None of morsels that are scattered.
    windows: Vec<Option<LocalGroups>>,
    /// A bit for each group that a scattered morsel may have; no bits where there is no such morsel.
    scattered: Vec<u64>,
}

/// Groups next to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalGroups {
    /// Number of the first.
    pub(super) first: u64,
    /// How many.
    pub(super) groups: u64,
    /// Numbers of those that no other morsel has.
    own: Range<u64>,
}

/// Groups that were taken out of windows.
#[derive(Debug)]
pub(super) struct Taken {
    /// Their numbers, and their states one after the other.
    pub(super) numbers: Vec<u64>,
    pub(super) words: Vec<u64>,
    /// Groups that several morsels may have.
    pub(super) shared: States,
}

impl MorselGroups {
    /// For morsels with these ends; `keys` gives all keys of one. `None` where ends are not known, and where the keys of morsels
    /// lie so far apart, or overlap so much, that one array for all groups is better. Fails as `keys` does.
    pub(crate) fn new(
        plan: &Plan,
        morsels: &[MorselBounds],
        keys: impl Fn(usize) -> Result<Vec<i64>>,
    ) -> Result<Option<Self>> {
        let Some(low) = plan.keys.first().and_then(KeyPlace::low) else { return Ok(None) };
        let number = |key: i64| u64::try_from(i128::from(key) - low).ok().filter(|number| *number < plan.groups);
        let numbers = |(min, max)| Some((number(min)?, number(max)?)).filter(|(first, last)| first <= last);
        let ends = morsels.iter().map(|MorselBounds { keys, .. }| keys.and_then(numbers));
        let Some(ends) = ends.collect::<Option<Vec<(u64, u64)>>>() else { return Ok(None) };
        let is_scattered = |morsel: &usize| {
            let (first, last) = ends[*morsel];
            last - first >= (morsels[*morsel].rows as u64).saturating_mul(SPREAD)
        };
        let (scattered, near): (Vec<usize>, Vec<usize>) = (0..morsels.len()).partition(is_scattered);
        let rows = |of: &[usize]| of.iter().map(|morsel| morsels[*morsel].rows as u64).sum::<u64>();
        if rows(&scattered) > rows(&near) / FEW_SCATTERED {
            return Ok(None);
        }
        let groups = |morsel: &usize| ends[*morsel].1 - ends[*morsel].0 + 1;
        let total = near.iter().map(groups).sum::<u64>();
        let largest = near.iter().map(groups).max().unwrap_or(0);
        if near.is_empty() || total > plan.groups.saturating_mul(2) || largest > plan.groups / 4 {
            return Ok(None);
        }
        let mut bits = vec![0; if scattered.is_empty() { 0 } else { bits::words(plan.groups as usize) }];
        for morsel in scattered {
            for key in keys(morsel)? {
                // Who reads it next tells what is wrong with it.
                let Some(number) = number(key) else { return Ok(None) };
                bits[number as usize / 64] |= 1 << (number % 64);
            }
        }
        Ok(Some(Self { windows: windows(&ends, &near), scattered: bits }))
    }

    /// That of a morsel; `None` when it is scattered.
    pub(crate) fn of(&self, morsel: usize) -> Option<&LocalGroups> {
        self.windows.get(morsel)?.as_ref()
    }

    /// Whether a group of a window is complete when its morsel has ended.
    fn is_complete(&self, window: &LocalGroups, number: u64) -> bool {
        let scattered = self.scattered.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1);
        window.own.contains(&number) && !scattered
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.windows) + size_of_val(&*self.scattered)
    }
}

/// Those of the morsels `near`, for the first and last group of each.
fn windows(ends: &[(u64, u64)], near: &[usize]) -> Vec<Option<LocalGroups>> {
    let mut windows: Vec<Option<LocalGroups>> = vec![None; ends.len()];
    // Behind all that comes before, and before all that comes behind.
    let mut before = 0;
    for morsel in near {
        let (first, last) = ends[*morsel];
        windows[*morsel] = Some(LocalGroups { first, groups: last - first + 1, own: before..u64::MAX });
        before = before.max(last + 1);
    }
    let mut behind = u64::MAX;
    for window in windows.iter_mut().flatten().rev() {
        window.own.end = behind;
        behind = behind.min(window.first);
    }
    windows
}

impl Taken {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { numbers: Vec::new(), words: Vec::new(), shared: States::new(plan, false) }
    }

    /// Takes the states of a window out of it, which are zeros again then: all that others may share, and of the complete
    /// ones those that fulfil `having`.
    pub(super) fn take(
        &mut self,
        plan: &Plan,
        (windows, window): (&MorselGroups, &LocalGroups),
        having: Option<(&Having, Isa)>,
        words: &mut [u64],
    ) -> Result<()> {
        let states = words.chunks_exact(plan.stride).take(window.groups as usize);
        let groups = || (window.first..).zip(states.clone()).filter(|(_, state)| state[0] != 0);
        let complete = groups().filter(|(number, _)| windows.is_complete(window, *number));
        self.keep(plan, having, complete.map(|(number, state)| ([number], state)))?;
        let (numbers, others): (Vec<_>, Vec<_>) =
            groups().filter(|(number, _)| !windows.is_complete(window, *number)).unzip();
        self.shared.add(plan, &numbers, others.into_iter())?;
        words.fill(0);
        Ok(())
    }

    /// Takes complete groups: those that fulfil `having`.
    fn keep<'a>(
        &mut self,
        plan: &Plan,
        having: Option<(&Having, Isa)>,
        groups: impl Iterator<Item = (impl AsRef<[u64]>, &'a [u64])>,
    ) -> Result<()> {
        match having {
            Some((having, isa)) => having.keep(plan, isa, groups, (&mut self.numbers, &mut self.words))?,
            None => groups.for_each(|(number, state)| {
                self.numbers.extend_from_slice(number.as_ref());
                self.words.extend_from_slice(state);
            }),
        }
        Ok(())
    }

    /// Adds those of another thread.
    pub(super) fn merge(&mut self, plan: &Plan, other: Self) -> Result<()> {
        self.numbers.extend_from_slice(&other.numbers);
        self.words.extend_from_slice(&other.words);
        self.shared.merge(plan, other.shared)
    }

    /// Puts the shared groups behind the others, those that fulfil `having`: all morsels have ended.
    pub(super) fn settle(&mut self, plan: &Plan, having: Option<(&Having, Isa)>) -> Result<()> {
        let shared = std::mem::replace(&mut self.shared, States::new(plan, false));
        self.keep(plan, having, shared.groups())
    }

    pub(super) fn bytes(&self) -> usize {
        (self.numbers.capacity() + self.words.capacity()) * size_of::<u64>() + self.shared.bytes()
    }
}
