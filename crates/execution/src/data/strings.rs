//! Different byte strings and their numbers, gathered by all threads of a query at once: what makes integers of strings that
//! have no codes. Equal strings have equal numbers; which ones is a matter of chance.
//!
//! A string's hash says which of some parts has it, each with a lock of its own that a thread takes once for thousands of
//! strings: so many that memory can be asked for all that is looked at of them before any of it is read.

use crate::{Error, Limits, Memory, Result};
use gingham_kernels::element_ahead;
use gingham_storage::{huge_vec, huge_zeros};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Parts, a power of two: more than threads, so that they seldom wait for each other.
const PARTS: usize = 64;

/// Strings of a part at most: numbers are below 2^31.
const MOST: usize = (1 << 31) / PARTS;

/// Slots of a part's first table.
const FIRST_SLOTS: usize = 64;

/// The half of a slot that is the place plus one.
const PLACE: u64 = u32::MAX as u64;

/// Numbers of byte strings.
#[derive(Debug)]
pub struct InternedStrings {
    parts: Vec<RwLock<StringPartition>>,
    /// So that nobody can choose strings whose hashes are equal.
    seed: u64,
}

/// The strings of some hashes.
#[derive(Debug, Default)]
struct StringPartition {
    bytes: Vec<u8>,
    /// Where each string ends in `bytes`.
    ends: Vec<usize>,
    /// Open addressing, a power of two of them, at most half in use: a string's hash, and below it its place in `ends` plus one;
    /// 0 where there is none.
    slots: Vec<u64>,
}

/// The strings, for someone who reads many.
pub struct Reader<'s>(Vec<RwLockReadGuard<'s, StringPartition>>);

impl Default for InternedStrings {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| RwLock::default()).collect();
        Self { parts, seed: RandomState::new().hash_one(0u8) | 1 }
    }
}

impl InternedStrings {
    /// Where numbers lie.
    pub const LIMITS: Limits = Limits { min: 0, max: (1 << 31) - 1 };

    /// The numbers of some strings. Fails when memory is refused, and when there are more than 2^31 or so.
    pub fn numbers<'a>(
        &self,
        strings: impl Iterator<Item = Option<&'a [u8]>>,
        memory: &dyn Memory,
    ) -> Result<Vec<Option<u32>>> {
        let strings: Vec<Option<&[u8]>> = strings.collect();
        let mut numbers = vec![None; strings.len()];
        let mut parts: Vec<Vec<(u32, u32)>> = vec![Vec::new(); PARTS];
        for (at, string) in strings.iter().enumerate() {
            if let Some(string) = string {
                let hash = hash(self.seed, string);
                parts[(hash >> 32) as usize % PARTS].push((at as u32, hash as u32));
            }
        }
        for (number, wanted) in parts.iter().enumerate().filter(|(_, wanted)| !wanted.is_empty()) {
            let mut part = self.parts[number].write().unwrap_or_else(PoisonError::into_inner);
            let before = part.size();
            let strings = wanted.iter().map(|(at, hash)| (*hash, strings[*at as usize].unwrap_or_default()));
            part.reserve(strings.clone().map(|(_, string)| string.len()))?;
            part.ask_ahead(wanted.iter().map(|(_, hash)| *hash));
            for ((at, _), (hash, string)) in wanted.iter().zip(strings) {
                numbers[*at as usize] = Some(part.place(hash, string) * PARTS as u32 + number as u32);
            }
            memory.grow(part.size() - before)?;
        }
        Ok(numbers)
    }

    /// Reads them; no string gets a number meanwhile.
    pub fn read(&self) -> Reader<'_> {
        Reader(self.parts.iter().map(|part| part.read().unwrap_or_else(PoisonError::into_inner)).collect())
    }
}

impl Reader<'_> {
    /// Asks for the memory of some strings, so few that it is still there when they are read.
    pub fn ask_ahead(&self, numbers: impl Iterator<Item = u32> + Clone) {
        let place = |number: u32| (&*self.0[number as usize % PARTS], number as usize / PARTS);
        numbers.clone().map(place).for_each(|(part, place)| element_ahead(&part.ends, place));
        let known = numbers.map(place).filter(|(part, place)| *place < part.ends.len());
        known.for_each(|(part, place)| element_ahead(&part.bytes, part.range(place).start));
    }

    /// The string of a number; `None` when it has none.
    pub fn get(&self, number: u32) -> Option<&[u8]> {
        let part = &self.0[number as usize % PARTS];
        let place = number as usize / PARTS;
        (place < part.ends.len()).then(|| part.get(place))
    }
}

impl StringPartition {
    /// Bytes that it takes.
    fn size(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>() + self.slots.capacity() * size_of::<u64>()
    }

    fn range(&self, place: usize) -> Range<usize> {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        start..self.ends[place]
    }

    fn get(&self, place: usize) -> &[u8] {
        &self.bytes[self.range(place)]
    }

    /// Makes room for strings of these lengths.
    fn reserve(&mut self, lengths: impl ExactSizeIterator<Item = usize>) -> Result<()> {
        let strings = self.ends.len() + lengths.len();
        if strings > MOST {
            return Err(Error::Unsupported("more different strings than have numbers".to_owned()));
        }
        widen(&mut self.ends, lengths.len());
        widen(&mut self.bytes, lengths.sum());
        if strings * 2 > self.slots.len() {
            self.spread((strings * 2).next_power_of_two().max(FIRST_SLOTS));
        }
        Ok(())
    }

    /// Asks for the memory in which strings with these hashes would be found: slots, ends, bytes.
    fn ask_ahead(&self, hashes: impl Iterator<Item = u32> + Clone) {
        let home = |hash: u32| hash as usize & (self.slots.len() - 1);
        hashes.clone().for_each(|hash| element_ahead(&self.slots, home(hash)));
        // Most are found in their first slot, if they are there at all.
        let likely = hashes.filter_map(|hash| place_of(self.slots[home(hash)], hash));
        likely.clone().for_each(|place| element_ahead(&self.ends, place));
        likely.for_each(|place| element_ahead(&self.bytes, self.range(place).start));
    }

    /// The place of a string, which is added when it is new; there is room.
    fn place(&mut self, hash: u32, string: &[u8]) -> u32 {
        let last = self.slots.len() - 1;
        let mut slot = hash as usize & last;
        while self.slots[slot] != 0 {
            if let Some(place) = place_of(self.slots[slot], hash).filter(|place| self.get(*place) == string) {
                return place as u32;
            }
            slot = (slot + 1) & last;
        }
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
        self.slots[slot] = u64::from(hash) << u32::BITS | self.ends.len() as u64;
        self.ends.len() as u32 - 1
    }

    /// Spreads the strings over so many slots.
    fn spread(&mut self, slots: usize) {
        let before = std::mem::replace(&mut self.slots, huge_zeros(slots));
        for entry in before.into_iter().filter(|entry| *entry != 0) {
            let mut slot = (entry >> u32::BITS) as usize & (slots - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = entry;
        }
    }
}

/// The place in a slot that has this hash.
fn place_of(slot: u64, hash: u32) -> Option<usize> {
    (slot != 0 && slot >> u32::BITS == u64::from(hash)).then(|| (slot & PLACE) as usize - 1)
}

/// Makes room for so many more, twice as much as before when there is none.
fn widen<T: Copy>(all: &mut Vec<T>, more: usize) {
    let wanted = all.len() + more;
    if wanted > all.capacity() {
        let mut wider = huge_vec(wanted.max(all.capacity() * 2));
        wider.extend_from_slice(all);
        *all = wider;
    }
}

/// Eight bytes at a time, multiplied to 128 bits and folded.
fn hash(seed: u64, string: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(FACTOR);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let mut words = string.chunks_exact(8);
    let mut all = seed ^ string.len() as u64;
    for word in &mut words {
        all = fold(all, word.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }
    let rest = words.remainder().iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    fold(fold(all, rest), seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Memory up to a limit.
    struct Limit(AtomicUsize);

    impl Memory for Limit {
        fn grow(&self, bytes: usize) -> Result<()> {
            let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
            left.map(drop).map_err(|_| Error::OutOfMemory(format!("{bytes} bytes")))
        }
    }

    #[test]
    fn equal_strings_have_equal_numbers_whichever_thread_asks() {
        let text = |at: usize| match at % 5 {
            0 => None,
            1 => Some(String::new()),
            _ => Some(format!("{}{}", "x".repeat(at % 23), at % 3001)),
        };
        let strings = InternedStrings::default();
        let memory = Limit(AtomicUsize::new(usize::MAX));
        let gathered: Vec<Vec<(Option<String>, Option<u32>)>> = std::thread::scope(|scope| {
            let ask = |thread: usize| {
                let own: Vec<_> = (0..20_000).map(|at| text(at * 7 + thread * 1000)).collect();
                let mut numbers = Vec::new();
                for part in own.chunks(777) {
                    let bytes = part.iter().map(|text| text.as_ref().map(String::as_bytes));
                    numbers.extend(strings.numbers(bytes, &memory).expect("numbers"));
                }
                own.into_iter().zip(numbers).collect()
            };
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || ask(thread))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
        });
        let reader = strings.read();
        let mut known: HashMap<String, u32> = HashMap::new();
        for (text, number) in gathered.into_iter().flatten() {
            let (Some(text), Some(number)) = (&text, number) else {
                assert_eq!((text, number), (None, None));
                continue;
            };
            assert_eq!(*known.entry(text.clone()).or_insert(number), number, "{text}");
            assert_eq!(reader.get(number), Some(text.as_bytes()));
            assert!(i128::from(number) <= InternedStrings::LIMITS.max);
        }
        let mut numbers: Vec<u32> = known.values().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), known.len());
        assert!(known.len() > 10_000, "{}", known.len());
        assert_eq!(reader.get(u32::MAX), None);
    }

    #[test]
    fn memory_is_asked_for() {
        let strings = InternedStrings::default();
        let memory = Limit(AtomicUsize::new(1 << 20));
        let texts: Vec<String> = (0..100_000).map(|at| format!("string {at}")).collect();
        let bytes = texts.iter().map(|text| Some(text.as_bytes()));
        assert!(matches!(strings.numbers(bytes, &memory), Err(Error::OutOfMemory(_))));
    }
}
