//! HBP: banks of 64 bits with several whole codes and a spare bit before each, by which one subtraction compares all
//! codes of a bank (ByteSlice paper, section 2.3, after BitWeaving/H).
//!
//! A bank has n = ⌊64 / (k + 1)⌋ slots of f = ⌊64 / n⌋ bits; the slot's upper bit is the spare one. f banks, which BitWeaving
//! calls a segment, hold n * f codes: code j lies in bank j mod f, slot ⌊j / f⌋. The answers of bank i, shifted right
//! by f - 1 - i, are then those of the segment in record order, and where n is a power of two they fill a result word.
//! Eight segments lie interleaved, bank by bank, so that a register of 256 or 512 bits takes four or eight banks in one
//! load and a scan reads one run of bytes from end to end. It asks for none ahead: processors do so by themselves, and our asking took up to
//! a third of a scan out of cache where memory was busy (Zen 4).
//!
//! At k = 64 no bit is spare: a bank is one code, compared as a plain integer.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod collect;
mod scalar;

use super::test::Comparison;
use super::{Format, Options, Packed, Tids, by_runs};
use crate::{Code, Isa};
use std::ops::Range;

/// Segments that lie interleaved: the banks of a register of 512 bits.
const LANES: usize = 8;

/// Measures of a segment.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Codes of a bank: n.
    slots: usize,
    /// Bits of a slot, and banks of a segment: f.
    field: usize,
}

impl Shape {
    fn new(width: u8) -> Self {
        let slots = if width == 64 { 1 } else { 64 / (usize::from(width) + 1) };
        Self { slots, field: 64 / slots }
    }

    /// Codes of a segment: 60, 63 or 64.
    fn codes(self) -> usize {
        self.slots * self.field
    }

    /// Bytes of eight interleaved segments.
    fn block(self) -> usize {
        self.field * LANES * 8
    }

    /// `value` in each slot.
    fn splat(self, value: u64) -> u64 {
        (0..self.slots).fold(0, |bank, slot| bank | value << (slot * self.field))
    }

    /// The spare bits.
    fn spare(self) -> u64 {
        self.splat(1 << (self.field - 1))
    }
}

/// The banks of a column.
#[derive(Debug, Clone, Copy)]
struct Banks<'a> {
    bytes: &'a [u8],
    width: u8,
    shape: Shape,
    /// Row that the column (or part of one) starts at, and its rows.
    first: usize,
    rows: usize,
}

impl<'a> Banks<'a> {
    fn new(packed: Packed<'a>) -> Self {
        let width = packed.format().width();
        let (first, rows) = (packed.first(), packed.rows());
        Self { bytes: packed.bytes(), width, shape: Shape::new(width), first, rows }
    }

    /// The interleaved segments that hold rows of the part.
    #[inline(always)]
    fn blocks(&self) -> std::slice::ChunksExact<'a, u8> {
        let codes = self.shape.codes() * LANES;
        let (start, end) = (self.first / codes, (self.first + self.rows).div_ceil(codes));
        self.bytes[start * self.shape.block()..end * self.shape.block()].chunks_exact(self.shape.block())
    }
}

pub(super) fn bytes(format: Format, rows: usize) -> usize {
    let shape = Shape::new(format.width());
    rows.div_ceil(shape.codes() * LANES) * shape.block()
}

pub(super) fn pack<C: Code>(isa: Isa, format: Format, codes: &[C], out: &mut [u8]) {
    dispatch!(isa, pack(format, codes, out));
}

pub(super) fn scan(
    isa: Isa,
    packed: Packed<'_>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    dispatch!(isa, scan(Banks::new(packed), comparison, negate, options, out));
}

/// Each bank is read once for all values.
pub(super) fn scan_any(isa: Isa, packed: Packed<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    if packed.format().width() == 64 {
        return by_runs::scan_any(isa, packed, values, options, out);
    }
    let fits = |value: &&u64| **value <= packed.format().max_code();
    let values: Vec<u64> = values.iter().filter(fits).copied().collect();
    dispatch!(isa, scan_any(Banks::new(packed), &values, options, out));
}

pub(super) fn get(packed: Packed<'_>, tid: usize) -> u64 {
    scalar::code(&Banks::new(packed), tid)
}

pub(super) fn lookup<C: Code>(isa: Isa, packed: Packed<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    dispatch!(isa, lookup(Banks::new(packed), tids, out));
}

pub(super) fn unpack<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    dispatch!(isa, unpack(Banks::new(packed), rows, out));
}
