//! The loops, which the compiler vectorises for each instruction set that they are compiled for.

use crate::{Code, Value};
use std::mem::MaybeUninit;

#[inline(always)]
pub(super) fn widen<C: Code, V: Value>(codes: &[C], base: V, out: &mut [MaybeUninit<V>]) {
    assert_eq!(codes.len(), out.len(), "one value per code");
    for (code, out) in codes.iter().zip(out) {
        out.write(base.offset(code.to_u64()));
    }
}

#[inline(always)]
pub(super) fn scaled<C: Code>(codes: &[C], base: i64, divisor: f64, out: &mut [MaybeUninit<f64>]) {
    assert_eq!(codes.len(), out.len(), "one value per code");
    for (code, out) in codes.iter().zip(out) {
        out.write(base.wrapping_add(code.to_u64() as i64) as f64 / divisor);
    }
}
