//! The scalar loop compiled for AVX2.

use super::{Crc32Instruction, HashFunction, Key, scalar, with_function};

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn hash<K: Key>(function: HashFunction, keys: &[K], out: &mut [K]) {
    with_function!(function, Crc32Instruction::here(), function => scalar::each(function, keys, out));
}
