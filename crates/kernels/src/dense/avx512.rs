//! The scalar loops compiled for AVX-512, and dictionaries that fit two registers looked up there.

use super::{Deltas, PageBits, Runs, scalar};
use crate::Code;
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn fields<C: Code>(bytes: &[u8], first: usize, stride: usize, width: u32, out: &mut [C]) {
    scalar::fields(bytes, first, stride, width, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn fields_at<C: Code>(bytes: &[u8], starts: &[u32], shift: usize, width: u32, out: &mut [C]) {
    scalar::fields_at(bytes, starts, shift, width, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn expand_runs<C: Code>(runs: Runs<'_>, skip: usize, out: &mut [C]) -> bool {
    scalar::expand_runs(runs, skip, out)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn sum_deltas(page: PageBits<'_>, deltas: Deltas, values: &mut [u64], starts: &mut [u32]) -> bool {
    scalar::sum_deltas(page, deltas, values, starts)
}

/// Every index names an entry.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn translate<C: Code>(indexes: &[u16], entries: &[C], out: &mut [C]) {
    match C::BITS {
        8 | 16 if entries.len() <= 64 => translate_words(indexes, entries, out),
        32 if entries.len() <= 32 => translate_doublewords(indexes, entries, out),
        _ => scalar::translate(indexes, entries, out),
    }
}

/// Codes of 8 or 16 bits, of at most 64 entries, 32 at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn translate_words<C: Code>(indexes: &[u16], entries: &[C], out: &mut [C]) {
    let mut words = [0_u16; 64];
    words.iter_mut().zip(entries).for_each(|(word, entry)| *word = entry.to_u64() as u16);
    // SAFETY: two loads of 64 bytes each of an array of 128; they ask for no alignment.
    let (low, high) =
        unsafe { (_mm512_loadu_si512(words.as_ptr().cast()), _mm512_loadu_si512(words.as_ptr().add(32).cast())) };
    let (indexes, rest) = indexes.as_chunks::<32>();
    let (out, out_rest) = out.split_at_mut(indexes.len() * 32);
    for (indexes, out) in indexes.iter().zip(out.chunks_exact_mut(32)) {
        let (from, to) = (indexes.as_ptr(), out.as_mut_ptr());
        // SAFETY: the load is of 32 integers of 16 bits, which `indexes` has; the store is of 32 codes of C::BITS bits, 8 or 16,
        // which `out` has as one of the chunks of 32. Neither asks for alignment.
        unsafe {
            let found = _mm512_permutex2var_epi16(low, _mm512_loadu_si512(from.cast()), high);
            match C::BITS {
                8 => _mm256_storeu_si256(to.cast(), _mm512_cvtepi16_epi8(found)),
                _ => _mm512_storeu_si512(to.cast(), found),
            }
        }
    }
    scalar::translate(rest, entries, out_rest);
}

/// Codes of 32 bits, of at most 32 entries, 16 at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn translate_doublewords<C: Code>(indexes: &[u16], entries: &[C], out: &mut [C]) {
    let mut words = [0_u32; 32];
    words.iter_mut().zip(entries).for_each(|(word, entry)| *word = entry.to_u64() as u32);
    // SAFETY: two loads of 64 bytes each of an array of 128; they ask for no alignment.
    let (low, high) =
        unsafe { (_mm512_loadu_si512(words.as_ptr().cast()), _mm512_loadu_si512(words.as_ptr().add(16).cast())) };
    let (indexes, rest) = indexes.as_chunks::<16>();
    let (out, out_rest) = out.split_at_mut(indexes.len() * 16);
    for (indexes, out) in indexes.iter().zip(out.chunks_exact_mut(16)) {
        // SAFETY: the load is of 16 integers of 16 bits, which `indexes` has; the store is of 16 codes of 32 bits, the only ones that
        // come here, which `out` has as one of the chunks of 16. Neither asks for alignment.
        unsafe {
            let places = _mm512_cvtepu16_epi32(_mm256_loadu_si256(indexes.as_ptr().cast()));
            _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_permutex2var_epi32(low, places, high));
        }
    }
    scalar::translate(rest, entries, out_rest);
}
