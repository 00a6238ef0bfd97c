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
    if all < bits.len() * MANY.0 / MANY.1 {
        by_words::<true>(bits, all, base, out)
    } else {
        by_words::<false>(bits, all, base, out)
    }
}

/// Bits in so many words from which on no word is taken bit by bit: those with few bits are then too many to be foreseen
/// and too few to gain by.
const MANY: (usize, usize) = (5, 2);

/// [`to_tids`] for `all` bits that are set, words with few of them bit by bit if `FEWER`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn by_words<const FEWER: bool>(bits: &[u64], all: usize, base: u32, out: &mut Vec<u32>) {
    let length = out.len();
    // SAFETY: the length is within the capacity.
    let mut end = unsafe { out.as_mut_ptr().add(length) };
    for (i, &word) in bits.iter().enumerate() {
        let first = base.wrapping_add((i * 64) as u32);
        let count = word.count_ones();
        if FEWER && count <= FEW {
            let few = scalar::few_bits(word).map(|bit| first.wrapping_add(bit));
            // SAFETY: at most the counted bits were appended before these, so there is room for eight more.
            unsafe { end.cast::<[u32; FEW as usize]>().write_unaligned(few) };
        } else {
            let before = before_bytes(word);
            let first = _mm256_set1_epi32(first as i32);
            for byte in 0..8 {
                let positions = u64::from_le_bytes(POSITIONS[usize::from((word >> (byte * 8)) as u8)]);
                let positions = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(positions as i64));
                let first = _mm256_add_epi32(first, _mm256_set1_epi32(byte * 8));
                let before = usize::from((before >> (byte * 8)) as u8);
                // SAFETY: at most the counted bits were appended before this byte's, so there is room for eight more.
                unsafe { _mm256_storeu_si256(end.add(before).cast(), _mm256_add_epi32(positions, first)) };
            }
        }
        // SAFETY: as many TIDs were appended.
        end = unsafe { end.add(count as usize) };
    }
    // SAFETY: as many elements as bits are set were written from the old length on, all within the reserved capacity.
    unsafe { out.set_len(length + all) };
}

/// The number of bits that are set before each byte of a word, a byte each: stores then needn't wait for each other's
/// counts.
#[inline(always)]
fn before_bytes(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let eights = (fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    eights.wrapping_mul(0x0101_0101_0101_0101) << 8
}
