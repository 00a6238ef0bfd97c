//! HBP a bank at a time: BitWeaving/H on processor words.

use super::super::test::Comparison;
use super::super::{Format, Options, Tids};
use super::collect::each_block;
use super::{Banks, LANES, Shape};
use crate::Code;
use crate::ahead::{prefetch, read_ahead};
use std::ops::Range;

#[inline(always)]
pub(super) fn pack<C: Code>(format: Format, codes: &[C], out: &mut [u8]) {
    let (shape, max) = (Shape::new(format.width()), format.max_code());
    for (segment, codes) in codes.chunks(shape.codes()).enumerate() {
        let block = &mut out[segment / LANES * shape.block()..][..shape.block()];
        let banks = block.as_chunks_mut::<8>().0.iter_mut().skip(segment % LANES).step_by(LANES);
        for (i, out) in banks.enumerate() {
            let mut bank = 0;
            for slot in 0..shape.slots {
                let code = codes.get(slot * shape.field + i).map_or(0, |code| code.to_u64() & max);
                bank |= code << (slot * shape.field);
            }
            *out = bank.to_le_bytes();
        }
    }
}

#[inline(always)]
pub(super) fn scan(banks: Banks<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    let (shape, spare) = (banks.shape, banks.shape.spare());
    let each = |out: &mut [u64], test: &dyn Fn(u64) -> u64| {
        each_block(&banks, negate, options, out, |block| answers(block, spare, test));
    };
    if banks.width == 64 {
        return each(out, &|bank| u64::from(comparison.holds(bank)) << 63);
    }
    // The spare bits of a difference with them set beforehand stay set where nothing was borrowed.
    match comparison {
        Comparison::Equal(constant) => {
            let constant = shape.splat(constant);
            each(out, &|bank| spare.wrapping_sub(bank ^ constant));
        }
        Comparison::Less(constant) => {
            let last = shape.splat(constant - 1) | spare;
            each(out, &|bank| last.wrapping_sub(bank));
        }
        Comparison::Within { low, end } => {
            let (low, last) = (shape.splat(low), shape.splat(end - 1) | spare);
            each(out, &|bank| (bank | spare).wrapping_sub(low) & last.wrapping_sub(bank));
        }
    }
}

/// The codes that equal one of `values`, of fewer than 64 bits.
#[inline(always)]
pub(super) fn scan_any(banks: Banks<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    let (shape, spare) = (banks.shape, banks.shape.spare());
    let values: Vec<u64> = values.iter().map(|value| shape.splat(*value)).collect();
    let any = |bank| values.iter().fold(0, |any, value| any | spare.wrapping_sub(bank ^ value));
    each_block(&banks, false, options, out, |block| answers(block, spare, &any));
}

/// The answers of a block, a word per segment, given a test that leaves them in the spare bits of a bank.
#[inline(always)]
fn answers(block: &[u8], spare: u64, test: &dyn Fn(u64) -> u64) -> [u64; LANES] {
    let mut answers = [0; LANES];
    for (i, bank) in block.as_chunks::<8>().0.iter().enumerate() {
        let answer = &mut answers[i % LANES];
        *answer = *answer >> 1 | (test(u64::from_le_bytes(*bank)) & spare);
    }
    answers
}

/// Where the codes of a segment lie: bytes from its first bank on, and bits to shift by.
type CodeOffsets = [(u16, u8); 64];

#[inline(always)]
fn places(shape: Shape) -> CodeOffsets {
    let mut places = [(0, 0); 64];
    for (code, place) in places.iter_mut().enumerate().take(shape.codes()) {
        *place = place_of(shape, code);
    }
    places
}

#[inline(always)]
fn place_of(shape: Shape, code: usize) -> (u16, u8) {
    ((code % shape.field * LANES * 8) as u16, (code / shape.field * shape.field) as u8)
}

/// The first byte of a bank that lies some bytes from the first bank of a segment of the whole column.
#[inline(always)]
fn bank_at(banks: &Banks<'_>, segment: usize, bytes: u16) -> usize {
    segment / LANES * banks.shape.block() + segment % LANES * 8 + usize::from(bytes)
}

/// The code at a place of a segment of the whole column.
#[inline(always)]
fn code_at(banks: &Banks<'_>, segment: usize, (bytes, shift): (u16, u8)) -> u64 {
    let bank: &[u8; 8] =
        banks.bytes[bank_at(banks, segment, bytes)..].first_chunk().expect("the bytes end with a whole bank");
    (u64::from_le_bytes(*bank) >> shift) & (u64::MAX >> (64 - banks.width))
}

/// The code of a row (of the part).
#[inline(always)]
pub(super) fn code(banks: &Banks<'_>, row: usize) -> u64 {
    let (row, codes) = (banks.first + row, banks.shape.codes());
    code_at(banks, row / codes, place_of(banks.shape, row % codes))
}

#[inline(always)]
pub(super) fn lookup<C: Code>(banks: Banks<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    match banks.shape.codes() {
        60 => lookup_in::<60, C>(&banks, tids, out),
        63 => lookup_in::<63, C>(&banks, tids, out),
        _ => lookup_in::<64, C>(&banks, tids, out),
    }
}

#[inline(always)]
fn lookup_in<const CODES: u64, C: Code>(banks: &Banks<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    assert!(tids.rows() <= banks.rows, "TIDs of {} records in a run of {}", tids.rows(), banks.rows);
    let (places, block) = (places(banks.shape), banks.shape.block());
    let (first, mask) = (banks.first as u64, u64::MAX >> (64 - banks.width));
    // The bank's first byte, and the code's first bit.
    let place = |tid: u32| {
        let row = first + u64::from(tid);
        // What a division by a constant becomes, but for numbers this small without its last steps: the reciprocal is
        // too large by less than CODES, whose product with a row is less than 2^64.
        let segment = ((u128::from(row) * u128::from(u64::MAX / CODES + 1)) >> 64) as usize;
        let (bytes, shift) = places[row as usize - segment * CODES as usize];
        (segment / LANES * block + segment % LANES * 8 + usize::from(bytes), shift)
    };
    out.reserve(tids.tids().len());
    let touch = |tid| prefetch(banks.bytes, place(tid).0);
    read_ahead(banks.bytes, tids.tids(), 64, touch, |tids| {
        out.extend(tids.iter().map(|tid| {
            let (at, shift) = place(*tid);
            debug_assert!(at + 8 <= banks.bytes.len());
            // SAFETY: the TID is below the rows of the part, as compared above, whose segments all lie whole in the
            // bytes; the read asks for no alignment.
            let bank = u64::from_le(unsafe { banks.bytes.as_ptr().add(at).cast::<u64>().read_unaligned() });
            C::truncate((bank >> shift) & mask)
        }));
    });
}

#[inline(always)]
pub(super) fn unpack<C: Code>(banks: Banks<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    let (codes, places) = (banks.shape.codes(), places(banks.shape));
    let (mut row, end) = (banks.first + rows.start, banks.first + rows.end);
    out.reserve(rows.len());
    while row < end {
        let segment = row / codes;
        let within = row % codes..codes.min(end - segment * codes);
        row += within.len();
        out.extend(places[within].iter().map(|place| C::truncate(code_at(&banks, segment, *place))));
    }
}
