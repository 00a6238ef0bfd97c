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
        // SAFETY: a register of eight 32-bit lanes has the size of eight `u32`, and all bits of both mean something.
        let group: [u32; 8] = unsafe { std::mem::transmute(group) };
        if let Some(codes) = codes.first_chunk_mut::<8>() {
            *codes = group.map(|code| base.wrapping_add(C::truncate(u64::from(code))));
        } else {
            for (out, code) in codes.iter_mut().zip(group) {
                *out = base.wrapping_add(C::truncate(u64::from(code)));
            }
        }
    }
}
