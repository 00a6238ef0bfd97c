//! Scans with AVX-512: comparisons give mask registers, which are the bits.

use super::lanes::each_word;
use super::{byte_tables, scalar};
use crate::Code;
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn range<C: Code>(codes: &[C], low: C, span: C, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    each_word(codes, out, |codes| unsafe { C::range_avx512(codes, low, span) });
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn equal_any<C: Code>(codes: &[C], values: &[C], out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    each_word(codes, out, |codes| unsafe { C::equal_any_avx512(codes, values) });
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn in_bitmap<C: Code>(codes: &[C], bitmap: &[u64], out: &mut [u64]) {
    if C::BITS == 8 {
        let tables = byte_tables(bitmap).map(|table| four_times(&table));
        each_word(codes, out, |codes| in_tables(codes, &tables));
    } else if C::BITS == 16 && bitmap.len() <= 8 {
        let mut register = [0; 8];
        register[..bitmap.len()].copy_from_slice(bitmap);
        each_word(codes, out, |codes| in_register(codes, &register));
    } else if C::BITS <= 32 && bitmap.len() < 1 << 26 {
        each_word(codes, out, |codes| in_memory(codes, bitmap));
    } else {
        scalar::in_bitmap(codes, bitmap, out);
    }
}

/// Membership of codes of 8 bits in a set of tables as [`byte_tables`] makes them: the lower four bits choose a byte, of
/// which the others choose a bit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn in_tables<C: Code>(codes: &[C; 64], tables: &[__m512i; 2]) -> u64 {
    // SAFETY: the array has 64 codes of 8 bits (others don't come here, and `Code` is sealed); the load asks for no
    // alignment.
    let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
    // A shuffle gives zero where the upper bit is set.
    let low = _mm512_shuffle_epi8(tables[0], codes);
    let high = _mm512_shuffle_epi8(tables[1], _mm512_xor_si512(codes, _mm512_set1_epi8(i8::MIN)));
    let above = _mm512_and_si512(_mm512_srli_epi16::<4>(codes), _mm512_set1_epi8(0b1111));
    let bit = _mm512_shuffle_epi8(_mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64), above);
    _mm512_test_epi8_mask(_mm512_or_si512(low, high), bit)
}

/// The bytes in each quarter of a register.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn four_times(bytes: &[u8; 16]) -> __m512i {
    // SAFETY: the array has the 16 bytes of a quarter of a register; the load asks for no alignment.
    unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(bytes.as_ptr().cast())) }
}

/// Membership of codes of 16 bits in a bitmap of 512 bits that stays in a register: the upper bits of a code choose one
/// of 32 lanes, the lower four a bit of it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn in_register<C: Code>(codes: &[C; 64], bitmap: &[u64; 8]) -> u64 {
    // SAFETY: the array has the 64 bytes of a register; the load asks for no alignment.
    let bitmap = unsafe { _mm512_loadu_si512(bitmap.as_ptr().cast()) };
    let mut word = 0;
    for (i, codes) in codes.as_chunks::<32>().0.iter().enumerate() {
        // SAFETY: the chunk has 32 codes of 16 bits (others don't come here, and `Code` is sealed); the load asks for no
        // alignment.
        let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
        let lane = _mm512_permutexvar_epi16(_mm512_srli_epi16::<4>(codes), bitmap);
        let bit = _mm512_sllv_epi16(_mm512_set1_epi16(1), _mm512_and_si512(codes, _mm512_set1_epi16(15)));
        let inside = _mm512_cmplt_epu16_mask(codes, _mm512_set1_epi16(512));
        word |= u64::from(_mm512_mask_test_epi16_mask(inside, lane, bit)) << (i * 32);
    }
    word
}

/// Membership of codes of at most 32 bits in a bitmap of less than 2^32 bits, by gathering its 32-bit halves.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn in_memory<C: Code>(codes: &[C; 64], bitmap: &[u64]) -> u64 {
    let domain = _mm512_set1_epi32((bitmap.len() * 64) as i32);
    let mut word = 0;
    for (i, codes) in codes.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: the chunk has 16 codes, of 8, 16 or 32 bits (wider ones don't come here, and `Code` is sealed); the
        // loads ask for no alignment.
        let codes = unsafe {
            match C::BITS {
                8 => _mm512_cvtepu8_epi32(_mm_loadu_si128(codes.as_ptr().cast())),
                16 => _mm512_cvtepu16_epi32(_mm256_loadu_si256(codes.as_ptr().cast())),
                _ => _mm512_loadu_si512(codes.as_ptr().cast()),
            }
        };
        let inside = _mm512_cmplt_epu32_mask(codes, domain);
        let half = _mm512_srli_epi32::<5>(codes);
        // SAFETY: only lanes whose code is below the number of bits are read, so the 32-bit half lies in the bitmap,
        // and its index, below 2^27, is not negative.
        let half =
            unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, half, bitmap.as_ptr().cast()) };
        let bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(codes, _mm512_set1_epi32(31)));
        word |= u64::from(_mm512_test_epi32_mask(half, bit)) << (i * 16);
    }
    word
}

macro_rules! lanes {
    ($range:ident, $equal_any:ident, $code:ty, $signed:ty, $lanes:literal, $set:ident, $subtract:ident, $at_most:ident, $equal:ident) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
        pub(super) fn $range(codes: &[$code; 64], low: $code, span: $code) -> u64 {
            let (low, span) = ($set(low as $signed), $set(span as $signed));
            let mut word = 0;
            for (i, codes) in codes.as_chunks::<$lanes>().0.iter().enumerate() {
                // SAFETY: the chunk has the 64 bytes of a register; the load asks for no alignment.
                let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
                word |= u64::from($at_most($subtract(codes, low), span)) << (i * $lanes);
            }
            word
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
        pub(super) fn $equal_any(codes: &[$code; 64], values: &[$code]) -> u64 {
            let mut word = 0;
            for (i, codes) in codes.as_chunks::<$lanes>().0.iter().enumerate() {
                // SAFETY: the chunk has the 64 bytes of a register; the load asks for no alignment.
                let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
                for &value in values {
                    word |= u64::from($equal(codes, $set(value as $signed))) << (i * $lanes);
                }
            }
            word
        }
    };
}

lanes!(
    range_u8,
    equal_any_u8,
    u8,
    i8,
    64,
    _mm512_set1_epi8,
    _mm512_sub_epi8,
    _mm512_cmple_epu8_mask,
    _mm512_cmpeq_epi8_mask
);
lanes!(
    range_u16,
    equal_any_u16,
    u16,
    i16,
    32,
    _mm512_set1_epi16,
    _mm512_sub_epi16,
    _mm512_cmple_epu16_mask,
    _mm512_cmpeq_epi16_mask
);
lanes!(
    range_u32,
    equal_any_u32,
    u32,
    i32,
    16,
    _mm512_set1_epi32,
    _mm512_sub_epi32,
    _mm512_cmple_epu32_mask,
    _mm512_cmpeq_epi32_mask
);
lanes!(
    range_u64,
    equal_any_u64,
    u64,
    i64,
    8,
    _mm512_set1_epi64,
    _mm512_sub_epi64,
    _mm512_cmple_epu64_mask,
    _mm512_cmpeq_epi64_mask
);
