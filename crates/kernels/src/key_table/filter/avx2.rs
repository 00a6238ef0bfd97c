//! The scalar loop compiled for AVX2, which has no compression of lanes.

use super::{FilterBits, scalar};
use crate::hash::Key;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn select<K: Key>(bits: &FilterBits, hashes: &[K], first: u32, passed: &mut [u32]) -> usize {
    scalar::select(bits, hashes, first, passed)
}
