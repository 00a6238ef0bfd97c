//! Keys and numbers in the lanes of registers, for searches of several keys at once.

use crate::hash::Word;
use crate::key_table::Entry;

/// A register of keys.
///
/// # Safety
/// Every function runs only where the instruction set of its type exists.
pub trait KeyLanes: Word {
    /// Keys of a register.
    const COUNT: usize;
    /// As many numbers.
    type Slots: Numbers;

    /// The first [`KeyLanes::COUNT`] keys.
    ///
    /// # Panics
    /// When there are fewer.
    unsafe fn load(keys: &[Self::Key]) -> Self;

    /// The lanes of the mask get the first keys of `next`, in order; the others stay.
    unsafe fn expand(self, mask: u32, next: Self) -> Self;

    /// The key of each lane, a hash, shifted down to a number below 2^31.
    unsafe fn shifted(self, bits: u32) -> Self::Slots;

    /// A bit per lane where the keys are the same.
    unsafe fn equal(self, other: Self) -> u32;

    /// The keys and links of entries.
    ///
    /// # Safety
    /// `mask`, which the slots are taken by, is one less than a power of two, of at most 2^30, and as many entries begin
    /// at `entries`.
    unsafe fn gather(entries: *const Entry<Self::Key>, slots: Self::Slots, mask: u32) -> (Self, Self::Slots);

    /// Gathers entries of a table whose entries are of another kind, one at a time.
    unsafe fn from_each(slots: Self::Slots, entry: impl Fn(u32) -> (Self::Key, u32)) -> (Self, Self::Slots);
}

/// A register of 32-bit numbers.
///
/// # Safety
/// Every function runs only where the instruction set of its type exists.
pub trait Numbers: Copy {
    /// `number` in every lane.
    unsafe fn splat(number: u32) -> Self;

    /// `first` and what follows.
    unsafe fn count_from(first: u32) -> Self;

    /// The first numbers of a slice.
    ///
    /// # Panics
    /// When there are fewer than lanes.
    unsafe fn load(numbers: &[u32]) -> Self;

    /// Writes them to the beginning of a slice.
    ///
    /// # Panics
    /// When it is too short.
    unsafe fn store(self, numbers: &mut [u32]);

    /// Sums.
    unsafe fn plus(self, other: Self) -> Self;

    /// A bit per lane where the numbers are the same.
    unsafe fn equal(self, other: Self) -> u32;

    /// The other's numbers where the mask has no bit.
    unsafe fn or_else(self, mask: u32, other: Self) -> Self;

    /// The lanes of the mask, moved to the front.
    unsafe fn compress(self, mask: u32) -> Self;

    /// The lanes of the mask get the first numbers of `next`, in order; the others stay.
    unsafe fn expand(self, mask: u32, next: Self) -> Self;

    /// Writes the lanes of the mask to the places in `numbers` that `at` has.
    ///
    /// # Panics
    /// When a place is past the end.
    unsafe fn scatter(self, mask: u32, numbers: &mut [u32], at: Self);
}
