//! Unpacking eight codes of up to 32 bits at a time: eight codes are `width` bytes, which one register holds, and each
//! lane shifts the pair of 32-bit words that its code lies in.

use super::scalar;
use crate::Code;
use std::arch::x86_64::*;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<C: Code>(bytes: &[u8], width: u32, base: C, out: &mut [C]) {
    if width > 32 {
        return scalar::unpack(bytes, width, base, out);
    }
    let width = width as usize;
    let first_bits = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(width as i32));
    let word = _mm256_srli_epi32::<5>(first_bits);
    // A code in the last word ends there: what it takes from a next one is masked away.
    let next = _mm256_min_epu32(_mm256_add_epi32(word, _mm256_set1_epi32(1)), _mm256_set1_epi32(7));
    let right = _mm256_and_si256(first_bits, _mm256_set1_epi32(31));
    let left = _mm256_sub_epi32(_mm256_set1_epi32(32), right);
    let mask = _mm256_set1_epi32((u32::MAX >> (32 - width)) as i32);

    for (group, codes) in out.chunks_mut(8).enumerate() {
        let rest = &bytes[group * width..];
        let packed = match rest.first_chunk::<32>() {
            Some(packed) => *packed,
            None => {
                let mut packed = [0; 32];
                packed[..rest.len()].copy_from_slice(rest);
                packed
            }
        };
        // SAFETY: the array has the 32 bytes of a register, and the load asks for no alignment.
        let packed = unsafe { _mm256_loadu_si256(packed.as_ptr().cast()) };
        let low = _mm256_srlv_epi32(_mm256_permutevar8x32_epi32(packed, word), right);
        let high = _mm256_sllv_epi32(_mm256_permutevar8x32_epi32(packed, next), left);
        let group = _mm256_and_si256(_mm256_or_si256(low, high), mask);
        if let Some(codes) = codes.first_chunk_mut::<8>() {
            store(group, base, codes);
        } else {
            let mut all = [C::default(); 8];
            store(group, base, &mut all);
            codes.copy_from_slice(&all[..codes.len()]);
        }
    }
}

/// Eight lanes of 32 bits plus `base`, narrowed or widened to codes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn store<C: Code>(group: __m256i, base: C, codes: &mut [C; 8]) {
    let base = base.to_u64();
    let sum = _mm256_add_epi32(group, _mm256_set1_epi32(base as i32));
    let out = codes.as_mut_ptr();
    // The wanted bytes of each 128-bit half, moved to its start.
    let narrow = |bytes: __m128i| {
        let halves = _mm256_shuffle_epi8(sum, _mm256_broadcastsi128_si256(bytes));
        (_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves))
    };
    // SAFETY: each arm writes eight integers of as many bits as a code has (`Code` is sealed to the four widths), to an
    // array of eight codes; the stores ask for no alignment.
    unsafe {
        match C::BITS {
            8 => {
                let (low, high) = narrow(_mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
                _mm_storeu_si64(out.cast(), _mm_unpacklo_epi32(low, high));
            }
            16 => {
                let (low, high) = narrow(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1));
                _mm_storeu_si128(out.cast(), _mm_unpacklo_epi64(low, high));
            }
            32 => _mm256_storeu_si256(out.cast(), sum),
            _ => {
                let base = _mm256_set1_epi64x(base as i64);
                let low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(group));
                let high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256::<1>(group));
                _mm256_storeu_si256(out.cast(), _mm256_add_epi64(low, base));
                _mm256_storeu_si256(out.add(4).cast(), _mm256_add_epi64(high, base));
            }
        }
    }
}
