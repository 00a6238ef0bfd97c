//! The loops over chunks. Callers have checked that the records lie within the bytes.

use super::AttributeAddress;
use crate::Value;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Runs up to so many elements are copied one by one, longer ones by one call to copy memory.
const SHORT: usize = 16;

pub(super) fn scatter<T: Value>(values: &[T], place: AttributeAddress, bytes: &mut [u8]) {
    let (width, mut address) = (size_of::<T>(), place.offset());
    if place.records() <= SHORT {
        for run in values.chunks(place.records()) {
            for (at, value) in run.iter().enumerate() {
                // SAFETY: `AttributeAddress::check` held the end of the last record's attribute to lie within the bytes; no
                // other record's ends later, since attributes lie within their chunks and strides only ascend.
                unsafe { bytes.as_mut_ptr().add(address + at * width).cast::<T>().write_unaligned(*value) };
            }
            address += place.chunk();
        }
        return;
    }
    for run in values.chunks(place.records()) {
        let out = &mut bytes[address..address + size_of_val(run)];
        // SAFETY: the run's bytes, which `out` has as many of; `Value` is implemented for integers only, which have no
        // padding, and two slices one of which is borrowed mutably don't overlap.
        unsafe { out.as_mut_ptr().copy_from_nonoverlapping(run.as_ptr().cast(), out.len()) };
        address += place.chunk();
    }
}

#[inline(always)]
pub(super) fn run<T: Value>(bytes: &[u8], place: AttributeAddress, rows: Range<usize>, out: &mut [T]) {
    let width = size_of::<T>();
    let mut rest = out;
    if place.records() == 1 {
        let start = rows.start * place.chunk() + place.offset();
        for (at, out) in rest.iter_mut().enumerate() {
            // SAFETY: `AttributeAddress::check` held the end of the last record's attribute to lie within the bytes, and strides
            // only ascend.
            *out = unsafe { read(bytes, start + at * place.chunk()) };
        }
        return;
    }
    let (mut chunk, mut within) = (rows.start / place.records(), rows.start % place.records());
    while !rest.is_empty() {
        let (now, later) = rest.split_at_mut((place.records() - within).min(rest.len()));
        let start = chunk * place.chunk() + place.offset() + within * width;
        if now.len() <= SHORT {
            for (at, out) in now.iter_mut().enumerate() {
                // SAFETY: as above; within a chunk the attributes of its records follow one another.
                *out = unsafe { read(bytes, start + at * width) };
            }
        } else {
            let source = &bytes[start..start + size_of_val(now)];
            // SAFETY: as many bytes as the elements take, which any bytes are a value of; the slices don't overlap,
            // since one of them is borrowed mutably.
            unsafe { now.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(source.as_ptr(), source.len()) };
        }
        (chunk, within, rest) = (chunk + 1, 0, later);
    }
}

#[inline(always)]
pub(super) fn lookup<T: Value>(bytes: &[u8], place: AttributeAddress, tids: &[u32], out: &mut [MaybeUninit<T>]) {
    for (tid, out) in tids.iter().zip(out) {
        // SAFETY: `AttributeAddress::check` held the end of the largest TID's attribute to lie within the bytes; no other TID's
        // ends later, since attributes lie within their chunks.
        out.write(unsafe { read(bytes, place.address(*tid, size_of::<T>())) });
    }
}

/// The integer at `start`.
///
/// # Safety
/// Its bytes must lie within `bytes`.
#[inline(always)]
unsafe fn read<T: Value>(bytes: &[u8], start: usize) -> T {
    debug_assert!(start + size_of::<T>() <= bytes.len());
    // SAFETY: the bytes exist, as `# Safety` says; any bytes are an integer, aligned or not.
    unsafe { bytes.as_ptr().add(start).cast::<T>().read_unaligned() }
}
