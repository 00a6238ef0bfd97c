//! The native packing: each code in the smallest of 8, 16, 32 or 64 bits that holds it, little-endian, one after the
//! other. It delegates to the kernels for plain runs of codes, which want them aligned; runs that are not are copied.

use super::by_runs::{RUN, each_run, with_code};
use super::test::Comparison;
use super::{Combine, Format, Options, Packed, Tids};
use crate::{Code, Isa, integers, lookup, scan};
use std::ops::Range;

/// Bytes of a code of `width` bits.
const fn code_bytes(width: u8) -> usize {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

pub(super) fn bytes(format: Format, rows: usize) -> usize {
    rows * code_bytes(format.width())
}

pub(super) fn pack<C: Code>(_: Isa, format: Format, codes: &[C], out: &mut [u8]) {
    let (size, max) = (code_bytes(format.width()), format.max_code());
    for (code, out) in codes.iter().zip(out.chunks_exact_mut(size)) {
        out.copy_from_slice(&(code.to_u64() & max).to_le_bytes()[..size]);
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
    let (low, high) = match comparison {
        Comparison::Equal(constant) => (constant, constant),
        Comparison::Less(constant) => (0, constant - 1),
        Comparison::Within { low, end } => (low, end - 1),
    };
    with_code!(packed.format().width(), N => {
        let (low, high) = (N::truncate(low), N::truncate(high));
        let scan = if negate { scan::outside::<N> } else { scan::range::<N> };
        if let (Combine::Set, Some(codes)) = (options.combine, aligned::<N>(packed)) {
            return scan(isa, codes, low, high, out);
        }
        let mut scratch = Vec::new();
        each_run(packed.rows(), options, out, |rows, answers| {
            scan(isa, run::<N>(packed, rows, &mut scratch), low, high, answers);
        });
    });
}

pub(super) fn scan_any(isa: Isa, packed: Packed<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    let max = packed.format().max_code();
    with_code!(packed.format().width(), N => {
        let values: Vec<N> = values.iter().filter(|value| **value <= max).map(|value| N::truncate(*value)).collect();
        let mut scratch = Vec::new();
        each_run(packed.rows(), options, out, |rows, answers| {
            scan::equal_any(isa, run::<N>(packed, rows, &mut scratch), &values, answers);
        });
    });
}

pub(super) fn scan_bitmap(isa: Isa, packed: Packed<'_>, bitmap: &[u64], options: Options, out: &mut [u64]) {
    with_code!(packed.format().width(), N => {
        if let (Combine::Set, Some(codes)) = (options.combine, aligned::<N>(packed)) {
            return scan::in_bitmap(isa, codes, bitmap, out);
        }
        let mut scratch = Vec::new();
        each_run(packed.rows(), options, out, |rows, answers| {
            scan::in_bitmap(isa, run::<N>(packed, rows, &mut scratch), bitmap, answers);
        });
    });
}

pub(super) fn get(packed: Packed<'_>, tid: usize) -> u64 {
    with_code!(packed.format().width(), N => read::<N>(packed.bytes(), packed.first() + tid).to_u64())
}

pub(super) fn lookup<C: Code>(isa: Isa, packed: Packed<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    with_code!(packed.format().width(), N => match aligned::<N>(packed) {
        Some(codes) => lookup::widen(isa, codes, tids.tids(), C::default(), out),
        None => {
            let code = |tid: &u32| C::truncate(read::<N>(packed.bytes(), packed.first() + *tid as usize).to_u64());
            out.extend(tids.tids().iter().map(code));
        }
    });
}

pub(super) fn unpack<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    out.reserve(rows.len());
    with_code!(packed.format().width(), N => {
        let mut scratch = Vec::new();
        for start in rows.clone().step_by(RUN) {
            let codes = run::<N>(packed, start..rows.end.min(start + RUN), &mut scratch);
            crate::decode::widen(isa, codes, C::default(), out);
        }
    });
}

/// The codes of a range of rows, in place where they are aligned, else copied to `scratch`.
fn run<'a, N: Code>(packed: Packed<'a>, rows: Range<usize>, scratch: &'a mut Vec<N>) -> &'a [N] {
    match aligned::<N>(packed) {
        Some(codes) => &codes[rows],
        None => {
            scratch.clear();
            scratch.extend(rows.map(|row| read::<N>(packed.bytes(), packed.first() + row)));
            scratch
        }
    }
}

/// The codes where they lie, unless they are not aligned or in another byte order than the machine's.
fn aligned<N: Code>(packed: Packed<'_>) -> Option<&[N]> {
    let codes = integers::<N>(packed.bytes(), packed.total())?;
    cfg!(target_endian = "little").then(|| &codes[packed.first()..][..packed.rows()])
}

/// The code at a row of the whole column.
#[inline(always)]
fn read<N: Code>(bytes: &[u8], row: usize) -> N {
    let size = size_of::<N>();
    let mut code = [0; 8];
    code[..size].copy_from_slice(&bytes[row * size..][..size]);
    N::truncate(u64::from_le_bytes(code))
}
