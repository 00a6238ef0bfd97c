//! A key table for keys from a small domain, codes of a dictionary or numbers without gaps: an array of links by key. A probe
//! computes no hash, compares no key and has one miss at most.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use super::duplicates::{Extra, Links, check_rows};
use super::{Duplicates, NONE};
use crate::{Code, Isa};

/// From the keys of a range to build positions.
#[derive(Debug)]
pub struct DenseTable {
    base: u64,
    /// One for each key of the range, and [`NONE`] behind them, which all other keys have.
    links: Vec<u32>,
    duplicates: Duplicates,
}

impl DenseTable {
    /// A table of `keys`, of which each stands at its position, in the memory of `links`, whatever that held. All keys are
    /// less than `numbers` above `base`, modulo 2^64, so that signed keys may be given as they lie in memory. The table takes
    /// four bytes for each of these numbers.
    ///
    /// # Panics
    /// As [`HashTable::build`](super::HashTable::build), and when a key is out of the range or the range has 2^31 numbers or
    /// more.
    pub fn build<C: Code>(base: u64, numbers: usize, keys: &[C], positions: &[u32], mut links: Vec<u32>) -> Self {
        check_rows(keys.len(), positions);
        assert!(numbers < 1 << 31, "an array of {numbers} keys");
        links.clear();
        links.resize(numbers + 1, NONE);
        let mut table = Self { base, links, duplicates: Duplicates::default() };
        let mut extras = Vec::new();
        for (key, &position) in keys.iter().zip(positions) {
            let slot = key.to_u64().wrapping_sub(base);
            assert!(slot < numbers as u64, "the key {key:?} among {numbers} from {base} on");
            let link = &mut table.links[slot as usize];
            if *link == NONE {
                *link = position;
            } else {
                extras.push(Extra { slot: slot as u32, position });
            }
        }
        table.duplicates = Duplicates::lay_out(extras, &mut table);
        table
    }

    /// A link for each key, appended to `links`.
    pub fn locate<C: Code>(&self, isa: Isa, keys: &[C], links: &mut Vec<u32>) {
        let first = links.len();
        links.resize(first + keys.len(), NONE);
        dispatch!(isa, locate(&self.links, self.base, keys, &mut links[first..]));
    }

    /// The links of the range's keys, and behind them [`NONE`], which all other keys have.
    pub fn links(&self) -> &[u32] {
        &self.links
    }

    /// The positions of keys that several rows have.
    pub fn duplicates(&self) -> &Duplicates {
        &self.duplicates
    }

    /// Bytes of the array and of the duplicates.
    pub fn bytes(&self) -> usize {
        size_of_val(self.links.as_slice()) + self.duplicates.bytes()
    }
}

impl Links for DenseTable {
    fn link(&self, slot: u32) -> u32 {
        self.links[slot as usize]
    }

    fn set_link(&mut self, slot: u32, link: u32) {
        self.links[slot as usize] = link;
    }
}
