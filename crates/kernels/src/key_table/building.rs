//! A hash table that several threads build. Each part of it is a run of slots and has the keys whose home is there; any thread
//! may take one. Keys that find no room up to their part's end are entered when all parts are there, so that each key lies where a
//! lookup, which knows of no parts, comes by.

use super::duplicates::{Extra, check_rows};
use super::hash_table::{BLOCK, Entry, HashTable};
use crate::Isa;
use crate::ahead::element_ahead;
use crate::hash::{HashFunction, Key, hash};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows of a block whose entries are asked for before they are entered.
const AHEAD: usize = 16;

/// A [`HashTable`] while its parts are built.
#[derive(Debug)]
pub struct Building<K> {
    isa: Isa,
    function: HashFunction,
    keys: Vec<K>,
    positions: Vec<u32>,
    /// A power of two.
    slots: usize,
    /// The first of the slots, in the memory of `entries`.
    start: *mut MaybeUninit<Entry<K>>,
    /// Empty, with room for all slots; nobody looks at it before they are filled.
    entries: Mutex<Vec<Entry<K>>>,
    parts: Vec<Part>,
}

#[derive(Debug, Default)]
struct Part {
    taken: AtomicBool,
    filled: Mutex<Option<Filled>>,
}

/// What a part leaves to be done.
#[derive(Debug, Default)]
struct Filled {
    extras: Vec<Extra>,
    /// Rows for whose keys it had no room.
    over: Vec<u32>,
}

// SAFETY: `start` points into memory that `entries` owns. Threads write there in `part` alone, each in the slots of a part that
// nobody else has or will take; `finish` reads them after it has seen, under the parts' locks, that all of them have ended.
unsafe impl<K: Send + Sync> Send for Building<K> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync> Sync for Building<K> {}

impl<K: Key> Building<K> {
    /// A table of `keys`, of which each stands at its position, in so many parts; `entries` gives its memory.
    ///
    /// # Panics
    /// As [`HashTable::build`]; and when `parts` is no power of two, or more than there are slots.
    pub fn new(
        (isa, function, load): (Isa, HashFunction, f64),
        (keys, positions): (Vec<K>, Vec<u32>),
        mut entries: Vec<Entry<K>>,
        parts: usize,
    ) -> Self {
        check_rows(keys.len(), &positions);
        let slots = HashTable::<K>::slots(keys.len(), load);
        assert!(parts.is_power_of_two() && parts <= slots, "{parts} parts of {slots} slots");
        entries.clear();
        entries.reserve_exact(slots);
        let start = entries.spare_capacity_mut().as_mut_ptr();
        let parts = (0..parts).map(|_| Part::default()).collect();
        Self { isa, function, keys, positions, slots, start, entries: Mutex::new(entries), parts }
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Builds a part.
    ///
    /// # Panics
    /// When there is none with this number, or it was taken before.
    pub fn part(&self, number: usize) {
        let part = &self.parts[number];
        assert!(!part.taken.swap(true, Ordering::Relaxed), "part {number} is taken twice");
        let slots = self.slots / self.parts.len();
        // SAFETY: `entries` has room for `self.slots` slots and keeps its memory until `finish` has seen that this part has ended;
        // these are within them, and the swap above gives them to one caller alone.
        let own = unsafe { std::slice::from_raw_parts_mut(self.start.add(number * slots), slots) };
        own.fill(MaybeUninit::new(Entry::empty()));
        // SAFETY: all of them were just written.
        let own = unsafe { own.assume_init_mut() };
        let filled = self.fill(number, own);
        *lock(&part.filled) = Some(filled);
    }

    fn fill(&self, number: usize, own: &mut [Entry<K>]) -> Filled {
        let shift = K::BITS - self.slots.trailing_zeros();
        let first = number * own.len();
        let home = |hash: &K| ((hash.to_u64() >> shift) as usize).wrapping_sub(first);
        let (mut filled, mut hashes) = (Filled::default(), Vec::with_capacity(BLOCK));
        let mut rows = [(0, 0); BLOCK];
        for (block, keys) in self.keys.chunks(BLOCK).enumerate() {
            hashes.clear();
            hash(self.isa, self.function, keys, &mut hashes);
            let mut count = 0;
            for (row, hash) in hashes.iter().enumerate() {
                let home = home(hash);
                rows[count] = (row, home);
                count += usize::from(home < own.len());
            }
            for at in 0..count {
                if let Some((_, home)) = rows[..count].get(at + AHEAD) {
                    element_ahead(own, *home);
                }
                let (row, home) = rows[at];
                let (key, row) = (keys[row], block * BLOCK + row);
                let Some(found) = own[home..].iter().position(|entry| entry.is_empty() || entry.key == key) else {
                    filled.over.push(row as u32);
                    continue;
                };
                let slot = home + found;
                let position = self.positions[row];
                if own[slot].is_empty() {
                    own[slot] = Entry { key, link: position };
                } else {
                    filled.extras.push(Extra { slot: (first + slot) as u32, position });
                }
            }
        }
        filled
    }

    /// The table, once all parts are built.
    ///
    /// # Panics
    /// When one is not, or the table was given before.
    pub fn finish(&self) -> HashTable<K> {
        let filled: Vec<Filled> =
            self.parts.iter().map(|part| lock(&part.filled).take().expect("all parts are built")).collect();
        let mut entries = std::mem::take(&mut *lock(&self.entries));
        // SAFETY: there is room for them, and every part, all of which have ended, has written its slots.
        unsafe { entries.set_len(self.slots) };
        let over: Vec<u32> = filled.iter().flat_map(|part| &part.over).copied().collect();
        let extras: Vec<Extra> = filled.into_iter().flat_map(|part| part.extras).collect();
        let keys: Vec<K> = over.iter().map(|row| self.keys[*row as usize]).collect();
        let positions: Vec<u32> = over.iter().map(|row| self.positions[*row as usize]).collect();
        HashTable::of_parts((self.isa, self.function), entries, extras, self.keys.len(), (&keys, &positions))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
