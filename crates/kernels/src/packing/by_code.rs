//! What gives or takes codes in one of the four native types, compiled here once for each.
//!
//! A generic function is compiled again in each crate that calls it, and behind these lie all packings. So they are
//! methods of the types, which are not generic, and the public functions only choose the type.

use super::{Format, Packed};
use crate::{Code, Isa};
use std::ops::Range;

/// The functions of this file for one type; every [`Code`] has them.
pub trait PackedCodes: Sized {
    #[doc(hidden)]
    fn pack(isa: Isa, format: Format, codes: &[Self], out: &mut Vec<u8>);

    #[doc(hidden)]
    fn append(isa: Isa, format: Format, rows: usize, codes: &[Self], bytes: &mut Vec<u8>);

    #[doc(hidden)]
    fn unpack(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<Self>);

    #[doc(hidden)]
    fn lookup(isa: Isa, packed: Packed<'_>, tids: &[u32], out: &mut Vec<Self>);

    #[doc(hidden)]
    fn lookup_bits(isa: Isa, packed: Packed<'_>, bits: &[u64], out: &mut Vec<Self>);
}

macro_rules! packed_codes {
    ($($code:ty),*) => {$(
        impl PackedCodes for $code {
            fn pack(isa: Isa, format: Format, codes: &[Self], out: &mut Vec<u8>) {
                super::pack_codes(isa, format, codes, out);
            }

            fn append(isa: Isa, format: Format, rows: usize, codes: &[Self], bytes: &mut Vec<u8>) {
                super::append_codes(isa, format, rows, codes, bytes);
            }

            fn unpack(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<Self>) {
                super::unpack_codes(isa, packed, rows, out);
            }

            fn lookup(isa: Isa, packed: Packed<'_>, tids: &[u32], out: &mut Vec<Self>) {
                super::lookup_codes(isa, packed, tids, out);
            }

            fn lookup_bits(isa: Isa, packed: Packed<'_>, bits: &[u64], out: &mut Vec<Self>) {
                super::lookup_bits_codes(isa, packed, bits, out);
            }
        }
    )*};
}

packed_codes!(u8, u16, u32, u64);

/// Appends `codes` to `out`: exactly [`Format::bytes`] of them. Bits of a code above the format's width are cut off.
///
/// # Panics
/// When there are more than [`MAX_ROWS`] codes.
pub fn pack<C: Code>(isa: Isa, format: Format, codes: &[C], out: &mut Vec<u8>) {
    <C as PackedCodes>::pack(isa, format, codes, out);
}

/// Appends `codes` to a column of `rows` codes, whose [`Format::bytes`] are all of `bytes`.
///
/// # Panics
/// When `bytes` has another length, or there are more than [`MAX_ROWS`] codes in the end.
pub fn append<C: Code>(isa: Isa, format: Format, rows: usize, codes: &[C], bytes: &mut Vec<u8>) {
    <C as PackedCodes>::append(isa, format, rows, codes, bytes);
}

/// Appends the codes of a range of rows to `out`.
///
/// # Panics
/// When the range is not within the rows, or `C` is narrower than the format's width.
pub fn unpack<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    <C as PackedCodes>::unpack(isa, packed, rows, out);
}

/// Appends the codes at `tids`, which may come in any order, to `out`.
///
/// # Panics
/// When a TID is not below the number of rows, or `C` is narrower than the format's width.
pub fn lookup<C: Code>(isa: Isa, packed: Packed<'_>, tids: &[u32], out: &mut Vec<C>) {
    <C as PackedCodes>::lookup(isa, packed, tids, out);
}

/// Appends the codes of the rows whose bits are set to `out`.
///
/// # Panics
/// When `bits` has not one word per 64 codes, a bit past the last row is set, or `C` is narrower than the format's
/// width.
pub fn lookup_bits<C: Code>(isa: Isa, packed: Packed<'_>, bits: &[u64], out: &mut Vec<C>) {
    <C as PackedCodes>::lookup_bits(isa, packed, bits, out);
}
