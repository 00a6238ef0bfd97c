//! A table from the words of keys, of groups or of a join's build side, to places. As long as keys are single words little larger than they are many, as
//! numbers of strings are, it is an array by that word; then a hash table, by open addressing with linear probing. Keys come a
//! vector at a time, so that memory can be asked for all of a block's slots before the first of them is read.

use gingham_kernels::element_ahead;
use gingham_storage::{huge_vec, huge_zeros};

/// Places of the keys met so far, given in the order in which they came.
#[derive(Debug)]
pub(super) struct PlaceTable {
    slots: PlaceLookup,
    /// Their words, a key after the other.
    keys: KeyList,
    seed: u64,
}

/// Keys of as many words each.
#[derive(Debug)]
struct KeyList {
    width: usize,
    words: Vec<u64>,
}

/// How a key's place is found.
#[derive(Debug)]
enum PlaceLookup {
    /// An array that has the place plus one at the key's only word; 0 where there is none.
    Direct(Vec<u32>),
    /// A hash table that has the place plus one of the key that hashes there or a little before, below the upper half of its hash, which tells most
    /// others from it; 0 where there is none. A power of two of them, at most half in use.
    Hashed(Vec<u64>),
}

/// Words below this may have an array however few they are.
const SMALL: u64 = 1 << 12;
/// Elements of an array for each key that it has, at most: as many bytes as a hash table has.
const SPARSE: u64 = 4;
const FIRST_SLOTS: usize = 1 << 10;
/// Slots for each key, about.
const SLOTS: usize = 3;
/// Keys whose slots are asked for at once.
const BLOCK: usize = 64;
/// The place of a key that a table does not have.
pub(super) const NO_PLACE: u64 = u64::MAX;
/// The half of a slot that is the place plus one.
const PLACE: u64 = u32::MAX as u64;

impl PlaceTable {
    /// For keys of so many words. Nobody who chooses keys knows the seed, so that nobody can choose those whose hashes are equal.
    pub(super) fn new(width: usize, seed: u64) -> Self {
        let slots = match width {
            1 => PlaceLookup::Direct(Vec::new()),
            _ => PlaceLookup::Hashed(huge_zeros(FIRST_SLOTS)),
        };
        Self { slots, keys: KeyList { width, words: Vec::new() }, seed }
    }

    /// Has room for so many more keys, of which few are expected to be equal.
    pub(super) fn reserve(&mut self, keys: usize) {
        let known = &mut self.keys.words;
        let mut roomy = huge_vec(known.len() + keys * self.keys.width);
        roomy.append(known);
        *known = roomy;
    }

    /// Gives back memory that no key needs.
    pub(super) fn shrink(&mut self) {
        self.keys.words.shrink_to_fit();
    }

    /// Forgets all keys, and keeps its memory.
    pub(super) fn clear(&mut self) {
        match &mut self.slots {
            PlaceLookup::Direct(places) => places.fill(0),
            PlaceLookup::Hashed(slots) => slots.fill(0),
        }
        self.keys.words.clear();
    }

    /// The hash of a key.
    pub(super) fn hash(&self, key: &[u64]) -> u64 {
        hash(self.seed, key)
    }

    /// The words of all keys, each key's at its place.
    pub(super) fn words(&self) -> &[u64] {
        &self.keys.words
    }

    /// The keys, each at its place.
    pub(super) fn keys(&self) -> impl Iterator<Item = &[u64]> {
        self.keys.words.chunks_exact(self.keys.width)
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Words of a key.
    pub(super) fn width(&self) -> usize {
        self.keys.width
    }

    /// The place of a key.
    pub(super) fn place(&self, key: &[u64]) -> Option<usize> {
        match &self.slots {
            PlaceLookup::Direct(places) => (*places.get(usize::try_from(key[0]).ok()?)? as usize).checked_sub(1),
            PlaceLookup::Hashed(slots) => {
                find(self.keys.width, slots, &self.keys.words, key, hash(self.seed, key)).ok()
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let slots = match &self.slots {
            PlaceLookup::Direct(places) => places.capacity() * size_of::<u32>(),
            PlaceLookup::Hashed(slots) => slots.capacity() * size_of::<u64>(),
        };
        slots + self.keys.words.capacity() * size_of::<u64>()
    }

    /// Bytes that its keys need, which are fewer than it takes when it had more of them.
    pub(super) fn used_bytes(&self) -> usize {
        (self.keys.words.len() + self.len() * SLOTS) * size_of::<u64>()
    }

    /// Puts the places of keys with these words into `places`, in place of what it had: [`NO_PLACE`] for a key that the table
    /// does not have.
    pub(super) fn find(&self, words: &[u64], places: &mut Vec<u64>) {
        places.clear();
        let keys = &self.keys;
        match (&self.slots, keys.width) {
            (PlaceLookup::Direct(direct), _) => places.extend(words.iter().map(|word| {
                let place = usize::try_from(*word).ok().and_then(|word| direct.get(word));
                place.map_or(NO_PLACE, |place| u64::from(*place).wrapping_sub(1))
            })),
            // With a width that the compiler knows, few words are compared and hashed without a loop.
            (PlaceLookup::Hashed(slots), 1) => found(1, slots, keys, self.seed, words, places),
            (PlaceLookup::Hashed(slots), 2) => found(2, slots, keys, self.seed, words, places),
            (PlaceLookup::Hashed(slots), 3) => found(3, slots, keys, self.seed, words, places),
            (PlaceLookup::Hashed(slots), width) => found(width, slots, keys, self.seed, words, places),
        }
    }

    /// Puts the places of keys with these words into `places`, in place of what it had. New keys are added. The caller keeps
    /// their number below 2^32.
    pub(super) fn find_or_add(&mut self, words: &[u64], places: &mut Vec<u64>) {
        places.clear();
        let all = self.len() + words.len() / self.keys.width;
        if let PlaceLookup::Direct(direct) = &mut self.slots {
            let largest = words.iter().copied().max().unwrap_or(0);
            if largest < SMALL.max(all as u64 * SPARSE) {
                widen(direct, largest as usize + 1);
                return self::direct(direct, &mut self.keys.words, words, places);
            }
            let slots = FIRST_SLOTS.max((all * 2).next_power_of_two());
            self.slots = PlaceLookup::Hashed(spread(&self.keys, self.seed, slots));
        }
        let PlaceLookup::Hashed(slots) = &mut self.slots else { return };
        if all * 2 > slots.len() {
            *slots = spread(&self.keys, self.seed, (all * 2).next_power_of_two());
        }
        let keys = &mut self.keys;
        // With a width that the compiler knows, few words are compared and hashed without a loop.
        match keys.width {
            1 => hashed(1, slots, keys, self.seed, words, places),
            2 => hashed(2, slots, keys, self.seed, words, places),
            3 => hashed(3, slots, keys, self.seed, words, places),
            width => hashed(width, slots, keys, self.seed, words, places),
        }
    }
}

impl KeyList {
    fn len(&self) -> usize {
        self.words.len() / self.width
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

/// Adds the places of keys of one word in an array that is long enough.
fn direct(direct: &mut [u32], known: &mut Vec<u64>, words: &[u64], places: &mut Vec<u64>) {
    for block in words.chunks(BLOCK) {
        block.iter().for_each(|word| element_ahead(direct, *word as usize));
        places.extend(block.iter().map(|word| {
            let place = &mut direct[*word as usize];
            if *place == 0 {
                known.push(*word);
                *place = known.len() as u32;
            }
            u64::from(*place) - 1
        }));
    }
}

/// Adds the places of keys of `width` words, as all of `known` have, in a hash table that has room for those that are new.
#[inline(always)]
fn hashed(width: usize, slots: &mut [u64], known: &mut KeyList, seed: u64, words: &[u64], places: &mut Vec<u64>) {
    let mut hashes = [0; BLOCK];
    let mut next = known.len();
    for block in words.chunks(BLOCK * width) {
        ahead(width, slots, known, seed, block, &mut hashes);
        places.extend(block.chunks_exact(width).zip(hashes).map(|(key, hash)| {
            let place = find(width, slots, &known.words, key, hash).unwrap_or_else(|slot| {
                known.words.extend_from_slice(key);
                next += 1;
                slots[slot] = entry(hash, next);
                next - 1
            });
            place as u64
        }));
    }
}

/// Adds the places of keys of `width` words, as all of `known` have, in a hash table: those that are there.
#[inline(always)]
fn found(width: usize, slots: &[u64], known: &KeyList, seed: u64, words: &[u64], places: &mut Vec<u64>) {
    let mut hashes = [0; BLOCK];
    for block in words.chunks(BLOCK * width) {
        ahead(width, slots, known, seed, block, &mut hashes);
        let place = |(key, hash)| find(width, slots, &known.words, key, hash).map_or(NO_PLACE, |place| place as u64);
        places.extend(block.chunks_exact(width).zip(hashes).map(place));
    }
}

/// The hashes of a block's keys; asks for the memory of their slots, and for that of the keys that these have.
#[inline(always)]
fn ahead(width: usize, slots: &[u64], known: &KeyList, seed: u64, block: &[u64], hashes: &mut [u64; BLOCK]) {
    let mask = slots.len() - 1;
    for (key, hash) in block.chunks_exact(width).zip(&mut *hashes) {
        *hash = self::hash(seed, key);
        element_ahead(slots, *hash as usize & mask);
    }
    for hash in &hashes[..block.len() / width] {
        let slot = slots[*hash as usize & mask];
        element_ahead(&known.words, (slot & PLACE).saturating_sub(1) as usize * width);
    }
}

/// The place of a key of `width` words, or the slot that it would have.
#[inline(always)]
fn find(width: usize, slots: &[u64], known: &[u64], key: &[u64], hash: u64) -> Result<usize, usize> {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        let slot = slots[at];
        if slot == 0 {
            return Err(at);
        }
        let place = (slot & PLACE) as usize - 1;
        if (slot ^ hash) & !PLACE == 0 {
            let other = &known[place * width..(place + 1) * width];
            if (0..width).all(|word| other[word] == key[word]) {
                return Ok(place);
            }
        }
        at = (at + 1) & mask;
    }
}

/// A hash table of keys, of so many slots, a power of two.
fn spread(keys: &KeyList, seed: u64, slots: usize) -> Vec<u64> {
    let mut slots = huge_zeros(slots);
    let mask = slots.len() - 1;
    let mut hashes = [0; BLOCK];
    let mut place = 0;
    for block in keys.words.chunks(BLOCK * keys.width) {
        let rows = block.len() / keys.width;
        for (key, hash) in block.chunks_exact(keys.width).zip(&mut hashes) {
            *hash = self::hash(seed, key);
            element_ahead(&slots, *hash as usize & mask);
        }
        for hash in &hashes[..rows] {
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

/// What a slot has of a key with this hash.
fn entry(hash: u64, place_and_one: usize) -> u64 {
    hash & !PLACE | place_and_one as u64
}

/// Products folded, so that low bits depend on all: neighbouring numbers, which are the rule, fall apart.
#[inline(always)]
fn hash(seed: u64, key: &[u64]) -> u64 {
    let fold = |hash: u64, word: &u64| {
        let product = u128::from(word ^ hash) * 0xd6e8_feb8_6659_fd93;
        (product >> 64) as u64 ^ product as u64
    };
    key.iter().fold(seed, fold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// A table that is asked for some keys a round, against the standard library's.
    fn check(width: usize, rounds: u64, keys: impl Fn(u64) -> Vec<Vec<u64>>) -> PlaceTable {
        let mut table = PlaceTable::new(width, 0x1234_5678_9abc_def0);
        let (mut known, mut places): (HashMap<Vec<u64>, u64>, _) = (HashMap::new(), Vec::new());
        let mut found = Vec::new();
        for round in 0..rounds {
            let asked = keys(round);
            table.find_or_add(&asked.concat(), &mut places);
            assert_eq!(places.len(), asked.len());
            table.find(&asked.concat(), &mut found);
            assert_eq!(found, places);
            for (key, place) in asked.into_iter().zip(&places) {
                assert_eq!(table.keys().nth(*place as usize), Some(key.as_slice()));
                assert_eq!(table.place(&key), Some(*place as usize));
                let next = known.len() as u64;
                assert_eq!(*known.entry(key).or_insert(next), *place);
            }
        }
        assert_eq!(table.len(), known.len());
        let other = vec![u64::MAX - 1; width];
        assert_eq!(table.place(&other), None);
        table.find(&[other.clone(), vec![u64::MAX - 9; width], other].concat(), &mut found);
        assert_eq!(found, [NO_PLACE; 3]);
        table
    }

    fn single(words: impl Iterator<Item = u64>) -> Vec<Vec<u64>> {
        words.map(|word| vec![word]).collect()
    }

    #[test]
    fn keys_keep_their_places() {
        let table = check(1, 400, |round| {
            let scattered = (0..97).map(|i| (i * round * 31) % 5000 + (i % 2) * (u64::MAX / 2));
            single(scattered.chain((0..round).map(|i| (round * i) << 40)))
        });
        assert!(matches!(table.slots, PlaceLookup::Hashed(_)));
        assert!(table.len() > FIRST_SLOTS, "it grew");
    }

    #[test]
    fn keys_of_several_words_keep_their_places() {
        for width in 2..6 {
            // Keys that differ in one word alone, whichever it is.
            let key = |number: u64| {
                let mut key = vec![7; width];
                key[number as usize % width] = (number % 1500) << (number % 3 * 20);
                key
            };
            let table = check(width, 200, |round| (0..90).map(|i| key(round * 13 + i * 7)).collect());
            assert!(table.len() > FIRST_SLOTS / 2, "it grew");
        }
    }

    #[test]
    fn dense_numbers_have_an_array() {
        let table = check(1, 400, |round| single((0..50).map(|i| ((round * 50 + i) * 3 % 40_000) ^ (i % 7))));
        assert!(matches!(table.slots, PlaceLookup::Direct(_)));
        // Until one is far from the others.
        let table = check(1, 400, |round| single((0..50).map(|i| round * 50 + i + (round / 399) * 200_000)));
        assert!(matches!(table.slots, PlaceLookup::Hashed(_)));
        let table = check(1, 1, |_| Vec::new());
        assert!(matches!(table.slots, PlaceLookup::Direct(_)));
    }

    /// How many slots are looked at for each key, on average.
    fn slots_looked_at(table: &PlaceTable) -> f64 {
        let PlaceLookup::Hashed(slots) = &table.slots else { panic!("an array") };
        let steps = |key: &[u64]| {
            let home = table.hash(key) as usize & (slots.len() - 1);
            let place = table.place(key).expect("a key that was added") as u64 + 1;
            (0..).find(|step| slots[(home + step) & (slots.len() - 1)] & PLACE == place).expect("its slot") + 1
        };
        table.keys().map(steps).sum::<usize>() as f64 / table.len() as f64
    }

    #[test]
    fn keys_that_agree_in_many_bits_cost_little_more_than_others() {
        let shapes: [fn(u64) -> u64; 6] = [
            |number| number << 16,
            |number| number << 48,
            |number| number << 16 | 0xffff,
            |number| number * 0x1_0001,
            |number| number.reverse_bits(),
            |number| (number & 0xff) << 56 | number >> 8 << 20,
        ];
        for (number, shape) in shapes.into_iter().enumerate() {
            for width in 1..4 {
                let mut table = PlaceTable::new(width, 0x0123_4567_89ab_cdef);
                let key = |number| (0..width).flat_map(move |word| [if word == 0 { shape(number) } else { 7 << 40 }]);
                let words: Vec<u64> = (1..50_000).flat_map(key).collect();
                table.find_or_add(&words, &mut Vec::new());
                let looked_at = slots_looked_at(&table);
                assert!(looked_at < 2.0, "shape {number}, {width} words: {looked_at}");
            }
        }
    }
}
