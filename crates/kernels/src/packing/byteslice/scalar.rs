//! ByteSlice one code at a time: the definition that the vector kernels are held against.

use super::super::Format;
use super::super::Options;
use super::super::test::Comparison;
use super::{GROUP, Slices, Unit, measures};
use crate::Code;
use std::ops::Range;

pub(super) fn pack<U: Unit, C: Code>(format: Format, codes: &[C], out: &mut [u8]) {
    let (count, padding) = measures::<U>(format.width());
    let (max, size) = (format.max_code(), size_of::<U>());
    let units = codes.len().next_multiple_of(GROUP);
    for slice in 0..count {
        let shift = (count - 1 - slice) as u32 * U::BITS;
        let out = out[slice * units * size..].chunks_exact_mut(size);
        for (code, out) in codes.iter().zip(out) {
            let unit = (code.to_u64() & max) << padding >> shift;
            out.copy_from_slice(&unit.to_le_bytes()[..size]);
        }
    }
}

#[inline(always)]
pub(super) fn scan<U: Unit>(
    slices: Slices<'_, U>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    for (i, out) in out.iter_mut().enumerate() {
        let interest = options.combine.interest(*out);
        if options.early_stop && interest == 0 {
            continue;
        }
        let rows = i * 64..slices.rows.min(i * 64 + 64);
        let answer =
            rows.fold(0, |word, row| word | u64::from(comparison.holds(slices.code(row)) != negate) << (row % 64));
        *out = options.combine.apply(*out, answer);
    }
}

#[inline(always)]
pub(super) fn lookup<U: Unit, C: Code>(slices: Slices<'_, U>, tids: &[u32], out: &mut Vec<C>) {
    out.extend(tids.iter().map(|tid| C::truncate(slices.code(*tid as usize))));
}

#[inline(always)]
pub(super) fn unpack<U: Unit, C: Code>(slices: Slices<'_, U>, rows: Range<usize>, out: &mut Vec<C>) {
    out.extend(rows.map(|row| C::truncate(slices.code(row))));
}
