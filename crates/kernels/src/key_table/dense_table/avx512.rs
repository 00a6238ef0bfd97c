//! The loop compiled for AVX2: for AVX-512 the compiler makes gathers of it.

pub(super) use super::avx2::locate;
