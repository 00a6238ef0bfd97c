//! VBP with AVX2: a word of a segment is one register, or two that are decided together.
//!
//! Within a group the comparison runs from the least significant bit up, where it is the carry of a subtraction: one
//! "and" or "or" per bit, as the constant's bit is. That takes fewer instructions than keeping "less" and "equal" bit by
//! bit from the top, and early stop needs "equal" only once per group.

use super::super::test::Comparison;
use super::super::{Combine, Format, Options};
use super::{ColumnWords, GROUP, patterns, scalar};
use crate::Code;
use std::arch::x86_64::*;
use std::ops::Range;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn pack<C: Code>(format: Format, codes: &[C], out: &mut [u8]) {
    scalar::pack(format, codes, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<const WORD: usize, C: Code>(words: ColumnWords<'_, WORD>, tids: &[u32], out: &mut Vec<C>) {
    scalar::lookup(words, tids, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<const WORD: usize, C: Code>(words: ColumnWords<'_, WORD>, rows: Range<usize>, out: &mut Vec<C>) {
    scalar::unpack(words, rows, out);
}

/// The comparisons as constants of the compiler.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const WITHIN: u8 = 2;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan<const WORD: usize>(
    words: ColumnWords<'_, WORD>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    match (WORD, comparison) {
        (32, Comparison::Equal(_)) => scan_kind::<WORD, 1, 4, EQUAL>(words, comparison, negate, options, out),
        (32, Comparison::Less(_)) => scan_kind::<WORD, 1, 4, LESS>(words, comparison, negate, options, out),
        (32, Comparison::Within { .. }) => scan_kind::<WORD, 1, 4, WITHIN>(words, comparison, negate, options, out),
        (_, Comparison::Equal(_)) => scan_kind::<WORD, 2, 8, EQUAL>(words, comparison, negate, options, out),
        (_, Comparison::Less(_)) => scan_kind::<WORD, 2, 8, LESS>(words, comparison, negate, options, out),
        (_, Comparison::Within { .. }) => scan_kind::<WORD, 2, 8, WITHIN>(words, comparison, negate, options, out),
    }
}

/// Scans with `N` registers for a memory word, which stands for `OUT` result words.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn scan_kind<const WORD: usize, const N: usize, const OUT: usize, const KIND: u8>(
    words: ColumnWords<'_, WORD>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    let scan = VbpScan::<WORD> {
        words,
        patterns: comparison.constants().map(|constant| patterns(constant, words.width)),
        flip: splat(if negate { u64::MAX } else { 0 }),
        options,
    };
    let (whole, rest) = out.as_chunks_mut::<OUT>();
    let alone = KIND != WITHIN && options.combine == Combine::Set;
    match words.width {
        1 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, N, OUT, KIND, 1>(&scan, whole)),
        2 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, N, OUT, KIND, 2>(&scan, whole)),
        3 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, N, OUT, KIND, 3>(&scan, whole)),
        4 if alone => by_pattern!(scan.patterns[0][0], one_group::<WORD, N, OUT, KIND, 4>(&scan, whole)),
        _ => segments::<WORD, N, OUT, KIND>(&scan, 0, whole),
    }
    if !rest.is_empty() {
        let mut padded = [0; OUT];
        padded[..rest.len()].copy_from_slice(rest);
        segments::<WORD, N, OUT, KIND>(&scan, whole.len(), std::slice::from_mut(&mut padded));
        rest.copy_from_slice(&padded[..rest.len()]);
    }
}

/// What a scan needs to know.
struct VbpScan<'a, const WORD: usize> {
    words: ColumnWords<'a, WORD>,
    patterns: [[u8; 64 / GROUP]; 2],
    /// All ones where the answer is negated.
    flip: __m256i,
    options: Options,
}

/// Scans whole segments of codes of one group, in which the constant has `PATTERN`, into bits that nothing is known of: nothing is
/// left to ask of a segment.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn one_group<
    const WORD: usize,
    const N: usize,
    const OUT: usize,
    const KIND: u8,
    const WIDTH: usize,
    const PATTERN: u8,
>(
    scan: &VbpScan<'_, WORD>,
    out: &mut [[u64; OUT]],
) {
    for (words, out) in scan.words.of_one_group::<WIDTH>().iter().zip(out) {
        for (i, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let mut state = CompareState::new();
            for (bit, word) in words.iter().rev().enumerate() {
                state.take(load(word, i), PATTERN >> bit & 1 == 1);
            }
            let (mut less, mut equal) = (splat(0), splat(u64::MAX));
            state.finish::<KIND>(&mut less, &mut equal);
            let answer = _mm256_xor_si256(if KIND == EQUAL { equal } else { less }, scan.flip);
            // SAFETY: the array has the 32 bytes of a register, and the store asks for no alignment.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), answer) };
        }
    }
}

/// Scans whole segments, from number `first` on.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn segments<const WORD: usize, const N: usize, const OUT: usize, const KIND: u8>(
    scan: &VbpScan<'_, WORD>,
    first: usize,
    out: &mut [[u64; OUT]],
) {
    let ones = splat(u64::MAX);
    for (segment, out) in (first..).zip(out) {
        let out = out.as_chunks_mut::<4>().0;
        let (mut before, mut interest) = ([ones; N], [ones; N]);
        if scan.options.combine != Combine::Set {
            for i in 0..N {
                // SAFETY: the array has the 32 bytes of a register, and the load asks for no alignment.
                before[i] = unsafe { _mm256_loadu_si256(out[i].as_ptr().cast()) };
                let invert = if scan.options.combine == Combine::Or { ones } else { splat(0) };
                interest[i] = _mm256_xor_si256(before[i], invert);
            }
        }
        let answer = decide::<WORD, N, KIND>(scan, segment, interest);
        for i in 0..N {
            let answer = _mm256_xor_si256(answer[i], scan.flip);
            let combined = match scan.options.combine {
                Combine::Set => answer,
                Combine::And => _mm256_and_si256(before[i], answer),
                Combine::Or => _mm256_or_si256(before[i], answer),
            };
            // SAFETY: the array has the 32 bytes of a register, and the store asks for no alignment.
            unsafe { _mm256_storeu_si256(out[i].as_mut_ptr().cast(), combined) };
        }
    }
}

/// The comparison's bits of a segment; those outside `interest` mean nothing.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn decide<const WORD: usize, const N: usize, const KIND: u8>(
    scan: &VbpScan<'_, WORD>,
    segment: usize,
    interest: [__m256i; N],
) -> [__m256i; N] {
    let mut less = [[splat(0); N]; 2];
    let mut equal = [interest; 2];
    let groups = scan.words.whole_groups();
    for (group, words) in groups.iter().enumerate() {
        if scan.options.early_stop && nothing::<N, KIND>(&equal) {
            return answer::<N, KIND>(&less, &equal);
        }
        for constant in 0..if KIND == WITHIN { 2 } else { 1 } {
            let (less, equal) = (&mut less[constant], &mut equal[constant]);
            by_pattern!(scan.patterns[constant][group], whole::<WORD, N, KIND>(&words[segment], less, equal));
        }
    }
    let rest = scan.words.rest(segment);
    let decided = rest.is_empty() || scan.options.early_stop && nothing::<N, KIND>(&equal);
    if !decided {
        for constant in 0..if KIND == WITHIN { 2 } else { 1 } {
            let (less, equal) = (&mut less[constant], &mut equal[constant]);
            last::<WORD, N, KIND>(rest, scan.patterns[constant][groups.len()], less, equal);
        }
    }
    answer::<N, KIND>(&less, &equal)
}

/// The comparison's bits, given what is less than and equal to the constants.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn answer<const N: usize, const KIND: u8>(less: &[[__m256i; N]; 2], equal: &[[__m256i; N]; 2]) -> [__m256i; N] {
    match KIND {
        EQUAL => equal[0],
        LESS => less[0],
        _ => {
            let mut within = less[1];
            for (within, below) in within.iter_mut().zip(less[0]) {
                *within = _mm256_andnot_si256(below, *within);
            }
            within
        }
    }
}

/// Takes in the bits of a whole group, in which the constant has `PATTERN`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn whole<const WORD: usize, const N: usize, const KIND: u8, const PATTERN: u8>(
    words: &[[u8; WORD]; GROUP],
    less: &mut [__m256i; N],
    equal: &mut [__m256i; N],
) {
    for i in 0..N {
        let mut state = CompareState::new();
        for bit in (0..GROUP).rev() {
            state.take(load(&words[bit], i), PATTERN >> (GROUP - 1 - bit) & 1 == 1);
        }
        state.finish::<KIND>(&mut less[i], &mut equal[i]);
    }
}

/// Takes in the bits of the last group, which is not whole.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn last<const WORD: usize, const N: usize, const KIND: u8>(
    words: &[[u8; WORD]],
    pattern: u8,
    less: &mut [__m256i; N],
    equal: &mut [__m256i; N],
) {
    for i in 0..N {
        let mut state = CompareState::new();
        for (bit, word) in words.iter().rev().enumerate() {
            state.take(load(word, i), pattern >> bit & 1 == 1);
        }
        state.finish::<KIND>(&mut less[i], &mut equal[i]);
    }
}

/// How the bits of a group compare, from the least significant up to one of them.
struct CompareState {
    at_least: __m256i,
    same: __m256i,
}

impl CompareState {
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn new() -> Self {
        Self { at_least: splat(u64::MAX), same: splat(u64::MAX) }
    }

    /// Takes in the codes' bits, given the constant's.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn take(&mut self, bits: __m256i, constant: bool) {
        if constant {
            self.at_least = _mm256_and_si256(bits, self.at_least);
            self.same = _mm256_and_si256(bits, self.same);
        } else {
            self.at_least = _mm256_or_si256(bits, self.at_least);
            self.same = _mm256_andnot_si256(bits, self.same);
        }
    }

    /// Adds the group to those before it.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn finish<const KIND: u8>(self, less: &mut __m256i, equal: &mut __m256i) {
        if KIND != EQUAL {
            *less = _mm256_or_si256(*less, _mm256_andnot_si256(self.at_least, *equal));
        }
        *equal = _mm256_and_si256(*equal, self.same);
    }
}

/// Register number `i` of a word.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn load<const WORD: usize>(word: &[u8; WORD], i: usize) -> __m256i {
    let bytes: &[u8; 32] = word[i * 32..].first_chunk().expect("a word has whole registers");
    // SAFETY: the array has the 32 bytes of a register, and the load asks for no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Whether no code is undecided.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn nothing<const N: usize, const KIND: u8>(equal: &[[__m256i; N]; 2]) -> bool {
    let mut any = splat(0);
    for equal in &equal[..if KIND == WITHIN { 2 } else { 1 }] {
        for equal in equal {
            any = _mm256_or_si256(any, *equal);
        }
    }
    _mm256_testz_si256(any, any) == 1
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn splat(mask: u64) -> __m256i {
    _mm256_set1_epi64x(mask as i64)
}
