//! Bit vectors with AVX-512: compress turns bits into TIDs, where the machine has VBMI2 those of a word or, while they are
//! few, of eight words at once.

use super::parts::in_parts;
use super::scalar::{self, FEW, RARE};
use crate::compress;
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn count(bits: &[u64]) -> usize {
    scalar::count(bits)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn to_tids(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    if is_x86_feature_detected!("avx512vbmi2") && is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: this function's own target features exist, and those two.
        unsafe { by_words(bits, base, out) }
    } else {
        by_lanes(bits, count(bits), base, out);
    }
}

/// Bits in eight words up to which two, three and four bits of each word are taken for all eight words at once. Beyond,
/// a word with more comes too often to be foreseen (Zen 5).
const TWO: usize = 2;
const THREE: usize = 6;
const FOUR: usize = 12;

/// [`to_tids`] with VBMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt")]
fn by_words(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    // SAFETY: the functions are these that `in_parts` asks for, and their target features are those of this one.
    unsafe {
        in_parts(bits, base, out, scalar::count, |part, first, expected, place| {
            let first = _mm512_set1_epi32(first as i32);
            if expected <= TWO {
                write_blocks::<2>(part, first, place)
            } else if expected <= THREE {
                write_blocks::<3>(part, first, place)
            } else if expected <= FOUR {
                write_blocks::<4>(part, first, place)
            } else {
                write_words(part, first, place)
            }
        });
    }
}

/// Writes the TIDs of words, the first of which would be `first`, eight words at a time unless one of them has more than
/// `BITS` bits. Gives the place behind them.
///
/// # Safety
/// `place` has room for the TIDs and 64 more, here and below.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt")]
unsafe fn write_blocks<const BITS: usize>(words: &[u64], first: __m512i, place: *mut u32) -> *mut u32 {
    let (blocks, rest) = words.as_chunks::<8>();
    let (mut first, mut end) = (first, place);
    for block in blocks {
        // SAFETY: at most the TIDs of the words before were written, so there is room for 64 more.
        end = unsafe {
            match few_bits_a_word::<BITS>(block) {
                Some((numbers, count)) => {
                    let write = |part: usize, numbers| {
                        let tids = _mm512_add_epi32(first, _mm512_cvtepu16_epi32(numbers));
                        _mm512_storeu_si512(end.add(part * 16).cast(), tids);
                    };
                    write(0, _mm512_castsi512_si256(numbers));
                    if BITS > 2 && count > 16 {
                        write(1, _mm512_extracti64x4_epi64::<1>(numbers));
                    }
                    end.add(count)
                }
                None => write_words(block, first, end),
            }
        };
        first = _mm512_add_epi32(first, _mm512_set1_epi32(512));
    }
    // SAFETY: as above.
    unsafe { write_words(rest, first, end) }
}

/// The numbers of the bits of eight words, 16 bits each, and how many they are, unless a word has more than `BITS`, which
/// is from two to four.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt")]
fn few_bits_a_word<const BITS: usize>(block: &[u64; 8]) -> Option<(__m512i, usize)> {
    // SAFETY: eight words are there; the load asks for no alignment.
    let words = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    // The number of the lowest set bit of each word, 64 where there is none, and the words without that bit.
    let take = |words| {
        let less = _mm512_add_epi64(words, _mm512_set1_epi64(-1));
        (_mm512_popcnt_epi64(_mm512_andnot_si512(words, less)), _mm512_and_si512(words, less))
    };
    let none = _mm512_set1_epi64(64);
    let (first, rest) = take(words);
    let (second, rest) = take(rest);
    let (third, rest) = if BITS > 2 { take(rest) } else { (none, rest) };
    let (fourth, rest) = if BITS > 3 { take(rest) } else { (none, rest) };
    if _mm512_test_epi64_mask(rest, rest) != 0 {
        return None;
    }
    let low = _mm512_or_si512(first, _mm512_slli_epi64::<16>(second));
    let high = _mm512_or_si512(_mm512_slli_epi64::<32>(third), _mm512_slli_epi64::<48>(fourth));
    let numbers = _mm512_or_si512(low, high);
    let set = _mm512_cmplt_epi16_mask(numbers, _mm512_set1_epi16(64));
    static BEFORE: [u16; 32] = {
        let (mut before, mut i) = ([0; 32], 0);
        while i < 32 {
            before[i] = (i / 4 * 64) as u16;
            i += 1;
        }
        before
    };
    // SAFETY: 64 bytes are there; the load asks for no alignment.
    let before = unsafe { _mm512_loadu_si512(BEFORE.as_ptr().cast()) };
    Some((compress::short_lanes(set, _mm512_add_epi16(numbers, before)), set.count_ones() as usize))
}

/// Writes the TIDs of words, the first of which would be `first`, word by word. Gives the place behind them.
///
/// # Safety
/// As for [`write_blocks`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt")]
unsafe fn write_words(words: &[u64], first: __m512i, place: *mut u32) -> *mut u32 {
    let (mut first, mut end) = (first, place);
    for word in words {
        let numbers = compress::numbers(word);
        let count = word.count_ones() as usize;
        // SAFETY: at most the TIDs of the words before were written, so there is room for 64 more, of which each part is
        // 16.
        unsafe {
            let write = |part: usize, numbers| {
                let tids = _mm512_add_epi32(first, _mm512_cvtepu8_epi32(numbers));
                _mm512_storeu_si512(end.add(part * 16).cast(), tids);
            };
            write(0, _mm512_castsi512_si128(numbers));
            if count > 16 {
                write(1, _mm512_extracti32x4_epi32::<1>(numbers));
                write(2, _mm512_extracti32x4_epi32::<2>(numbers));
            }
            if count > 48 {
                write(3, _mm512_extracti32x4_epi32::<3>(numbers));
            }
            end = end.add(count);
        }
        first = _mm512_add_epi32(first, _mm512_set1_epi32(64));
    }
    end
}

/// [`to_tids`] for `all` bits that are set, sixteen lanes at a time: for machines without VBMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn by_lanes(bits: &[u64], all: usize, base: u32, out: &mut Vec<u32>) {
    // Each step stores sixteen lanes, of which those past the set bits are overwritten later or never counted. (Storing
    // just the compressed lanes is far slower on some machines.)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    /// Machines that have VBMI2 take the other way, which the crate's tests hold against the scalar one.
    #[test]
    fn lanes_tell_the_same_tids() {
        if Isa::best() < Isa::Avx512 {
            return;
        }
        for set in [0, 1, 4, 5, 16, 17, 48, 63, 64] {
            let word = if set == 64 { u64::MAX } else { (1 << set) - 1 };
            let bits: Vec<u64> = (0..40).map(|i| if i % 3 == 2 { 0 } else { word.rotate_left(7 * i) }).collect();
            let (mut tids, mut expected) = (vec![5], vec![5]);
            scalar::to_tids(&bits, 100, &mut expected);
            // SAFETY: the machine has AVX-512.
            unsafe { by_lanes(&bits, count(&bits), 100, &mut tids) };
            assert_eq!(tids, expected, "{set} bits a word");
        }
    }
}
