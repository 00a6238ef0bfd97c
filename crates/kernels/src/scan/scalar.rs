//! Scans one code at a time.

use super::lanes::each_word;
use crate::Code;

#[inline(always)]
pub(super) fn range<C: Code>(codes: &[C], low: C, span: C, out: &mut [u64]) {
    each_word(codes, out, |codes| word(codes, |code| code.wrapping_sub(low) <= span));
}

#[inline(always)]
pub(super) fn equal_any<C: Code>(codes: &[C], values: &[C], out: &mut [u64]) {
    each_word(codes, out, |codes| word(codes, |code| values.contains(&code)));
}

#[inline(always)]
pub(super) fn in_bitmap<C: Code>(codes: &[C], bitmap: &[u64], out: &mut [u64]) {
    each_word(codes, out, |codes| {
        word(codes, |code| {
            let code = code.to_u64();
            usize::try_from(code / 64)
                .ok()
                .and_then(|at| bitmap.get(at))
                .is_some_and(|word| word >> (code % 64) & 1 == 1)
        })
    });
}

#[inline(always)]
fn word<C: Code>(codes: &[C; 64], test: impl Fn(C) -> bool) -> u64 {
    codes.iter().enumerate().fold(0, |word, (i, &code)| word | u64::from(test(code)) << i)
}
