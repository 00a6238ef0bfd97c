//! Unpacking sixteen codes of up to 32 bits, or eight wider ones, at a time: their bytes fit one register, and each
//! lane shifts the pair of words that its code lies in.

use crate::Code;
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<C: Code>(bytes: &[u8], width: u32, base: C, out: &mut [C]) {
    if width <= 32 {
        unpack_narrow(bytes, width as usize, base, out);
    } else {
        unpack_wide(bytes, width as usize, base, out);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn unpack_narrow<C: Code>(bytes: &[u8], width: usize, base: C, out: &mut [C]) {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let first_bits = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(width as i32));
    let word = _mm512_srli_epi32::<5>(first_bits);
    // A code in the last word ends there: what it takes from a next one is masked away.
    let next = _mm512_min_epu32(_mm512_add_epi32(word, _mm512_set1_epi32(1)), _mm512_set1_epi32(15));
    let right = _mm512_and_si512(first_bits, _mm512_set1_epi32(31));
    let left = _mm512_sub_epi32(_mm512_set1_epi32(32), right);
    let mask = _mm512_set1_epi32((u32::MAX >> (32 - width)) as i32);

    for (group, codes) in out.chunks_mut(16).enumerate() {
        let packed = load(&bytes[group * 2 * width..]);
        let low = _mm512_srlv_epi32(_mm512_permutexvar_epi32(word, packed), right);
        let high = _mm512_sllv_epi32(_mm512_permutexvar_epi32(next, packed), left);
        let group = _mm512_and_si512(_mm512_or_si512(low, high), mask);
        if let Some(codes) = codes.first_chunk_mut::<16>() {
            store(group, base, codes);
        } else {
            let mut all = [C::default(); 16];
            store(group, base, &mut all);
            codes.copy_from_slice(&all[..codes.len()]);
        }
    }
}

/// Sixteen lanes of 32 bits plus `base`, narrowed or widened to codes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn store<C: Code>(group: __m512i, base: C, codes: &mut [C; 16]) {
    let base = base.to_u64();
    let sum = _mm512_add_epi32(group, _mm512_set1_epi32(base as i32));
    let out = codes.as_mut_ptr();
    // SAFETY: each arm writes sixteen integers of as many bits as a code has (`Code` is sealed to the four widths), to
    // an array of sixteen codes; the stores ask for no alignment.
    unsafe {
        match C::BITS {
            8 => _mm_storeu_si128(out.cast(), _mm512_cvtepi32_epi8(sum)),
            16 => _mm256_storeu_si256(out.cast(), _mm512_cvtepi32_epi16(sum)),
            32 => _mm512_storeu_si512(out.cast(), sum),
            _ => {
                let base = _mm512_set1_epi64(base as i64);
                let low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(group));
                let high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(group));
                _mm512_storeu_si512(out.cast(), _mm512_add_epi64(low, base));
                _mm512_storeu_si512(out.add(8).cast(), _mm512_add_epi64(high, base));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn unpack_wide<C: Code>(bytes: &[u8], width: usize, base: C, out: &mut [C]) {
    let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let first_bits = _mm512_mullo_epi64(lanes, _mm512_set1_epi64(width as i64));
    let word = _mm512_srli_epi64::<6>(first_bits);
    let next = _mm512_min_epu64(_mm512_add_epi64(word, _mm512_set1_epi64(1)), _mm512_set1_epi64(7));
    let right = _mm512_and_si512(first_bits, _mm512_set1_epi64(63));
    let left = _mm512_sub_epi64(_mm512_set1_epi64(64), right);
    let mask = _mm512_set1_epi64((u64::MAX >> (64 - width)) as i64);

    for (group, codes) in out.chunks_mut(8).enumerate() {
        let packed = load(&bytes[group * width..]);
        let low = _mm512_srlv_epi64(_mm512_permutexvar_epi64(word, packed), right);
        let high = _mm512_sllv_epi64(_mm512_permutexvar_epi64(next, packed), left);
        let group = _mm512_and_si512(_mm512_or_si512(low, high), mask);
        // SAFETY: a register of 8 lanes of 64 bits has the size of 8 `u64`, and all bits of both mean something.
        let group: [u64; 8] = unsafe { std::mem::transmute(group) };
        for (out, code) in codes.iter_mut().zip(group) {
            *out = base.wrapping_add(C::truncate(code));
        }
    }
}

/// The first 64 bytes of `bytes`, with zeros when there are fewer.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn load(bytes: &[u8]) -> __m512i {
    let mask = if bytes.len() >= 64 { u64::MAX } else { (1 << bytes.len()) - 1 };
    // SAFETY: the mask is set only for bytes of the slice; the others are not read.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}
