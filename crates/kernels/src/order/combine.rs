//! Buffers that combine writes: a cache line for each bucket, which goes to memory once it is full (ByteSlice paper,
//! section 5, on Balkesen and others' and Polychroniou and Ross' partitioning).
//!
//! Output that is larger than the caches is written past them: a store to one of 256 far places would first read the line
//! that it changes a part of. Smaller output is found in the caches by whoever reads it next, and stays there.

use super::DIGITS;
use super::digits::Bounds;
use crate::Value;
use crate::cache::fence;

/// Bytes of a line.
const LINE: usize = 64;

/// Rows of output from which on lines go past the caches: their TIDs alone fill a last cache of 32 MiB. (Zen 5, TIDs by a
/// byte slice: 2^24 rows take 1.6 ns a row and not 2.5, 2^22 rows would take 1.5 and not 1.0.)
pub(crate) const FAR: usize = 1 << 23;

/// Output of a partitioning pass, which gets the values of each bucket in the order of their places.
pub(crate) enum Output<'a, T> {
    /// Each value is written by itself.
    Near(&'a mut [T]),
    /// Values go by lines.
    Far(Combiner<'a, T>),
}

impl<'a, T: Value> Output<'a, T> {
    /// By the number of rows.
    pub(crate) fn new(out: &'a mut [T], bounds: &'a Bounds) -> Self {
        if out.len() > FAR { Self::Far(Combiner::new(out, bounds)) } else { Self::Near(out) }
    }

    /// Puts each value to its place, with the digit whose bucket that is in.
    #[inline(always)]
    pub(crate) fn put_all(&mut self, values: impl Iterator<Item = (u8, usize, T)>) {
        match self {
            Self::Near(out) => values.for_each(|(_, place, value)| out[place] = value),
            Self::Far(combiner) => values.for_each(|(digit, place, value)| combiner.put(digit, place, value)),
        }
    }

    /// Writes what has not been yet. Without this the output lacks values.
    pub(crate) fn finish(self) {
        if let Self::Far(combiner) = self {
            combiner.finish();
        }
    }
}

/// Output that is written by lines.
pub(crate) struct Combiner<'a, T> {
    out: &'a mut [T],
    /// A line per bucket.
    lines: Vec<T>,
    /// Values between the start of a line and the first of the output.
    skew: usize,
    /// The first place of each bucket.
    bounds: &'a Bounds,
}

impl<'a, T: Value> Combiner<'a, T> {
    const VALUES: usize = LINE / size_of::<T>();

    pub(crate) fn new(out: &'a mut [T], bounds: &'a Bounds) -> Self {
        let skew = out.as_ptr() as usize % LINE / size_of::<T>();
        Self { out, lines: vec![T::default(); DIGITS * Self::VALUES], skew, bounds }
    }

    /// Puts a value to a place in the bucket of its digit.
    #[inline(always)]
    pub(crate) fn put(&mut self, digit: u8, place: usize, value: T) {
        let slot = (place + self.skew) % Self::VALUES;
        self.lines[usize::from(digit) * Self::VALUES + slot] = value;
        if slot == Self::VALUES - 1 {
            self.write(digit.into(), place + 1);
        }
    }

    /// Writes what is left in the lines.
    pub(crate) fn finish(mut self) {
        for digit in 0..DIGITS {
            let end = self.bounds[digit + 1] as usize;
            if self.bounds[digit] as usize != end && !(end + self.skew).is_multiple_of(Self::VALUES) {
                self.write(digit, end);
            }
        }
        fence();
    }

    /// Writes the line of a bucket, which has been filled up to the place `end`.
    #[inline(always)]
    fn write(&mut self, digit: usize, end: usize) {
        let filled = (end + self.skew - 1) % Self::VALUES + 1;
        let first = (self.bounds[digit] as usize).max(end.saturating_sub(filled));
        let line = &self.lines[digit * Self::VALUES..][filled - (end - first)..filled];
        let out = &mut self.out[first..end];
        if line.len() == Self::VALUES { stream(line, out) } else { out.copy_from_slice(line) }
    }
}

/// Writes a line past the caches.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stream<T: Value>(line: &[T], out: &mut [T]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let (from, to) = (line.as_ptr().cast::<__m128i>(), out.as_mut_ptr().cast::<__m128i>());
    assert!(size_of_val(line) == LINE && size_of_val(out) == LINE && to.is_aligned(), "a whole line, aligned");
    for part in 0..LINE / size_of::<__m128i>() {
        // SAFETY: both have four times 16 bytes, and the output is aligned to 16, as compared; `Value` is implemented for
        // primitive integers alone, which have no padding and which any bits make. Every x86-64 has SSE2. No one reads
        // the output before `fence`, since the combiner borrows it.
        unsafe { _mm_stream_si128(to.add(part), _mm_loadu_si128(from.add(part))) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn stream<T: Value>(line: &[T], out: &mut [T]) {
    out.copy_from_slice(line);
}

#[cfg(test)]
mod tests {
    use super::super::digits::{DigitOffsets, bounds, histogram};
    use super::*;

    fn check<T: Value>(rows: usize, skip: usize, value: impl Fn(usize) -> T) {
        // Digits that are frequent, rare, and absent.
        let digits: Vec<u8> = (0..rows).map(|row| (row * row / 7 % 97 * (row % 3)) as u8).collect();
        let counts = histogram(&digits, |digit| digit);
        let mut out = vec![T::default(); rows + skip];
        let mut expected = vec![Vec::new(); DIGITS];
        let mut places = DigitOffsets::new(&counts);
        let bounds = bounds(&counts);
        let mut combiner = Combiner::new(&mut out[skip..], &bounds);
        for (row, digit) in digits.iter().enumerate() {
            combiner.put(*digit, places.take(*digit), value(row));
            expected[usize::from(*digit)].push(value(row));
        }
        combiner.finish();
        assert!(out[skip..] == expected.concat(), "{rows} rows at {skip}");
        assert!(out[..skip].iter().all(|value| *value == T::default()));
    }

    #[test]
    fn every_value_arrives() {
        for rows in [0, 1, 15, 16, 17, 63, 64, 65, 1000, 5003] {
            for skip in 0..20 {
                check::<u8>(rows, skip, |row| row as u8 | 1);
                check::<u16>(rows, skip, |row| row as u16 + 1);
                check::<u32>(rows, skip, |row| row as u32 + 1);
                check::<u64>(rows, skip, |row| row as u64 + 1);
                check::<i128>(rows, skip, |row| row as i128 + 1);
            }
        }
    }
}
