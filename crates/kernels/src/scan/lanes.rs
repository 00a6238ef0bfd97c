//! The one loop of all scans, and the trait by which it reaches the comparisons of a code width.

use crate::ahead::prefetch;

/// Bytes between what a scan reads and what it asks memory for meanwhile.
const AHEAD: usize = 4096;

/// Comparisons of 64 codes at once, per code width and instruction set. Each gives one bit per code.
///
/// # Safety
/// The machine has the instruction set that a function's name ends with.
pub trait CodeWord: Sized {
    /// `code - low <= span`.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn range_avx2(codes: &[Self; 64], low: Self, span: Self) -> u64;

    /// Equal to any of `values`.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn equal_any_avx2(codes: &[Self; 64], values: &[Self]) -> u64;

    /// `code - low <= span`.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn range_avx512(codes: &[Self; 64], low: Self, span: Self) -> u64;

    /// Equal to any of `values`.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn equal_any_avx512(codes: &[Self; 64], values: &[Self]) -> u64;
}

#[cfg(target_arch = "x86_64")]
macro_rules! widths {
    ($($code:ty: $range:ident $equal_any:ident),*) => {$(
        impl CodeWord for $code {
            #[inline(always)]
            unsafe fn range_avx2(codes: &[Self; 64], low: Self, span: Self) -> u64 {
                // SAFETY: the machine has AVX2, for `Isa::best` was asked before this was chosen.
                unsafe { super::avx2::$range(codes, low, span) }
            }

            #[inline(always)]
            unsafe fn equal_any_avx2(codes: &[Self; 64], values: &[Self]) -> u64 {
                // SAFETY: the machine has AVX2, for `Isa::best` was asked before this was chosen.
                unsafe { super::avx2::$equal_any(codes, values) }
            }

            #[inline(always)]
            unsafe fn range_avx512(codes: &[Self; 64], low: Self, span: Self) -> u64 {
                // SAFETY: the machine has AVX-512, for `Isa::best` was asked before this was chosen.
                unsafe { super::avx512::$range(codes, low, span) }
            }

            #[inline(always)]
            unsafe fn equal_any_avx512(codes: &[Self; 64], values: &[Self]) -> u64 {
                // SAFETY: the machine has AVX-512, for `Isa::best` was asked before this was chosen.
                unsafe { super::avx512::$equal_any(codes, values) }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
widths!(
    u8: range_u8 equal_any_u8,
    u16: range_u16 equal_any_u16,
    u32: range_u32 equal_any_u32,
    u64: range_u64 equal_any_u64
);

#[cfg(not(target_arch = "x86_64"))]
macro_rules! scalar_only {
    ($($code:ty),*) => {$(
        impl Lanes for $code {}
    )*};
}

#[cfg(not(target_arch = "x86_64"))]
scalar_only!(u8, u16, u32, u64);

/// Fills `out` with `word` of each 64 codes; the last ones are padded with the default code and their bits cut off.
#[inline(always)]
pub(super) fn each_word<C: Copy + Default>(codes: &[C], out: &mut [u64], word: impl Fn(&[C; 64]) -> u64) {
    let (full, rest) = codes.as_chunks::<64>();
    for (codes, out) in full.iter().zip(out.iter_mut()) {
        for line in (0..size_of_val(codes)).step_by(64) {
            prefetch(codes, AHEAD + line);
        }
        let word = word(codes);
        // SAFETY: a reference can be written through. Volatile, because the compiler would otherwise carry words into
        // vector registers, just to store several together, which takes longer than the comparisons.
        unsafe { std::ptr::from_mut(out).write_volatile(word) };
    }
    if !rest.is_empty() {
        let mut padded = [C::default(); 64];
        padded[..rest.len()].copy_from_slice(rest);
        out[full.len()] = word(&padded) & ((1 << rest.len()) - 1);
    }
}
