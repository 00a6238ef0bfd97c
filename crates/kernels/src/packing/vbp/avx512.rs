//! VBP with AVX-512: a word of 512 bits is one register. As in `avx2.rs`, the comparison within a group is the
//! carry of a subtraction, from the least significant bit up. Words of 256 bits are AVX2's.

use super::super::test::Comparison;
use super::super::{Combine, Format, Options};
use super::{ColumnWords, GROUP, avx2, patterns, scalar};
use crate::Code;
use std::arch::x86_64::*;
use std::ops::Range;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn pack<C: Code>(format: Format, codes: &[C], out: &mut [u8]) {
    scalar::pack(format, codes, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<const WORD: usize, C: Code>(words: ColumnWords<'_, WORD>, tids: &[u32], out: &mut Vec<C>) {
    scalar::lookup(words, tids, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<const WORD: usize, C: Code>(words: ColumnWords<'_, WORD>, rows: Range<usize>, out: &mut Vec<C>) {
    scalar::unpack(words, rows, out);
}

/// The comparisons as constants of the compiler.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const WITHIN: u8 = 2;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan<const WORD: usize>(
    words: ColumnWords<'_, WORD>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    match comparison {
        _ if WORD == 32 => avx2::scan(words, comparison, negate, options, out),
        Comparison::Equal(_) => scan_kind::<WORD, EQUAL>(words, comparison, negate, options, out),
        Comparison::Less(_) => scan_kind::<WORD, LESS>(words, comparison, negate, options, out),
        Comparison::Within { .. } => scan_kind::<WORD, WITHIN>(words, comparison, negate, options, out),
    }
}

/// What a scan needs to know.
struct VbpScan<'a, const WORD: usize> {
    words: ColumnWords<'a, WORD>,
    patterns: [[u8; 64 / GROUP]; 2],
    /// All ones where the answer is negated.
    flip: __m512i,
    options: Options,
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn scan_kind<const WORD: usize, const KIND: u8>(
    words: ColumnWords<'_, WORD>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    let patterns = comparison.constants().map(|constant| patterns(constant, words.width));
    let scan = VbpScan { words, patterns, flip: splat(if negate { u64::MAX } else { 0 }), options };
    let (whole, rest) = out.as_chunks_mut::<8>();
    let alone = KIND != WITHIN && options.combine == Combine::Set;
    match words.width {
        1 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, KIND, 1>(&scan, whole)),
        2 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, KIND, 2>(&scan, whole)),
        3 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, KIND, 3>(&scan, whole)),
        4 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, KIND, 4>(&scan, whole)),
        _ => segments::<WORD, KIND>(&scan, 0, whole),
    }
    if !rest.is_empty() {
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        segments::<WORD, KIND>(&scan, whole.len(), std::slice::from_mut(&mut padded));
        rest.copy_from_slice(&padded[..rest.len()]);
    }
}

/// Scans whole segments of codes of one group, in which the constant has `PATTERN`, into bits that nothing is known of: nothing is
/// left to ask of a segment.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn one_group<const WORD: usize, const KIND: u8, const WIDTH: usize, const PATTERN: u8>(
    scan: &VbpScan<'_, WORD>,
    out: &mut [[u64; 8]],
) {
    for (words, out) in scan.words.of_one_group::<WIDTH>().iter().zip(out) {
        let mut state = CompareState::new();
        for (bit, word) in words.iter().rev().enumerate() {
            state.take(load(word), PATTERN >> bit & 1 == 1);
        }
        let (mut less, mut equal) = (splat(0), splat(u64::MAX));
        state.finish::<KIND>(&mut less, &mut equal);
        let answer = _mm512_xor_si512(if KIND == EQUAL { equal } else { less }, scan.flip);
        // SAFETY: the array has the 64 bytes of a register, and the store asks for no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), answer) };
    }
}

/// Scans whole segments, from number `first` on.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn segments<const WORD: usize, const KIND: u8>(scan: &VbpScan<'_, WORD>, first: usize, out: &mut [[u64; 8]]) {
    let groups = scan.words.whole_groups();
    for (segment, out) in (first..).zip(out) {
        // SAFETY: the array has the 64 bytes of a register, and the load asks for no alignment.
        let before = unsafe { _mm512_loadu_si512(out.as_ptr().cast()) };
        let interest = match scan.options.combine {
            Combine::Set => splat(u64::MAX),
            Combine::And => before,
            Combine::Or => _mm512_xor_si512(before, splat(u64::MAX)),
        };
        let (mut less, mut equal) = ([splat(0); 2], [interest; 2]);
        let decided = |equal: &[__m512i; 2]| scan.options.early_stop && nothing::<KIND>(equal);
        'groups: {
            for (group, words) in groups.iter().enumerate() {
                if decided(&equal) {
                    break 'groups;
                }
                for constant in 0..if KIND == WITHIN { 2 } else { 1 } {
                    let (less, equal) = (&mut less[constant], &mut equal[constant]);
                    by_pattern!(scan.patterns[constant][group], whole::<WORD, KIND>(&words[segment], less, equal));
                }
            }
            let rest = scan.words.rest(segment);
            if rest.is_empty() || decided(&equal) {
                break 'groups;
            }
            for constant in 0..if KIND == WITHIN { 2 } else { 1 } {
                let (less, equal) = (&mut less[constant], &mut equal[constant]);
                last::<WORD, KIND>(rest, scan.patterns[constant][groups.len()], less, equal);
            }
        }
        let answer = _mm512_xor_si512(answer::<KIND>(&less, &equal), scan.flip);
        let after = match scan.options.combine {
            Combine::Set => answer,
            Combine::And => _mm512_and_si512(before, answer),
            Combine::Or => _mm512_or_si512(before, answer),
        };
        // SAFETY: the array has the 64 bytes of a register, and the store asks for no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), after) };
    }
}

/// Whether no code is undecided.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn nothing<const KIND: u8>(equal: &[__m512i; 2]) -> bool {
    let any = if KIND == WITHIN { _mm512_or_si512(equal[0], equal[1]) } else { equal[0] };
    _mm512_test_epi64_mask(any, any) == 0
}

/// The comparison's bits, given what is less than and equal to the constants.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn answer<const KIND: u8>(less: &[__m512i; 2], equal: &[__m512i; 2]) -> __m512i {
    match KIND {
        EQUAL => equal[0],
        LESS => less[0],
        _ => _mm512_andnot_si512(less[0], less[1]),
    }
}

/// Takes in the bits of a whole group, in which the constant has `PATTERN`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn whole<const WORD: usize, const KIND: u8, const PATTERN: u8>(
    words: &[[u8; WORD]; GROUP],
    less: &mut __m512i,
    equal: &mut __m512i,
) {
    let mut state = CompareState::new();
    for bit in (0..GROUP).rev() {
        state.take(load(&words[bit]), PATTERN >> (GROUP - 1 - bit) & 1 == 1);
    }
    state.finish::<KIND>(less, equal);
}

/// Takes in the bits of the last group, which is not whole.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn last<const WORD: usize, const KIND: u8>(words: &[[u8; WORD]], pattern: u8, less: &mut __m512i, equal: &mut __m512i) {
    let mut state = CompareState::new();
    for (bit, word) in words.iter().rev().enumerate() {
        state.take(load(word), pattern >> bit & 1 == 1);
    }
    state.finish::<KIND>(less, equal);
}

/// How the bits of a group compare, from the least significant up to one of them.
struct CompareState {
    at_least: __m512i,
    same: __m512i,
}

impl CompareState {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn new() -> Self {
        Self { at_least: splat(u64::MAX), same: splat(u64::MAX) }
    }

    /// Takes in the codes' bits, given the constant's.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn take(&mut self, bits: __m512i, constant: bool) {
        if constant {
            self.at_least = _mm512_and_si512(bits, self.at_least);
            self.same = _mm512_and_si512(bits, self.same);
        } else {
            self.at_least = _mm512_or_si512(bits, self.at_least);
            self.same = _mm512_andnot_si512(bits, self.same);
        }
    }

    /// Adds the group to those before it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn finish<const KIND: u8>(self, less: &mut __m512i, equal: &mut __m512i) {
        /// `a OR (b AND NOT c)`
        const OR_WITHOUT: i32 = 0b1111_0100;
        if KIND != EQUAL {
            *less = _mm512_ternarylogic_epi64::<OR_WITHOUT>(*less, *equal, self.at_least);
        }
        *equal = _mm512_and_si512(*equal, self.same);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn load<const WORD: usize>(word: &[u8; WORD]) -> __m512i {
    let bytes: &[u8; 64] = word.first_chunk().expect("words of 256 bits don't come here");
    // SAFETY: the array has the 64 bytes of a register, and the load asks for no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn splat(mask: u64) -> __m512i {
    _mm512_set1_epi64(mask as i64)
}
