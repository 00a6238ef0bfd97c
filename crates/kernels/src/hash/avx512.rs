//! The scalar loop compiled for AVX-512, whose product of 64-bit keys AVX2 lacks.

use super::{Crc32Instruction, HashFunction, Key, scalar, with_function};

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn hash<K: Key>(function: HashFunction, keys: &[K], out: &mut [K]) {
    with_function!(function, Crc32Instruction::here(), function => scalar::each(function, keys, out));
}
