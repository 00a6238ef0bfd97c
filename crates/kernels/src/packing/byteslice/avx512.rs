//! ByteSlice with AVX-512: comparisons give mask registers, which are the result bits, and take one as a condition.

use super::super::test::{Comparison, Relation};
use super::super::{Format, Options, Tids};
use super::chain::{ChainScan, ScanPosition};
use super::order::Search;
use super::variants::Tail;
use super::vector::{Operand, Vector};
use super::{Slices, Term, Unit, Ways, avx2, bit_tail, chain, lists, permuted, scalar, stitch, terms};
use crate::Code;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan<U: Unit>(
    slices: Slices<'_, U>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    ways: Ways,
    out: &mut [u64],
) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { chain::scan::<U::Avx512>(slices, comparison, negate, options, ways, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan_any<U: Unit>(slices: Slices<'_, U>, values: &[u64], options: Options, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { lists::scan::<U::Avx512, 4>(slices, values, options, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn predicate_first<U: Unit>(terms: &[Term<'_, U>], all: bool, early_stop: bool, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { terms::evaluate::<U::Avx512>(terms, all, early_stop, out) }
}

/// The codes less than a constant of a column whose lowest bits lie bit by bit: a variant for experiments.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn less_with_tail(slices: Option<Slices<'_, u8>>, tail: Tail<'_>, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { bit_tail::less::<ByteVector>(slices, tail, out) }
}

/// The rows at which constants belong in a sorted column.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn search(search: Search<'_>, out: &mut [u32]) {
    // SAFETY: this function runs only where its own target features exist.
    search
        .all(out, |search, row, slice, constant| unsafe { search.less_in_vector::<ByteVector>(row, slice, constant) });
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn compare<U: Unit>(
    slices: Slices<'_, U>,
    relation: Relation,
    other: Slices<'_, U>,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { chain::compare::<U::Avx512>(slices, relation, other, negate, options, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<U: Unit, C: Code>(slices: Slices<'_, U>, tids: Tids<'_>, out: &mut [MaybeUninit<C>]) {
    match slices.of_bytes() {
        // SAFETY: the machine has VBMI, as just found, and all that this function is compiled for.
        Some(bytes) if permuted::fits(bytes.count) => unsafe { permuted::lookup(bytes, tids, out) },
        // Compiled for AVX-512, the loop becomes gathers, which cost half as much again on Zen 5.
        _ => avx2::lookup(slices, tids, out),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<U: Unit, C: Code>(slices: Slices<'_, U>, rows: Range<usize>, out: &mut [MaybeUninit<C>]) {
    stitch::unpack(slices, rows, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn pack<U: Unit, C: Code>(format: Format, codes: &[C], row: usize, units: usize, out: &mut [u8]) {
    scalar::pack::<U, C>(format, codes, row, units, out);
}

/// Truth table of `a OR (b XOR c)`.
const OR_XOR: i32 = 0b1111_0110;

/// A mask is its bits.
macro_rules! masks_of_bits {
    () => {
        #[inline(always)]
        unsafe fn all() -> u64 {
            u64::MAX
        }

        #[inline(always)]
        unsafe fn none() -> u64 {
            0
        }

        #[inline(always)]
        unsafe fn or(a: u64, b: u64) -> u64 {
            a | b
        }

        #[inline(always)]
        unsafe fn and_not(a: u64, b: u64) -> u64 {
            a & !b
        }

        #[inline(always)]
        unsafe fn any(mask: u64) -> bool {
            mask != 0
        }

        #[inline(always)]
        unsafe fn bits(mask: u64) -> u64 {
            mask
        }

        #[inline(always)]
        unsafe fn expand(bits: u64) -> u64 {
            bits
        }

        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
        unsafe fn sweep<O: Operand<Self>, const KIND: u8, const WAY: u8, const DEPTH: usize, const LAST: bool>(
            scan: &ChainScan<'_, Self, O>,
            place: ScanPosition,
            out: &mut [u64],
        ) -> ScanPosition {
            // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
            unsafe { scan.sweep::<KIND, WAY, DEPTH, LAST>(place, out) }
        }
    };
}

/// 64 codes' units of 8 bits.
#[derive(Clone, Copy)]
pub(in crate::packing) struct ByteVector(__m512i);

impl Vector for ByteVector {
    type Unit = u8;
    type Mask = u64;

    #[inline(always)]
    unsafe fn splat(unit: u64) -> Self {
        // SAFETY: the machine has AVX-512, for `Isa::best` was asked before this was chosen, here and below.
        Self(unsafe { _mm512_set1_epi8(unit as i8) })
    }

    #[inline(always)]
    unsafe fn uniform(self) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: 64 units are there; the load asks for no alignment.
        Self(unsafe { _mm512_loadu_si512(bytes.cast()) })
    }

    #[inline(always)]
    unsafe fn equal(self, other: Self, within: u64) -> u64 {
        // SAFETY: see above.
        unsafe { _mm512_mask_cmpeq_epu8_mask(within, self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self, within: u64) -> u64 {
        // SAFETY: see above.
        unsafe { _mm512_mask_cmplt_epu8_mask(within, self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn bits_below(self, other: Self) -> u64 {
        // SAFETY: see above.
        unsafe { _mm512_cmplt_epu8_mask(self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn bits_below_pair(self, next: Self, constant: [Self; 2], raised: Self, doubt: &mut Self) -> u64 {
        let [first, second] = constant;
        // SAFETY: see above.
        unsafe {
            *doubt = chain::nearer_pair([self, next], constant, *doubt);
            let below = _mm512_cmplt_epu8_mask(next.0, second.0);
            _mm512_cmplt_epu8_mask(self.0, _mm512_mask_blend_epi8(below, first.0, raised.0))
        }
    }

    // Vectors: keeping them up beside the masks costs less than a comparison and an OR of masks per slice (a third less
    // time for 24-bit codes on Zen 5).
    type Difference = Self;
    type Nearest = Self;

    #[inline(always)]
    unsafe fn no_difference() -> Self {
        // SAFETY: see above.
        unsafe { Self::splat(0) }
    }

    #[inline(always)]
    unsafe fn differ(self, other: Self, difference: Self) -> Self {
        // SAFETY: see above.
        unsafe { Self(_mm512_ternarylogic_epi64::<OR_XOR>(difference.0, self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn same(_: u64, difference: Self) -> u64 {
        // SAFETY: see above.
        unsafe { _mm512_testn_epi8_mask(difference.0, difference.0) }
    }

    #[inline(always)]
    unsafe fn none_near() -> Self {
        // SAFETY: see above.
        unsafe { Self::splat(u64::MAX) }
    }

    #[inline(always)]
    unsafe fn nearer(nearest: Self, _: u64, difference: Self) -> Self {
        // SAFETY: see above.
        unsafe { Self(_mm512_min_epu8(nearest.0, difference.0)) }
    }

    #[inline(always)]
    unsafe fn any_near(nearest: Self) -> bool {
        // SAFETY: see above.
        unsafe { Self::near_bits(nearest) != 0 }
    }

    #[inline(always)]
    unsafe fn near_bits(nearest: Self) -> u64 {
        // SAFETY: see above.
        unsafe { Self::same(0, nearest) }
    }

    masks_of_bits!();
}

/// 64 codes' units of 16 bits.
#[derive(Clone, Copy)]
pub(in crate::packing) struct WordVector(__m512i, __m512i);

impl Vector for WordVector {
    type Unit = u16;
    type Mask = u64;

    #[inline(always)]
    unsafe fn splat(unit: u64) -> Self {
        // SAFETY: the machine has AVX-512, for `Isa::best` was asked before this was chosen, here and below.
        let unit = unsafe { _mm512_set1_epi16(unit as i16) };
        Self(unit, unit)
    }

    #[inline(always)]
    unsafe fn uniform(self) -> Self {
        Self(self.0, self.0)
    }

    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: 64 units are there; the loads ask for no alignment.
        unsafe { Self(_mm512_loadu_si512(bytes.cast()), _mm512_loadu_si512(bytes.add(64).cast())) }
    }

    #[inline(always)]
    unsafe fn equal(self, other: Self, within: u64) -> u64 {
        // SAFETY: see above.
        let (low, high) = unsafe {
            (
                _mm512_mask_cmpeq_epu16_mask(within as u32, self.0, other.0),
                _mm512_mask_cmpeq_epu16_mask((within >> 32) as u32, self.1, other.1),
            )
        };
        u64::from(low) | u64::from(high) << 32
    }

    #[inline(always)]
    unsafe fn less(self, other: Self, within: u64) -> u64 {
        // SAFETY: see above.
        let (low, high) = unsafe {
            (
                _mm512_mask_cmplt_epu16_mask(within as u32, self.0, other.0),
                _mm512_mask_cmplt_epu16_mask((within >> 32) as u32, self.1, other.1),
            )
        };
        u64::from(low) | u64::from(high) << 32
    }

    #[inline(always)]
    unsafe fn bits_below(self, other: Self) -> u64 {
        // SAFETY: see above.
        unsafe { self.less(other, u64::MAX) }
    }

    #[inline(always)]
    unsafe fn bits_below_pair(self, next: Self, constant: [Self; 2], raised: Self, doubt: &mut Self) -> u64 {
        let [first, second] = constant;
        // SAFETY: see above.
        unsafe {
            *doubt = chain::nearer_pair([self, next], constant, *doubt);
            let low = _mm512_cmplt_epu16_mask(next.0, second.0);
            let high = _mm512_cmplt_epu16_mask(next.1, second.1);
            self.bits_below(Self(
                _mm512_mask_blend_epi16(low, first.0, raised.0),
                _mm512_mask_blend_epi16(high, first.1, raised.1),
            ))
        }
    }

    // Vectors: keeping them up beside the masks costs less than a comparison and an OR of masks per slice (a third less
    // time for 24-bit codes on Zen 5).
    type Difference = Self;
    type Nearest = Self;

    #[inline(always)]
    unsafe fn no_difference() -> Self {
        // SAFETY: see above.
        unsafe { Self::splat(0) }
    }

    #[inline(always)]
    unsafe fn differ(self, other: Self, difference: Self) -> Self {
        // SAFETY: see above.
        unsafe {
            Self(
                _mm512_ternarylogic_epi64::<OR_XOR>(difference.0, self.0, other.0),
                _mm512_ternarylogic_epi64::<OR_XOR>(difference.1, self.1, other.1),
            )
        }
    }

    #[inline(always)]
    unsafe fn same(_: u64, difference: Self) -> u64 {
        // SAFETY: see above.
        unsafe {
            u64::from(_mm512_testn_epi16_mask(difference.0, difference.0))
                | u64::from(_mm512_testn_epi16_mask(difference.1, difference.1)) << 32
        }
    }

    #[inline(always)]
    unsafe fn none_near() -> Self {
        // SAFETY: see above.
        unsafe { Self::splat(u64::MAX) }
    }

    #[inline(always)]
    unsafe fn nearer(nearest: Self, _: u64, difference: Self) -> Self {
        // SAFETY: see above.
        unsafe { Self(_mm512_min_epu16(nearest.0, difference.0), _mm512_min_epu16(nearest.1, difference.1)) }
    }

    #[inline(always)]
    unsafe fn any_near(nearest: Self) -> bool {
        // SAFETY: see above.
        unsafe { Self::near_bits(nearest) != 0 }
    }

    #[inline(always)]
    unsafe fn near_bits(nearest: Self) -> u64 {
        // SAFETY: see above.
        unsafe { Self::same(0, nearest) }
    }

    masks_of_bits!();
}
