//! ByteSlice with AVX2: comparisons give lanes of ones, which movemask turns into bits at the end of a group.
//!
//! AVX2 compares signed lanes only, so "less" is "not equal to the maximum of both".

use super::super::test::{Comparison, Relation};
use super::super::{Format, Options, Tids};
use super::chain::{ChainScan, ScanPosition};
use super::order::Search;
use super::variants::Tail;
use super::vector::{Operand, Vector};
use super::{Slices, Term, Unit, Ways, bit_tail, chain, lists, scalar, stitch, terms};
use crate::Code;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan<U: Unit>(
    slices: Slices<'_, U>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    ways: Ways,
    out: &mut [u64],
) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { chain::scan::<U::Avx2>(slices, comparison, negate, options, ways, out) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan_any<U: Unit>(slices: Slices<'_, U>, values: &[u64], options: Options, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { lists::scan::<U::Avx2, 2>(slices, values, options, out) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn predicate_first<U: Unit>(terms: &[Term<'_, U>], all: bool, early_stop: bool, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { terms::evaluate::<U::Avx2>(terms, all, early_stop, out) }
}

/// The codes less than a constant of a column whose lowest bits lie bit by bit: a variant for experiments.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn less_with_tail(slices: Option<Slices<'_, u8>>, tail: Tail<'_>, out: &mut [u64]) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { bit_tail::less::<ByteVector>(slices, tail, out) }
}

/// The rows at which constants belong in a sorted column.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn search(search: Search<'_>, out: &mut [u32]) {
    // SAFETY: this function runs only where its own target features exist.
    search
        .all(out, |search, row, slice, constant| unsafe { search.less_in_vector::<ByteVector>(row, slice, constant) });
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn compare<U: Unit>(
    slices: Slices<'_, U>,
    relation: Relation,
    other: Slices<'_, U>,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    // SAFETY: this function runs only where its own target features exist.
    unsafe { chain::compare::<U::Avx2>(slices, relation, other, negate, options, out) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<U: Unit, C: Code>(slices: Slices<'_, U>, tids: Tids<'_>, out: &mut [MaybeUninit<C>]) {
    stitch::lookup(slices, tids, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<U: Unit, C: Code>(slices: Slices<'_, U>, rows: Range<usize>, out: &mut [MaybeUninit<C>]) {
    stitch::unpack(slices, rows, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn pack<U: Unit, C: Code>(format: Format, codes: &[C], row: usize, units: usize, out: &mut [u8]) {
    scalar::pack::<U, C>(format, codes, row, units, out);
}

/// Masks of 64 codes as bytes of ones or zeros.
macro_rules! masks_of_bytes {
    ($in_order:ident) => {
        #[inline(always)]
        unsafe fn all() -> [__m256i; 2] {
            // SAFETY: the machine has AVX2, for `Isa::best` was asked before this was chosen, here and below.
            unsafe { [_mm256_set1_epi8(-1); 2] }
        }

        #[inline(always)]
        unsafe fn none() -> [__m256i; 2] {
            // SAFETY: as above.
            unsafe { [_mm256_setzero_si256(); 2] }
        }

        #[inline(always)]
        unsafe fn or(a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
            // SAFETY: as above.
            unsafe { [_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])] }
        }

        #[inline(always)]
        unsafe fn and_not(a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
            // SAFETY: as above.
            unsafe { [_mm256_andnot_si256(b[0], a[0]), _mm256_andnot_si256(b[1], a[1])] }
        }

        #[inline(always)]
        unsafe fn any(mask: [__m256i; 2]) -> bool {
            // SAFETY: as above.
            unsafe {
                let any = _mm256_or_si256(mask[0], mask[1]);
                _mm256_testz_si256(any, any) == 0
            }
        }

        // Masks are vectors here, and nothing is cheaper.
        type Difference = ();
        type Nearest = [__m256i; 2];

        #[inline(always)]
        unsafe fn no_difference() {}

        #[inline(always)]
        unsafe fn differ(self, _: Self, (): ()) {}

        #[inline(always)]
        unsafe fn same(equal: [__m256i; 2], (): ()) -> [__m256i; 2] {
            equal
        }

        #[inline(always)]
        unsafe fn none_near() -> [__m256i; 2] {
            // SAFETY: as above.
            unsafe { Self::none() }
        }

        #[inline(always)]
        unsafe fn nearer(nearest: [__m256i; 2], equal: [__m256i; 2], (): ()) -> [__m256i; 2] {
            // SAFETY: as above.
            unsafe { Self::or(nearest, equal) }
        }

        #[inline(always)]
        unsafe fn any_near(nearest: [__m256i; 2]) -> bool {
            // SAFETY: as above.
            unsafe { Self::any(nearest) }
        }

        #[inline(always)]
        unsafe fn near_bits(nearest: [__m256i; 2]) -> u64 {
            // SAFETY: as above.
            unsafe { Self::bits(nearest) }
        }

        #[inline(always)]
        unsafe fn bits(mask: [__m256i; 2]) -> u64 {
            // SAFETY: as above.
            unsafe {
                let low = _mm256_movemask_epi8($in_order(mask[0])) as u32;
                let high = _mm256_movemask_epi8($in_order(mask[1])) as u32;
                u64::from(low) | u64::from(high) << 32
            }
        }

        #[inline(always)]
        unsafe fn expand(bits: u64) -> [__m256i; 2] {
            // SAFETY: as above. The order that `bits` undoes is its own reverse.
            unsafe { [$in_order(expand(bits as u32)), $in_order(expand((bits >> 32) as u32))] }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
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
pub(in crate::packing) struct ByteVector([__m256i; 2]);

impl Vector for ByteVector {
    type Unit = u8;
    type Mask = [__m256i; 2];

    #[inline(always)]
    unsafe fn splat(unit: u64) -> Self {
        // SAFETY: the machine has AVX2, for `Isa::best` was asked before this was chosen, here and below.
        Self(unsafe { [_mm256_set1_epi8(unit as i8); 2] })
    }

    #[inline(always)]
    unsafe fn uniform(self) -> Self {
        Self([self.0[0]; 2])
    }

    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: 64 units are there; the loads ask for no alignment.
        Self(unsafe { [_mm256_loadu_si256(bytes.cast()), _mm256_loadu_si256(bytes.add(32).cast())] })
    }

    #[inline(always)]
    unsafe fn equal(self, other: Self, within: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe {
            [
                _mm256_and_si256(within[0], _mm256_cmpeq_epi8(self.0[0], other.0[0])),
                _mm256_and_si256(within[1], _mm256_cmpeq_epi8(self.0[1], other.0[1])),
            ]
        }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self, within: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe {
            [
                _mm256_andnot_si256(at_least_u8(self.0[0], other.0[0]), within[0]),
                _mm256_andnot_si256(at_least_u8(self.0[1], other.0[1]), within[1]),
            ]
        }
    }

    #[inline(always)]
    unsafe fn bits_below(self, other: Self) -> u64 {
        // SAFETY: as above.
        unsafe { self.bits_below_complement([complement(other.0[0]), complement(other.0[1])]) }
    }

    #[inline(always)]
    unsafe fn bits_below_pair(self, next: Self, [_, second]: [Self; 2], raised: Self, doubt: &mut [__m256i; 2]) -> u64 {
        // SAFETY: as above.
        let mut sum = |i: usize| unsafe {
            let carry = average(next.0[i], complement(second.0[i]));
            // Lanes of ones are minus one: raised, and back where the second unit is no less.
            let at_least = _mm256_cmpgt_epi8(_mm256_setzero_si256(), carry);
            let sum = average(self.0[i], _mm256_sub_epi8(complement(raised.0[i]), at_least));
            // A unit that equals the constant's adds up to 128 with its complement; one more gives the same average.
            // So both averages are the least signed byte where the code is the same, and seldom elsewhere.
            doubt[i] = _mm256_min_epi8(doubt[i], _mm256_or_si256(carry, sum));
            sum
        };
        let sums = [sum(0), sum(1)];
        // SAFETY: as above.
        unsafe { !Self::bits(sums) }
    }

    #[inline(always)]
    unsafe fn no_doubt() -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe { [_mm256_set1_epi8(i8::MAX); 2] }
    }

    #[inline(always)]
    unsafe fn any_doubt(doubt: [__m256i; 2]) -> bool {
        // SAFETY: as above.
        unsafe {
            let least = _mm256_min_epi8(doubt[0], doubt[1]);
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(least, _mm256_set1_epi8(i8::MIN))) != 0
        }
    }

    masks_of_bytes!(as_compared);
}

impl ByteVector {
    /// A bit per code whose unit is less than the one whose complement is given. Units and complements add up to more
    /// than a byte holds where a unit is no less, which is the upper bit of their rounded average: an instruction less
    /// than a comparison, of which AVX2 has none for unsigned bytes.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn bits_below_complement(self, complement: [__m256i; 2]) -> u64 {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { !Self::bits([average(self.0[0], complement[0]), average(self.0[1], complement[1])]) }
    }
}

/// The rounded averages of unsigned bytes: `_mm256_avg_epu8`, which is no instruction to the compiler but a sum of wider
/// lanes, and here becomes just that.
#[inline]
#[target_feature(enable = "avx2")]
fn average(a: __m256i, b: __m256i) -> __m256i {
    let average;
    // SAFETY: the instruction is AVX2's, and reads and writes the registers that are named alone.
    unsafe {
        std::arch::asm!(
            "vpavgb {}, {}, {}",
            lateout(ymm_reg) average,
            in(ymm_reg) a,
            in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    average
}

#[inline]
#[target_feature(enable = "avx2")]
fn complement(units: __m256i) -> __m256i {
    _mm256_xor_si256(units, _mm256_set1_epi8(-1))
}

#[inline]
#[target_feature(enable = "avx2")]
fn as_compared(lanes: __m256i) -> __m256i {
    lanes
}

/// A byte of ones for each bit that is set: the paper's inverse of movemask (figure 7). Each lane gets the byte that
/// its bit is in, keeps the bit, and is compared with it.
#[inline]
#[target_feature(enable = "avx2")]
fn expand(bits: u32) -> __m256i {
    let bytes = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), bytes);
    _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit)
}

/// Undoes the order in which packing leaves the quarters of a register.
#[inline]
#[target_feature(enable = "avx2")]
fn unpacked(lanes: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(lanes)
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_least_u8(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_max_epu8(a, b), a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_least_u16(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi16(_mm256_max_epu16(a, b), a)
}

/// 64 codes' units of 16 bits. Their masks are narrowed to bytes at once, in the order in which packing leaves the
/// quarters of a register, 0 2 1 3; only [`Vector::bits`] puts them right.
#[derive(Clone, Copy)]
pub(in crate::packing) struct WordVector([__m256i; 4]);

impl Vector for WordVector {
    type Unit = u16;
    type Mask = [__m256i; 2];

    #[inline(always)]
    unsafe fn splat(unit: u64) -> Self {
        // SAFETY: the machine has AVX2, for `Isa::best` was asked before this was chosen, here and below.
        Self(unsafe { [_mm256_set1_epi16(unit as i16); 4] })
    }

    #[inline(always)]
    unsafe fn uniform(self) -> Self {
        Self([self.0[0]; 4])
    }

    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: 64 units are there; the loads ask for no alignment.
        Self(unsafe {
            [
                _mm256_loadu_si256(bytes.cast()),
                _mm256_loadu_si256(bytes.add(32).cast()),
                _mm256_loadu_si256(bytes.add(64).cast()),
                _mm256_loadu_si256(bytes.add(96).cast()),
            ]
        })
    }

    #[inline(always)]
    unsafe fn equal(self, other: Self, within: [__m256i; 2]) -> [__m256i; 2] {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        // SAFETY: as above.
        unsafe {
            let low = _mm256_packs_epi16(_mm256_cmpeq_epi16(a, e), _mm256_cmpeq_epi16(b, f));
            let high = _mm256_packs_epi16(_mm256_cmpeq_epi16(c, g), _mm256_cmpeq_epi16(d, h));
            [_mm256_and_si256(within[0], low), _mm256_and_si256(within[1], high)]
        }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self, within: [__m256i; 2]) -> [__m256i; 2] {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        // SAFETY: as above.
        unsafe {
            let low = _mm256_packs_epi16(at_least_u16(a, e), at_least_u16(b, f));
            let high = _mm256_packs_epi16(at_least_u16(c, g), at_least_u16(d, h));
            [_mm256_andnot_si256(low, within[0]), _mm256_andnot_si256(high, within[1])]
        }
    }

    #[inline(always)]
    unsafe fn bits_below(self, other: Self) -> u64 {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        // SAFETY: as above.
        unsafe {
            let low = _mm256_packs_epi16(at_least_u16(a, e), at_least_u16(b, f));
            !Self::bits([low, _mm256_packs_epi16(at_least_u16(c, g), at_least_u16(d, h))])
        }
    }

    #[inline(always)]
    unsafe fn bits_below_pair(self, next: Self, constant: [Self; 2], raised: Self, doubt: &mut [__m256i; 2]) -> u64 {
        let second = constant[1];
        // SAFETY: as above.
        unsafe {
            *doubt = chain::nearer_pair([self, next], constant, *doubt);
            // Lanes of ones are minus one: raised, and back where the second unit is no less.
            let first = |i: usize| _mm256_add_epi16(raised.0[i], at_least_u16(next.0[i], second.0[i]));
            self.bits_below(Self([first(0), first(1), first(2), first(3)]))
        }
    }

    masks_of_bytes!(unpacked);
}
