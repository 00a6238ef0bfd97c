//! The scalar loop compiled for AVX2.

use super::scalar;
use crate::Code;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn min_max<C: Code>(codes: &[C]) -> Option<(C, C)> {
    scalar::min_max(codes)
}
