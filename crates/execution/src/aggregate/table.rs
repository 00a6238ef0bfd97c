//! A hash table from 64-bit group numbers to places, by open addressing with linear probing. Numbers come a vector at a time,
//! so that memory can be asked for all of a block's slots before the first of them is read.

use gingham_kernels::element_ahead;
use gingham_storage::huge_zeros;

/// Places of the numbers met so far, given in the order in which they came.
#[derive(Debug)]
pub(super) struct GroupTable {
    /// The place plus one of the number that hashes there or a little before, below the upper half of its hash, which tells most
    /// others from it; 0 where there is none. A power of two of them, at most half in use.
    slots: Vec<u64>,
    /// The number at each place.
    numbers: Vec<u64>,
}

const FIRST_SLOTS: usize = 1 << 10;
/// Numbers whose slots are asked for at once.
const BLOCK: usize = 64;
/// The half of a slot that is the place plus one.
const PLACE: u64 = u32::MAX as u64;

impl GroupTable {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; FIRST_SLOTS], numbers: Vec::new() }
    }

    /// The numbers, each at its place.
    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The place of a number.
    pub(super) fn place(&self, number: u64) -> Option<usize> {
        self.find(number, hash(number)).ok()
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        (self.slots.capacity() + self.numbers.capacity()) * size_of::<u64>()
    }

    /// Replaces each number by its place, new ones added. The caller keeps their number below 2^32.
    pub(super) fn places(&mut self, numbers: &mut [u64]) {
        while (self.numbers.len() + numbers.len()) * 2 > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut hashes = [0; BLOCK];
        for block in numbers.chunks_mut(BLOCK) {
            for (number, hash) in block.iter().zip(&mut hashes) {
                *hash = self::hash(*number);
                element_ahead(&self.slots, *hash as usize & mask);
            }
            for hash in &hashes[..block.len()] {
                let slot = self.slots[*hash as usize & mask];
                element_ahead(&self.numbers, (slot & PLACE).saturating_sub(1) as usize);
            }
            for (number, hash) in block.iter_mut().zip(hashes) {
                let place = self.find(*number, hash).unwrap_or_else(|slot| {
                    self.numbers.push(*number);
                    self.slots[slot] = entry(hash, self.numbers.len());
                    self.numbers.len() - 1
                });
                *number = place as u64;
            }
        }
    }

    /// The place of a number, or the slot that it would have.
    fn find(&self, number: u64, hash: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let place = (slot & PLACE) as usize - 1;
            if (slot ^ hash) & !PLACE == 0 && self.numbers[place] == number {
                return Ok(place);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mut slots = huge_zeros(self.slots.len() * 2);
        let mask = slots.len() - 1;
        let mut hashes = [0; BLOCK];
        let mut place = 0;
        for block in self.numbers.chunks(BLOCK) {
            for (number, hash) in block.iter().zip(&mut hashes) {
                *hash = self::hash(*number);
                element_ahead(&slots, *hash as usize & mask);
            }
            for hash in &hashes[..block.len()] {
                let mut at = *hash as usize & mask;
                while slots[at] != 0 {
                    at = (at + 1) & mask;
                }
                place += 1;
                slots[at] = entry(*hash, place);
            }
        }
        self.slots = slots;
    }
}

/// What a slot has of a number with this hash.
fn entry(hash: u64, place_and_one: usize) -> u64 {
    hash & !PLACE | place_and_one as u64
}

/// A product folded, so that low bits depend on all: neighbouring numbers, which are the rule, fall apart.
fn hash(number: u64) -> u64 {
    let product = u128::from(number ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn numbers_keep_their_places() {
        let mut table = GroupTable::new();
        let mut known: HashMap<u64, u64> = HashMap::new();
        for round in 0..400u64 {
            let mut numbers: Vec<u64> = (0..97).map(|i| (i * round * 31) % 5000 + (i % 2) * (u64::MAX / 2)).collect();
            numbers.extend((0..round).map(|i| (round * i) << 40));
            let asked = numbers.clone();
            table.places(&mut numbers);
            for (number, place) in asked.into_iter().zip(numbers) {
                let next = known.len() as u64;
                assert_eq!(*known.entry(number).or_insert(next), place);
                assert_eq!(table.numbers()[place as usize], number);
            }
        }
        assert_eq!(table.numbers().len(), known.len());
        assert!(known.len() > FIRST_SLOTS, "it grew");
    }
}
