//! What the scan of byte slices asks of an instruction set: the units of 64 codes in registers, and masks with one
//! answer per code.

use super::Unit;
use super::chain::{ChainScan, ScanPosition};
use crate::Code;

/// The units of 64 successive codes in one slice: one register or several.
///
/// # Safety
/// Every function runs only where the instruction set of its type exists.
pub(in crate::packing) trait Vector: Copy {
    /// 8 or 16 bits.
    type Unit: Unit;
    /// A yes or no per code.
    type Mask: Copy;

    /// `unit` for every code.
    unsafe fn splat(unit: u64) -> Self;

    /// A vector made by [`Vector::splat`], which tells the compiler that its registers are the same.
    unsafe fn uniform(self) -> Self;

    /// 64 units from `bytes` on, which need no alignment.
    ///
    /// # Safety
    /// The bytes are there to be read.
    unsafe fn load(bytes: *const u8) -> Self;

    /// Where `within` and the unit equals the other's.
    unsafe fn equal(self, other: Self, within: Self::Mask) -> Self::Mask;

    /// Where `within` and the unit is less than the other's.
    unsafe fn less(self, other: Self, within: Self::Mask) -> Self::Mask;

    /// A bit per code whose unit is less than the other's.
    unsafe fn bits_below(self, other: Self) -> u64;

    /// A bit per code of two units, this one and `next`, that is less than a constant of two. `raised` is the
    /// constant's first unit plus one: it is not the largest. `doubt` keeps in mind whether a code may have been the
    /// same as its constant: wherever one was, and now and then where none was.
    unsafe fn bits_below_pair(self, next: Self, constant: [Self; 2], raised: Self, doubt: &mut Self::Nearest) -> u64;

    /// What [`Vector::bits_below_pair`] starts with.
    #[inline(always)]
    unsafe fn no_doubt() -> Self::Nearest {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { Self::none_near() }
    }

    /// Whether there is any of its doubt.
    #[inline(always)]
    unsafe fn any_doubt(doubt: Self::Nearest) -> bool {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { Self::any_near(doubt) }
    }

    /// Yes for every code.
    unsafe fn all() -> Self::Mask;

    /// No for every code.
    unsafe fn none() -> Self::Mask;

    /// Where either.
    unsafe fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask;

    /// Where `a` and not `b`.
    unsafe fn and_not(a: Self::Mask, b: Self::Mask) -> Self::Mask;

    /// Whether there is any yes.
    unsafe fn any(mask: Self::Mask) -> bool;

    /// What tells where codes differ, if that is cheaper to keep up than a mask of where they are equal.
    type Difference: Copy;

    /// No difference so far.
    unsafe fn no_difference() -> Self::Difference;

    /// The difference so far, and wherever the units differ from the other's.
    unsafe fn differ(self, other: Self, difference: Self::Difference) -> Self::Difference;

    /// Where there is no difference; `equal` says the same.
    unsafe fn same(equal: Self::Mask, difference: Self::Difference) -> Self::Mask;

    /// Whether codes of several vectors are the same.
    type Nearest: Copy;

    /// None is.
    unsafe fn none_near() -> Self::Nearest;

    /// One is where `nearest` says so, or where there is no difference; `equal` says the same as the latter.
    unsafe fn nearer(nearest: Self::Nearest, equal: Self::Mask, difference: Self::Difference) -> Self::Nearest;

    /// Whether there is one.
    unsafe fn any_near(nearest: Self::Nearest) -> bool;

    /// A bit per code that is the same in one of the vectors.
    unsafe fn near_bits(nearest: Self::Nearest) -> u64;

    /// A bit per code: the paper's movemask.
    unsafe fn bits(mask: Self::Mask) -> u64;

    /// The reverse of [`Vector::bits`].
    unsafe fn expand(bits: u64) -> Self::Mask;

    /// [`ChainScan::sweep`], compiled for the instruction set.
    ///
    /// # Safety
    /// As for [`ChainScan::sweep`].
    unsafe fn sweep<O: Operand<Self>, const KIND: u8, const WAY: u8, const DEPTH: usize, const LAST: bool>(
        scan: &ChainScan<'_, Self, O>,
        place: ScanPosition,
        out: &mut [u64],
    ) -> ScanPosition;
}

/// What the units of a slice are compared with.
pub(in crate::packing) trait Operand<V: Vector> {
    /// Whether it is the same for all codes.
    const SAME: bool;

    /// Whether its first two units can be compared as [`Vector::bits_below_pair`] does, if it is the same for all codes.
    fn pairs(&self) -> bool;

    /// The first unit plus one, if it is the same for all codes and not the largest.
    ///
    /// # Safety
    /// As for [`Vector`].
    unsafe fn raised(&self) -> V;

    /// What meets the units `offset` bytes into slice `slice`.
    ///
    /// # Safety
    /// As for [`Vector`], and the units at that place of the scanned column are there to be read.
    unsafe fn get(&self, slice: usize, offset: usize) -> V;
}

/// A constant, as its unit in each slice.
pub(super) struct Constant<V> {
    units: [V; 8],
    /// The first unit plus one, unless that is too large for a unit.
    raised: V,
    pairs: bool,
}

impl<V: Vector> Constant<V> {
    /// The units of `code`, shifted left by `padding` bits, in `count` slices.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    pub(super) unsafe fn new(code: u64, count: usize, padding: u32) -> Self {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            let mut constant = Self::zero();
            constant.set(code, count, padding);
            constant
        }
    }

    /// Zero in all slices.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    pub(super) unsafe fn zero() -> Self {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        let zero = unsafe { V::splat(0) };
        Self { units: [zero; 8], raised: zero, pairs: false }
    }

    /// Makes it the units of `code`, as [`Constant::new`] does, where it lies: what `new` gives is copied once more, which
    /// is a quarter of what a scan of 64 codes takes, 31 ns (Zen 5).
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    pub(super) unsafe fn set(&mut self, code: u64, count: usize, padding: u32) {
        let first = V::Unit::truncate(code << padding >> (count.saturating_sub(1) as u32 * V::Unit::BITS));
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        self.raised = unsafe { V::splat(first.to_u64() + 1) };
        self.pairs = first != V::Unit::MAX;
        for (slice, unit) in self.units[..count].iter_mut().enumerate() {
            let shift = (count - 1 - slice) as u32 * V::Unit::BITS;
            // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
            *unit = unsafe { V::splat(code << padding >> shift) };
        }
    }
}

impl<V: Vector> Operand<V> for Constant<V> {
    const SAME: bool = true;

    fn pairs(&self) -> bool {
        self.pairs
    }

    #[inline(always)]
    unsafe fn raised(&self) -> V {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { self.raised.uniform() }
    }

    #[inline(always)]
    unsafe fn get(&self, slice: usize, _: usize) -> V {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { self.units[slice].uniform() }
    }
}

/// Another column: the first unit of its first slice, and bytes from one slice to the next.
pub(super) struct Column {
    pub(super) bytes: *const u8,
    pub(super) stride: usize,
}

impl<V: Vector> Operand<V> for Column {
    const SAME: bool = false;

    fn pairs(&self) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn raised(&self) -> V {
        unreachable!("units of a column differ from code to code")
    }

    #[inline(always)]
    unsafe fn get(&self, slice: usize, offset: usize) -> V {
        // SAFETY: the columns have as many slices and rows as each other, so what one has the other has too.
        unsafe { V::load(self.bytes.add(slice * self.stride + offset)) }
    }
}
