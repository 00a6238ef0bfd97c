//! Codes from byte slices: their units stitched together (ByteSlice paper, section 3.2). The loops are written for a
//! fixed number of slices and the narrowest integer that holds their units, which lets the compiler vectorise them for
//! each instruction set that they are compiled for.

use super::super::Tids;
use super::{Slices, Unit};
use crate::Code;
use std::mem::MaybeUninit;
use std::ops::Range;

/// An integer that units are stitched together in.
trait Lane: Copy {
    fn from_unit(unit: u64) -> Self;
    fn push(self, unit: u64, bits: u32) -> Self;
    fn finish<C: Code>(self, padding: u32) -> C;
}

macro_rules! lane {
    ($($lane:ty),*) => {$(
        impl Lane for $lane {
            #[inline(always)]
            fn from_unit(unit: u64) -> Self {
                unit as Self
            }

            #[inline(always)]
            fn push(self, unit: u64, bits: u32) -> Self {
                self << bits | unit as Self
            }

            #[inline(always)]
            fn finish<C: Code>(self, padding: u32) -> C {
                C::truncate((self >> padding).into())
            }
        }
    )*};
}

lane!(u8, u16, u32, u64);

/// The code whose units are `at` units into each of M slices.
///
/// # Safety
/// The slices have more than `at` units.
#[inline(always)]
unsafe fn code<U: Unit, L: Lane, C: Code, const M: usize>(slices: &[*const U; M], at: usize, padding: u32) -> C {
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; the reads ask for
    // no alignment.
    let unit = |slice: usize| unsafe { slices[slice].add(at).read_unaligned() };
    let mut lane = L::from_unit(unit(0).little_endian().to_u64());
    for slice in 1..M {
        lane = lane.push(unit(slice).little_endian().to_u64(), U::BITS);
    }
    lane.finish(padding)
}

/// Calls a function below with the number of slices and the lane that a column needs.
macro_rules! by_slices {
    ($slices:expr, $function:ident($($argument:expr),*)) => {
        match (U::BITS, $slices.count) {
            (8, 1) => $function::<U, u8, C, 1>($slices, $($argument),*),
            (8, 2) => $function::<U, u16, C, 2>($slices, $($argument),*),
            (8, 3) => $function::<U, u32, C, 3>($slices, $($argument),*),
            (8, 4) => $function::<U, u32, C, 4>($slices, $($argument),*),
            (8, 5) => $function::<U, u64, C, 5>($slices, $($argument),*),
            (8, 6) => $function::<U, u64, C, 6>($slices, $($argument),*),
            (8, 7) => $function::<U, u64, C, 7>($slices, $($argument),*),
            (8, _) => $function::<U, u64, C, 8>($slices, $($argument),*),
            (_, 1) => $function::<U, u16, C, 1>($slices, $($argument),*),
            (_, 2) => $function::<U, u32, C, 2>($slices, $($argument),*),
            (_, 3) => $function::<U, u64, C, 3>($slices, $($argument),*),
            (_, _) => $function::<U, u64, C, 4>($slices, $($argument),*),
        }
    };
}

/// The codes at `tids`.
#[inline(always)]
pub(super) fn lookup<U: Unit, C: Code>(slices: Slices<'_, U>, tids: Tids<'_>, out: &mut [MaybeUninit<C>]) {
    assert!(tids.rows() <= slices.rows, "TIDs of {} records in a run of {}", tids.rows(), slices.rows);
    by_slices!(slices, lookup_in(tids, out));
}

#[inline(always)]
fn lookup_in<U: Unit, L: Lane, C: Code, const M: usize>(
    slices: Slices<'_, U>,
    tids: Tids<'_>,
    out: &mut [MaybeUninit<C>],
) {
    let starts = slices.starts::<M>(0);
    // No prefetch: the loop is short enough for the processor to have dozens of lookups under way by itself. With one,
    // 24 TIDs ahead, random lookups in 64 MiB slices took half as long again (Zen 5).
    for (out, &tid) in out.iter_mut().zip(tids.tids()) {
        // SAFETY: each TID is below `tids.rows()`, which the slices have, as `lookup` compared.
        out.write(unsafe { code::<U, L, C, M>(&starts, tid as usize, slices.padding) });
    }
}

/// The codes of a range of rows.
#[inline(always)]
pub(super) fn unpack<U: Unit, C: Code>(slices: Slices<'_, U>, rows: Range<usize>, out: &mut [MaybeUninit<C>]) {
    assert!(rows.start <= rows.end && rows.end <= slices.rows, "rows {rows:?} of {}", slices.rows);
    by_slices!(slices, unpack_in(rows, out));
}

#[inline(always)]
fn unpack_in<U: Unit, L: Lane, C: Code, const M: usize>(
    slices: Slices<'_, U>,
    rows: Range<usize>,
    out: &mut [MaybeUninit<C>],
) {
    let starts = slices.starts::<M>(rows.start);
    for (i, out) in out[..rows.len()].iter_mut().enumerate() {
        // SAFETY: `rows.start + i` is below `rows.end`, which the slices have, as compared above.
        out.write(unsafe { code::<U, L, C, M>(&starts, i, slices.padding) });
    }
}
