//! ByteSlice one code at a time: the definition that the vector kernels are held against.

use super::super::test::{Comparison, Relation};
use super::super::{Format, Options, Tids};
use super::order::Search;
use super::variants::{BLOCK, Tail};
use super::{Slices, Term, Unit, Ways, measures};
use crate::Code;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Writes `codes` from row `row` on to slices of `units` units.
#[inline(always)]
pub(super) fn pack<U: Unit, C: Code>(format: Format, codes: &[C], row: usize, units: usize, out: &mut [u8]) {
    let (count, padding) = measures::<U>(format.width());
    let (max, size) = (format.max_code(), size_of::<U>());
    for slice in 0..count {
        let shift = (count - 1 - slice) as u32 * U::BITS;
        let out = out[(slice * units + row) * size..].chunks_exact_mut(size);
        for (code, out) in codes.iter().zip(out) {
            let unit = (code.to_u64() & max) << padding >> shift;
            out.copy_from_slice(&unit.to_le_bytes()[..size]);
        }
    }
}

/// There is one way here.
pub(super) fn scan<U: Unit>(
    slices: Slices<'_, U>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    _: Ways,
    out: &mut [u64],
) {
    each_word(slices.rows, options, out, |row| comparison.holds(slices.code(row)) != negate);
}

pub(super) fn scan_any<U: Unit>(slices: Slices<'_, U>, values: &[u64], options: Options, out: &mut [u64]) {
    each_word(slices.rows, options, out, |row| values.contains(&slices.code(row)));
}

pub(super) fn compare<U: Unit>(
    slices: Slices<'_, U>,
    relation: Relation,
    other: Slices<'_, U>,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    each_word(slices.rows, options, out, |row| relation.holds(slices.code(row), other.code(row)) != negate);
}

pub(super) fn predicate_first<U: Unit>(terms: &[Term<'_, U>], all: bool, _: bool, out: &mut [u64]) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = if all { u64::MAX } else { 0 };
        for term in terms {
            let rows = i * 64..term.slices.rows.min(i * 64 + 64);
            let holds = |row| term.comparison.holds(term.slices.code(row)) != term.negate;
            let answer = rows.fold(0, |word, row| word | u64::from(holds(row)) << (row % 64));
            *out = if all { *out & answer } else { *out | answer };
        }
    }
}

/// The codes less than a constant of a column whose lowest bits lie bit by bit: a variant for experiments.
pub(super) fn less_with_tail(slices: Option<Slices<'_, u8>>, tail: Tail<'_>, out: &mut [u64]) {
    let code = |row: usize| {
        let upper = slices.map_or(0, |slices| slices.code(row));
        let bits = &tail.words[row / BLOCK * tail.bits..][..tail.bits];
        bits.iter().fold(upper, |code, words| code << 1 | words[row % BLOCK / 64] >> (row % 64) & 1)
    };
    let rows = slices.map_or(out.len() * 64, |slices| slices.rows);
    each_word(rows, Options::default(), out, |row| code(row) < tail.constant);
}

/// The rows at which constants belong in a sorted column.
pub(super) fn search(search: Search<'_>, out: &mut [u32]) {
    search.all(out, Search::less);
}

/// Answers each row, save for words that are decided.
fn each_word(rows: usize, options: Options, out: &mut [u64], holds: impl Fn(usize) -> bool) {
    for (i, out) in out.iter_mut().enumerate() {
        if options.early_stop && options.combine.interest(*out) == 0 {
            continue;
        }
        let rows = i * 64..rows.min(i * 64 + 64);
        let answer = rows.fold(0, |word, row| word | u64::from(holds(row)) << (row % 64));
        *out = options.combine.apply(*out, answer);
    }
}

pub(super) fn lookup<U: Unit, C: Code>(slices: Slices<'_, U>, tids: Tids<'_>, out: &mut [MaybeUninit<C>]) {
    for (out, tid) in out.iter_mut().zip(tids.tids()) {
        out.write(C::truncate(slices.code(*tid as usize)));
    }
}

pub(super) fn unpack<U: Unit, C: Code>(slices: Slices<'_, U>, rows: Range<usize>, out: &mut [MaybeUninit<C>]) {
    for (out, row) in out.iter_mut().zip(rows) {
        out.write(C::truncate(slices.code(row)));
    }
}
