//! The scalar loop compiled for AVX2.

use super::scalar;
use crate::Code;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn locate<C: Code>(table: &[u32], base: u64, keys: &[C], links: &mut [u32]) {
    scalar::locate(table, base, keys, links);
}
