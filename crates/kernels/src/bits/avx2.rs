//! Bit vectors with AVX2: a table of 256 permutations turns a byte of bits into TIDs.

use super::scalar::{self, FEW, RARE};
use std::arch::x86_64::*;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn count(bits: &[u64]) -> usize {
    scalar::count(bits)
}

/// For each byte the numbers of its set bits, ascending.
static POSITIONS: [[u8; 8]; 256] = positions();

const fn positions() -> [[u8; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut found) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn to_tids(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    // Each step stores eight lanes, of which those past the byte's bits are overwritten later or never counted.
    let all = count(bits);
    out.reserve(all + 8);
    if all < bits.len() / RARE {
        return scalar::to_tids(bits, base, out);
    }
    let mut length = out.len();
    for (i, &word) in bits.iter().enumerate() {
        let first = base.wrapping_add((i * 64) as u32);
        let bits = word.count_ones();
        if bits <= FEW {
            let few = scalar::few_bits(word).map(|bit| first.wrapping_add(bit));
            // SAFETY: at most the counted bits were appended before these, so there is room for eight more.
            unsafe { out.as_mut_ptr().add(length).cast::<[u32; FEW as usize]>().write_unaligned(few) };
            length += bits as usize;
            continue;
        }
        for (at, byte) in word.to_le_bytes().into_iter().enumerate() {
            let positions = u64::from_le_bytes(POSITIONS[usize::from(byte)]);
            let positions = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(positions as i64));
            let first = _mm256_set1_epi32(first.wrapping_add(at as u32 * 8) as i32);
            let tids = _mm256_add_epi32(positions, first);
            // SAFETY: at most the counted bits were appended before this byte's, so there is room for eight more.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(length).cast(), tids) };
            length += byte.count_ones() as usize;
        }
    }
    // SAFETY: as many elements as bits are set were written, all within the reserved capacity.
    unsafe { out.set_len(length) };
}
