//! Bit vectors with AVX2: how TIDs are found depends on how many bits words have.

use super::halves::{self, Halves};
use super::parts::in_parts;
use super::scalar;
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

/// Bits in eight words up to which halves of words that have any are taken two bits at a time, four bits, and all halves eight
/// bits: 1.3 %, 5.6 % and 13 % of all. Beyond, a table of bytes is faster (Zen 3).
const TWOS: usize = 6;
const FOURS: usize = 28;
const EIGHTS: usize = 67;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn to_tids(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    let mut list = Halves::new();
    // SAFETY: the functions are these that `in_parts` asks for, and their target features are those of this one.
    unsafe {
        in_parts(bits, base, out, scalar::count, |part, first, expected, place| {
            if expected <= TWOS {
                halves::listed::<{ halves::TWO }>(part, &mut list, first, place)
            } else if expected <= FOURS {
                halves::listed::<{ halves::FOUR }>(part, &mut list, first, place)
            } else if expected <= EIGHTS {
                halves::in_place(part, first, place)
            } else {
                by_bytes(part, first, place)
            }
        });
    }
}

/// Writes the TIDs of a part byte by byte, and gives the place behind them.
///
/// # Safety
/// `place` has room for the TIDs and eight more.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) unsafe fn by_bytes(part: &[u64], first: u32, place: *mut u32) -> *mut u32 {
    let mut end = place;
    let (mut first, eight) = (_mm256_set1_epi32(first as i32), _mm256_set1_epi32(8));
    for word in part {
        for byte in word.to_le_bytes() {
            // SAFETY: eight positions are there. At most the bits before this byte came before its own, as many of which
            // are written as it has bits, so that there is room for eight more. Nothing asks for alignment.
            unsafe {
                let positions = _mm256_cvtepu8_epi32(_mm_loadl_epi64(POSITIONS[usize::from(byte)].as_ptr().cast()));
                _mm256_storeu_si256(end.cast(), _mm256_add_epi32(positions, first));
                end = end.add(byte.count_ones() as usize);
            }
            first = _mm256_add_epi32(first, eight);
        }
    }
    end
}
