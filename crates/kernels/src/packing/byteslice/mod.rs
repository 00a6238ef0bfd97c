//! ByteSlice: a code's bytes in slices, the most significant first (ByteSlice paper, section 3; slices of 16 bits:
//! appendix A).
//!
//! A code of k bits is shifted left until it fills ⌈k/8⌉ bytes (option 1 of the paper); slice j holds the j-th byte of
//! all codes, one after the other, padded with zeros to a multiple of 64 codes. Comparing from slice to slice therefore
//! compares the codes, and the shift keeps their order.

// What only the vector kernels use has no user elsewhere.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod bit_tail;
#[cfg(target_arch = "x86_64")]
mod chain;
#[cfg(target_arch = "x86_64")]
mod lists;
pub mod order;
#[cfg(target_arch = "x86_64")]
mod permuted;
mod scalar;
mod stitch;
#[cfg(target_arch = "x86_64")]
mod terms;
pub mod variants;
#[cfg(target_arch = "x86_64")]
mod vector;
mod ways;

use super::test::{Comparison, Order};
use super::{Combine, Format, Operator, Options, Packed, Packing, Tids, by_runs};
use crate::{Code, Isa};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use ways::Ways;

/// Codes that the slices are padded to a multiple of: a result word, and a register of 512 bits.
const GROUP: usize = 64;

/// What a slice holds of each code: 8 bits, or 16 as two little-endian bytes.
pub(in crate::packing) trait Unit: Code {
    /// 64 units under AVX2.
    #[cfg(target_arch = "x86_64")]
    type Avx2: vector::Vector<Unit = Self>;
    /// 64 units under AVX-512.
    #[cfg(target_arch = "x86_64")]
    type Avx512: vector::Vector<Unit = Self>;

    /// The unit whose little-endian bytes are this one's.
    fn little_endian(self) -> Self;
}

macro_rules! unit {
    ($unit:ty, $vector:ident) => {
        impl Unit for $unit {
            #[cfg(target_arch = "x86_64")]
            type Avx2 = avx2::$vector;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = avx512::$vector;

            #[inline(always)]
            fn little_endian(self) -> Self {
                Self::from_le(self)
            }
        }
    };
}

unit!(u8, ByteVector);
unit!(u16, WordVector);

/// The slices of a column.
#[derive(Debug, Clone, Copy)]
pub(in crate::packing) struct Slices<'a, U> {
    bytes: &'a [u8],
    /// Slices, from 1 to 8.
    count: usize,
    /// Units of a slice, with the padding.
    units: usize,
    /// Row of the slice that the column (or part of one) starts at, and its rows.
    first: usize,
    rows: usize,
    /// Zero bits below a code's last one in its last unit.
    padding: u32,
    unit: PhantomData<U>,
}

impl<'a, U: Unit> Slices<'a, U> {
    fn new(packed: Packed<'a>) -> Self {
        let (count, padding) = measures::<U>(packed.format().width());
        let units = packed.total().next_multiple_of(GROUP);
        let (first, rows) = (packed.first(), packed.rows());
        assert!(packed.bytes().len() == count * units * size_of::<U>() && first + rows <= units, "whole slices");
        Self { bytes: packed.bytes(), count, units, first, rows, padding, unit: PhantomData }
    }

    /// Where row 0 (of the part) lies in the first slice. From there on its units, padded to whole words of 64 codes,
    /// are there to be read, and again [`Slices::stride`] bytes further for each further slice.
    fn start(&self) -> *const u8 {
        self.bytes[self.first * size_of::<U>()..].as_ptr()
    }

    /// Bytes from one slice to the next.
    fn stride(&self) -> usize {
        self.units * size_of::<U>()
    }

    /// Where row `row` (of the part, at most its length) lies in each slice.
    #[inline(always)]
    fn starts<const M: usize>(&self, row: usize) -> [*const U; M] {
        assert!(self.count == M && row <= self.rows, "{M} slices of {}", self.count);
        std::array::from_fn(|slice| {
            self.bytes[(slice * self.units + self.first + row) * size_of::<U>()..].as_ptr().cast()
        })
    }

    /// These slices, when their units are bytes.
    fn of_bytes(self) -> Option<Slices<'a, u8>> {
        let Self { bytes, count, units, first, rows, padding, .. } = self;
        (U::BITS == 8).then_some(Slices { bytes, count, units, first, rows, padding, unit: PhantomData })
    }

    /// The unit of a row (of the part) in a slice.
    #[inline(always)]
    fn unit(&self, slice: usize, row: usize) -> u64 {
        let at = (slice * self.units + self.first + row) * size_of::<U>();
        match U::BITS {
            8 => self.bytes[at].into(),
            _ => u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]).into(),
        }
    }

    /// The code of a row (of the part): its units stitched together (paper, section 3.2).
    #[inline(always)]
    fn code(&self, row: usize) -> u64 {
        let stitched = (0..self.count).fold(0, |code, slice| code << U::BITS | self.unit(slice, row));
        stitched >> self.padding
    }
}

impl<'a> Slices<'a, u8> {
    /// The bytes of a slice, one per row (of the part).
    ///
    /// # Panics
    /// When there is no such slice.
    #[inline(always)]
    fn slice(&self, slice: usize) -> &'a [u8] {
        assert!(slice < self.count, "slice {slice} of {}", self.count);
        &self.bytes[slice * self.units + self.first..][..self.rows]
    }
}

/// One predicate: a comparison of a column's codes, negated or not.
struct Term<'a, U: Unit> {
    slices: Slices<'a, U>,
    comparison: Comparison,
    negate: bool,
}

/// Slices of codes of `width` bits, and zero bits in the last.
fn measures<U: Unit>(width: u8) -> (usize, u32) {
    let count = u32::from(width).div_ceil(U::BITS);
    (count as usize, count * U::BITS - u32::from(width))
}

/// Calls a function of the instruction set on the slices of a column.
macro_rules! on_slices {
    ($isa:expr, $packed:expr, $function:ident($($argument:expr),*)) => {
        if $packed.format().packing() == Packing::ByteSlice16 {
            dispatch!($isa, $function(Slices::<u16>::new($packed), $($argument),*))
        } else {
            dispatch!($isa, $function(Slices::<u8>::new($packed), $($argument),*))
        }
    };
}

pub(super) fn bytes(format: Format, rows: usize) -> usize {
    let (count, unit) = match format.packing() {
        Packing::ByteSlice16 => (measures::<u16>(format.width()).0, 2),
        _ => (measures::<u8>(format.width()).0, 1),
    };
    rows.next_multiple_of(GROUP) * count * unit
}

/// Bytes of a slice of `units` units.
fn slice_bytes(format: Format, units: usize) -> usize {
    units * if format.packing() == Packing::ByteSlice16 { 2 } else { 1 }
}

pub(super) fn pack<C: Code>(isa: Isa, format: Format, codes: &[C], out: &mut [u8]) {
    write(isa, format, codes, 0, codes.len().next_multiple_of(GROUP), out);
}

/// Writes `codes` from row `row` on to slices of `units` units.
fn write<C: Code>(isa: Isa, format: Format, codes: &[C], row: usize, units: usize, out: &mut [u8]) {
    match format.packing() {
        Packing::ByteSlice16 => dispatch!(isa, pack::<u16, C>(format, codes, row, units, out)),
        _ => dispatch!(isa, pack::<u8, C>(format, codes, row, units, out)),
    }
}

pub(super) fn append<C: Code>(isa: Isa, format: Format, rows: usize, codes: &[C], bytes: &mut Vec<u8>) {
    let (old, new) = (rows.next_multiple_of(GROUP), (rows + codes.len()).next_multiple_of(GROUP));
    let count = if old == 0 { 0 } else { bytes.len() / slice_bytes(format, old) };
    let (from, to) = (slice_bytes(format, old), slice_bytes(format, new));
    bytes.resize(format.bytes(rows + codes.len()), 0);
    // The last slice moves furthest, and first: none is written over before it has moved.
    for slice in (1..count).rev() {
        bytes.copy_within(slice * from..(slice + 1) * from, slice * to);
    }
    for slice in 0..count {
        bytes[slice * to..][from..to].fill(0);
    }
    write(isa, format, codes, rows, new, bytes);
}

pub(super) fn scan(
    isa: Isa,
    packed: Packed<'_>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    scan_in(isa, packed, comparison, negate, options, Ways::usual(), out);
}

pub(super) fn scan_any(isa: Isa, packed: Packed<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    on_slices!(isa, packed, scan_any(values, options, out));
}

/// Codes of one slice are looked up where they lie, shifted as they are; more slices have to be stitched first.
pub(super) fn scan_bitmap(isa: Isa, packed: Packed<'_>, bitmap: &[u64], options: Options, out: &mut [u64]) {
    let slices = Slices::<u8>::new(packed);
    if slices.count > 1 {
        return by_runs::scan_bitmap(isa, packed, bitmap, options, out);
    }
    let mut shifted = [0; 4];
    for code in 0..=packed.format().max_code() as usize {
        let member = bitmap.get(code / 64).is_some_and(|word| word >> (code % 64) & 1 == 1);
        let unit = code << slices.padding;
        shifted[unit / 64] |= u64::from(member) << (unit % 64);
    }
    let units = slices.slice(0);
    if options.combine == Combine::Set {
        return crate::scan::in_bitmap(isa, units, &shifted, out);
    }
    by_runs::each_run(packed.rows(), options, out, |rows, answers| {
        crate::scan::in_bitmap(isa, &units[rows], &shifted, answers);
    });
}

/// [`scan`] in a way that the caller chooses.
fn scan_in(
    isa: Isa,
    packed: Packed<'_>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    ways: Ways,
    out: &mut [u64],
) {
    on_slices!(isa, packed, scan(comparison, negate, options, ways, out));
}

/// Compares two columns of one format, slice by slice.
pub(super) fn compare(
    isa: Isa,
    left: Packed<'_>,
    operator: Operator,
    right: Packed<'_>,
    options: Options,
    out: &mut [u64],
) {
    let (relation, order, negate) = operator.relation();
    let (first, second) = if order == Order::Given { (left, right) } else { (right, left) };
    if left.format().packing() == Packing::ByteSlice16 {
        let (first, second) = (Slices::<u16>::new(first), Slices::<u16>::new(second));
        dispatch!(isa, compare(first, relation, second, negate, options, out));
    } else {
        let (first, second) = (Slices::<u8>::new(first), Slices::<u8>::new(second));
        dispatch!(isa, compare(first, relation, second, negate, options, out));
    }
}

/// Rows for which all of the comparisons hold (each negated or not), or any of them. The columns are byte slices of one
/// kind and as many rows.
pub(super) fn predicate_first(
    isa: Isa,
    comparisons: &[(Packed<'_>, Comparison, bool)],
    all: bool,
    early_stop: bool,
    out: &mut [u64],
) {
    fn terms<'a, U: Unit>(comparisons: &[(Packed<'a>, Comparison, bool)]) -> Vec<Term<'a, U>> {
        let term = |&(packed, comparison, negate)| Term { slices: Slices::new(packed), comparison, negate };
        comparisons.iter().map(term).collect()
    }
    match comparisons.first().map(|(packed, ..)| packed.format().packing()) {
        Some(Packing::ByteSlice16) => {
            dispatch!(isa, predicate_first(&terms::<u16>(comparisons), all, early_stop, out));
        }
        _ => dispatch!(isa, predicate_first(&terms::<u8>(comparisons), all, early_stop, out)),
    }
}

pub(super) fn get(packed: Packed<'_>, tid: usize) -> u64 {
    match packed.format().packing() {
        Packing::ByteSlice16 => Slices::<u16>::new(packed).code(tid),
        _ => Slices::<u8>::new(packed).code(tid),
    }
}

pub(super) fn lookup<C: Code>(isa: Isa, packed: Packed<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    let room = room(out, tids.tids().len());
    on_slices!(isa, packed, lookup(tids, room));
    // SAFETY: the kernel wrote every element of the room.
    unsafe { out.set_len(out.len() + tids.tids().len()) };
}

pub(super) fn unpack<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    let (length, room) = (rows.len(), room(out, rows.len()));
    on_slices!(isa, packed, unpack(rows, room));
    // SAFETY: the kernel wrote every element of the room.
    unsafe { out.set_len(out.len() + length) };
}

/// Room for exactly `more` elements at the end of `out`.
fn room<C>(out: &mut Vec<C>, more: usize) -> &mut [MaybeUninit<C>] {
    out.reserve(more);
    &mut out.spare_capacity_mut()[..more]
}
