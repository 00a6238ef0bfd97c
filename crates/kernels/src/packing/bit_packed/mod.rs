//! Bit-packed: the codes one after the other, without gaps (ByteSlice paper, section 2.1): the same bytes as
//! [`crate::bitpack`] writes to disk, with room to load a register at the end.
//!
//! The paper's scan unpacks by shuffle, shift and mask. Here codes are compared where the shuffle put them, against
//! constants shifted as they are, so that no code is shifted. Codes of 8, 16, 32 and 64 bits lie as in the native
//! packing, whose functions take them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use super::test::Comparison;
use super::{Format, Options, Packed, Tids, by_runs, native};
use crate::{Code, Isa, bitpack, bits};
use std::ops::Range;

/// Bytes that a kernel may load past the last code.
const PADDING: usize = 64;

/// The bits of a column.
#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    /// From the first code (of the part) on.
    bytes: &'a [u8],
    /// Bits of a code.
    width: usize,
}

impl<'a> Run<'a> {
    fn new(packed: Packed<'a>) -> Self {
        let width = usize::from(packed.format().width());
        let bytes = match packed.rows() {
            0 => &[],
            _ => &packed.bytes()[packed.first() * width / 8..],
        };
        Self { bytes, width }
    }

    /// The bytes of 64 codes, which start with a byte, and the [`PADDING`] bytes that follow them.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn word(&self, row_word: usize) -> &'a [u8] {
        &self.bytes[row_word * 8 * self.width..][..8 * self.width + PADDING]
    }

    /// The code of a row (of the part).
    #[inline(always)]
    fn code(&self, row: usize) -> u64 {
        let (at, shift) = (row * self.width / 8, row * self.width % 8);
        let low: &[u8; 8] = self.bytes[at..].first_chunk().expect("64 bytes follow the last code");
        let mut code = u64::from_le_bytes(*low) >> shift;
        if self.width > 57 {
            code |= u64::from(self.bytes[at + 8]) << 1 << (63 - shift);
        }
        code & (u64::MAX >> (64 - self.width))
    }
}

/// Whether the codes lie as in the native packing.
fn is_native(packed: Packed<'_>) -> bool {
    matches!(packed.format().width(), 8 | 16 | 32 | 64)
}

/// Combines the answers of each 64 codes with `out`, but for those that it has decided when the options allow it.
#[inline(always)]
fn each_word(negate: bool, options: Options, out: &mut [u64], answer: impl Fn(usize) -> u64) {
    let flip = if negate { u64::MAX } else { 0 };
    for (row_word, out) in out.iter_mut().enumerate() {
        if options.early_stop && options.combine.interest(*out) == 0 {
            continue;
        }
        *out = options.combine.apply(*out, answer(row_word) ^ flip);
    }
}

pub(super) fn bytes(format: Format, rows: usize) -> usize {
    match rows {
        0 => 0,
        _ => bits::words(rows) * 8 * usize::from(format.width()) + PADDING,
    }
}

pub(super) fn pack<C: Code>(_: Isa, format: Format, codes: &[C], out: &mut [u8]) {
    let width = format.width().into();
    // A multiple of eight codes ends with a byte.
    let mut packed = Vec::new();
    for (run, codes) in codes.chunks(4096).enumerate() {
        packed.clear();
        bitpack::pack(codes, C::default(), width, &mut packed);
        out[run * 512 * width as usize..][..packed.len()].copy_from_slice(&packed);
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
    if is_native(packed) {
        return native::scan(isa, packed, comparison, negate, options, out);
    }
    dispatch!(isa, scan(Run::new(packed), comparison, negate, options, out));
}

/// Lists of so many values and more are looked for in codes that are unpacked once, shorter ones value by value. Six
/// take as long either way at most widths, three quarters at 12 bits under AVX2, and sixteen half as long (Zen 5).
const MANY: usize = 6;

pub(super) fn scan_any(isa: Isa, packed: Packed<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    if is_native(packed) {
        return native::scan_any(isa, packed, values, options, out);
    }
    if values.len() < MANY {
        return by_runs::scan_any(isa, packed, values, options, out);
    }
    by_runs::scan_any_unpacked(isa, packed, values, options, out);
}

pub(super) fn scan_bitmap(isa: Isa, packed: Packed<'_>, bitmap: &[u64], options: Options, out: &mut [u64]) {
    if is_native(packed) {
        return native::scan_bitmap(isa, packed, bitmap, options, out);
    }
    by_runs::scan_bitmap(isa, packed, bitmap, options, out);
}

pub(super) fn get(packed: Packed<'_>, tid: usize) -> u64 {
    Run::new(packed).code(tid)
}

pub(super) fn lookup<C: Code>(isa: Isa, packed: Packed<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    if is_native(packed) {
        return native::lookup(isa, packed, tids, out);
    }
    dispatch!(isa, lookup(Run::new(packed), tids.tids(), out));
}

pub(super) fn unpack<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    let run = Run::new(packed);
    // Eight codes end with a byte: those before the first that starts with one come singly.
    let aligned = rows.start.next_multiple_of(8).min(rows.end);
    out.extend((rows.start..aligned).map(|row| C::truncate(run.code(row))));
    if aligned == rows.end {
        return;
    }
    let start = out.len();
    out.resize(start + rows.end - aligned, C::default());
    bitpack::unpack(isa, &run.bytes[aligned * run.width / 8..], run.width as u32, C::default(), &mut out[start..]);
}
