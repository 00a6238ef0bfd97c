//! Merging of sorted codes, to the positions that they come from.

use crate::Code;

/// Merges two sorted runs of codes: `out` gets, for each row of the result, the position that it comes from, where the
/// rows of `right` are counted on from those of `left`. Of equal codes those of `left` come first.
///
/// # Panics
/// When there are 2^32 codes or more.
pub fn merge<C: Code>(left: &[C], right: &[C], out: &mut Vec<u32>) {
    let (lefts, rights) = check_rows(left.len(), right.len());
    out.resize(left.len() + right.len(), 0);
    let (i, j) = merge_while_both((left, 0), (right, lefts), out);
    rest(i as u32..lefts, lefts + j as u32..lefts + rights, &mut out[i + j..]);
}

/// Merges until one of the runs is at its end, and returns how far it has come in each. The runs' first codes have the
/// given positions.
#[inline(always)]
pub(crate) fn merge_while_both<C: Code>(left: (&[C], u32), right: (&[C], u32), out: &mut [u32]) -> (usize, usize) {
    let (mut i, mut j) = (0, 0);
    while i < left.0.len() && j < right.0.len() {
        // No branch: of which run the next code is can't be foretold.
        let of_right = right.0[j] < left.0[i];
        out[i + j] = if of_right { right.1 + j as u32 } else { left.1 + i as u32 };
        j += usize::from(of_right);
        i += usize::from(!of_right);
    }
    (i, j)
}

/// What is left of both runs, of which one is at its end.
pub(crate) fn rest(left: std::ops::Range<u32>, right: std::ops::Range<u32>, out: &mut [u32]) {
    out.iter_mut().zip(left.chain(right)).for_each(|(out, position)| *out = position);
}

/// The rows of both, when positions of 32 bits are enough.
pub(crate) fn check_rows(left: usize, right: usize) -> (u32, u32) {
    assert!(u32::try_from(left + right).is_ok(), "{left} and {right} codes have no positions of 32 bits");
    (left as u32, right as u32)
}
