//! A hash table from 64-bit group numbers to places, by open addressing with linear probing.

/// Places of the numbers met so far, given in the order in which they came.
#[derive(Debug)]
pub(super) struct GroupTable {
    /// Place plus one of the number that hashes there or a little before; 0 where there is none. A power of two of them,
    /// at most half in use.
    slots: Vec<u32>,
    /// The number at each place.
    numbers: Vec<u64>,
}

const FIRST_SLOTS: usize = 1 << 10;

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
        let mask = self.slots.len() - 1;
        let mut slot = hash(number) & mask;
        loop {
            match self.slots[slot] {
                0 => return None,
                place if self.numbers[place as usize - 1] == number => return Some(place as usize - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>() + self.numbers.capacity() * size_of::<u64>()
    }

    /// Replaces each number by its place, new ones added. The caller keeps their number below 2^32.
    pub(super) fn places(&mut self, numbers: &mut [u64]) {
        while (self.numbers.len() + numbers.len()) * 2 > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        for number in numbers {
            let mut slot = hash(*number) & mask;
            *number = loop {
                match self.slots[slot] {
                    0 => {
                        self.numbers.push(*number);
                        self.slots[slot] = self.numbers.len() as u32;
                        break self.numbers.len() as u64 - 1;
                    }
                    place if self.numbers[place as usize - 1] == *number => break u64::from(place) - 1,
                    _ => slot = (slot + 1) & mask,
                }
            };
        }
    }

    fn grow(&mut self) {
        let mut slots = vec![0; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for (number, place) in self.numbers.iter().zip(1u32..) {
            let mut slot = hash(*number) & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = place;
        }
        self.slots = slots;
    }
}

/// A product folded, so that low bits depend on all: neighbouring numbers, which are the rule, fall apart.
fn hash(number: u64) -> usize {
    let product = u128::from(number ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    ((product >> 64) as u64 ^ product as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn numbers_keep_their_places() {
        let mut table = GroupTable::new();
        let mut known: HashMap<u64, u64> = HashMap::new();
        for round in 0..200u64 {
            let mut numbers: Vec<u64> = (0..97).map(|i| (i * round * 31) % 5000 + (i % 2) * (u64::MAX / 2)).collect();
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
