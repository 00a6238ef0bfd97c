//! The integers that kernels work on: codes as they lie in memory, and the values that they decode to.

use std::fmt::Debug;

/// A code in its native width: `u8`, `u16`, `u32` or `u64`, and nothing else.
pub trait Code: Value + Ord + crate::scan::CodeWord + crate::packing::PackedCodes {
    /// Bits of the native width.
    const BITS: u32;
    /// The largest code.
    const MAX: Self;

    /// The code, widened.
    fn to_u64(self) -> u64;

    /// The low bits of `code`.
    fn truncate(code: u64) -> Self;

    /// Sum modulo 2^BITS.
    fn wrapping_add(self, other: Self) -> Self;

    /// Difference modulo 2^BITS.
    fn wrapping_sub(self, other: Self) -> Self;
}

/// An integer that codes decode to: base plus code. Implemented for the primitive integers and for nothing else.
pub trait Value: Copy + Default + PartialEq + Debug + Send + Sync + sealed::Sealed + 'static {
    /// `self + code` modulo the width of the type: exact whenever the true sum fits.
    fn offset(self, code: u64) -> Self;

    /// The low bits of `value`.
    fn narrow(value: i128) -> Self;
}

/// The first `length` integers that lie in `bytes`, in the machine's byte order; `None` when there are not so many
/// bytes or they are not aligned to the integer.
pub fn integers<T: Value>(bytes: &[u8], length: usize) -> Option<&[T]> {
    let start = bytes.as_ptr().cast::<T>();
    let fits = length.checked_mul(size_of::<T>()).is_some_and(|needed| needed <= bytes.len());
    // SAFETY: so many bytes exist, are aligned and stay borrowed; `Value` is implemented here alone, for primitive
    // integers, which any bits make.
    (fits && start.is_aligned()).then(|| unsafe { std::slice::from_raw_parts(start, length) })
}

macro_rules! code {
    ($($code:ty),*) => {$(
        impl Code for $code {
            const BITS: u32 = <$code>::BITS;
            const MAX: Self = <$code>::MAX;

            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn truncate(code: u64) -> Self {
                code as Self
            }

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                <$code>::wrapping_add(self, other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                <$code>::wrapping_sub(self, other)
            }
        }
    )*};
}

code!(u8, u16, u32, u64);

macro_rules! value {
    ($($value:ty),*) => {$(
        impl sealed::Sealed for $value {}

        impl Value for $value {
            #[inline(always)]
            fn offset(self, code: u64) -> Self {
                self.wrapping_add(code as Self)
            }

            #[inline(always)]
            fn narrow(value: i128) -> Self {
                value as Self
            }
        }
    )*};
}

value!(i8, i16, i32, i64, u8, u16, u32, u64, i128);

mod sealed {
    /// Keeps [`super::Value`] to the types of this file.
    pub trait Sealed {}
}
