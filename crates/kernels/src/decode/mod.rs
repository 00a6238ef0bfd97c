//! Decoding: a contiguous run of codes to values. Each function appends one value per code to `out`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::{Code, Isa, Value};

/// `base + code`, modulo the width of the value: exact when the true sums fit it.
pub fn widen<C: Code, V: Value>(isa: Isa, codes: &[C], base: V, out: &mut Vec<V>) {
    out.reserve(codes.len());
    let room = &mut out.spare_capacity_mut()[..codes.len()];
    dispatch!(isa, widen(codes, base, room));
    // SAFETY: the kernel wrote every element of the room, which has one per code.
    unsafe { out.set_len(out.len() + codes.len()) };
}

/// `(base + code) / divisor` as a DOUBLE, rounded as IEEE 754 division rounds.
pub fn scaled<C: Code>(isa: Isa, codes: &[C], base: i64, divisor: f64, out: &mut Vec<f64>) {
    out.reserve(codes.len());
    let room = &mut out.spare_capacity_mut()[..codes.len()];
    dispatch!(isa, scaled(codes, base, divisor, room));
    // SAFETY: the kernel wrote every element of the room, which has one per code.
    unsafe { out.set_len(out.len() + codes.len()) };
}
