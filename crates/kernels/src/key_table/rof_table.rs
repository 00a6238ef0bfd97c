//! The hash table of the relaxed operator fusion paper (figure 7, section 4.3): open addressing with linear probing; a
//! bucket has a status, the key, the payload, which is the build position here, and last the hash, which only growing reads.
//! The status says that the bucket is empty, that the key has one position, or where its duplicates lie outside. The hash
//! function is Murmur3.
//!
//! It stands for the paper in experiments. The engine's is [`HashTable`](super::HashTable), of half the bytes.

use super::duplicates::{Extra, Links, check_rows, is_list};
use super::probe::{Probing, Slots, locate};
use super::{Duplicates, NONE};
use crate::Isa;
use crate::ahead::prefetch;
use crate::hash::{Function, HashFunction, Murmur3};

#[cfg(target_arch = "x86_64")]
use super::probe::KeyLanes;

/// A bucket of the paper's figure.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Bucket {
    status: u64,
    key: u64,
    payload: u64,
    hash: u64,
}

/// The status of an empty bucket.
const EMPTY: u64 = 0;
/// The status of a bucket whose key has one position, its payload. Any other is the link to the duplicates plus this.
const SINGLE: u64 = 1;

/// From 64-bit keys to build positions, as the paper has it.
#[derive(Debug)]
pub struct RofTable {
    /// As many as a power of two; at most half of them are occupied.
    buckets: Vec<Bucket>,
    keys: usize,
    duplicates: Duplicates,
}

impl RofTable {
    /// A table of `keys`, of which each stands at its position. It begins with buckets for `expected` different keys, half
    /// of them used then, and doubles them when there are more.
    ///
    /// # Panics
    /// As [`HashTable::build`](super::HashTable::build).
    pub fn build(expected: usize, keys: &[u64], positions: &[u32]) -> Self {
        check_rows(keys.len(), positions);
        let buckets = empty((2 * expected.clamp(1, super::MAX_ROWS)).next_power_of_two());
        let mut table = Self { buckets, keys: 0, duplicates: Duplicates::default() };
        let mut later = Vec::new();
        for (&key, &position) in keys.iter().zip(positions) {
            let hash = Murmur3.of(key);
            let slot = table.slot_of(key, hash);
            if table.buckets[slot].status != EMPTY {
                later.push((key, position));
                continue;
            }
            table.buckets[slot] = Bucket { status: SINGLE, key, payload: position.into(), hash };
            table.keys += 1;
            if 2 * table.keys > table.buckets.len() {
                table.grow();
            }
        }
        // Only now do buckets stay where they are.
        let extra = |(key, position)| Extra { slot: table.slot_of(key, Murmur3.of(key)) as u32, position };
        let extras = later.into_iter().map(extra).collect();
        table.duplicates = Duplicates::lay_out(extras, &mut table);
        table
    }

    /// The bucket of a key, or the empty one where it belongs.
    fn slot_of(&self, key: u64, hash: u64) -> usize {
        let mut slot = (hash >> self.shift()) as usize;
        while self.buckets[slot].status != EMPTY && self.buckets[slot].key != key {
            slot = (slot + 1) % self.buckets.len();
        }
        slot
    }

    fn grow(&mut self) {
        let larger = empty(2 * self.buckets.len());
        for bucket in std::mem::replace(&mut self.buckets, larger) {
            if bucket.status != EMPTY {
                let slot = self.slot_of(bucket.key, bucket.hash);
                self.buckets[slot] = bucket;
            }
        }
    }

    /// A link for each key, appended to `links`.
    pub fn locate(&self, isa: Isa, probing: Probing, keys: &[u64], links: &mut Vec<u32>) {
        locate(isa, RofTableView { buckets: &self.buckets, shift: self.shift() }, probing, keys, links);
    }

    /// The positions of keys that several rows have.
    pub fn duplicates(&self) -> &Duplicates {
        &self.duplicates
    }

    /// Bytes of the buckets and of the duplicates.
    pub fn bytes(&self) -> usize {
        size_of_val(self.buckets.as_slice()) + self.duplicates.bytes()
    }

    fn shift(&self) -> u32 {
        u64::BITS - self.buckets.len().trailing_zeros()
    }
}

fn empty(buckets: usize) -> Vec<Bucket> {
    vec![Bucket { status: EMPTY, key: 0, payload: 0, hash: 0 }; buckets]
}

impl Bucket {
    #[inline(always)]
    fn link(self) -> u32 {
        match self.status {
            EMPTY => NONE,
            SINGLE => self.payload as u32,
            link => (link - SINGLE) as u32,
        }
    }
}

impl Links for RofTable {
    fn link(&self, slot: u32) -> u32 {
        self.buckets[slot as usize].link()
    }

    fn set_link(&mut self, slot: u32, link: u32) {
        debug_assert!(is_list(link), "only duplicates change a link");
        self.buckets[slot as usize].status = SINGLE + u64::from(link);
    }
}

/// The table as probes see it.
#[derive(Clone, Copy)]
struct RofTableView<'a> {
    /// As many as a power of two.
    buckets: &'a [Bucket],
    shift: u32,
}

impl Slots for RofTableView<'_> {
    type Key = u64;

    fn function(self) -> HashFunction {
        HashFunction::Murmur3
    }

    #[inline(always)]
    fn shift(self) -> u32 {
        self.shift
    }

    #[inline(always)]
    fn entry(self, slot: u32) -> (u64, u32) {
        let bucket = self.buckets[slot as usize & (self.buckets.len() - 1)];
        (bucket.key, bucket.link())
    }

    #[inline(always)]
    fn prefetch(self, slot: u32) {
        prefetch(self.buckets, (slot as usize & (self.buckets.len() - 1)) * size_of::<Bucket>());
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn gather<L: KeyLanes<Key = u64>>(self, slots: L::Slots) -> (L, L::Slots) {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        unsafe { L::from_each(slots, |slot| self.entry(slot)) }
    }
}
