//! VBP 64 codes at a time, in plain words: BitWeaving/V with a processor word for a register.

use super::super::test::Comparison;
use super::super::{Format, Options};
use super::transpose::{bytes_of, words_of};
use super::{ColumnWords, GROUP, part_of};
use crate::Code;
use crate::ahead::{prefetch, read_ahead};
use std::ops::Range;

#[inline(always)]
pub(super) fn pack<C: Code>(format: Format, codes: &[C], out: &mut [u8]) {
    let (width, size) = (usize::from(format.width()), usize::from(format.segment_bits()));
    let segments = codes.len().div_ceil(size);
    for (row_word, codes) in codes.chunks(64).enumerate() {
        let (segment, within) = (row_word * 64 / size, row_word * 64 % size / 8);
        for byte in 0..width.div_ceil(8) {
            let mut bytes = [0; 64];
            for (byte_of, code) in bytes.iter_mut().zip(codes) {
                *byte_of = (code.to_u64() >> (8 * byte)) as u8;
            }
            for (bit, word) in words_of(&bytes).into_iter().enumerate().take(width - 8 * byte) {
                let bit = width - 1 - 8 * byte - bit;
                let (group, bit) = (bit / GROUP, bit % GROUP);
                let bits = (width - group * GROUP).min(GROUP);
                let start = (group * GROUP * segments + segment * bits + bit) * size / 8 + within;
                out[start..start + 8].copy_from_slice(&word.to_le_bytes());
            }
        }
    }
}

#[inline(always)]
pub(super) fn scan<const WORD: usize>(
    words: ColumnWords<'_, WORD>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    let [first, second] = comparison.constants().map(|constant| {
        let mut masks = [0; 64];
        for (bit, mask) in masks.iter_mut().take(words.width).enumerate() {
            *mask = (constant >> (words.width - 1 - bit) & 1).wrapping_neg();
        }
        masks
    });
    let flip = if negate { u64::MAX } else { 0 };
    for (row_word, out) in out.iter_mut().enumerate() {
        let interest = options.combine.interest(*out);
        let (mut less, mut equal) = ([0; 2], [interest; 2]);
        let both = matches!(comparison, Comparison::Within { .. });
        let (segment, within) = (row_word * 8 / WORD, row_word * 8 % WORD);
        let mut bit = 0;
        let groups = words.whole_groups().iter().map(|group| &group[segment][..]);
        for group in groups.chain([words.rest(segment)]) {
            let undecided = if both { equal[0] | equal[1] } else { equal[0] };
            if options.early_stop && undecided == 0 {
                break;
            }
            for word in group {
                let word = part_of(word, within);
                for (i, constant) in [first[bit], second[bit]].into_iter().enumerate() {
                    less[i] |= equal[i] & !word & constant;
                    equal[i] &= !(word ^ constant);
                }
                bit += 1;
            }
        }
        let answer = match comparison {
            Comparison::Equal(_) => equal[0],
            Comparison::Less(_) => less[0],
            Comparison::Within { .. } => !less[0] & less[1],
        };
        *out = options.combine.apply(*out, answer ^ flip);
    }
}

/// The code of a row (of the part).
#[inline(always)]
pub(super) fn code<const WORD: usize>(words: &ColumnWords<'_, WORD>, row: usize) -> u64 {
    let (byte, shift) = (row % (8 * WORD) / 8, row % 8);
    let bit = |word: &[u8; WORD]| u64::from(word[byte] >> shift & 1);
    let mut code = 0;
    words.each_group(row / 64, |group, _| match group {
        [a, b, c, d] => code = code << 4 | bit(a) << 3 | bit(b) << 2 | bit(c) << 1 | bit(d),
        last => last.iter().for_each(|word| code = code << 1 | bit(word)),
    });
    code
}

/// TIDs in the same 64 rows from which on all 64 codes are unpacked at once.
const DENSE: usize = 6;

#[inline(always)]
pub(super) fn lookup<const WORD: usize, C: Code>(words: ColumnWords<'_, WORD>, tids: &[u32], out: &mut Vec<C>) {
    out.reserve(tids.len());
    let touch = |tid: u32| {
        words.each_group(tid as usize / 64, |group, within| {
            group.iter().for_each(|word| prefetch(word, within));
        });
    };
    // About as many lines as for the other packings, and TIDs enough for the shortcut below.
    let count = (256 / words.width).max(2 * DENSE);
    read_ahead(words.bytes, tids, count, touch, |tids| lookup_near(&words, tids, out));
}

/// [`lookup`] without a thought of caches.
#[inline(always)]
fn lookup_near<const WORD: usize, C: Code>(words: &ColumnWords<'_, WORD>, tids: &[u32], out: &mut Vec<C>) {
    let mut rest = tids;
    while let Some(&first) = rest.first() {
        let row_word = first / 64;
        if rest.get(DENSE - 1).is_none_or(|tid| tid / 64 != row_word) {
            out.push(C::truncate(code(words, first as usize)));
            rest = &rest[1..];
            continue;
        }
        let codes = codes_of_word::<WORD, C>(words, row_word as usize);
        let same = rest.iter().take_while(|tid| **tid / 64 == row_word).count();
        out.extend(rest[..same].iter().map(|tid| codes[*tid as usize % 64]));
        rest = &rest[same..];
    }
}

#[inline(always)]
pub(super) fn unpack<const WORD: usize, C: Code>(words: ColumnWords<'_, WORD>, rows: Range<usize>, out: &mut Vec<C>) {
    out.reserve(rows.len());
    for row_word in rows.start / 64..rows.end.div_ceil(64) {
        let start = row_word * 64;
        let codes = codes_of_word::<WORD, C>(&words, row_word);
        out.extend_from_slice(&codes[rows.start.max(start) - start..rows.end.min(start + 64) - start]);
    }
}

/// The codes of the 64 rows that a result word stands for.
#[inline(always)]
fn codes_of_word<const WORD: usize, C: Code>(words: &ColumnWords<'_, WORD>, row_word: usize) -> [C; 64] {
    let (mut bits, mut left) = ([[0; 8]; 8], words.width);
    words.each_group(row_word, |group, within| {
        for word in group {
            left -= 1;
            bits[left / 8][left % 8] = part_of(word, within);
        }
    });
    let mut codes = [C::default(); 64];
    for (byte, bits) in bits.into_iter().enumerate().take(words.width.div_ceil(8)) {
        for (code, byte_of) in codes.iter_mut().zip(bytes_of(bits)) {
            *code = code.wrapping_add(C::truncate(u64::from(byte_of) << (8 * byte)));
        }
    }
    codes
}
