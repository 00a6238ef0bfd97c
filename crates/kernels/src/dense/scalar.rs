//! The loops over entries. Callers have checked that fields lie within the page, whose bytes go on behind it.

use super::{Deltas, PageBits, Runs, zeros_bits};
use crate::Code;

/// Codes that are written at once when runs are expanded: what follows a run is written again by the next one.
const SPLAT: usize = 16;
/// Bits that one load is sure to bring: of eight bytes, the first up to seven bits belong to fields before.
const ONE_LOAD: u32 = 57;

/// Eight bytes from `byte` on.
#[inline(always)]
fn load(bytes: &[u8], byte: usize) -> u64 {
    debug_assert!(byte + 8 <= bytes.len());
    // SAFETY: `PageBits` has sixteen bytes behind its bits, and `byte` lies before one of them or eight further: every caller
    // in this file starts from a bit that is at most the page's number of bits.
    u64::from_le_bytes(unsafe { bytes.as_ptr().add(byte).cast::<[u8; 8]>().read() })
}

/// The low `width` bits of `word`, for a width from 1 to 64.
#[inline(always)]
fn low(word: u64, width: u32) -> u64 {
    word & (u64::MAX >> (64 - width))
}

/// The bits from `at` on that `mask` leaves.
#[inline(always)]
pub(super) fn masked(bytes: &[u8], at: usize, mask: u64) -> u64 {
    load(bytes, at / 8) >> (at % 8) & mask
}

/// The field of `width` bits at bit `at`, which lies within the page.
#[inline(always)]
pub(super) fn field(bytes: &[u8], at: usize, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let word = load(bytes, at / 8) >> (at % 8);
    if width <= ONE_LOAD {
        return low(word, width);
    }
    let high = load(bytes, at / 8 + 8) << 1 << (63 - at % 8);
    low(word | high, width)
}

#[inline(always)]
pub(super) fn fields<C: Code>(bytes: &[u8], first: usize, stride: usize, width: u32, out: &mut [C]) {
    let mut at = first;
    if width <= ONE_LOAD {
        let mask = u64::MAX >> (64 - width);
        for out in out {
            *out = C::truncate(load(bytes, at / 8) >> (at % 8) & mask);
            at += stride;
        }
    } else {
        for out in out {
            *out = C::truncate(field(bytes, at, width));
            at += stride;
        }
    }
}

#[inline(always)]
pub(super) fn fields_at<C: Code>(bytes: &[u8], starts: &[u32], shift: usize, width: u32, out: &mut [C]) {
    if width <= ONE_LOAD {
        let mask = u64::MAX >> (64 - width);
        for (out, start) in out.iter_mut().zip(starts) {
            let at = *start as usize + shift;
            *out = C::truncate(load(bytes, at / 8) >> (at % 8) & mask);
        }
    } else {
        for (out, start) in out.iter_mut().zip(starts) {
            *out = C::truncate(field(bytes, *start as usize + shift, width));
        }
    }
}

#[inline(always)]
pub(super) fn expand_runs<C: Code>(runs: Runs<'_>, skip: usize, out: &mut [C]) -> bool {
    if runs.word_bytes == 4 {
        let words = runs.words.as_chunks::<4>().0.iter().map(|word| u64::from(u32::from_le_bytes(*word)));
        expand(words, runs.code_bits, skip, out)
    } else {
        expand(runs.words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)), runs.code_bits, skip, out)
    }
}

#[inline(always)]
fn expand<C: Code>(words: impl Iterator<Item = u64>, code_bits: u32, mut skip: usize, out: &mut [C]) -> bool {
    let (mask, mut at) = ((1 << code_bits) - 1, 0);
    for word in words {
        if at == out.len() {
            return true;
        }
        let run = (word >> code_bits) as usize;
        if run <= skip {
            if run == 0 {
                return false;
            }
            skip -= run;
            continue;
        }
        let (code, run) = (C::truncate(word & mask), (run - skip).min(out.len() - at));
        skip = 0;
        let end = at + run;
        while at < end {
            match out[at..].first_chunk_mut::<SPLAT>() {
                Some(splat) => *splat = [code; SPLAT],
                None => out[at..end].fill(code),
            }
            at += SPLAT;
        }
        at = end;
    }
    at == out.len()
}

#[inline(always)]
pub(super) fn sum_deltas(page: PageBits<'_>, deltas: Deltas, values: &mut [u64], starts: &mut [u32]) -> bool {
    let Deltas { first, before, width, rest } = deltas;
    let zeros_width = zeros_bits(width);
    let mut numbers = values.iter_mut().zip(starts);
    // `at` is where the next number starts: at first, and behind each one and its rest.
    let (mut value, mut at) = match before {
        Some(before) => (before, first),
        None => (field(page.bytes, first, width), first + width as usize),
    };
    if before.is_none() {
        if let Some((number, start)) = numbers.next() {
            (*number, *start) = (value, at as u32);
        }
        at += rest;
    }
    for (number, start) in numbers {
        // The field of zeros may end past the page, never past the bytes behind it; what follows is checked with it.
        let word = load(page.bytes, at / 8) >> (at % 8);
        let zeros = low(word, zeros_width) as u32;
        if zeros > width {
            return false;
        }
        let bits = width - zeros;
        let from = at + zeros_width as usize;
        at = from + bits as usize;
        if at + rest > page.bits {
            return false;
        }
        let difference = if zeros_width + bits <= ONE_LOAD {
            word >> zeros_width & !(u64::MAX << bits)
        } else {
            field(page.bytes, from, bits)
        };
        value = value.wrapping_add(difference);
        (*number, *start) = (value, at as u32);
        at += rest;
    }
    true
}

#[inline(always)]
pub(super) fn translate<C: Code>(indexes: &[u16], entries: &[C], out: &mut [C]) {
    for (out, index) in out.iter_mut().zip(indexes) {
        debug_assert!(usize::from(*index) < entries.len());
        // SAFETY: `translate` of the module compared the largest index with the number of entries.
        *out = unsafe { *entries.get_unchecked(usize::from(*index)) };
    }
}
