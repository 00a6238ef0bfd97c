//! Bit-packed one code at a time.

use super::super::Options;
use super::super::test::Comparison;
use super::{Run, each_word};
use crate::Code;
use crate::ahead::{prefetch, read_ahead};

#[inline(always)]
pub(super) fn scan(run: Run<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    each_word(negate, options, out, |row_word| {
        // Rows past the last lie in the padding; their bits are cut off later.
        let rows = row_word * 64..row_word * 64 + 64;
        rows.fold(0, |word, row| word | u64::from(comparison.holds(run.code(row))) << (row % 64))
    });
}

#[inline(always)]
pub(super) fn lookup<C: Code>(run: Run<'_>, tids: &[u32], out: &mut Vec<C>) {
    out.reserve(tids.len());
    let touch = |tid: u32| prefetch(run.bytes, tid as usize * run.width / 8);
    read_ahead(run.bytes, tids, 64, touch, |tids| {
        out.extend(tids.iter().map(|tid| C::truncate(run.code(*tid as usize))));
    });
}
