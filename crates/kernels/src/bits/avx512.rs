//! Bit vectors with AVX-512: compress turns sixteen bits into TIDs.

use super::scalar::{self, FEW, RARE};
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn count(bits: &[u64]) -> usize {
    scalar::count(bits)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn to_tids(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    // Each step stores sixteen lanes, of which those past the set bits are overwritten later or never counted. (Storing
    // just the compressed lanes is far slower on some machines.)
    let all = count(bits);
    out.reserve(all + 16);
    if all < bits.len() / RARE {
        return scalar::to_tids(bits, base, out);
    }
    let mut length = out.len();
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (i, &word) in bits.iter().enumerate() {
        let first = base.wrapping_add((i * 64) as u32);
        let bits = word.count_ones();
        if bits <= FEW {
            let few = scalar::few_bits(word).map(|bit| first.wrapping_add(bit));
            // SAFETY: at most the counted bits were appended before these, so there is room for sixteen more.
            unsafe { out.as_mut_ptr().add(length).cast::<[u32; FEW as usize]>().write_unaligned(few) };
            length += bits as usize;
            continue;
        }
        for shift in [0, 16, 32, 48] {
            let group = (word >> shift) as u16;
            let first = _mm512_set1_epi32(first.wrapping_add(shift) as i32);
            let tids = _mm512_maskz_compress_epi32(group, _mm512_add_epi32(lanes, first));
            // SAFETY: at most the counted bits were appended before this group's, so there is room for sixteen more.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(length).cast(), tids) };
            length += group.count_ones() as usize;
        }
    }
    // SAFETY: as many elements as bits are set were written, all within the reserved capacity.
    unsafe { out.set_len(length) };
}
