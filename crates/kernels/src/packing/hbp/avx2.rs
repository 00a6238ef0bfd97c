//! HBP with AVX2: four banks in a register; the loops that touch one code at a time are the scalar ones.

use super::super::test::Comparison;
use super::super::{Format, Options, Tids};
use super::collect::each_block;
use super::{Banks, LANES, scalar};
use crate::Code;
use std::arch::x86_64::*;
use std::ops::Range;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn pack<C: Code>(format: Format, codes: &[C], out: &mut [u8]) {
    scalar::pack(format, codes, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<C: Code>(banks: Banks<'_>, tids: Tids<'_>, out: &mut Vec<C>) {
    scalar::lookup(banks, tids, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<C: Code>(banks: Banks<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    scalar::unpack(banks, rows, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan(banks: Banks<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    let shape = banks.shape;
    let spare = splat(shape.spare());
    if banks.width == 64 {
        return scan_integers(&banks, comparison, negate, options, out);
    }
    // The spare bits of a difference with them set beforehand stay set where nothing was borrowed.
    match comparison {
        Comparison::Equal(constant) => {
            let constant = splat(shape.splat(constant));
            each_block(&banks, negate, options, out, |block| {
                answers(block, spare, |bank| _mm256_sub_epi64(spare, _mm256_xor_si256(bank, constant)))
            });
        }
        Comparison::Less(constant) => {
            let last = splat(shape.splat(constant - 1) | shape.spare());
            each_block(&banks, negate, options, out, |block| {
                answers(block, spare, |bank| _mm256_sub_epi64(last, bank))
            });
        }
        Comparison::Within { low, end } => {
            let (low, last) = (splat(shape.splat(low)), splat(shape.splat(end - 1) | shape.spare()));
            each_block(&banks, negate, options, out, |block| {
                answers(block, spare, |bank| {
                    let at_least = _mm256_sub_epi64(_mm256_or_si256(bank, spare), low);
                    _mm256_and_si256(at_least, _mm256_sub_epi64(last, bank))
                })
            });
        }
    }
}

/// The codes that equal one of `values`, of fewer than 64 bits. Up to three have a loop that keeps them in registers:
/// walking through a list costs as much as one of them.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan_any(banks: Banks<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    let values: Vec<__m256i> = values.iter().map(|value| splat(banks.shape.splat(*value))).collect();
    match *values {
        [a] => scan_list(&banks, &[a], options, out),
        [a, b] => scan_list(&banks, &[a, b], options, out),
        [a, b, c] => scan_list(&banks, &[a, b, c], options, out),
        _ => scan_list(&banks, &*values, options, out),
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn scan_list<V: AsRef<[__m256i]> + ?Sized>(banks: &Banks<'_>, values: &V, options: Options, out: &mut [u64]) {
    let spare = splat(banks.shape.spare());
    each_block(banks, false, options, out, |block| {
        answers(block, spare, |bank| {
            let mut any = splat(0);
            for value in values.as_ref() {
                any = _mm256_or_si256(any, _mm256_sub_epi64(spare, _mm256_xor_si256(bank, *value)));
            }
            any
        })
    });
}

/// Banks of one code of 64 bits.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn scan_integers(banks: &Banks<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    // AVX2 compares signed integers only.
    let sign = splat(1 << 63);
    let signed = |code: u64| splat(code ^ 1 << 63);
    match comparison {
        Comparison::Equal(constant) => {
            let constant = splat(constant);
            each_block(banks, negate, options, out, |block| {
                answers(block, sign, |bank| _mm256_cmpeq_epi64(bank, constant))
            });
        }
        Comparison::Less(constant) => {
            let constant = signed(constant);
            each_block(banks, negate, options, out, |block| {
                answers(block, sign, |bank| _mm256_cmpgt_epi64(constant, _mm256_xor_si256(bank, sign)))
            });
        }
        Comparison::Within { low, end } => {
            let (below, end) = (signed(low - 1), signed(end));
            each_block(banks, negate, options, out, |block| {
                answers(block, sign, |bank| {
                    let bank = _mm256_xor_si256(bank, sign);
                    _mm256_and_si256(_mm256_cmpgt_epi64(bank, below), _mm256_cmpgt_epi64(end, bank))
                })
            });
        }
    }
}

/// The answers of a block, a word per segment, given a test that leaves them in the spare bits of a bank.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn answers(block: &[u8], spare: __m256i, test: impl Fn(__m256i) -> __m256i) -> [u64; LANES] {
    let mut answers = [splat(0); 2];
    for banks in block.as_chunks::<64>().0 {
        for (answers, banks) in answers.iter_mut().zip(banks.as_chunks::<32>().0) {
            // SAFETY: the array has the 32 bytes of a register, and the load asks for no alignment.
            let bank = unsafe { _mm256_loadu_si256(banks.as_ptr().cast()) };
            *answers = _mm256_or_si256(_mm256_srli_epi64::<1>(*answers), _mm256_and_si256(test(bank), spare));
        }
    }
    // SAFETY: two registers of 256 bits have the size of eight words, and any bits make those.
    unsafe { std::mem::transmute(answers) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn splat(bank: u64) -> __m256i {
    _mm256_set1_epi64x(bank as i64)
}
