//! Lookups one TID at a time; the compiler vectorises what it can for each instruction set.

use crate::{Code, Value};
use std::mem::MaybeUninit;

#[inline(always)]
pub(super) fn widen<C: Code, V: Value>(codes: &[C], tids: &[u32], base: V, out: &mut [MaybeUninit<V>]) {
    check(codes.len(), tids, out.len());
    for (&tid, out) in tids.iter().zip(out) {
        // SAFETY: no TID is past the run.
        let code = unsafe { codes.get_unchecked(tid as usize) };
        out.write(base.offset(code.to_u64()));
    }
}

#[inline(always)]
pub(super) fn copy<T: Copy>(values: &[T], tids: &[u32], out: &mut [MaybeUninit<T>]) {
    check(values.len(), tids, out.len());
    for (&tid, out) in tids.iter().zip(out) {
        // SAFETY: no TID is past the run.
        out.write(unsafe { *values.get_unchecked(tid as usize) });
    }
}

/// One pass over the TIDs in the cache is cheaper than a check at each of them.
#[inline(always)]
fn check(rows: usize, tids: &[u32], room: usize) {
    assert_eq!(tids.len(), room, "one element per TID");
    let max = tids.iter().copied().fold(0, u32::max);
    assert!(tids.is_empty() || (max as usize) < rows, "TID {max} in a run of {rows} records");
}
