//! Pairs of sixteen links at once, compressed.

use super::{NONE, Room, scalar};
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn found(links: &[u32], first: u32, probe: Room<'_>, build: Room<'_>) -> usize {
    let (whole, rest) = links.as_chunks::<16>();
    let none = _mm512_set1_epi32(NONE as i32);
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let (mut keys, sixteen) = (_mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32)), _mm512_set1_epi32(16));
    let mut count = 0;
    for links in whole {
        // SAFETY: the chunk has sixteen links, each place in the rooms is sliced to sixteen, and nothing asks for alignment.
        unsafe {
            let links = _mm512_loadu_si512(links.as_ptr().cast());
            let mask = _mm512_cmpneq_epi32_mask(links, none);
            // Whole registers are written and not the compressed lanes alone, which takes dozens of cycles on Zen 4 and 5.
            let keys = _mm512_maskz_compress_epi32(mask, keys);
            _mm512_storeu_si512(probe[count..][..16].as_mut_ptr().cast(), keys);
            _mm512_storeu_si512(build[count..][..16].as_mut_ptr().cast(), _mm512_maskz_compress_epi32(mask, links));
            count += mask.count_ones() as usize;
        }
        keys = _mm512_add_epi32(keys, sixteen);
    }
    let first = first + (links.len() - rest.len()) as u32;
    count + scalar::found(rest, first, &mut probe[count..], &mut build[count..])
}
