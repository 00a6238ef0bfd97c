//! The loop, which the compiler vectorises for each instruction set that it is compiled for.

use crate::Code;

#[inline(always)]
pub(super) fn min_max<C: Code>(codes: &[C]) -> Option<(C, C)> {
    let (&first, rest) = codes.split_first()?;
    Some(rest.iter().fold((first, first), |(min, max), &code| (min.min(code), max.max(code))))
}
