//! Compression of lanes by a mask under AVX-512, into a register that is zeroed first. On Zen 5 the instruction waits for
//! what its target held before, though it keeps nothing of it: one after the other into the same register they take five
//! cycles each, and one and a half with the zero in between. Compilers leave the zero out.

use std::arch::asm;
use std::arch::x86_64::*;

/// The lanes of 16 bits whose bits are set, one after the other from lane 0 on, and zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub(crate) fn short_lanes(mask: __mmask32, lanes: __m512i) -> __m512i {
    let compressed;
    // SAFETY: the instruction is VBMI2's, and reads and writes the registers that are named alone.
    unsafe {
        asm!(
            "vpcompressw {to}{{{mask}}}{{z}}, {lanes}",
            to = inout(zmm_reg) _mm512_setzero_si512() => compressed,
            mask = in(kreg) mask,
            lanes = in(zmm_reg) lanes,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    compressed
}

/// The numbers of a word's set bits as bytes, ascending, and zeros. The mask comes from memory, since moving it over from
/// a general register costs another cycle (Zen 5).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub(crate) fn numbers(word: &u64) -> __m512i {
    static NUMBERS: [u8; 64] = {
        let (mut numbers, mut i) = ([0; 64], 0);
        while i < 64 {
            numbers[i] = i as u8;
            i += 1;
        }
        numbers
    };
    // SAFETY: 64 bytes are there; the load asks for no alignment.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let compressed;
    // SAFETY: the instructions are AVX-512BW's and VBMI2's, write the registers that are named alone, and read the word.
    unsafe {
        asm!(
            "kmovq {mask}, [{word}]",
            "vpcompressb {to}{{{mask}}}{{z}}, {numbers}",
            to = inout(zmm_reg) _mm512_setzero_si512() => compressed,
            mask = out(kreg) _,
            word = in(reg) word,
            numbers = in(zmm_reg) numbers,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    compressed
}
