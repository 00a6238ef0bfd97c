//! A set of keys as byte strings, for loads whose keys are in no order.

use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Distinct keys, each with a mark.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    /// The keys' bytes, one behind the other.
    bytes: Vec<u8>,
    entries: HashTable<Entry>,
    hasher: foldhash::fast::FixedState,
    marked: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    length: u32,
    marked: bool,
}

impl Entry {
    fn key<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.start..self.start + self.length as usize]
    }
}

impl KeySet {
    /// Adds a key; false when it was there.
    pub(crate) fn insert(&mut self, key: &[u8]) -> bool {
        let hash = self.hasher.hash_one(key);
        if self.entries.find(hash, |entry| entry.key(&self.bytes) == key).is_some() {
            return false;
        }
        let entry = Entry { start: self.bytes.len(), length: key.len() as u32, marked: false };
        self.bytes.extend_from_slice(key);
        let (bytes, hasher) = (&self.bytes, &self.hasher);
        self.entries.insert_unique(hash, entry, |entry| hasher.hash_one(entry.key(bytes)));
        true
    }

    /// True when the key is there.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.entries.find(self.hasher.hash_one(key), |entry| entry.key(&self.bytes) == key).is_some()
    }

    /// Marks a key when it is there.
    pub(crate) fn mark(&mut self, key: &[u8]) {
        let bytes = &self.bytes;
        if let Some(entry) = self.entries.find_mut(self.hasher.hash_one(key), |entry| entry.key(bytes) == key) {
            self.marked += usize::from(!entry.marked);
            entry.marked = true;
        }
    }

    /// True when every key is marked.
    pub(crate) fn all_marked(&self) -> bool {
        self.marked == self.entries.len()
    }

    /// True when the key is there and not marked.
    pub(crate) fn is_unmarked(&self, key: &[u8]) -> bool {
        let found = self.entries.find(self.hasher.hash_one(key), |entry| entry.key(&self.bytes) == key);
        found.is_some_and(|entry| !entry.marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_once() {
        let mut set = KeySet::default();
        for number in 0..10_000u32 {
            assert!(set.insert(&number.to_be_bytes()));
        }
        assert!(!set.insert(&77u32.to_be_bytes()));
        assert!(set.insert(b"") && !set.insert(b"") && !set.contains(b"x"));
        for number in 0..10_000u32 {
            set.mark(&number.to_be_bytes());
        }
        assert!(!set.all_marked() && set.is_unmarked(b""));
        set.mark(b"");
        assert!(set.all_marked());
    }
}
