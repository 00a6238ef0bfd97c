//! Scans with AVX2: comparisons give lanes of ones, which are narrowed to bytes where needed and turned into bits by
//! movemask. AVX2 compares only signed lanes: "at most" is "equals the minimum", and 64-bit lanes flip the sign.

use super::lanes::each_word;
use super::{byte_tables, scalar};
use crate::Code;
use std::arch::x86_64::*;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn range<C: Code>(codes: &[C], low: C, span: C, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    each_word(codes, out, |codes| unsafe { C::range_avx2(codes, low, span) });
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn equal_any<C: Code>(codes: &[C], values: &[C], out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    each_word(codes, out, |codes| unsafe { C::equal_any_avx2(codes, values) });
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn in_bitmap<C: Code>(codes: &[C], bitmap: &[u64], out: &mut [u64]) {
    if C::BITS == 8 {
        let tables = byte_tables(bitmap).map(|table| twice(&table));
        each_word(codes, out, |codes| in_tables(codes, &tables));
    } else if C::BITS <= 32 && bitmap.len() < 1 << 26 {
        each_word(codes, out, |codes| in_memory(codes, bitmap));
    } else {
        scalar::in_bitmap(codes, bitmap, out);
    }
}

/// Membership of codes of 8 bits in a set of tables as [`byte_tables`] makes them: the lower four bits choose a byte, of
/// which the others choose a bit.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn in_tables<C: Code>(codes: &[C; 64], tables: &[__m256i; 2]) -> u64 {
    let bit_of = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let lanes: [__m256i; 2] = std::array::from_fn(|i| {
        // SAFETY: the array has 64 codes of 8 bits (others don't come here, and `Code` is sealed), of which this is one
        // half or the other; the load asks for no alignment.
        let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast::<__m256i>().add(i)) };
        // A shuffle gives zero where the upper bit is set.
        let low = _mm256_shuffle_epi8(tables[0], codes);
        let high = _mm256_shuffle_epi8(tables[1], _mm256_xor_si256(codes, _mm256_set1_epi8(i8::MIN)));
        let above = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), _mm256_set1_epi8(0b1111));
        let bit = _mm256_shuffle_epi8(bit_of, above);
        _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_or_si256(low, high), bit), bit)
    });
    collect_u8(&lanes)
}

/// The bytes in both halves of a register.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn twice(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: the array has the 16 bytes of half a register; the load asks for no alignment.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) }
}

/// Membership of codes of at most 32 bits in a bitmap of less than 2^32 bits, by gathering its 32-bit halves.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn in_memory<C: Code>(codes: &[C; 64], bitmap: &[u64]) -> u64 {
    let halves = _mm256_set1_epi32((bitmap.len() * 2) as i32);
    let mut word = 0;
    for (i, codes) in codes.as_chunks::<8>().0.iter().enumerate() {
        // SAFETY: the chunk has 8 codes, of 8, 16 or 32 bits (wider ones don't come here, and `Code` is sealed); the
        // loads ask for no alignment.
        let codes = unsafe {
            match C::BITS {
                8 => _mm256_cvtepu8_epi32(_mm_loadu_si64(codes.as_ptr().cast())),
                16 => _mm256_cvtepu16_epi32(_mm_loadu_si128(codes.as_ptr().cast())),
                _ => _mm256_loadu_si256(codes.as_ptr().cast()),
            }
        };
        let half = _mm256_srli_epi32::<5>(codes);
        let inside = _mm256_cmpgt_epi32(halves, half);
        // SAFETY: only lanes whose index (below 2^27, so not negative) is below the number of 32-bit halves are read.
        let half =
            unsafe { _mm256_mask_i32gather_epi32::<4>(_mm256_setzero_si256(), bitmap.as_ptr().cast(), half, inside) };
        // Shifted left by 31 - bit, the wanted bit becomes the sign, which movemask collects.
        let to_sign = _mm256_andnot_si256(codes, _mm256_set1_epi32(31));
        let bits = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sllv_epi32(half, to_sign)));
        word |= (bits as u64) << (i * 8);
    }
    word
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_most_u8(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_most_u16(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi16(_mm256_min_epu16(a, b), a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_most_u32(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_most_u64(a: __m256i, b: __m256i) -> __m256i {
    let sign = _mm256_set1_epi64x(i64::MIN);
    let greater = _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign));
    _mm256_xor_si256(greater, _mm256_set1_epi64x(-1))
}

/// One bit per lane of the two registers of 8-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn collect_u8(lanes: &[__m256i; 2]) -> u64 {
    u64::from(_mm256_movemask_epi8(lanes[0]) as u32) | u64::from(_mm256_movemask_epi8(lanes[1]) as u32) << 32
}

/// One bit per lane of the four registers of 16-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn collect_u16(lanes: &[__m256i; 4]) -> u64 {
    // Packing works within 128-bit halves, so the quarters come out as 0 2 1 3.
    let narrow = |a, b| _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(a, b));
    collect_u8(&[narrow(lanes[0], lanes[1]), narrow(lanes[2], lanes[3])])
}

/// One bit per lane of the eight registers of 32-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn collect_u32(lanes: &[__m256i; 8]) -> u64 {
    let mut word = 0;
    for (i, lanes) in lanes.iter().enumerate() {
        word |= (_mm256_movemask_ps(_mm256_castsi256_ps(*lanes)) as u64) << (i * 8);
    }
    word
}

/// One bit per lane of the sixteen registers of 64-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn collect_u64(lanes: &[__m256i; 16]) -> u64 {
    let mut word = 0;
    for (i, lanes) in lanes.iter().enumerate() {
        word |= (_mm256_movemask_pd(_mm256_castsi256_pd(*lanes)) as u64) << (i * 4);
    }
    word
}

macro_rules! lanes {
    ($range:ident, $equal_any:ident, $code:ty, $signed:ty, $lanes:literal, $registers:literal, $set:ident, $subtract:ident, $at_most:ident, $equal:ident, $collect:ident) => {
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        pub(super) fn $range(codes: &[$code; 64], low: $code, span: $code) -> u64 {
            let (low, span) = ($set(low as $signed), $set(span as $signed));
            let mut results = [_mm256_setzero_si256(); $registers];
            for (result, codes) in results.iter_mut().zip(codes.as_chunks::<$lanes>().0) {
                // SAFETY: the chunk has the 32 bytes of a register; the load asks for no alignment.
                let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
                *result = $at_most($subtract(codes, low), span);
            }
            $collect(&results)
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        pub(super) fn $equal_any(codes: &[$code; 64], values: &[$code]) -> u64 {
            let mut results = [_mm256_setzero_si256(); $registers];
            for (result, codes) in results.iter_mut().zip(codes.as_chunks::<$lanes>().0) {
                // SAFETY: the chunk has the 32 bytes of a register; the load asks for no alignment.
                let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
                for &value in values {
                    *result = _mm256_or_si256(*result, $equal(codes, $set(value as $signed)));
                }
            }
            $collect(&results)
        }
    };
}

lanes!(
    range_u8,
    equal_any_u8,
    u8,
    i8,
    32,
    2,
    _mm256_set1_epi8,
    _mm256_sub_epi8,
    at_most_u8,
    _mm256_cmpeq_epi8,
    collect_u8
);
lanes!(
    range_u16,
    equal_any_u16,
    u16,
    i16,
    16,
    4,
    _mm256_set1_epi16,
    _mm256_sub_epi16,
    at_most_u16,
    _mm256_cmpeq_epi16,
    collect_u16
);
lanes!(
    range_u32,
    equal_any_u32,
    u32,
    i32,
    8,
    8,
    _mm256_set1_epi32,
    _mm256_sub_epi32,
    at_most_u32,
    _mm256_cmpeq_epi32,
    collect_u32
);
lanes!(
    range_u64,
    equal_any_u64,
    u64,
    i64,
    4,
    16,
    _mm256_set1_epi64x,
    _mm256_sub_epi64,
    at_most_u64,
    _mm256_cmpeq_epi64,
    collect_u64
);
