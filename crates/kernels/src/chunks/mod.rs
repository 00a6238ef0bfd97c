//! Attributes in chunks of k records, as memPAX-k lays them (runtime-fragility paper, section 2): from contiguous runs
//! into chunks, and back for the kernels that want contiguous runs. k = 1 is the row layout.
//!
//! The loops are the scalar ones under every instruction set, compiled for each: where codes of a few bytes lie a
//! record apart, a load per code is as fast as gather instructions on the machines measured.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::{Isa, Value};
use std::ops::Range;

/// Where an attribute of w bytes lies: that of record t at `t div k * chunk + offset + t mod k * w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeAddress {
    records: u32,
    chunk: usize,
    offset: usize,
    /// ⌈2^64 / k⌉ for k above 1: the high half of its product with a 32-bit t is exactly t div k.
    reciprocal: u64,
}

impl AttributeAddress {
    /// Chunks of `records` records and `chunk` bytes, in which the attribute starts at `offset`.
    ///
    /// # Panics
    /// When `records` is 0.
    pub fn new(records: u32, chunk: usize, offset: usize) -> Self {
        assert!(records > 0, "a chunk has at least one record");
        let reciprocal = if records == 1 { 0 } else { u64::MAX / u64::from(records) + 1 };
        Self { records, chunk, offset, reciprocal }
    }

    /// Records of a chunk: the k.
    pub const fn records(self) -> usize {
        self.records as usize
    }

    /// Bytes from chunk to chunk.
    pub const fn chunk(self) -> usize {
        self.chunk
    }

    /// Bytes before the attribute in a chunk.
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// Where the attribute of record `tid` starts, when it has `width` bytes.
    #[inline(always)]
    pub const fn address(self, tid: u32, width: usize) -> usize {
        if self.records == 1 {
            return tid as usize * self.chunk + self.offset;
        }
        let chunk = ((tid as u128 * self.reciprocal as u128) >> 64) as u32;
        chunk as usize * self.chunk + self.offset + (tid - chunk * self.records) as usize * width
    }

    /// Bytes up to the end of the attribute of the last of `rows` records.
    ///
    /// # Panics
    /// When there are more than 2^32 records.
    pub fn end(self, rows: usize, width: usize) -> usize {
        match rows.checked_sub(1) {
            None => 0,
            Some(last) => self.address(u32::try_from(last).expect("TIDs have 32 bits"), width) + width,
        }
    }

    /// Checks that `rows` records lie in `bytes`, and attributes within their chunk.
    fn check<T>(self, rows: usize, bytes: usize) {
        let width = size_of::<T>();
        let within = self.records == 1 || self.offset + self.records() * width <= self.chunk;
        assert!(within, "{} attributes of {width} bytes at {} of a chunk of {}", self.records, self.offset, self.chunk);
        let end = self.end(rows, width);
        assert!(end <= bytes, "{rows} records end at {end} of {bytes} bytes");
    }
}

/// Puts the attributes of the first `values.len()` records into `bytes`; what lies between them stays.
///
/// # Panics
/// When one of them does not lie within `bytes` or, k being above 1, within its chunk; here and in the functions below.
pub fn scatter<T: Value>(values: &[T], place: AttributeAddress, bytes: &mut [u8]) {
    place.check::<T>(values.len(), bytes.len());
    scalar::scatter(values, place, bytes);
}

/// Fills `out` with the attributes of the records `rows`.
///
/// # Panics
/// When `out` has not one element per record.
pub fn run<T: Value>(isa: Isa, bytes: &[u8], place: AttributeAddress, rows: Range<usize>, out: &mut [T]) {
    assert_eq!(rows.len(), out.len(), "one element per record");
    place.check::<T>(rows.end, bytes.len());
    dispatch!(isa, run(bytes, place, rows, out));
}

/// Appends the attributes of the records `tids` to `out`.
pub fn lookup<T: Value>(isa: Isa, bytes: &[u8], place: AttributeAddress, tids: &[u32], out: &mut Vec<T>) {
    let Some(max) = tids.iter().copied().max() else { return };
    place.check::<T>(max as usize + 1, bytes.len());
    out.reserve(tids.len());
    let room = &mut out.spare_capacity_mut()[..tids.len()];
    dispatch!(isa, lookup(bytes, place, tids, room));
    // SAFETY: the kernel wrote every element of the room, which has one per TID.
    unsafe { out.set_len(out.len() + tids.len()) };
}
