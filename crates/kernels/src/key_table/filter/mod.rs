//! A filter of keys in front of a table that is larger than the caches: a Bloom filter of one 64-bit word per key, three bits
//! of it, so that a key takes one access to memory a sixteenth of the table's (Polychroniou, Ross: "Vectorized Bloom
//! Filters for Advanced SIMD Processors", with words for blocks). Of the keys that are not in the table it lets 0.5 to 4 %
//! through, and of those that are, all.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::Isa;
use crate::hash::{HashFunction, Key, hash};
use std::marker::PhantomData;

/// Which keys may be in a table.
#[derive(Debug)]
pub struct Filter<K> {
    function: HashFunction,
    bits: FilterBits,
    keys: PhantomData<K>,
}

/// The words of a filter.
#[derive(Debug)]
struct FilterBits {
    /// As many as a power of two, at least two.
    words: Vec<u64>,
    /// What leaves of a hash the number of its word.
    shift: u32,
}

/// Keys that share a word at most, on average: eight bits for each.
const KEYS_PER_WORD: usize = 8;

/// Hashes that are computed at once.
const BLOCK: usize = 1024;

impl<K: Key> Filter<K> {
    /// The words of a filter for so many different keys: a power of two.
    pub fn words(keys: usize) -> usize {
        // A hash of 32 bits must leave enough of them for the places in the word.
        keys.div_ceil(KEYS_PER_WORD).next_power_of_two().clamp(2, 1 << 20 << (K::BITS / 4 - 8))
    }

    /// A filter that `keys` pass, for `expected` different ones, in the memory of `words`, whatever that held.
    pub fn build(isa: Isa, function: HashFunction, expected: usize, keys: &[K], mut words: Vec<u64>) -> Self {
        words.clear();
        words.resize(Self::words(expected), 0);
        let shift = K::BITS - words.len().trailing_zeros();
        let mut hashes = Vec::with_capacity(BLOCK);
        for keys in keys.chunks(BLOCK) {
            hashes.clear();
            hash(isa, function, keys, &mut hashes);
            for hash in &hashes {
                words[(hash.to_u64() >> shift) as usize] |= places(hash.to_u64());
            }
        }
        Self { function, bits: FilterBits { words, shift }, keys: PhantomData }
    }

    /// The numbers of the keys that pass, appended to `passed`.
    pub fn select(&self, isa: Isa, keys: &[K], passed: &mut Vec<u32>) {
        let mut hashes = Vec::with_capacity(BLOCK);
        for (block, keys) in keys.chunks(BLOCK).enumerate() {
            hashes.clear();
            hash(isa, self.function, keys, &mut hashes);
            let first = passed.len();
            passed.resize(first + keys.len(), 0);
            let count: usize =
                dispatch!(isa, select(&self.bits, &hashes, (block * BLOCK) as u32, &mut passed[first..]));
            passed.truncate(first + count);
        }
    }

    /// Bytes of the words.
    pub fn bytes(&self) -> usize {
        size_of_val(self.bits.words.as_slice())
    }
}

/// Three bits of a word, from the lower bits of a hash; its upper ones choose the word.
#[inline(always)]
fn places(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
}
