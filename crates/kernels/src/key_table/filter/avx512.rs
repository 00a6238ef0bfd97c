//! Filters of eight hashes at once: words by a gather, places by shifts, the numbers that pass by a compression.

use super::{FilterBits, scalar};
use crate::hash::Key;
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn select<K: Key>(bits: &FilterBits, hashes: &[K], first: u32, passed: &mut [u32]) -> usize {
    let (whole, rest) = hashes.as_chunks::<8>();
    let last = _mm512_set1_epi64(bits.words.len() as i64 - 1);
    let shift = _mm_cvtsi32_si128(bits.shift as i32);
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let (mut keys, eight) = (_mm256_add_epi32(lanes, _mm256_set1_epi32(first as i32)), _mm256_set1_epi32(8));
    let mut count = 0;
    for hashes in whole {
        // SAFETY: the chunk has eight hashes, of 32 or 64 bits (`Key` is sealed); the place in `passed` is sliced to eight;
        // nothing asks for alignment. The gather's numbers are masked by one less than the number of words, a power of
        // two.
        unsafe {
            let hashes = match K::BITS {
                32 => _mm512_cvtepu32_epi64(_mm256_loadu_si256(hashes.as_ptr().cast())),
                _ => _mm512_loadu_si512(hashes.as_ptr().cast()),
            };
            let numbers = _mm512_and_si512(_mm512_srl_epi64(hashes, shift), last);
            let words = _mm512_i64gather_epi64::<8>(numbers, bits.words.as_ptr().cast());
            let passing = _mm512_testn_epi64_mask(_mm512_andnot_si512(words, places(hashes)), _mm512_set1_epi64(-1));
            let compressed = _mm256_maskz_compress_epi32(passing, keys);
            _mm256_storeu_si256(passed[count..][..8].as_mut_ptr().cast(), compressed);
            count += passing.count_ones() as usize;
        }
        keys = _mm256_add_epi32(keys, eight);
    }
    let first = first + (hashes.len() - rest.len()) as u32;
    count + scalar::select(bits, rest, first, &mut passed[count..])
}

/// The three bits of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn places(hashes: __m512i) -> __m512i {
    let (one, low) = (_mm512_set1_epi64(1), _mm512_set1_epi64(63));
    let bit = |hashes| _mm512_sllv_epi64(one, _mm512_and_si512(hashes, low));
    let second = bit(_mm512_srli_epi64::<6>(hashes));
    let third = bit(_mm512_srli_epi64::<12>(hashes));
    _mm512_or_si512(bit(hashes), _mm512_or_si512(second, third))
}
