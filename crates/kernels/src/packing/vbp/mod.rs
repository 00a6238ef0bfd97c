//! VBP: word j of a segment holds the j-th bit of S codes (ByteSlice paper, section 2.2, after BitWeaving/V).
//!
//! Four bits make a group, and each group has a region of its own: early stop is asked once per group (the paper's
//! tau = 4), and bits that it leaves out are not fetched with those that it reads. S is 512 by default, 256 as in the
//! paper on request.

/// Calls a function with a constant of the compiler for the pattern of a whole group, so that its bits cost nothing.
#[cfg(target_arch = "x86_64")]
macro_rules! by_pattern {
    ($pattern:expr, $function:ident::<$($constant:tt),*>$arguments:tt) => {
        by_pattern!(@ $pattern, $function, ($($constant),*), $arguments, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $pattern:expr, $function:ident, $constants:tt, $arguments:tt, $($number:literal)*) => {
        match $pattern {
            $($number => by_pattern!(= $function, $constants, $number, $arguments),)*
            _ => by_pattern!(= $function, $constants, 0, $arguments),
        }
    };
    (= $function:ident, ($($constant:tt),*), $number:literal, ($($argument:expr),*)) => {
        $function::<$($constant,)* $number>($($argument),*)
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;
mod transpose;

use super::test::Comparison;
use super::{Format, Options, Packed, Tids};
use crate::{Code, Isa};
use std::ops::Range;

/// Bits of a group: the tau of the paper.
const GROUP: usize = 4;

/// The words of a column, of `WORD` bytes each: 32 or 64.
#[derive(Debug, Clone, Copy)]
struct ColumnWords<'a, const WORD: usize> {
    /// All bytes.
    bytes: &'a [u8],
    /// For each whole group, the words of every segment (from the part's first one on).
    whole: [&'a [[[u8; WORD]; GROUP]]; 64 / GROUP],
    /// The words of the last group, if it has fewer than four bits.
    rest: &'a [[u8; WORD]],
    /// Bits of a code.
    width: usize,
}

impl<'a, const WORD: usize> ColumnWords<'a, WORD> {
    fn new(packed: Packed<'a>) -> Self {
        let width = usize::from(packed.format().width());
        let segments = packed.total().div_ceil(8 * WORD);
        let first = packed.first() / (8 * WORD);
        let mut regions = packed.bytes();
        let mut whole: [&[[[u8; WORD]; GROUP]]; 64 / GROUP] = [&[]; 64 / GROUP];
        for whole in whole.iter_mut().take(width / GROUP) {
            let (region, others) = regions.split_at(segments * GROUP * WORD);
            *whole = &region.as_chunks().0.as_chunks().0[first..];
            regions = others;
        }
        Self { bytes: packed.bytes(), whole, rest: &regions.as_chunks().0[first * (width % GROUP)..], width }
    }

    /// Whole groups.
    #[inline(always)]
    fn whole_groups(&self) -> &[&'a [[[u8; WORD]; GROUP]]] {
        &self.whole[..self.width / GROUP]
    }

    /// The words of every segment, where a code has but one group: `WIDTH` of them.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn of_one_group<const WIDTH: usize>(&self) -> &'a [[[u8; WORD]; WIDTH]] {
        if WIDTH == GROUP { self.whole[0].as_flattened().as_chunks().0 } else { self.rest.as_chunks().0 }
    }

    /// The words of the last group in a segment (of the part), if it is not whole.
    #[inline(always)]
    fn rest(&self, segment: usize) -> &'a [[u8; WORD]] {
        let bits = self.width % GROUP;
        &self.rest[segment * bits..][..bits]
    }

    /// Calls `visit` with the words of each group that 64 rows have a part of, those of the more significant bits first,
    /// and where in the words that part begins.
    #[inline(always)]
    fn each_group(&self, row_word: usize, mut visit: impl FnMut(&'a [[u8; WORD]], usize)) {
        let (segment, within) = (row_word * 8 / WORD, row_word * 8 % WORD);
        self.whole_groups().iter().for_each(|group| visit(&group[segment], within));
        visit(self.rest(segment), within);
    }
}

/// Eight bytes of a word.
#[inline(always)]
fn part_of<const WORD: usize>(word: &[u8; WORD], within: usize) -> u64 {
    u64::from_le_bytes(*word[within..].first_chunk().expect("a word has whole eighths"))
}

/// A constant's bits, the most significant first, in groups: a number each.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn patterns(constant: u64, width: usize) -> [u8; 64 / GROUP] {
    let mut patterns = [0; 64 / GROUP];
    let mut left = width;
    for pattern in patterns.iter_mut().take(width.div_ceil(GROUP)) {
        let bits = left.min(GROUP);
        left -= bits;
        *pattern = (constant >> left & ((1 << bits) - 1)) as u8;
    }
    patterns
}

pub(super) fn bytes(format: Format, rows: usize) -> usize {
    let size = usize::from(format.segment_bits());
    rows.div_ceil(size) * size / 8 * usize::from(format.width())
}

/// Calls a function of the instruction set on the words of a column.
macro_rules! on_words {
    ($isa:expr, $packed:expr, $function:ident($($argument:expr),*)) => {
        match $packed.format().segment_bits() {
            256 => dispatch!($isa, $function(ColumnWords::<32>::new($packed), $($argument),*)),
            _ => dispatch!($isa, $function(ColumnWords::<64>::new($packed), $($argument),*)),
        }
    };
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
    on_words!(isa, packed, scan(comparison, negate, options, out));
}

pub(super) fn get(packed: Packed<'_>, tid: usize) -> u64 {
    match packed.format().segment_bits() {
        256 => scalar::code(&ColumnWords::<32>::new(packed), tid),
        _ => scalar::code(&ColumnWords::<64>::new(packed), tid),
    }
}

pub(super) fn lookup<C: Code>(isa: Isa, packed: Packed<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    on_words!(isa, packed, lookup(tids.tids(), out));
}

pub(super) fn unpack<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    on_words!(isa, packed, unpack(rows, out));
}
