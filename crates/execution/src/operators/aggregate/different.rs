//! Different values of each group, of any range: a value has a number, and a group's place with that number is one of 64 bits.
//! What is made of them waits until all have come.

use crate::operators::aggregate::moments::Floats;
use crate::operators::aggregate::table::GroupTable;
use crate::{Error, Result};

/// The distinct values of all groups, for aggregates with DISTINCT.
#[derive(Debug)]
pub(super) struct Different {
    /// The values as bits.
    values: GroupTable,
    /// Places of groups, and in the lower half numbers of values.
    pairs: GroupTable,
    /// The values are floats that are summed.
    summed: bool,
    /// When all have come, how many each group has, and their sum.
    pub(super) floats: Floats,
    found: Vec<u64>,
}

impl Different {
    pub(super) fn new(summed: bool) -> Self {
        let (values, pairs) = (GroupTable::new(), GroupTable::new());
        Self { values, pairs, summed, floats: Floats::new(1, false), found: Vec::new() }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        self.floats.resize(groups);
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.bytes() + self.pairs.bytes() + self.floats.bytes()
    }

    /// Adds records whose groups have these places, those that count.
    pub(super) fn add(&mut self, places: &[u64], counts: impl Iterator<Item = bool>, values: &[i64]) -> Result<()> {
        let records = places.iter().zip(values).zip(counts).filter(|(_, counts)| *counts);
        let pairs: Vec<(u64, u64)> = records.map(|((place, value), _)| (*place, *value as u64)).collect();
        self.extend(pairs.iter().copied())
    }

    fn extend(&mut self, pairs: impl Iterator<Item = (u64, u64)> + Clone) -> Result<()> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        found.extend(pairs.clone().map(|(_, value)| value));
        if self.pairs.numbers().len() + found.len() > u32::MAX as usize {
            return Err(Error::OutOfMemory("4,294,967,295 different values".to_owned()));
        }
        self.values.places(&mut found);
        found.iter_mut().zip(pairs).for_each(|(number, (place, _))| *number |= place << 32);
        self.pairs.places(&mut found);
        self.found = found;
        Ok(())
    }

    /// Adds those of another thread, whose groups have these places here.
    pub(super) fn merge(&mut self, other: &Self, places: &[u64]) -> Result<()> {
        let values = other.values.numbers();
        let pair = |pair: &u64| (places[(*pair >> 32) as usize], values[*pair as u32 as usize]);
        self.extend(other.pairs.numbers().iter().map(pair))
    }

    /// All have come.
    pub(super) fn end(&mut self) {
        let values = self.values.numbers();
        for pair in self.pairs.numbers() {
            let (place, value) = ((*pair >> 32) as usize, values[*pair as u32 as usize]);
            if self.summed {
                self.floats.add_value(place, value as i64);
            } else {
                self.floats.count(place);
            }
        }
    }
}
