//! Radix partitioning of byte slices (ByteSlice paper, section 6). A digit is a byte of one slice, so that counting reads
//! a byte per code, whatever the width; no digit has to be cut out of a code.

use super::{Ordered, slices};
use crate::Value;
use crate::order::{self, Bounds, DIGITS, DigitOffsets, Output};
use crate::packing::Packed;
use crate::packing::byteslice::GROUP;

/// Rows whose places are worked out before they are moved, slice by slice: so many that each of the 256 buckets gets
/// about half a line of a slice, and the lines that are written to stay in the first cache for as long, which those of
/// several slices at a time would not. With 1024 rows, 2^20 codes of 24 bits took twice as long (Zen 5).
const BLOCK: usize = 8192;

/// How many codes have each byte in a slice, the most significant slice being 0.
///
/// # Panics
/// When the packing is not byteslice, or there is no such slice.
pub fn histogram(packed: Packed<'_>, slice: usize) -> [u32; DIGITS] {
    order::histogram(slices(packed).slice(slice), |digit| digit)
}

/// Partitions a column by one of its slices, the most significant being 0: `out` gets the rows of digit 0, then those of
/// digit 1 and so on, each in the order of their TIDs.
///
/// # Panics
/// When the packing is not byteslice, or there is no such slice.
pub fn partition(packed: Packed<'_>, slice: usize, out: &mut Ordered) -> Bounds {
    let column = slices(packed);
    out.fit(packed);
    let digits = column.slice(slice);
    let counts = order::histogram(digits, |digit| digit);
    let bounds = order::bounds(&counts);
    let Ordered { tids, bytes } = out;
    if column.rows == 0 {
        return bounds;
    }
    let mut tids = Output::new(tids, &bounds);
    let mut others = Vec::with_capacity(7);
    for (number, to) in bytes.chunks_mut(column.rows.next_multiple_of(GROUP)).enumerate() {
        if number == slice {
            fill(&counts, to);
        } else {
            others.push((column.slice(number), Output::new(&mut to[..column.rows], &bounds)));
        }
    }
    each_block(digits, &mut DigitOffsets::new(&counts), |start, digits, places| {
        put_all(digits, places, start as u32.., &mut tids);
        for (from, to) in &mut others {
            put_all(digits, places, from[start..].iter().copied(), to);
        }
    });
    tids.finish();
    others.into_iter().for_each(|(_, to)| to.finish());
    bounds
}

/// Row numbers partitioned by a slice, without the slices.
///
/// # Panics
/// As [`partition`].
pub fn partition_tids(packed: Packed<'_>, slice: usize, tids: &mut Vec<u32>) -> Bounds {
    let column = slices(packed);
    tids.resize(column.rows, 0);
    let digits = column.slice(slice);
    let counts = order::histogram(digits, |digit| digit);
    let (mut places, bounds) = (DigitOffsets::new(&counts), order::bounds(&counts));
    let mut tids = Output::new(tids, &bounds);
    tids.put_all(digits.iter().zip(0..).map(|(digit, tid)| (*digit, places.take(*digit), tid)));
    tids.finish();
    bounds
}

/// The bytes of a slice that is sorted: all of one digit, then all of the next. None of them has to be moved.
pub(super) fn fill(counts: &[u32; DIGITS], mut to: &mut [u8]) {
    for (digit, count) in counts.iter().enumerate() {
        let (run, rest) = to.split_at_mut(*count as usize);
        run.fill(digit as u8);
        to = rest;
    }
}

/// Calls `put` with the first row of each block of rows, their digits and their places.
#[inline(always)]
pub(super) fn each_block(digits: &[u8], places: &mut DigitOffsets, mut put: impl FnMut(usize, &[u8], &[u32])) {
    let mut block = [0; BLOCK];
    for (number, digits) in digits.chunks(BLOCK).enumerate() {
        for (place, digit) in block.iter_mut().zip(digits) {
            *place = places.take(*digit) as u32;
        }
        put(number * BLOCK, digits, &block[..digits.len()]);
    }
}

/// Puts values to the places that [`each_block`] gives.
#[inline(always)]
pub(super) fn put_all<T: Value>(
    digits: &[u8],
    places: &[u32],
    values: impl Iterator<Item = T>,
    to: &mut Output<'_, T>,
) {
    to.put_all(digits.iter().zip(places).zip(values).map(|((digit, place), value)| (*digit, *place as usize, value)));
}
