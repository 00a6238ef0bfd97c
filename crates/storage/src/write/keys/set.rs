//! A set of keys as byte strings, which are counted from 0 as they come.

use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Distinct keys, each with a mark and with the hash that filters of segments know it by.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    /// The keys' bytes, one behind the other.
    bytes: Vec<u8>,
    keys: Vec<KeyEntry>,
    hashes: Vec<u64>,
    numbers: HashTable<usize>,
    hasher: foldhash::fast::FixedState,
    marked: usize,
}

#[derive(Debug, Clone, Copy)]
struct KeyEntry {
    start: usize,
    length: u32,
    marked: bool,
}

impl KeyEntry {
    fn key<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.start..self.start + self.length as usize]
    }
}

impl KeySet {
    /// Adds a key, which filters know by `hash`; false when it was there.
    pub(crate) fn insert(&mut self, key: &[u8], hash: u64) -> bool {
        if self.contains(key) {
            return false;
        }
        self.keys.push(KeyEntry { start: self.bytes.len(), length: key.len() as u32, marked: false });
        self.hashes.push(hash);
        self.bytes.extend_from_slice(key);
        let (bytes, keys, hasher) = (&self.bytes, &self.keys, &self.hasher);
        let hash_of = |number: &usize| hasher.hash_one(keys[*number].key(bytes));
        self.numbers.insert_unique(hasher.hash_one(key), keys.len() - 1, hash_of);
        true
    }

    /// The number of a key.
    pub(crate) fn number(&self, key: &[u8]) -> Option<usize> {
        let same = |number: &usize| self.keys[*number].key(&self.bytes) == key;
        self.numbers.find(self.hasher.hash_one(key), same).copied()
    }

    /// True when the key is there.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.number(key).is_some()
    }

    /// The keys' hashes, by number.
    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// A key.
    pub(crate) fn key(&self, number: usize) -> &[u8] {
        self.keys[number].key(&self.bytes)
    }

    /// Numbers of the smallest and the largest key; `None` when there are none.
    pub(crate) fn ends(&self) -> Option<(usize, usize)> {
        let all = 0..self.keys.len();
        all.clone().min_by_key(|number| self.key(*number)).zip(all.max_by_key(|number| self.key(*number)))
    }

    /// Marks a key when it is there.
    pub(crate) fn mark(&mut self, key: &[u8]) {
        if let Some(number) = self.number(key) {
            self.mark_number(number);
        }
    }

    /// Marks the key of a number.
    pub(crate) fn mark_number(&mut self, number: usize) {
        self.marked += usize::from(!self.keys[number].marked);
        self.keys[number].marked = true;
    }

    /// True when every key is marked.
    pub(crate) fn all_marked(&self) -> bool {
        self.marked == self.keys.len()
    }

    /// True when the key is there and not marked.
    pub(crate) fn is_unmarked(&self, key: &[u8]) -> bool {
        self.number(key).is_some_and(|number| !self.keys[number].marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_once() {
        let mut set = KeySet::default();
        assert!(set.ends().is_none());
        for number in 0..10_000u32 {
            assert!(set.insert(&number.to_be_bytes(), number.into()));
        }
        assert!(!set.insert(&77u32.to_be_bytes(), 77));
        assert_eq!((set.ends(), set.number(&77u32.to_be_bytes())), (Some((0, 9999)), Some(77)));
        assert!(set.insert(b"", 0) && !set.insert(b"", 0) && !set.contains(b"x"));
        assert_eq!(
            (set.ends(), set.hashes().len(), set.key(77)),
            (Some((10_000, 9999)), 10_001, &77u32.to_be_bytes()[..])
        );
        for number in 0..10_000u32 {
            set.mark(&number.to_be_bytes());
        }
        assert!(!set.all_marked() && set.is_unmarked(b""));
        set.mark(b"");
        assert!(set.all_marked());
    }
}
