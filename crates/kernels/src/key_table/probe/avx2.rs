//! The searches without vectors compiled for AVX2, which has no compression of lanes.

use super::{Probing, Slots, scalar};
use crate::hash::{Crc32Instruction, with_function};

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn locate<S: Slots>(table: S, probing: Probing, keys: &[S::Key], links: &mut [u32]) {
    with_function!(table.function(), Crc32Instruction::here(), function => {
        scalar::search(table, function, probing, keys, links);
    });
}
