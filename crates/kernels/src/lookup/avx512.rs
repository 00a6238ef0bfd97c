//! The loops compiled for AVX2: for AVX-512 the compiler makes gathers of them, which cost a third more on Zen 5.

pub(super) use super::avx2::{copy, widen};
