//! Merging of sorted columns of byte slices.
//!
//! The codes at the heads of two sorted runs are close to each other, so that their first bytes are nearly always equal
//! and decide nothing: early stop, which scans live on, has nothing to stop here. So a few thousand codes of each run are
//! stitched at a time, by vectors, and merged as native codes.

use super::slices;
use crate::order::{check_rows, merge_while_both, rest};
use crate::packing::by_runs::with_code;
use crate::packing::{Packed, unpack};
use crate::{Code, Isa};
use std::ops::Range;

/// Codes that are stitched at a time: those of both runs stay in the first cache.
const RUN: usize = 2048;

/// Merges two sorted columns of one width: `out` gets, for each row of the result, the position that it comes from, where
/// the rows of `right` are counted on from those of `left`. Of equal codes those of `left` come first.
///
/// # Panics
/// When the packing is not byteslice, the widths differ, or there are 2^32 codes or more.
pub fn merge(isa: Isa, left: Packed<'_>, right: Packed<'_>, out: &mut Vec<u32>) {
    let width = left.format().width();
    assert_eq!(width, right.format().width(), "bits of the codes of two columns that are merged");
    let (lefts, rights) = check_rows(left.rows(), right.rows());
    out.resize(left.rows() + right.rows(), 0);
    if slices(left).count == 1 {
        return crate::order::merge(slices(left).slice(0), slices(right).slice(0), out);
    }
    slices(right);
    let (i, j) = with_code!(width, C => merge_stitched::<C>(isa, left, right, out));
    rest(i as u32..lefts, lefts + j as u32..lefts + rights, &mut out[i + j..]);
}

/// Merges until one of the columns is at its end, and returns how far it has come in each.
fn merge_stitched<C: Code>(isa: Isa, left: Packed<'_>, right: Packed<'_>, out: &mut [u32]) -> (usize, usize) {
    let (mut i, mut j) = (0, 0);
    let (mut lefts, mut rights) = (Stitched::<C>::new(left), Stitched::<C>::new(right));
    while i < left.rows() && j < right.rows() {
        let (lefts, rights) = (lefts.from(isa, i), rights.from(isa, j));
        let positions = (i as u32, (left.rows() + j) as u32);
        let (of_left, of_right) = merge_while_both((lefts, positions.0), (rights, positions.1), &mut out[i + j..]);
        i += of_left;
        j += of_right;
    }
    (i, j)
}

/// Codes of a column as native integers, a run at a time.
struct Stitched<'a, C> {
    packed: Packed<'a>,
    rows: Range<usize>,
    codes: Vec<C>,
}

impl<'a, C: Code> Stitched<'a, C> {
    fn new(packed: Packed<'a>) -> Self {
        Self { packed, rows: 0..0, codes: Vec::with_capacity(RUN) }
    }

    /// The codes from a row on that are stitched already, or else the next run of them. The row is within the column.
    fn from(&mut self, isa: Isa, row: usize) -> &[C] {
        if row >= self.rows.end {
            self.rows = row..self.packed.rows().min(row + RUN);
            self.codes.clear();
            unpack(isa, self.packed, self.rows.clone(), &mut self.codes);
        }
        &self.codes[row - self.rows.start..]
    }
}
