//! The scalar loops compiled for AVX2.

use super::scalar;
use crate::{Code, Value};
use std::mem::MaybeUninit;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn widen<C: Code, V: Value>(codes: &[C], tids: &[u32], base: V, out: &mut [MaybeUninit<V>]) {
    scalar::widen(codes, tids, base, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn copy<T: Copy>(values: &[T], tids: &[u32], out: &mut [MaybeUninit<T>]) {
    scalar::copy(values, tids, out);
}
