//! Different floats of each group: a float has a number, and a group's place with that number is one of 64 bits. They are summed
//! up when all have come.

use crate::operators::aggregate::moments::Floats;
use crate::operators::place_table::PlaceTable;
use crate::{Error, Result};

/// The distinct floats of all groups, for sums and means with DISTINCT.
#[derive(Debug)]
pub(super) struct Different {
    /// The values as bits.
    values: PlaceTable,
    /// Places of groups, and in the lower half numbers of values.
    pairs: PlaceTable,
    /// When all have come, how many each group has, and their sum.
    pub(super) floats: Floats,
    found: Vec<u64>,
    places: Vec<u64>,
}

impl Different {
    pub(super) fn new(seed: u64) -> Self {
        let (values, pairs) = (PlaceTable::new(1, seed), PlaceTable::new(1, seed));
        Self { values, pairs, floats: Floats::new(1, false), found: Vec::new(), places: Vec::new() }
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
        let Self { values, pairs: all, found, places, .. } = self;
        found.clear();
        found.extend(pairs.clone().map(|(_, value)| value));
        if all.len() + found.len() > u32::MAX as usize {
            return Err(Error::OutOfMemory("4,294,967,295 different values".to_owned()));
        }
        values.find_or_add(found, places);
        found.clear();
        found.extend(places.iter().zip(pairs).map(|(number, (place, _))| number | place << 32));
        all.find_or_add(found, places);
        Ok(())
    }

    /// Adds those of another thread, whose groups have these places here.
    pub(super) fn merge(&mut self, other: &Self, places: &[u64]) -> Result<()> {
        let values = other.values.words();
        let pair = |pair: &u64| (places[(*pair >> 32) as usize], values[*pair as u32 as usize]);
        self.extend(other.pairs.words().iter().map(pair))
    }

    /// All have come.
    pub(super) fn end(&mut self) {
        let values = self.values.words();
        for pair in self.pairs.words() {
            let (place, value) = ((*pair >> 32) as usize, values[*pair as u32 as usize]);
            self.floats.add_value(place, value as i64);
        }
    }
}
