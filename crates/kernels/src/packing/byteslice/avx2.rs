//! ByteSlice: the scalar loops compiled for AVX2.

use super::super::Options;
use super::super::test::Comparison;
use super::{Slices, Unit, scalar};
use crate::Code;
use std::ops::Range;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan<U: Unit>(
    slices: Slices<'_, U>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    scalar::scan(slices, comparison, negate, options, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<U: Unit, C: Code>(slices: Slices<'_, U>, tids: &[u32], out: &mut Vec<C>) {
    scalar::lookup(slices, tids, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn unpack<U: Unit, C: Code>(slices: Slices<'_, U>, rows: Range<usize>, out: &mut Vec<C>) {
    scalar::unpack(slices, rows, out);
}
