//! ByteSlice: a code's bytes in slices, the most significant first (ByteSlice paper, section 3; slices of 16 bits:
//! appendix A).
//!
//! A code of k bits is shifted left until it fills ⌈k/8⌉ bytes (option 1 of the paper); slice j holds the j-th byte of
//! all codes, one after the other, padded with zeros to a multiple of 64 codes. Comparing from slice to slice therefore
//! compares the codes, and the shift keeps their order.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use super::test::Comparison;
use super::{Format, Options, Packed, Packing};
use crate::{Code, Isa};
use std::marker::PhantomData;
use std::ops::Range;

/// Codes that the slices are padded to a multiple of: a result word, and a register of 512 bits.
const GROUP: usize = 64;

/// What a slice holds of each code: 8 bits, or 16 as two little-endian bytes.
trait Unit: Code {}

impl Unit for u8 {}
impl Unit for u16 {}

/// The slices of a column.
#[derive(Debug, Clone, Copy)]
struct Slices<'a, U> {
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
        Self { bytes: packed.bytes(), count, units, first, rows, padding, unit: PhantomData }
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

pub(super) fn pack<C: Code>(_: Isa, format: Format, codes: &[C], out: &mut [u8]) {
    match format.packing() {
        Packing::ByteSlice16 => scalar::pack::<u16, C>(format, codes, out),
        _ => scalar::pack::<u8, C>(format, codes, out),
    }
}

pub(super) fn scan(
    isa: Isa,
    packed: Packed<'_>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    on_slices!(isa, packed, scan(comparison, negate, options, out));
}

pub(super) fn get(packed: Packed<'_>, tid: usize) -> u64 {
    match packed.format().packing() {
        Packing::ByteSlice16 => Slices::<u16>::new(packed).code(tid),
        _ => Slices::<u8>::new(packed).code(tid),
    }
}

pub(super) fn lookup<C: Code>(isa: Isa, packed: Packed<'_>, tids: &[u32], out: &mut Vec<C>) {
    on_slices!(isa, packed, lookup(tids, out));
}

pub(super) fn unpack<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    on_slices!(isa, packed, unpack(rows, out));
}
