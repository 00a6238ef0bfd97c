//! The scalar loops compiled for AVX-512.

use super::{AttributeAddress, scalar};
use crate::Value;
use std::mem::MaybeUninit;
use std::ops::Range;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn run<T: Value>(bytes: &[u8], place: AttributeAddress, rows: Range<usize>, out: &mut [T]) {
    scalar::run(bytes, place, rows, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<T: Value>(bytes: &[u8], place: AttributeAddress, tids: &[u32], out: &mut [MaybeUninit<T>]) {
    scalar::lookup(bytes, place, tids, out);
}
