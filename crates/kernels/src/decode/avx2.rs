//! The scalar loops compiled for AVX2.

use super::scalar;
use crate::{Code, Value};
use std::mem::MaybeUninit;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn widen<C: Code, V: Value>(codes: &[C], base: V, out: &mut [MaybeUninit<V>]) {
    scalar::widen(codes, base, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scaled<C: Code>(codes: &[C], base: i64, divisor: f64, out: &mut [MaybeUninit<f64>]) {
    scalar::scaled(codes, base, divisor, out);
}
