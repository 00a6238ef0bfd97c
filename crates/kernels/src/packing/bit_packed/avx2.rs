//! Bit-packed with AVX2: a shuffle brings the bytes of each code to a lane of 16, 32 or 64 bits, a mask clears the bits of
//! its neighbours, and the constants are shifted as the codes are.
//!
//! The lower half of register j has codes that follow each other, the upper half those 16 rows further on, which begin
//! at the same bit of a byte. Narrowing works within halves, so that the answers of 32 codes come out in order.

use super::super::Options;
use super::super::test::Comparison;
use super::{Run, each_word, scalar};
use crate::Code;
use std::arch::x86_64::*;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<C: Code>(run: Run<'_>, tids: &[u32], out: &mut Vec<C>) {
    scalar::lookup(run, tids, out);
}

/// The comparisons as constants of the compiler.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const WITHIN: u8 = 2;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan(run: Run<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    match comparison {
        Comparison::Equal(_) => scan_kind::<EQUAL>(run, comparison, negate, options, out),
        Comparison::Less(_) => scan_kind::<LESS>(run, comparison, negate, options, out),
        Comparison::Within { .. } => scan_kind::<WITHIN>(run, comparison, negate, options, out),
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn scan_kind<const KIND: u8>(run: Run<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    // Compared as signed integers, codes must leave the lane's upper bit free wherever in a byte they begin.
    match run.width {
        0..=8 => {
            let lanes = lanes::<2, 1>(run.width, comparison, 0);
            each_word(negate, options, out, |word| in_16::<KIND>(&PaddedBytes::new(&run, word), &lanes));
        }
        9..=24 => {
            let lanes = lanes::<4, 2>(run.width, comparison, 0);
            each_word(negate, options, out, |word| in_32::<KIND, false>(&PaddedBytes::new(&run, word), &lanes));
        }
        // These fit the lane with what may lie before them, to its last bit.
        25 | 26 | 28 => {
            let lanes = lanes::<4, 2>(run.width, comparison, 1 << 31);
            each_word(negate, options, out, |word| in_32::<KIND, true>(&PaddedBytes::new(&run, word), &lanes));
        }
        25..=56 => {
            let lanes = lanes::<8, 4>(run.width, comparison, 0);
            each_word(negate, options, out, |word| {
                let bytes = PaddedBytes::new(&run, word);
                in_64::<KIND>(run.width, |j, at| (codes(&bytes, at, &lanes[j]), lanes[j].constants))
            });
        }
        // Codes that may take nine bytes.
        _ => {
            let (lanes, mask) = (wide_lanes(run.width), _mm256_set1_epi64x((u64::MAX >> (64 - run.width)) as i64));
            let constants = comparison.constants().map(|constant| _mm256_set1_epi64x(constant as i64));
            each_word(negate, options, out, |word| {
                let bytes = PaddedBytes::new(&run, word);
                in_64::<KIND>(run.width, |j, at| (wide_codes(&bytes, at, &lanes[j], mask), constants))
            });
        }
    }
}

/// What brings the codes of both halves of a register to their lanes.
#[derive(Clone, Copy)]
struct CodeLanes {
    shuffle: __m256i,
    mask: __m256i,
    constants: [__m256i; 2],
}

/// The `KINDS` kinds of registers with lanes of `BYTES` bytes: codes of register j begin in the middle of a byte, and
/// register j + `KINDS` is as register j is. Constants come with the bits `flip` of each lane flipped.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn lanes<const BYTES: usize, const KINDS: usize>(
    width: usize,
    comparison: Comparison,
    flip: u64,
) -> [CodeLanes; KINDS] {
    let constants = comparison.constants();
    std::array::from_fn(|j| {
        let first = 16 / BYTES * j * width % 8;
        let (mut shuffle, mut mask, mut shifted) = ([0; 16], [0; 16], [[0; 16]; 2]);
        for lane in 0..16 / BYTES {
            let (at, shift) = ((first + lane * width) / 8, (first + lane * width) % 8);
            let put = |out: &mut [u8; 16], bits: u64| {
                out[lane * BYTES..][..BYTES].copy_from_slice(&bits.to_le_bytes()[..BYTES]);
            };
            put(&mut mask, u64::MAX >> (64 - width) << shift);
            put(&mut shifted[0], constants[0] << shift ^ flip);
            put(&mut shifted[1], constants[1] << shift ^ flip);
            for byte in 0..BYTES {
                shuffle[lane * BYTES + byte] = (at + byte) as u8;
            }
        }
        CodeLanes { shuffle: twice(&shuffle), mask: twice(&mask), constants: [twice(&shifted[0]), twice(&shifted[1])] }
    })
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn in_16<const KIND: u8>(bytes: &PaddedBytes<'_>, lanes: &[CodeLanes; 1]) -> u64 {
    let mut word = 0;
    for half in 0..2 {
        let mut answers = [_mm256_setzero_si256(); 2];
        for (j, answer) in answers.iter_mut().enumerate() {
            let lanes = &lanes[0];
            let codes = codes(bytes, (half * 4 + j) * bytes.width, lanes);
            let [first, second] = lanes.constants;
            *answer = match KIND {
                EQUAL => _mm256_cmpeq_epi16(codes, first),
                LESS => _mm256_cmpgt_epi16(first, codes),
                _ => _mm256_andnot_si256(_mm256_cmpgt_epi16(first, codes), _mm256_cmpgt_epi16(second, codes)),
            };
        }
        let bits = _mm256_movemask_epi8(_mm256_packs_epi16(answers[0], answers[1])) as u32;
        word |= u64::from(bits) << (half * 32);
    }
    word
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn in_32<const KIND: u8, const FLIP: bool>(bytes: &PaddedBytes<'_>, lanes: &[CodeLanes; 2]) -> u64 {
    let mut word = 0;
    for half in 0..2 {
        let mut answers = [_mm256_setzero_si256(); 4];
        for (j, answer) in answers.iter_mut().enumerate() {
            let lanes = &lanes[j % 2];
            let mut codes = codes(bytes, half * 4 * bytes.width + j * bytes.width / 2, lanes);
            if FLIP {
                codes = _mm256_xor_si256(codes, _mm256_set1_epi32(i32::MIN));
            }
            let [first, second] = lanes.constants;
            *answer = match KIND {
                EQUAL => _mm256_cmpeq_epi32(codes, first),
                LESS => _mm256_cmpgt_epi32(first, codes),
                _ => _mm256_andnot_si256(_mm256_cmpgt_epi32(first, codes), _mm256_cmpgt_epi32(second, codes)),
            };
        }
        word |= u64::from(narrow(answers)) << (half * 32);
    }
    word
}

/// Lanes for codes of more than 56 bits, which are shifted to where their lane begins.
#[derive(Clone, Copy)]
struct WideLanes {
    shuffle: __m256i,
    down: __m256i,
    up: __m256i,
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn wide_lanes(width: usize) -> [WideLanes; 4] {
    std::array::from_fn(|j| {
        let first = 2 * j * width % 8;
        let (mut shuffle, mut down, mut up) = ([0; 16], [0; 16], [0; 16]);
        for lane in 0..2 {
            let (at, shift) = ((first + lane * width) / 8, (first + lane * width) % 8);
            down[lane * 8] = shift as u8;
            up[lane * 8] = 8 - shift as u8;
            for byte in 0..8 {
                shuffle[lane * 8 + byte] = (at + byte) as u8;
            }
        }
        WideLanes { shuffle: twice(&shuffle), down: twice(&down), up: twice(&up) }
    })
}

/// The answers of 64 codes in lanes of 64 bits, given the codes of each kind of register and the constants to compare
/// them with.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn in_64<const KIND: u8>(width: usize, codes: impl Fn(usize, usize) -> (__m256i, [__m256i; 2])) -> u64 {
    let mut word = 0;
    for half in 0..2 {
        let mut answers = [_mm256_setzero_si256(); 8];
        for (j, answer) in answers.iter_mut().enumerate() {
            let (codes, [first, second]) = codes(j % 4, half * 4 * width + j * width / 4);
            *answer = match KIND {
                EQUAL => _mm256_cmpeq_epi64(codes, first),
                LESS => _mm256_cmpgt_epi64(first, codes),
                _ => _mm256_andnot_si256(_mm256_cmpgt_epi64(first, codes), _mm256_cmpgt_epi64(second, codes)),
            };
        }
        // The lower halves of the lanes of two registers.
        let mut pairs = [_mm256_setzero_si256(); 4];
        for (i, pair) in pairs.iter_mut().enumerate() {
            let [a, b] = [answers[2 * i], answers[2 * i + 1]].map(|answer| _mm256_castsi256_ps(answer));
            *pair = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        }
        word |= u64::from(narrow(pairs)) << (half * 32);
    }
    word
}

/// The codes of a register in their lanes, those of the lower half from byte `at` of 64 codes on.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn codes(bytes: &PaddedBytes<'_>, at: usize, lanes: &CodeLanes) -> __m256i {
    _mm256_and_si256(_mm256_shuffle_epi8(bytes.both(at), lanes.shuffle), lanes.mask)
}

/// Loads lanes for codes of more than 56 bits: the first eight bytes of each, and the eight from its second byte on. The bytes of
/// two codes, seventeen at most, are one shuffle's in each case.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn wide_codes(bytes: &PaddedBytes<'_>, at: usize, lanes: &WideLanes, mask: __m256i) -> __m256i {
    let first = _mm256_srlv_epi64(_mm256_shuffle_epi8(bytes.both(at), lanes.shuffle), lanes.down);
    let second = _mm256_sllv_epi64(_mm256_shuffle_epi8(bytes.both(at + 1), lanes.shuffle), lanes.up);
    _mm256_and_si256(_mm256_or_si256(first, second), mask)
}

/// The bytes of 64 codes with the padding behind them, whose length has been compared once.
#[derive(Clone, Copy)]
struct PaddedBytes<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> PaddedBytes<'a> {
    #[inline(always)]
    fn new(run: &Run<'a>, row_word: usize) -> Self {
        Self { bytes: run.word(row_word), width: run.width }
    }

    /// The bytes of a register's codes, those of the lower half from byte `at` on.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn both(&self, at: usize) -> __m256i {
        let lower = _mm256_castsi128_si256(self.half(at));
        _mm256_inserti128_si256::<1>(lower, self.half(at + 2 * self.width))
    }

    /// 16 bytes, the first of which is one of the codes'.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn half(&self, at: usize) -> __m128i {
        debug_assert!(at < 8 * self.width && self.bytes.len() >= 8 * self.width + 16);
        // SAFETY: the functions above ask for bytes of one of the 64 codes only, which take the first 8 * width bytes,
        // and `Run::word` gave 64 more. The load asks for no alignment.
        unsafe { _mm_loadu_si128(self.bytes.as_ptr().add(at).cast()) }
    }
}

/// A bit per lane of 32 bits, within halves in the order of registers.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn narrow(lanes: [__m256i; 4]) -> u32 {
    let (first, second) = (_mm256_packs_epi32(lanes[0], lanes[1]), _mm256_packs_epi32(lanes[2], lanes[3]));
    _mm256_movemask_epi8(_mm256_packs_epi16(first, second)) as u32
}

/// The bytes in both halves of a register.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn twice(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: the array has the 16 bytes of a register, and the load asks for no alignment.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}
