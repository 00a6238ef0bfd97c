//! Our hash table: open addressing with linear probing, at least a tenth of the slots empty. An entry is a key and a link, 16
//! bytes with a 64-bit key and 8 with a 32-bit one, so that a line of the cache holds four or eight of them; an empty
//! one has the link [`NONE`] and the key 0, so that a key that equals is all that a probe must look at to know its answer.
//!
//! No key is special: NULLs are the caller's to leave out.

use super::duplicates::{Extra, Links, MAX_ROWS, check_rows};
use super::probe::{Probing, Slots, locate};
use super::{Duplicates, NONE};
use crate::Isa;
use crate::ahead::prefetch;
use crate::hash::{HashFunction, Key, hash};

#[cfg(target_arch = "x86_64")]
use super::probe::KeyLanes;

/// A slot of a [`HashTable`]: the key, behind it the link. An empty one has the key 0 and the link
/// [`NONE`](super::NONE).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Entry<K> {
    pub(super) key: K,
    pub(super) link: u32,
}

impl<K: Copy> Entry<K> {
    /// The key.
    pub fn key(&self) -> K {
        self.key
    }

    /// The link.
    pub fn link(&self) -> u32 {
        self.link
    }
}

impl<K: Key> Entry<K> {
    pub(super) fn empty() -> Self {
        Self { key: K::default(), link: NONE }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.link == NONE
    }
}

/// From keys to build positions.
#[derive(Debug)]
pub struct HashTable<K> {
    function: HashFunction,
    /// As many as a power of two, at least two and at least one of them empty.
    entries: Vec<Entry<K>>,
    duplicates: Duplicates,
    keys: usize,
}

/// Keys that are hashed at once, and how many of them ahead entries are asked for.
pub(super) const BLOCK: usize = 1024;
const AHEAD: usize = 16;

impl<K: Key> HashTable<K> {
    /// Slots of a table of so many rows that are used to at most `load`, taken between 0.1 and 0.9: a power of two, 2^30 at
    /// most.
    pub fn slots(rows: usize, load: f64) -> usize {
        let least = (rows as f64 / load.clamp(0.1, 0.9)).ceil() as usize;
        least.max(rows + 1).max(2).next_power_of_two().min(2 * MAX_ROWS)
    }

    /// A table of `keys`, of which each stands at its position, in the memory of `entries`, whatever that held; it is as
    /// large as [`HashTable::slots`] says. Positions may come in any order and more than once.
    ///
    /// # Panics
    /// When keys and positions are not equally many, are more than [`MAX_ROWS`], or a position is 2^31 or
    /// more.
    pub fn build(
        isa: Isa,
        function: HashFunction,
        load: f64,
        keys: &[K],
        positions: &[u32],
        mut entries: Vec<Entry<K>>,
    ) -> Self {
        check_rows(keys.len(), positions);
        entries.clear();
        entries.resize(Self::slots(keys.len(), load), Entry::empty());
        Self::of_parts((isa, function), entries, Vec::new(), keys.len(), (keys, positions))
    }

    /// A table of so many rows, all of which are in `entries` or among its `extras` but those with these keys.
    pub(super) fn of_parts(
        (isa, function): (Isa, HashFunction),
        entries: Vec<Entry<K>>,
        mut extras: Vec<Extra>,
        rows: usize,
        (keys, positions): (&[K], &[u32]),
    ) -> Self {
        let mut table = Self { function, entries, duplicates: Duplicates::default(), keys: 0 };
        let mut hashes = Vec::with_capacity(BLOCK);
        for (keys, positions) in keys.chunks(BLOCK).zip(positions.chunks(BLOCK)) {
            hashes.clear();
            hash(isa, function, keys, &mut hashes);
            table.insert(keys, positions, &hashes, &mut extras);
        }
        table.keys = rows - extras.len();
        table.duplicates = Duplicates::lay_out(extras, &mut table);
        table
    }

    /// Enters the keys that are not in the table; the rows of the others become extras.
    fn insert(&mut self, keys: &[K], positions: &[u32], hashes: &[K], extras: &mut Vec<Extra>) {
        let (shift, mask) = (self.shift(), self.mask());
        for (row, (&key, &position)) in keys.iter().zip(positions).enumerate() {
            if let Some(later) = hashes.get(row + AHEAD) {
                prefetch(&self.entries, (later.to_u64() >> shift) as usize * size_of::<Entry<K>>());
            }
            let mut slot = (hashes[row].to_u64() >> shift) as u32;
            loop {
                let entry = &mut self.entries[slot as usize];
                if entry.link == NONE {
                    *entry = Entry { key, link: position };
                    break;
                }
                if entry.key == key {
                    extras.push(Extra { slot, position });
                    break;
                }
                slot = (slot + 1) & mask;
            }
        }
    }

    /// A link for each key, appended to `links`.
    pub fn locate(&self, isa: Isa, probing: Probing, keys: &[K], links: &mut Vec<u32>) {
        locate(isa, self.view(), probing, keys, links);
    }

    /// The positions of keys that several rows have.
    pub fn duplicates(&self) -> &Duplicates {
        &self.duplicates
    }

    /// Different keys.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Bytes of the entries and of the duplicates.
    pub fn bytes(&self) -> usize {
        size_of_val(self.entries.as_slice()) + self.duplicates.bytes()
    }

    /// The entries: a power of two of them.
    pub fn entries(&self) -> &[Entry<K>] {
        &self.entries
    }

    /// How keys are hashed.
    pub fn function(&self) -> HashFunction {
        self.function
    }

    fn mask(&self) -> u32 {
        (self.entries.len() - 1) as u32
    }

    /// By how many bits a hash is shifted down to give the number of its home slot.
    pub fn shift(&self) -> u32 {
        K::BITS - self.entries.len().trailing_zeros()
    }

    fn view(&self) -> HashTableView<'_, K> {
        HashTableView { function: self.function, entries: &self.entries, mask: self.mask(), shift: self.shift() }
    }
}

impl<K> Links for HashTable<K> {
    fn link(&self, slot: u32) -> u32 {
        self.entries[slot as usize].link
    }

    fn set_link(&mut self, slot: u32, link: u32) {
        self.entries[slot as usize].link = link;
    }
}

/// The table as probes see it.
#[derive(Clone, Copy)]
struct HashTableView<'a, K> {
    function: HashFunction,
    entries: &'a [Entry<K>],
    /// One less than the number of entries.
    mask: u32,
    shift: u32,
}

impl<K: Key> Slots for HashTableView<'_, K> {
    type Key = K;

    fn function(self) -> HashFunction {
        self.function
    }

    #[inline(always)]
    fn shift(self) -> u32 {
        self.shift
    }

    #[inline(always)]
    fn entry(self, slot: u32) -> (K, u32) {
        // SAFETY: the mask is one less than the number of entries, a power of two.
        let entry = unsafe { self.entries.get_unchecked((slot & self.mask) as usize) };
        (entry.key, entry.link)
    }

    #[inline(always)]
    fn prefetch(self, slot: u32) {
        prefetch(self.entries, (slot & self.mask) as usize * size_of::<Entry<K>>());
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn gather<L: KeyLanes<Key = K>>(self, slots: L::Slots) -> (L, L::Slots) {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen; the mask is one less
        // than the number of entries, a power of two, of which `slots` allows 2^30.
        unsafe { L::gather(self.entries.as_ptr(), slots, self.mask) }
    }
}
