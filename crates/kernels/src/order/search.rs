//! Binary search in sorted native codes.

use super::{Bounds, DIGITS, Digits};
use crate::Code;

/// Which end of the codes that equal a constant is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The first row whose code is not less than the constant.
    Lower,
    /// The first row whose code is greater.
    Upper,
}

impl Bound {
    /// The constant whose lower bound is this bound of `constant`, for codes up to `max`; `None` when all codes lie
    /// below it.
    pub(crate) fn lower_of(self, constant: u64, max: u64) -> Option<u64> {
        match self {
            Self::Lower => Some(constant).filter(|constant| *constant <= max),
            Self::Upper => constant.checked_add(1).filter(|next| *next <= max),
        }
    }
}

/// Constants from which on it pays to find the first row of each leading digit once, and to search between two of them.
pub(crate) const MANY: usize = DIGITS;

/// The bound of `constant` in sorted codes: a row, or the number of rows.
pub fn bound<C: Code>(codes: &[C], constant: u64, bound: Bound) -> usize {
    match bound.lower_of(constant, C::MAX.to_u64()) {
        Some(lower) => lower_bound(codes, C::truncate(lower)),
        None => codes.len(),
    }
}

/// The bounds of many constants in sorted codes of `width` bits, appended to `out`.
///
/// # Panics
/// When `width` is not from 1 to 64, or there are 2^32 codes or more.
pub fn search<C: Code>(codes: &[C], width: u8, constants: &[u64], bound: Bound, out: &mut Vec<u32>) {
    assert!((1..=64).contains(&width), "codes of {width} bits");
    let rows = u32::try_from(codes.len()).expect("codes with TIDs of 32 bits");
    let (digits, max) = (Digits::of(width), u64::MAX >> (64 - width));
    let leading = (constants.len() >= MANY).then(|| leading(rows, |row| digits.get(codes[row].to_u64(), 0)));
    out.extend(constants.iter().map(|constant| {
        let Some(lower) = bound.lower_of(*constant, max) else { return rows };
        let (start, end) = match &leading {
            Some(bounds) => {
                let digit = usize::from(digits.get(lower, 0));
                // Of codes with a single digit, the first row of the digit is the answer.
                if digits.count() == 1 { (bounds[digit], bounds[digit]) } else { (bounds[digit], bounds[digit + 1]) }
            }
            None => (0, rows),
        };
        start + lower_bound(&codes[start as usize..end as usize], C::truncate(lower)) as u32
    }));
}

/// The first row of each leading digit of `rows` sorted codes.
pub(crate) fn leading(rows: u32, digit: impl Fn(usize) -> u8) -> Bounds {
    let mut bounds = [rows; DIGITS + 1];
    bounds[0] = 0;
    for value in 1..DIGITS {
        let (mut start, mut end) = (bounds[value - 1], rows);
        while start < end {
            let middle = start + (end - start) / 2;
            if usize::from(digit(middle as usize)) < value { start = middle + 1 } else { end = middle }
        }
        bounds[value] = start;
    }
    bounds
}

#[inline(always)]
fn lower_bound<C: Code>(codes: &[C], constant: C) -> usize {
    codes.partition_point(|code| *code < constant)
}
