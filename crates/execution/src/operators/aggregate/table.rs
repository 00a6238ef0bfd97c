//! A table from 64-bit group numbers to places. As long as the numbers are little larger than they are many, as those of strings
//! are, it is an array by number; then a hash table, by open addressing with linear probing. Numbers come a vector at a time, so
//! that memory can be asked for all of a block's slots before the first of them is read.

use gingham_kernels::element_ahead;
use gingham_storage::{huge_vec, huge_zeros};

/// Places of the numbers met so far, given in the order in which they came.
#[derive(Debug)]
pub(super) struct GroupTable {
    slots: GroupLookup,
    /// The number at each place.
    numbers: Vec<u64>,
}

/// How a number's place is found.
#[derive(Debug)]
enum GroupLookup {
    /// By number the place plus one; 0 where there is none.
    Direct(Vec<u32>),
    /// The place plus one of the number that hashes there or a little before, below the upper half of its hash, which tells most
    /// others from it; 0 where there is none. A power of two of them, at most half in use.
    Hashed(Vec<u64>),
}

/// Numbers below this may have an array however few they are.
const SMALL: u64 = 1 << 12;
/// Elements of an array for each number that it has, at most: as many bytes as a hash table has.
const SPARSE: u64 = 4;
const FIRST_SLOTS: usize = 1 << 10;
/// Numbers whose slots are asked for at once.
const BLOCK: usize = 64;
/// The half of a slot that is the place plus one.
const PLACE: u64 = u32::MAX as u64;

impl GroupTable {
    pub(super) fn new() -> Self {
        Self { slots: GroupLookup::Direct(Vec::new()), numbers: Vec::new() }
    }

    /// The numbers, each at its place.
    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The place of a number.
    pub(super) fn place(&self, number: u64) -> Option<usize> {
        match &self.slots {
            GroupLookup::Direct(places) => (*places.get(usize::try_from(number).ok()?)? as usize).checked_sub(1),
            GroupLookup::Hashed(slots) => find(slots, &self.numbers, number, hash(number)).ok(),
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let slots = match &self.slots {
            GroupLookup::Direct(places) => places.capacity() * size_of::<u32>(),
            GroupLookup::Hashed(slots) => slots.capacity() * size_of::<u64>(),
        };
        slots + self.numbers.capacity() * size_of::<u64>()
    }

    /// Replaces each number by its place, new ones added. The caller keeps their number below 2^32.
    pub(super) fn places(&mut self, numbers: &mut [u64]) {
        let largest = numbers.iter().copied().max().unwrap_or(0);
        let all = self.numbers.len() + numbers.len();
        if let GroupLookup::Direct(places) = &mut self.slots
            && largest < SMALL.max(all as u64 * SPARSE)
        {
            widen(places, largest as usize + 1);
            return direct(places, &mut self.numbers, numbers);
        }
        let slots = match &mut self.slots {
            GroupLookup::Hashed(slots) => slots,
            direct @ GroupLookup::Direct(_) => {
                *direct = GroupLookup::Hashed(spread(&self.numbers, FIRST_SLOTS.max((all * 2).next_power_of_two())));
                return self.places(numbers);
            }
        };
        if all * 2 > slots.len() {
            *slots = spread(&self.numbers, (all * 2).next_power_of_two());
        }
        hashed(slots, &mut self.numbers, numbers);
    }
}

/// Makes an array of places long enough.
fn widen(places: &mut Vec<u32>, length: usize) {
    if length > places.capacity() {
        let mut wider = huge_vec(length.max(places.capacity() * 2));
        wider.extend_from_slice(places);
        *places = wider;
    }
    if length > places.len() {
        places.resize(places.capacity(), 0);
    }
}

/// Replaces numbers by their places in an array that is long enough.
fn direct(places: &mut [u32], known: &mut Vec<u64>, numbers: &mut [u64]) {
    for block in numbers.chunks_mut(BLOCK) {
        block.iter().for_each(|number| element_ahead(places, *number as usize));
        for number in block {
            let place = &mut places[*number as usize];
            if *place == 0 {
                known.push(*number);
                *place = known.len() as u32;
            }
            *number = u64::from(*place) - 1;
        }
    }
}

/// Looks keys up in a hash table that has room for those that are new.
fn hashed(slots: &mut [u64], known: &mut Vec<u64>, numbers: &mut [u64]) {
    let mask = slots.len() - 1;
    let mut hashes = [0; BLOCK];
    for block in numbers.chunks_mut(BLOCK) {
        for (number, hash) in block.iter().zip(&mut hashes) {
            *hash = crate::operators::aggregate::table::hash(*number);
            element_ahead(slots, *hash as usize & mask);
        }
        for hash in &hashes[..block.len()] {
            let slot = slots[*hash as usize & mask];
            element_ahead(known, (slot & PLACE).saturating_sub(1) as usize);
        }
        for (number, hash) in block.iter_mut().zip(hashes) {
            let place = find(slots, known, *number, hash).unwrap_or_else(|slot| {
                known.push(*number);
                slots[slot] = entry(hash, known.len());
                known.len() - 1
            });
            *number = place as u64;
        }
    }
}

/// The place of a number, or the slot that it would have.
fn find(slots: &[u64], known: &[u64], number: u64, hash: u64) -> Result<usize, usize> {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        let slot = slots[at];
        if slot == 0 {
            return Err(at);
        }
        let place = (slot & PLACE) as usize - 1;
        if (slot ^ hash) & !PLACE == 0 && known[place] == number {
            return Ok(place);
        }
        at = (at + 1) & mask;
    }
}

/// A hash table of numbers, of so many slots, a power of two.
fn spread(numbers: &[u64], slots: usize) -> Vec<u64> {
    let mut slots = huge_zeros(slots);
    let mask = slots.len() - 1;
    let mut hashes = [0; BLOCK];
    let mut place = 0;
    for block in numbers.chunks(BLOCK) {
        for (number, hash) in block.iter().zip(&mut hashes) {
            *hash = crate::operators::aggregate::table::hash(*number);
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
    slots
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

    /// A table that is asked for some numbers a round, against the standard library's.
    fn check(rounds: u64, numbers: impl Fn(u64) -> Vec<u64>) -> GroupTable {
        let mut table = GroupTable::new();
        let mut known: HashMap<u64, u64> = HashMap::new();
        for round in 0..rounds {
            let asked = numbers(round);
            let mut places = asked.clone();
            table.places(&mut places);
            for (number, place) in asked.into_iter().zip(places) {
                let next = known.len() as u64;
                assert_eq!(*known.entry(number).or_insert(next), place);
                assert_eq!(table.numbers()[place as usize], number);
                assert_eq!(table.place(number), Some(place as usize));
            }
        }
        assert_eq!(table.numbers().len(), known.len());
        assert_eq!(table.place(u64::MAX - 1), None);
        table
    }

    #[test]
    fn numbers_keep_their_places() {
        let table = check(400, |round| {
            let mut numbers: Vec<u64> = (0..97).map(|i| (i * round * 31) % 5000 + (i % 2) * (u64::MAX / 2)).collect();
            numbers.extend((0..round).map(|i| (round * i) << 40));
            numbers
        });
        assert!(matches!(table.slots, GroupLookup::Hashed(_)));
        assert!(table.numbers().len() > FIRST_SLOTS, "it grew");
    }

    #[test]
    fn dense_numbers_have_an_array() {
        let table = check(400, |round| (0..50).map(|i| ((round * 50 + i) * 3 % 40_000) ^ (i % 7)).collect());
        assert!(matches!(table.slots, GroupLookup::Direct(_)));
        // Until one is far from the others.
        let table = check(400, |round| (0..50).map(|i| round * 50 + i + (round / 399) * 200_000).collect());
        assert!(matches!(table.slots, GroupLookup::Hashed(_)));
        let table = check(1, |_| Vec::new());
        assert!(matches!(table.slots, GroupLookup::Direct(_)));
    }
}
