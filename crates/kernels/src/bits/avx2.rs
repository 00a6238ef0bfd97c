//! Bit vectors with AVX2: words with few bits are listed first and then taken bit by bit, others go by a table of 256
//! permutations, which turns a byte of bits into TIDs.

use super::parts::{PART, in_parts};
use super::scalar;
use std::arch::x86_64::*;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn count(bits: &[u64]) -> usize {
    scalar::count(bits)
}

/// For each byte the numbers of its set bits, ascending.
static POSITIONS: [[u8; 8]; 256] = positions();
/// For each four bits the same, in 16 bits each, the first in the lowest.
static FOURS: [u64; 16] = fours();

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

const fn fours() -> [u64; 16] {
    let mut table = [0; 16];
    let mut four = 0;
    while four < 16 {
        let mut found = 0;
        while found < 4 {
            table[four] |= (POSITIONS[four][found] as u64) << (16 * found);
            found += 1;
        }
        four += 1;
    }
    table
}

/// Bits in eight words up to which three and four bits a word are written without asking whether they are there; beyond,
/// too many words have more (Zen 5).
const THREE: usize = 8;
const FOUR: usize = 18;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn to_tids(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    let mut numbers = [0; PART + 4];
    // SAFETY: the functions are these that `in_parts` asks for, and their target features are those of this one.
    unsafe {
        in_parts(bits, base, out, scalar::count, |part, first, expected, place| {
            if expected <= THREE {
                by_bits::<3>(part, &mut numbers, first, place)
            } else if expected <= FOUR {
                by_bits::<4>(part, &mut numbers, first, place)
            } else {
                by_bytes(part, first, place)
            }
        });
    }
}

/// Writes the TIDs of a part, `FEW` bits of each word that has any without a branch on how many there are, which would
/// go wrong at every other word of random bits. Gives the place behind them.
///
/// # Safety
/// There are at most [`PART`] words, and `place` has room for the TIDs and `FEW` more.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn by_bits<const FEW: usize>(
    part: &[u64],
    numbers: &mut [u16; PART + 4],
    first: u32,
    place: *mut u32,
) -> *mut u32 {
    let mut end = place;
    // SAFETY: the caller's.
    for &number in unsafe { with_bits(part, numbers) } {
        let word = part[usize::from(number)];
        let first = first.wrapping_add(u32::from(number) * 64);
        let (mut rest, count) = (word, word.count_ones() as usize);
        for i in 0..FEW {
            // SAFETY: at most the bits of the words before came before these, so that there is room for `FEW` more.
            unsafe { end.add(i).write(first.wrapping_add(rest.trailing_zeros())) };
            rest &= rest.wrapping_sub(1);
        }
        if count > FEW {
            let mut more = FEW;
            scalar::each_bit(rest, |bit| {
                // SAFETY: there is room for all bits of the word.
                unsafe { end.add(more).write(first.wrapping_add(bit)) };
                more += 1;
            });
        }
        // SAFETY: as many TIDs were written.
        end = unsafe { end.add(count) };
    }
    end
}

/// The numbers of the words that are not zero, in a scratch.
///
/// # Safety
/// There are at most [`PART`] words.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn with_bits<'a>(part: &[u64], numbers: &'a mut [u16; PART + 4]) -> &'a [u16] {
    let (fours, rest) = part.as_chunks::<4>();
    let mut length = 0;
    for (i, four) in fours.iter().enumerate() {
        // SAFETY: four words are there; the load asks for no alignment.
        let words = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
        let zero = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(words, _mm256_setzero_si256())));
        let set = zero as usize ^ 15;
        // No number exceeds 16 bits, so that four are added at once.
        let these = FOURS[set] + i as u64 * 0x0004_0004_0004_0004;
        // SAFETY: fewer than `PART` words came before, and there are four places more than that.
        unsafe { numbers.as_mut_ptr().add(length).cast::<u64>().write_unaligned(these) };
        length += set.count_ones() as usize;
    }
    for (i, word) in (fours.len() * 4..).zip(rest) {
        numbers[length] = i as u16;
        length += usize::from(*word != 0);
    }
    &numbers[..length]
}

/// Writes the TIDs of a part byte by byte, and gives the place behind them.
///
/// # Safety
/// `place` has room for the TIDs and eight more.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn by_bytes(part: &[u64], first: u32, place: *mut u32) -> *mut u32 {
    let mut end = place;
    let (mut first, eight) = (_mm256_set1_epi32(first as i32), _mm256_set1_epi32(8));
    for &word in part {
        let counts = counts_of_bytes(word);
        // The number of bits that are set before each byte, a byte each: stores then needn't wait for each other's counts.
        let before = counts.wrapping_mul(0x0101_0101_0101_0101) << 8;
        let any_above_four = (counts + 0x0303_0303_0303_0303) & 0x0808_0808_0808_0808 != 0;
        for byte in 0..8 {
            let positions = &POSITIONS[usize::from((word >> (byte * 8)) as u8)];
            let before = usize::from((before >> (byte * 8)) as u8);
            // SAFETY: eight positions are there. At most the bits that are set before this byte came before its own, so
            // there is room for eight more. Nothing asks for alignment.
            unsafe {
                let to = end.add(before);
                if any_above_four {
                    let positions = _mm256_cvtepu8_epi32(_mm_loadl_epi64(positions.as_ptr().cast()));
                    _mm256_storeu_si256(to.cast(), _mm256_add_epi32(positions, first));
                } else {
                    // Half a register seldom lies across two cache lines, which costs more than the rest.
                    let positions = _mm_cvtepu8_epi32(_mm_loadu_si32(positions.as_ptr().cast()));
                    _mm_storeu_si128(to.cast(), _mm_add_epi32(positions, _mm256_castsi256_si128(first)));
                }
            }
            first = _mm256_add_epi32(first, eight);
        }
        // SAFETY: as many TIDs were written.
        end = unsafe { end.add(word.count_ones() as usize) };
    }
    end
}

/// The number of bits that are set in each byte of a word, a byte each.
#[inline(always)]
fn counts_of_bytes(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    (fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f
}
