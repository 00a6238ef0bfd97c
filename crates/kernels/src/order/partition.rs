//! Radix partitioning of native codes (ByteSlice paper, section 6, after Kim and others): a histogram, then each code to
//! the next place of its bucket.

use super::{Bounds, Combiner, DigitOffsets, Digits, FAR, Histogram, Output, bounds, histogram};
use crate::Code;

/// Partitions codes of `width` bits by their digit number `digit`, the most significant being 0: `tids` and `out` get
/// the codes of digit 0, then those of digit 1 and so on, each in the order of their TIDs.
///
/// # Panics
/// When `width` is not from 1 to 64, there is no such digit, or there are 2^32 codes or more.
pub fn partition<C: Code>(codes: &[C], width: u8, digit: usize, tids: &mut Vec<u32>, out: &mut Vec<C>) -> Bounds {
    let (digits, counts) = count(codes, width, digit);
    tids.resize(codes.len(), 0);
    out.resize(codes.len(), C::default());
    let (places, bounds) = (DigitOffsets::new(&counts), bounds(&counts));
    let digit = |code: C| digits.get(code.to_u64(), digit);
    if codes.len() > FAR {
        let (mut tids, mut out) = (Combiner::new(tids, &bounds), Combiner::new(out, &bounds));
        each_place(codes, digit, places, |digit, place, tid, code| {
            tids.put(digit, place, tid);
            out.put(digit, place, code);
        });
        tids.finish();
        out.finish();
    } else {
        each_place(codes, digit, places, |_, place, tid, code| {
            tids[place] = tid;
            out[place] = code;
        });
    }
    bounds
}

/// Row numbers partitioned by a digit, without the codes.
///
/// # Panics
/// As [`partition`].
pub fn partition_tids<C: Code>(codes: &[C], width: u8, digit: usize, tids: &mut Vec<u32>) -> Bounds {
    let (digits, counts) = count(codes, width, digit);
    tids.resize(codes.len(), 0);
    let (mut places, bounds) = (DigitOffsets::new(&counts), bounds(&counts));
    let mut out = Output::new(tids, &bounds);
    out.put_all(codes.iter().zip(0..).map(|(code, tid)| {
        let digit = digits.get(code.to_u64(), digit);
        (digit, places.take(digit), tid)
    }));
    out.finish();
    bounds
}

/// Calls `put` with the digit, the place and the TID of each code.
#[inline(always)]
fn each_place<C: Code>(
    codes: &[C],
    digit: impl Fn(C) -> u8,
    mut places: DigitOffsets,
    mut put: impl FnMut(u8, usize, u32, C),
) {
    for (code, tid) in codes.iter().zip(0..) {
        let digit = digit(*code);
        put(digit, places.take(digit), tid, *code);
    }
}

fn count<C: Code>(codes: &[C], width: u8, digit: usize) -> (Digits, Histogram) {
    let digits = Digits::of(width);
    assert!((1..=64).contains(&width) && digit < digits.count(), "digit {digit} of codes of {width} bits");
    assert!(u32::try_from(codes.len()).is_ok(), "{} codes have no TIDs of 32 bits", codes.len());
    (digits, histogram(codes, |code| digits.get(code.to_u64(), digit)))
}
