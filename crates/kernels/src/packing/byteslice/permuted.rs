//! Lookups of TIDs that lie close together, with AVX-512 VBMI: sixteen of them are permuted out of the 128 rows from the
//! first one on, a slice at a time, instead of stitched one by one (ByteSlice paper, section 3.2).

use super::super::Tids;
use super::{Slices, avx2};
use crate::Code;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Rows in which so many TIDs lie, at most, on the average: beyond, sixteen too often reach past [`WINDOW`].
const SPARSE: usize = 6;
/// Rows that sixteen TIDs are permuted out of.
const WINDOW: usize = 128;
/// TIDs of a step.
const STEP: usize = 16;

/// Whether codes of so many slices fit the lanes of this file.
pub(super) fn fits(slices: usize) -> bool {
    slices <= 4 && is_x86_feature_detected!("avx512vbmi")
}

/// The codes at `tids`, of at most four slices.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<C: Code>(slices: Slices<'_, u8>, tids: Tids<'_>, out: &mut [MaybeUninit<C>]) {
    assert!(tids.rows() <= slices.rows, "TIDs of {} records in a run of {}", tids.rows(), slices.rows);
    match slices.count {
        1 => lookup_in::<C, 1>(slices, tids, out),
        2 => lookup_in::<C, 2>(slices, tids, out),
        3 => lookup_in::<C, 3>(slices, tids, out),
        _ => lookup_in::<C, 4>(slices, tids, out),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,bmi1,bmi2,popcnt")]
fn lookup_in<C: Code, const M: usize>(slices: Slices<'_, u8>, tids: Tids<'_>, out: &mut [MaybeUninit<C>]) {
    let all = tids.tids();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return };
    let rows = slices.units - slices.first;
    if last.wrapping_sub(*first) as usize > all.len() * SPARSE || rows < WINDOW {
        return avx2::lookup(slices, tids, out);
    }
    let starts = slices.starts::<M>(0);
    let padding = _mm_cvtsi32_si128(slices.padding as i32);
    let ((steps, _), (places, _)) = (all.as_chunks::<STEP>(), out.as_chunks_mut::<STEP>());
    for (i, (step, place)) in steps.iter().zip(places).enumerate() {
        let first = step[0] as usize;
        // SAFETY: sixteen TIDs are there; the load asks for no alignment.
        let rows_on = unsafe { _mm512_loadu_si512(step.as_ptr().cast()) };
        let rows_on = _mm512_sub_epi32(rows_on, _mm512_set1_epi32(first as i32));
        let near = _mm512_cmplt_epu32_mask(rows_on, _mm512_set1_epi32(WINDOW as i32)) == u16::MAX;
        if near && first <= rows - WINDOW {
            // SAFETY: each slice has the window's rows from the first TID on.
            let codes = unsafe { permute(&starts, first, rows_on) };
            store(_mm512_srl_epi32(codes, padding), place);
        } else {
            avx2::lookup(slices, tids.part(i * STEP..(i + 1) * STEP), place);
        }
    }
    let done = steps.len() * STEP;
    avx2::lookup(slices, tids.part(done..all.len()), &mut out[done..]);
}

/// The units of sixteen rows, `rows_on` rows from row `first` on, stitched together.
///
/// # Safety
/// The slices have [`WINDOW`] rows from the first on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,bmi1,bmi2,popcnt")]
unsafe fn permute<const M: usize>(starts: &[*const u8; M], first: usize, rows_on: __m512i) -> __m512i {
    let mut codes = _mm512_setzero_si512();
    for start in starts {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; the loads ask
        // for no alignment.
        let (low, high) =
            unsafe { (_mm512_loadu_si512(start.add(first).cast()), _mm512_loadu_si512(start.add(first + 64).cast())) };
        // The lowest byte of each lane.
        let units = _mm512_maskz_permutex2var_epi8(0x1111_1111_1111_1111, low, rows_on, high);
        codes = _mm512_or_si512(_mm512_slli_epi32::<8>(codes), units);
    }
    codes
}

/// Stores the low bits of sixteen lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,bmi1,bmi2,popcnt")]
fn store<C: Code>(codes: __m512i, out: &mut [MaybeUninit<C>; STEP]) {
    let out = out.as_mut_ptr();
    // SAFETY: there is room for sixteen codes of as many bits as are stored; the stores ask for no alignment.
    unsafe {
        match C::BITS {
            8 => _mm_storeu_si128(out.cast(), _mm512_cvtepi32_epi8(codes)),
            16 => _mm256_storeu_si256(out.cast(), _mm512_cvtepi32_epi16(codes)),
            32 => _mm512_storeu_si512(out.cast(), codes),
            _ => {
                _mm512_storeu_si512(out.cast(), _mm512_cvtepu32_epi64(_mm512_castsi512_si256(codes)));
                let high = _mm512_extracti64x4_epi64::<1>(codes);
                _mm512_storeu_si512(out.add(8).cast(), _mm512_cvtepu32_epi64(high));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use crate::packing::{self, Format, Packed, Packing};

    fn assert_codes<C: Code>(column: Packed<'_>, codes: &[u64], tids: &[u32]) {
        let mut out = vec![C::MAX];
        packing::lookup(Isa::Avx512, column, tids, &mut out);
        let expected = tids.iter().map(|tid| C::truncate(codes[*tid as usize]));
        assert!(out[1..].iter().copied().eq(expected), "{:?} to {} bits", column.format(), C::BITS);
    }

    /// TIDs with gaps and jumps, ascending and with each twenty turned round, so that steps are taken either way.
    #[test]
    fn close_rows_are_looked_up() {
        let rows = 3000;
        let mut state = 1u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % end
        };
        for width in 1..=32 {
            let format = Format::new(Packing::ByteSlice, width).unwrap();
            let codes: Vec<u64> = (0..rows).map(|_| below(1 << width)).collect();
            let mut bytes = Vec::new();
            packing::pack(Isa::Scalar, format, &codes, &mut bytes);
            let column = Packed::new(format, codes.len(), &bytes).unwrap();
            for step in [1, 2, 3, 6, 8, 40] {
                let (mut tids, mut at) = (Vec::new(), 0);
                while at < rows {
                    tids.push(at as u32);
                    at += if below(100) == 0 { 130 } else { below(step + 1) };
                }
                for _ in 0..2 {
                    match width {
                        1..=8 => assert_codes::<u8>(column, &codes, &tids),
                        9..=16 => assert_codes::<u16>(column, &codes, &tids),
                        _ => assert_codes::<u32>(column, &codes, &tids),
                    }
                    assert_codes::<u64>(column, &codes, &tids);
                    tids.chunks_mut(20).for_each(<[u32]>::reverse);
                }
            }
        }
    }
}
