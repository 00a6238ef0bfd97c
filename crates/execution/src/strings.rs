//! Different byte strings and their numbers, gathered by all threads of a query at once: what makes integers of strings that
//! have no codes. Equal strings have equal numbers; which ones is a matter of chance.
//!
//! A string's hash says which of some parts has it, each with a lock of its own that a thread takes once for thousands of
//! strings.

use crate::{Error, Limits, Memory, Result};
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Parts, a power of two: more than threads, so that they seldom wait for each other.
const PARTS: usize = 64;

/// Strings of a part at most: numbers are below 2^31.
const MOST: usize = (1 << 31) / PARTS;

/// What stands for no string in a part's table.
const NONE: u32 = u32::MAX;

/// Numbers of byte strings.
#[derive(Debug)]
pub struct Strings {
    parts: Vec<RwLock<Part>>,
    /// So that nobody can choose strings whose hashes are equal.
    seed: u64,
}

/// The strings of some hashes.
#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    /// Where each string ends in `bytes`.
    ends: Vec<usize>,
    hashes: Vec<u32>,
    /// Open addressing, a power of two: a string's place in `ends`.
    slots: Vec<u32>,
}

/// The strings, for someone who reads many.
pub struct Reader<'s>(Vec<RwLockReadGuard<'s, Part>>);

impl Default for Strings {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| RwLock::default()).collect();
        Self { parts, seed: RandomState::new().hash_one(0u8) | 1 }
    }
}

impl Strings {
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
            for (at, hash) in wanted {
                let string = strings[*at as usize].unwrap_or_default();
                let place = part.place(*hash, string)?;
                numbers[*at as usize] = Some(place * PARTS as u32 + number as u32);
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
    /// The string of a number; `None` when it has none.
    pub fn get(&self, number: u32) -> Option<&[u8]> {
        let part = &self.0[number as usize % PARTS];
        let place = number as usize / PARTS;
        (place < part.ends.len()).then(|| part.get(place))
    }
}

impl Part {
    /// Bytes that it takes.
    fn size(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * 8 + self.hashes.capacity() * 4 + self.slots.capacity() * 4
    }

    fn get(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.bytes[start..self.ends[place]]
    }

    /// The place of a string, which is added when it is new.
    fn place(&mut self, hash: u32, string: &[u8]) -> Result<u32> {
        // At most half of the slots are taken.
        if self.ends.len() * 2 >= self.slots.len() {
            self.widen();
        }
        let last = self.slots.len() - 1;
        let mut slot = hash as usize & last;
        loop {
            match self.slots[slot] {
                NONE => break,
                place if self.hashes[place as usize] == hash && self.get(place as usize) == string => return Ok(place),
                _ => slot = (slot + 1) & last,
            }
        }
        if self.ends.len() == MOST {
            return Err(Error::Unsupported("more different strings than have numbers".to_owned()));
        }
        let place = self.ends.len() as u32;
        self.slots[slot] = place;
        self.hashes.push(hash);
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
        Ok(place)
    }

    fn widen(&mut self) {
        let slots = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(slots, NONE);
        for (place, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & (slots - 1);
            while self.slots[slot] != NONE {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = place as u32;
        }
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
        let strings = Strings::default();
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
            assert!(i128::from(number) <= Strings::LIMITS.max);
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
        let strings = Strings::default();
        let memory = Limit(AtomicUsize::new(1 << 20));
        let texts: Vec<String> = (0..100_000).map(|at| format!("string {at}")).collect();
        let bytes = texts.iter().map(|text| Some(text.as_bytes()));
        assert!(matches!(strings.numbers(bytes, &memory), Err(Error::OutOfMemory(_))));
    }
}
