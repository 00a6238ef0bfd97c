//! Radix partitioning of native codes (ByteSlice paper, section 6, after Kim and others): a histogram, then each code to
//! the next place of its bucket.

use super::{Bounds, Digits, Histogram, Places, bounds, histogram};
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
    let mut places = Places::new(&counts);
    for (tid, code) in codes.iter().enumerate() {
        let place = places.take(digits.get(code.to_u64(), digit));
        tids[place] = tid as u32;
        out[place] = *code;
    }
    bounds(&counts)
}

/// The same without the codes.
///
/// # Panics
/// As [`partition`].
pub fn partition_tids<C: Code>(codes: &[C], width: u8, digit: usize, tids: &mut Vec<u32>) -> Bounds {
    let (digits, counts) = count(codes, width, digit);
    tids.resize(codes.len(), 0);
    let mut places = Places::new(&counts);
    for (tid, code) in codes.iter().enumerate() {
        tids[places.take(digits.get(code.to_u64(), digit))] = tid as u32;
    }
    bounds(&counts)
}

fn count<C: Code>(codes: &[C], width: u8, digit: usize) -> (Digits, Histogram) {
    let digits = Digits::of(width);
    assert!((1..=64).contains(&width) && digit < digits.count(), "digit {digit} of codes of {width} bits");
    assert!(u32::try_from(codes.len()).is_ok(), "{} codes have no TIDs of 32 bits", codes.len());
    (digits, histogram(codes, |code| digits.get(code.to_u64(), digit)))
}
