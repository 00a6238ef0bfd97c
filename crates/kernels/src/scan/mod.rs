//! Scans: codes against constants.
//!
//! Every scan writes one bit per code: bit t % 64 of word t / 64 is set when code t qualifies. `out` has
//! `codes.len().div_ceil(64)` words, all of which are overwritten; bits past the last code are zero.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod lanes;
mod scalar;

use crate::{Code, Isa, bits};
pub use lanes::CodeWord;

/// Codes with `low <= code <= high`; none when `low > high`.
///
/// # Panics
/// When `out` has not one word per 64 codes, here and in every scan.
pub fn range<C: Code>(isa: Isa, codes: &[C], low: C, high: C, out: &mut [u64]) {
    check(codes, out);
    if low > high {
        return out.fill(0);
    }
    // One comparison instead of two: a code below `low` wraps round to a difference above `span`.
    let span = high.wrapping_sub(low);
    dispatch!(isa, range(codes, low, span, out));
}

/// Codes with `code < low` or `code > high`; all when `low > high`.
pub fn outside<C: Code>(isa: Isa, codes: &[C], low: C, high: C, out: &mut [u64]) {
    range(isa, codes, low, high, out);
    bits::not(out, codes.len());
}

/// Codes that equal one of `values`: for short lists, since each code is compared with each value.
pub fn equal_any<C: Code>(isa: Isa, codes: &[C], values: &[C], out: &mut [u64]) {
    check(codes, out);
    dispatch!(isa, equal_any(codes, values, out));
}

/// Codes whose bit of `bitmap` is set. A code past the end of the bitmap does not qualify.
pub fn in_bitmap<C: Code>(isa: Isa, codes: &[C], bitmap: &[u64], out: &mut [u64]) {
    check(codes, out);
    dispatch!(isa, in_bitmap(codes, bitmap, out));
}

/// The first 256 bits of a bitmap as two tables of 16 bytes: for the codes 0 to 127 and for 128 to 255, by a code's lower
/// four bits a byte with a bit for each value of the three bits above.
#[cfg(target_arch = "x86_64")]
fn byte_tables(bitmap: &[u64]) -> [[u8; 16]; 2] {
    let mut tables = [[0; 16]; 2];
    for (at, word) in bitmap.iter().take(4).enumerate() {
        for quarter in 0..4 {
            // By 16 codes, which differ in their lower four bits: a loop without branches, that becomes vectors.
            let (members, above) = ((word >> (16 * quarter)) as u16, at % 2 * 4 + quarter);
            for (low, byte) in tables[at / 2].iter_mut().enumerate() {
                *byte |= ((members >> low & 1) as u8) << above;
            }
        }
    }
    tables
}

fn check<C: Code>(codes: &[C], out: &[u64]) {
    assert_eq!(out.len(), codes.len().div_ceil(64), "words for the bits of {} codes", codes.len());
}
