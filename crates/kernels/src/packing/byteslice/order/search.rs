//! Binary search in sorted columns of byte slices (ByteSlice paper, section 6).
//!
//! A step compares two bytes of a code, those of the first slices that its neighbours may still differ in, without a
//! branch on the answer; the bytes of further slices are needed only where more than 64 codes agree in both. Once no more
//! than 64 codes are left, one vector comparison counts those that are less.

use super::slices;
use crate::Isa;
use crate::order::{Bound, Digits, MANY, leading};
use crate::packing::Packed;
use crate::packing::byteslice::{Slices, scalar};
#[cfg(target_arch = "x86_64")]
use crate::packing::byteslice::{avx2, avx512, chain::Chain, vector::Vector};
use std::ops::Range;

/// Codes that one vector comparison counts.
const WINDOW: usize = 64;

/// The bound of `constant` in a sorted column: a row, or the number of rows.
///
/// # Panics
/// When the packing is not byteslice.
pub fn bound(isa: Isa, packed: Packed<'_>, constant: u64, bound: Bound) -> usize {
    let mut out = [0];
    find(isa, packed, &[constant], bound, &mut out);
    out[0] as usize
}

/// The bounds of many constants in a sorted column, appended to `out`.
///
/// # Panics
/// When the packing is not byteslice.
pub fn search(isa: Isa, packed: Packed<'_>, constants: &[u64], bound: Bound, out: &mut Vec<u32>) {
    let first = out.len();
    out.resize(first + constants.len(), 0);
    find(isa, packed, constants, bound, &mut out[first..]);
}

fn find(isa: Isa, packed: Packed<'_>, constants: &[u64], bound: Bound, out: &mut [u32]) {
    let format = packed.format();
    let column = slices(packed);
    let wanted = Search { column, digits: Digits::of(format.width()), max: format.max_code(), constants, bound };
    dispatch!(isa, search(wanted, out));
}

/// Constants that are searched in a sorted column.
#[derive(Clone, Copy)]
pub(in crate::packing::byteslice) struct Search<'a> {
    column: Slices<'a, u8>,
    digits: Digits,
    /// The largest code.
    max: u64,
    constants: &'a [u64],
    bound: Bound,
}

impl Search<'_> {
    /// Finds all of the constants. `less` gives a bit for each of 64 rows from the given one on, set where the code is
    /// less than a constant in the slices from the given one on.
    #[inline(always)]
    pub(in crate::packing::byteslice) fn all(self, out: &mut [u32], less: impl Fn(&Self, usize, usize, u64) -> u64) {
        let rows = self.column.rows;
        let first = self.column.slice(0);
        let leading = (self.constants.len() >= MANY).then(|| leading(rows as u32, |row| first[row]));
        for (out, constant) in out.iter_mut().zip(self.constants) {
            *out = match (self.bound.lower_of(*constant, self.max), &leading) {
                (None, _) => rows as u32,
                (Some(lower), None) => self.lower(0..rows, 0, lower, &less),
                (Some(lower), Some(bounds)) => {
                    let digit = usize::from(self.digits.get(lower, 0));
                    self.lower(bounds[digit] as usize..bounds[digit + 1] as usize, 1, lower, &less)
                }
            };
        }
    }

    /// The first of some rows whose code is not less than a constant, or their end. The rows agree with the constant in
    /// the slices before `slice`.
    #[inline(always)]
    fn lower(
        &self,
        mut rows: Range<usize>,
        mut slice: usize,
        constant: u64,
        less: &impl Fn(&Self, usize, usize, u64) -> u64,
    ) -> u32 {
        while slice < self.digits.count() && !rows.is_empty() {
            let pair = self.pair(slice);
            let wanted = self.pair_of(constant, slice);
            let start = narrow(rows.clone(), WINDOW, |row| pair(row) < wanted);
            let end = rows.end.min(start + WINDOW);
            let found = start + self.count(start..end, slice, constant, less);
            if found < end || end == rows.end {
                return found as u32;
            }
            // More than a window of rows begins like the constant: the slices behind decide among them.
            let last = narrow(end..rows.end, 1, |row| pair(row) <= wanted);
            rows = end..last + usize::from(pair(last) <= wanted);
            slice += 2;
        }
        rows.start as u32
    }

    /// Two bytes of a row's code: from the slice of that number and the next, if there is one.
    #[inline(always)]
    fn pair(&self, slice: usize) -> impl Fn(usize) -> u16 {
        let last = slice + 1 == self.digits.count();
        let (high, low) = (self.column.slice(slice), self.column.slice(if last { slice } else { slice + 1 }));
        let mask = if last { 0 } else { u8::MAX };
        move |row| u16::from_be_bytes([high[row], low[row] & mask])
    }

    /// The pair of bytes of a constant.
    #[inline(always)]
    fn pair_of(&self, constant: u64, slice: usize) -> u16 {
        let low = if slice + 1 == self.digits.count() { 0 } else { self.digits.get(constant, slice + 1) };
        u16::from_be_bytes([self.digits.get(constant, slice), low])
    }

    /// How many rows of a window that is not empty are less than the constant.
    #[inline(always)]
    fn count(
        &self,
        rows: Range<usize>,
        slice: usize,
        constant: u64,
        less: &impl Fn(&Self, usize, usize, u64) -> u64,
    ) -> usize {
        let start = rows.start.min(self.column.rows.next_multiple_of(WINDOW) - WINDOW);
        let within = u64::MAX >> (WINDOW - rows.len()) << (rows.start - start);
        (less(self, start, slice, constant) & within).count_ones() as usize
    }

    /// What [`Search::all`] asks for, a code at a time.
    pub(in crate::packing::byteslice) fn less(&self, row: usize, slice: usize, constant: u64) -> u64 {
        let rows = row..self.column.rows.min(row + WINDOW);
        let digits = |row: usize| (slice..self.digits.count()).map(move |slice| self.column.slice(slice)[row]);
        let wanted = (slice..self.digits.count()).map(|slice| self.digits.get(constant, slice));
        rows.fold(0, |word, at| word | u64::from(digits(at).lt(wanted.clone())) << (at - row))
    }

    /// What [`Search::all`] asks for, by vectors.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(in crate::packing::byteslice) unsafe fn less_in_vector<V: Vector<Unit = u8>>(
        &self,
        row: usize,
        slice: usize,
        constant: u64,
    ) -> u64 {
        let column = self.column;
        assert!(row + WINDOW <= column.units - column.first && slice < column.count, "rows past the padding");
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen; the slices, of which
        // there are `count`, have 64 units from `row` on, as compared above.
        unsafe {
            let mut chain = Chain::<V>::new(V::all());
            // All slices, though one would often do: to leave early is a branch that can't be foretold.
            for slice in slice..column.count {
                let units = V::load(column.start().add(slice * column.stride() + row));
                chain.step::<true, false>(units, V::splat(self.digits.get(constant, slice).into()));
            }
            V::bits(chain.less)
        }
    }
}

/// Narrows rows, the first of which `holds` of and the rest not, to the start of `window` of them, or fewer, in or
/// behind which lies the first that it does not hold of.
#[inline(always)]
fn narrow(rows: Range<usize>, window: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut length) = (rows.start, rows.len());
    while length > window {
        let half = length / 2;
        start = std::hint::select_unpredictable(holds(start + half - 1), start + half, start);
        length -= half;
    }
    start
}
