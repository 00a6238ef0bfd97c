//! Entries of dense pages: bit fields that lie unaligned, runs, and differences (read-optimized paper, sections 3.2 and 5.2).
//!
//! Bits are numbered as in [`crate::bitpack`]: bit b of a page is bit `b % 8` of its byte `b / 8`. Every function reads
//! within [`PageBits`], which has bytes to spare behind the entries, so that a field is one load of eight bytes.
//!
//! The loops are the scalar ones under every instruction set, compiled for each, as in [`crate::chunks`]: a gather of fields
//! that lie a tuple apart was not faster than a load each. Only fields that follow one another are unpacked by registers,
//! by [`crate::bitpack::unpack`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::{Code, Isa, bitpack, minmax};

/// Bytes that must follow the entries of a page, whatever they hold.
pub const SPARE: usize = 16;

/// The entries of a page, and [`SPARE`] bytes more.
#[derive(Debug, Clone, Copy)]
pub struct PageBits<'a> {
    bytes: &'a [u8],
    bits: usize,
}

impl<'a> PageBits<'a> {
    /// The first `bits` bits of `bytes`; `None` when [`SPARE`] bytes don't follow them.
    pub fn new(bytes: &'a [u8], bits: usize) -> Option<Self> {
        let needed = bits.div_ceil(8).checked_add(SPARE)?;
        (needed <= bytes.len()).then_some(Self { bytes, bits })
    }

    /// Bits that entries may take.
    pub fn bits(self) -> usize {
        self.bits
    }

    /// The bits from `at` on that `mask` leaves, of at most 57; `None` when they begin past the entries. Where they end is the
    /// caller's to know: bits behind the entries may be anything.
    #[inline]
    pub fn masked(self, at: usize, mask: u64) -> Option<u64> {
        (at <= self.bits).then(|| scalar::masked(self.bytes, at, mask))
    }

    /// The field of `width` bits, at most 64, at bit `at`; `None` when it ends past the entries.
    #[inline]
    pub fn field(self, at: usize, width: u32) -> Option<u64> {
        let end = at.checked_add(width as usize)?;
        (end <= self.bits).then(|| scalar::field(self.bytes, at, width))
    }
}

/// Fills `out` with fields of `width` bits at the bits `first`, `first + stride` and so on.
///
/// # Panics
/// When `width` is above the width of `C`, or the last field ends past the entries.
pub fn fields<C: Code>(isa: Isa, page: PageBits<'_>, first: usize, stride: usize, width: u32, out: &mut [C]) {
    assert!(width <= C::BITS, "fields of {width} bits don't fit {}", C::BITS);
    let Some(last) = out.len().checked_sub(1) else { return };
    let end = last.checked_mul(stride).and_then(|last| last.checked_add(first)?.checked_add(width as usize));
    assert!(end.is_some_and(|end| end <= page.bits), "{} fields end past {} bits", out.len(), page.bits);
    if width == 0 {
        out.fill(C::default());
        return;
    }
    if stride != width as usize {
        dispatch!(isa, fields(page.bytes, first, stride, width, out));
        return;
    }
    // From the first field on that starts with a byte, eight fields end with one.
    let lone = (0..8.min(out.len())).find(|field| (first + field * stride).is_multiple_of(8));
    let (alone, rest) = out.split_at_mut(lone.unwrap_or(out.len()));
    dispatch!(isa, fields(page.bytes, first, stride, width, alone));
    bitpack::unpack(isa, &page.bytes[(first + alone.len() * stride) / 8..], width, C::default(), rest);
}

/// Fills `out` with fields of `width` bits, each `shift` bits behind one of `starts`.
///
/// # Panics
/// When `width` is above the width of `C`, there are not as many starts as fields, or a field ends past the entries.
pub fn fields_at<C: Code>(isa: Isa, page: PageBits<'_>, starts: &[u32], shift: usize, width: u32, out: &mut [C]) {
    assert!(width <= C::BITS, "fields of {width} bits don't fit {}", C::BITS);
    assert_eq!(starts.len(), out.len(), "a start for each field");
    let Some((_, last)) = minmax::min_max(isa, starts) else { return };
    assert!(last as usize + shift + width as usize <= page.bits, "a field ends past {} bits", page.bits);
    if width == 0 {
        out.fill(C::default());
    } else {
        dispatch!(isa, fields_at(page.bytes, starts, shift, width, out));
    }
}

/// Runs that lie in words of 4 or 8 bytes: the code in the low `code_bits` bits, above it how often it follows itself.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// The words.
    pub words: &'a [u8],
    /// Bytes of a word: 4 or 8.
    pub word_bytes: usize,
    /// Bits of a code, fewer than a word has.
    pub code_bits: u32,
}

/// Fills `out` with the codes of runs, from that of number `skip` on. False when there are too few, or a run has no code;
/// then `out` holds anything.
///
/// # Panics
/// When a word has neither 4 nor 8 bytes, or none of its bits is left for the length of a run.
pub fn expand_runs<C: Code>(isa: Isa, runs: Runs<'_>, skip: usize, out: &mut [C]) -> bool {
    assert!(matches!(runs.word_bytes, 4 | 8), "words of {} bytes", runs.word_bytes);
    assert!((runs.code_bits as usize) < runs.word_bytes * 8, "codes of {} bits in a word", runs.code_bits);
    dispatch!(isa, expand_runs(runs, skip, out))
}

/// Where numbers lie that each hold the difference from the number before: the first of a page in `width` bits; of every other
/// the leading zeros of its difference in [`zeros_bits`] bits, then the difference from its first 1 on.
#[derive(Debug, Clone, Copy)]
pub struct Deltas {
    /// Bit of the first number.
    pub first: usize,
    /// The number before the first, when that is not the page's first.
    pub before: Option<u64>,
    /// Bits of a number, 1 to 64.
    pub width: u32,
    /// Bits that follow each number before the next.
    pub rest: usize,
}

/// Bits that say how many leading zeros a difference of `width` bits has: 0 to `width`.
pub fn zeros_bits(width: u32) -> u32 {
    bitpack::bits_for(width.into())
}

/// Sums differences up: `values` gets the numbers, `starts` the bit behind each. False when one ends past the entries, its
/// rest included, or has more leading zeros than bits; then both hold anything.
///
/// # Panics
/// When the width is not 1 to 64, the two slices differ in length, or the page has 2^32 bits or more.
pub fn sum_deltas(isa: Isa, page: PageBits<'_>, deltas: Deltas, values: &mut [u64], starts: &mut [u32]) -> bool {
    assert!((1..=64).contains(&deltas.width), "numbers of {} bits", deltas.width);
    assert_eq!(values.len(), starts.len(), "a start for each number");
    assert!(u32::try_from(page.bits).is_ok(), "{} bits", page.bits);
    if values.is_empty() {
        return true;
    }
    let least = if deltas.before.is_some() { 0 } else { deltas.width as usize };
    if deltas.first.checked_add(least + deltas.rest).is_none_or(|end| end > page.bits) {
        return false;
    }
    dispatch!(isa, sum_deltas(page, deltas, values, starts))
}

/// Fills `out` with the entries that `indexes` name. False when one is past the entries; then `out` holds anything.
///
/// # Panics
/// When there are not as many indexes as `out` takes.
pub fn translate<C: Code>(isa: Isa, indexes: &[u16], entries: &[C], out: &mut [C]) -> bool {
    assert_eq!(indexes.len(), out.len(), "an index for each code");
    match minmax::min_max(isa, indexes) {
        None => true,
        Some((_, last)) if usize::from(last) >= entries.len() => false,
        Some(_) => {
            dispatch!(isa, translate(indexes, entries, out));
            true
        }
    }
}
