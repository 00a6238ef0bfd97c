//! Lookups: codes and values at TIDs. Each function appends one element per TID to `out`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::{Code, Isa, Value};

/// The elements of `values` (codes, or any others) at `tids`.
///
/// # Panics
/// When a TID is not below `values.len()`, here and in every lookup.
pub fn copy<T: Copy>(isa: Isa, values: &[T], tids: &[u32], out: &mut Vec<T>) {
    out.reserve(tids.len());
    let room = &mut out.spare_capacity_mut()[..tids.len()];
    dispatch!(isa, copy(values, tids, room));
    // SAFETY: the kernel wrote every element of the room, which has one per TID.
    unsafe { out.set_len(out.len() + tids.len()) };
}

/// `base + code` of the codes at `tids`, modulo the width of the value: exact when the true sums fit it.
pub fn widen<C: Code, V: Value>(isa: Isa, codes: &[C], tids: &[u32], base: V, out: &mut Vec<V>) {
    out.reserve(tids.len());
    let room = &mut out.spare_capacity_mut()[..tids.len()];
    dispatch!(isa, widen(codes, tids, base, room));
    // SAFETY: the kernel wrote every element of the room, which has one per TID.
    unsafe { out.set_len(out.len() + tids.len()) };
}

/// The elements of `values` that `codes` are positions of: the entries of a dictionary, say, as their 16-byte views.
///
/// # Panics
/// When a code is not below `values.len()`.
pub fn entries<C: Code, T: Copy>(isa: Isa, codes: &[C], values: &[T], out: &mut Vec<T>) {
    if let Some((_, max)) = crate::minmax::min_max(isa, codes) {
        assert!(max.to_u64() < values.len() as u64, "code {} of a dictionary of {}", max.to_u64(), values.len());
    }
    // The check above makes the one in the loop a branch that is never taken.
    out.extend(codes.iter().map(|code| values[code.to_u64() as usize]));
}
