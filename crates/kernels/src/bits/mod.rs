//! Bit vectors: one bit per record, 64 to a word, bits past the last record zero.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod halves;
#[cfg(target_arch = "x86_64")]
mod parts;
mod scalar;

use crate::Isa;

/// Words that the bits of `rows` records take.
pub const fn words(rows: usize) -> usize {
    rows.div_ceil(64)
}

/// Sets the bits of `rows` records; those past the last are zero.
///
/// # Panics
/// When `bits` has not [`words`]`(rows)` words, here and wherever `rows` is given.
pub fn fill(bits: &mut [u64], rows: usize) {
    assert_eq!(bits.len(), words(rows), "words for the bits of {rows} records");
    bits.fill(u64::MAX);
    cut(bits, rows);
}

/// `bits = bits AND other`.
pub fn and(bits: &mut [u64], other: &[u64]) {
    bits.iter_mut().zip(other).for_each(|(word, other)| *word &= other);
}

/// `bits = bits OR other`.
pub fn or(bits: &mut [u64], other: &[u64]) {
    bits.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

/// `bits = bits AND NOT other`.
pub fn and_not(bits: &mut [u64], other: &[u64]) {
    bits.iter_mut().zip(other).for_each(|(word, other)| *word &= !other);
}

/// Complements the bits of `rows` records.
pub fn not(bits: &mut [u64], rows: usize) {
    assert_eq!(bits.len(), words(rows), "words for the bits of {rows} records");
    bits.iter_mut().for_each(|word| *word = !*word);
    cut(bits, rows);
}

/// True when no bit is set.
pub fn is_empty(bits: &[u64]) -> bool {
    bits.iter().all(|word| *word == 0)
}

/// Bits set.
pub fn count(isa: Isa, bits: &[u64]) -> usize {
    dispatch!(isa, count(bits))
}

/// Appends to `out` the number of each set bit, plus `base`, ascending.
///
/// # Panics
/// When a number exceeds `u32`.
pub fn to_tids(isa: Isa, bits: &[u64], base: u32, out: &mut Vec<u32>) {
    assert!(bits.len() as u64 * 64 + u64::from(base) <= 1 << 32, "TIDs of {} words from {base} on", bits.len());
    dispatch!(isa, to_tids(bits, base, out))
}

/// Fills `out` with `rows` bits of `bytes` from bit `offset` on, where bit b is bit `b % 8` of byte `b / 8` (Arrow's
/// order).
///
/// # Panics
/// When `bytes` has fewer than `offset + rows` bits.
pub fn load(bytes: &[u8], offset: usize, rows: usize, out: &mut [u64]) {
    assert_eq!(out.len(), words(rows), "words for the bits of {rows} records");
    assert!(bytes.len() >= (offset + rows).div_ceil(8), "{rows} bits from {offset} on in {} bytes", bytes.len());
    let (bytes, shift) = (&bytes[offset / 8..(offset + rows).div_ceil(8)], offset % 8);
    for (i, word) in out.iter_mut().enumerate() {
        let rest = &bytes[i * 8..];
        let mut window = [0; 9];
        let present = rest.len().min(9);
        window[..present].copy_from_slice(&rest[..present]);
        let [low @ .., high] = window;
        *word = u64::from_le_bytes(low) >> shift | u64::from(high) << 1 << (63 - shift);
    }
    cut(out, rows);
}

/// Zeroes the bits past the last record.
pub(crate) fn cut(bits: &mut [u64], rows: usize) {
    if let (Some(last), 1..) = (bits.last_mut(), rows % 64) {
        *last &= (1 << (rows % 64)) - 1;
    }
}
