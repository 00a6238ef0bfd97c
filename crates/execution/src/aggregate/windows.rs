//! Windows on groups. Where records lie in the order of a key, as orders and measurements do, a morsel has few of the groups:
//! those between its smallest and its largest key, which the metadata tells. Its states then lie in a short array that
//! stays in a cache, and are taken out when the morsel ends. Groups that no other morsel can have are complete by then;
//! the others are put together by a hash table.

use super::found::Having;
use super::plan::Plan;
use super::states::States;
use crate::Result;
use gingham_kernels::Isa;
use std::ops::Range;

/// Of each morsel the groups that it may have.
#[derive(Debug)]
pub(crate) struct Windows(Vec<Window>);

/// Groups next to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
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
    shared: States,
}

impl Windows {
    /// For the keys that each morsel has, the smallest and the largest. `None` where that is not known, and where the keys of
    /// morsels lie so far apart, or overlap so much, that one array for all groups is better.
    pub(crate) fn new(plan: &Plan, keys: impl Iterator<Item = Option<(i64, i64)>>) -> Option<Self> {
        let low = plan.keys.first()?.low;
        let number = |key: i64| u64::try_from(i128::from(key) - low).ok().filter(|number| *number < plan.groups);
        let ends = keys.map(|keys| keys.and_then(|(min, max)| Some((number(min)?, number(max)?))));
        let ends = ends.collect::<Option<Vec<_>>>()?;
        let total = ends.iter().map(|(first, last)| last - first + 1).sum::<u64>();
        let largest = ends.iter().map(|(first, last)| last - first + 1).max()?;
        if total > plan.groups.saturating_mul(2) || largest > plan.groups / 4 {
            return None;
        }
        // Behind all that comes before, and before all that comes behind.
        let mut before = 0;
        let mut windows: Vec<Window> = Vec::with_capacity(ends.len());
        for (first, last) in &ends {
            windows.push(Window { first: *first, groups: last - first + 1, own: before..u64::MAX });
            before = before.max(last + 1);
        }
        let mut behind = u64::MAX;
        for (window, (first, _)) in windows.iter_mut().zip(&ends).rev() {
            window.own.end = behind;
            behind = behind.min(*first);
        }
        Some(Self(windows))
    }

    /// That of a morsel.
    pub(crate) fn of(&self, morsel: usize) -> Option<&Window> {
        self.0.get(morsel)
    }
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
        window: &Window,
        having: Option<(&Having, Isa)>,
        words: &mut [u64],
    ) -> Result<()> {
        let states = words.chunks_exact(plan.stride).take(window.groups as usize);
        let groups = || (window.first..).zip(states.clone()).filter(|(_, state)| state[0] != 0);
        self.keep(plan, having, groups().filter(|(number, _)| window.own.contains(number)))?;
        let (numbers, others): (Vec<_>, Vec<_>) = groups().filter(|(number, _)| !window.own.contains(number)).unzip();
        self.shared.add(plan, numbers, others.into_iter())?;
        words.fill(0);
        Ok(())
    }

    /// Takes complete groups: those that fulfil `having`.
    fn keep<'a>(
        &mut self,
        plan: &Plan,
        having: Option<(&Having, Isa)>,
        groups: impl Iterator<Item = (u64, &'a [u64])>,
    ) -> Result<()> {
        match having {
            Some((having, isa)) => having.keep(plan, isa, groups, (&mut self.numbers, &mut self.words))?,
            None => groups.for_each(|(number, state)| {
                self.numbers.push(number);
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
