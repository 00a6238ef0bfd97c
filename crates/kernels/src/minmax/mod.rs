//! Smallest and largest code of a run: zone maps.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::{Code, Isa};

/// The smallest and the largest of `codes`; `None` when there are none.
pub fn min_max<C: Code>(isa: Isa, codes: &[C]) -> Option<(C, C)> {
    dispatch!(isa, min_max(codes))
}
