//! The scalar loops compiled for AVX2.

use super::{Deltas, PageBits, Runs, scalar};
use crate::Code;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn fields<C: Code>(bytes: &[u8], first: usize, stride: usize, width: u32, out: &mut [C]) {
    scalar::fields(bytes, first, stride, width, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn fields_at<C: Code>(bytes: &[u8], starts: &[u32], shift: usize, width: u32, out: &mut [C]) {
    scalar::fields_at(bytes, starts, shift, width, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn expand_runs<C: Code>(runs: Runs<'_>, skip: usize, out: &mut [C]) -> bool {
    scalar::expand_runs(runs, skip, out)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn sum_deltas(page: PageBits<'_>, deltas: Deltas, values: &mut [u64], starts: &mut [u32]) -> bool {
    scalar::sum_deltas(page, deltas, values, starts)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn translate<C: Code>(indexes: &[u16], entries: &[C], out: &mut [C]) {
    scalar::translate(indexes, entries, out);
}
