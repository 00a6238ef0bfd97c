//! The scalar loop compiled for AVX2, which has no compression of lanes.

use super::{Room, scalar};

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn found(links: &[u32], first: u32, probe: Room<'_>, build: Room<'_>) -> usize {
    scalar::found(links, first, probe, build)
}
