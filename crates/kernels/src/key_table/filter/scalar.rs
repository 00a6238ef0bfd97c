//! Filters one hash at a time, without a branch on the answer.

use super::{FilterBits, places};
use crate::hash::Key;

#[inline(always)]
pub(super) fn select<K: Key>(bits: &FilterBits, hashes: &[K], first: u32, passed: &mut [u32]) -> usize {
    let mut count = 0;
    for (key, hash) in (first..).zip(hashes) {
        let hash = hash.to_u64();
        let word = bits.words[(hash >> bits.shift) as usize];
        passed[count] = key;
        count += usize::from(!word & places(hash) == 0);
    }
    count
}
