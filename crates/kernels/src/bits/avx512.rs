//! Bit vectors with AVX-512: compress turns bits into TIDs, those of a word at once where the machine has VBMI2.

use super::scalar::{self, FEW, RARE};
use crate::compress;
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn count(bits: &[u64]) -> usize {
    scalar::count(bits)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn to_tids(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    let all = count(bits);
    if is_x86_feature_detected!("avx512vbmi2") && is_x86_feature_detected!("avx512cd") {
        // SAFETY: this function's own target features exist, and those two.
        unsafe { by_words(bits, all, base, out) }
    } else {
        by_lanes(bits, all, base, out);
    }
}

/// Up to so many bits in a word of eight the eight words are taken together: while words with more than two bits are
/// rare enough to be foreseen. (From there on words one by one are faster on Zen 5.)
const SPARSE: usize = 4;

/// [`to_tids`] for `all` bits that are set, a word or eight at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
fn by_words(bits: &[u64], all: usize, base: u32, out: &mut Vec<u32>) {
    // A word stores up to 64 lanes, of which those past its bits are overwritten later or never counted.
    out.reserve(all + 64);
    let length = out.len();
    // SAFETY: the length is within the capacity.
    let mut end = unsafe { out.as_mut_ptr().add(length) };
    let (blocks, rest) = bits.as_chunks::<8>();
    let sparse = all < blocks.len() * SPARSE;
    let mut first = _mm512_set1_epi32(base as i32);
    for block in blocks {
        if sparse && let Some((tids, count)) = two_bits_a_word(block, first) {
            // SAFETY: at most the counted bits were appended before these, so there is room for 64 more, here and below.
            unsafe {
                _mm512_storeu_si512(end.cast(), tids);
                end = end.add(count as usize);
            }
            first = _mm512_add_epi32(first, _mm512_set1_epi32(512));
            continue;
        }
        for word in block {
            // SAFETY: as above.
            end = unsafe { write_word(word, first, end) };
            first = _mm512_add_epi32(first, _mm512_set1_epi32(64));
        }
    }
    for word in rest {
        // SAFETY: as above.
        end = unsafe { write_word(word, first, end) };
        first = _mm512_add_epi32(first, _mm512_set1_epi32(64));
    }
    // SAFETY: as many elements as bits are set were written from the old length on, all within the reserved capacity.
    unsafe { out.set_len(length + all) };
}

/// The TIDs of eight words from `first` on, and how many they are, unless a word has more than two.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
fn two_bits_a_word(block: &[u64; 8], first: __m512i) -> Option<(__m512i, u32)> {
    // Without the lowest set bit.
    let further = |words| _mm512_and_si512(words, _mm512_add_epi64(words, _mm512_set1_epi64(-1)));
    // SAFETY: eight words are there; the load asks for no alignment.
    let words = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let second = further(words);
    let third = further(second);
    if _mm512_test_epi64_mask(third, third) != 0 {
        return None;
    }
    // Two lanes for each word: the zeros above its first set bit and above the second, 64 where there is none.
    let lowest = _mm512_andnot_si512(second, words);
    let above = _mm512_slli_epi64::<32>(_mm512_lzcnt_epi64(second));
    let above = _mm512_or_si512(_mm512_lzcnt_epi64(lowest), above);
    let set = _mm512_cmplt_epi32_mask(above, _mm512_set1_epi32(64));
    let last = _mm512_setr_epi32(63, 63, 127, 127, 191, 191, 255, 255, 319, 319, 383, 383, 447, 447, 511, 511);
    let tids = _mm512_sub_epi32(_mm512_add_epi32(first, last), above);
    Some((compress::lanes(set, tids), set.count_ones()))
}

/// Writes the TIDs of a word's bits, the first of which would be `first`, and gives where the next ones belong.
///
/// # Safety
/// There is room for 64 TIDs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
unsafe fn write_word(word: &u64, first: __m512i, to: *mut u32) -> *mut u32 {
    let numbers = compress::numbers(word);
    let count = word.count_ones() as usize;
    // SAFETY: each part is 16 TIDs of the room.
    let write = |part: usize, numbers| unsafe {
        let tids = _mm512_add_epi32(first, _mm512_cvtepu8_epi32(numbers));
        _mm512_storeu_si512(to.add(part * 16).cast(), tids);
    };
    write(0, _mm512_castsi512_si128(numbers));
    if count > 16 {
        write(1, _mm512_extracti32x4_epi32::<1>(numbers));
        write(2, _mm512_extracti32x4_epi32::<2>(numbers));
    }
    if count > 48 {
        write(3, _mm512_extracti32x4_epi32::<3>(numbers));
    }
    // SAFETY: as many of the room's TIDs were written.
    unsafe { to.add(count) }
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
