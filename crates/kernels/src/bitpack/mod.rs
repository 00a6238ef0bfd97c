//! Codes of any width in bits, one after the other, little-endian: how blocks lie on disk.
//!
//! Code i of a run of `width`-bit codes occupies the bits `i * width .. (i + 1) * width` of the bytes, where bit b of
//! the run is bit `b % 8` of byte `b / 8`. Groups of eight codes start on a byte, which the vector kernels rely on.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::{Code, Isa};

/// Bytes that `codes` codes of `width` bits take.
pub fn packed_bytes(codes: usize, width: u32) -> usize {
    (codes as u128 * u128::from(width)).div_ceil(8) as usize
}

/// Bits that the codes up to `max` need: 0 for 0.
pub fn bits_for(max: u64) -> u32 {
    u64::BITS - max.leading_zeros()
}

/// Appends `code - base` of each of `codes` in `width` bits to `out`: [`packed_bytes`] of them, the last one padded
/// with zero bits. The differences must fit `width`; higher bits are cut off.
///
/// # Panics
/// When `width` is above 64.
pub fn pack<C: Code>(codes: &[C], base: C, width: u32, out: &mut Vec<u8>) {
    assert!(width <= 64, "a code of {width} bits");
    scalar::pack(codes, base, width, out);
}

/// Fills `out` with the codes packed in `bytes`, `base` added to each.
///
/// # Panics
/// When `width` is above the width of `C`, or `bytes` has fewer than [`packed_bytes`] of `out.len()` codes.
pub fn unpack<C: Code>(isa: Isa, bytes: &[u8], width: u32, base: C, out: &mut [C]) {
    assert!(width <= C::BITS, "codes of {width} bits don't fit {}", C::BITS);
    let needed = packed_bytes(out.len(), width);
    assert!(bytes.len() >= needed, "{} codes of {width} bits in {} bytes", out.len(), bytes.len());
    if width == 0 {
        out.fill(base);
        return;
    }
    dispatch!(isa, unpack(&bytes[..needed], width, base, out))
}
