//! Variants of ByteSlice that the paper weighs and this engine does not use: for experiments only.
//!
//! | paper | here |
//! |---|---|
//! | early stop after every register (Algorithm 1, section 3.1.1) | [`evaluate`](crate::packing::evaluate) of one predicate, predicate-first, asks after every 64 codes; [`slices_needed`] counts |
//! | inverse movemask (figure 7); AVX-512's mask registers instead | [`scan_expanded`] |
//! | option 2: the bits past the last whole byte in VBP (figure 5b) | [`BitTail`] |

use super::super::test::Plan;
use super::super::{Combine, Format, FormatError, Options, Packed, Packing, Test};
use super::{Slices, Ways, scalar};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::Isa;
use crate::bits::{cut, words};

/// [`packing::scan`](crate::packing::scan) of byte slices with `And` or `Or`, in which the bits of the previous predicate
/// are expanded to a mask that the comparisons start from, instead of M_eq being condensed to bits that meet them.
/// Under AVX2 that takes the three instructions of the paper's figure 7 per register, under AVX-512 none, since bits are
/// masks there.
///
/// # Panics
/// When the column's packing is not byteslice or byteslice16, or `out` has not one word per 64 codes.
pub fn scan_expanded(isa: Isa, packed: Packed<'_>, test: Test, combine: Combine, out: &mut [u64]) {
    let packing = packed.format().packing();
    assert!(matches!(packing, Packing::ByteSlice | Packing::ByteSlice16), "{packing} has no slices");
    let options = Options::from(combine);
    let Plan::Compare(comparison, negate) = test.plan(packed.format().max_code()) else {
        return super::super::scan(isa, packed, test, options, out);
    };
    let ways = Ways { expanded: true, ..Ways::usual() };
    super::scan_in(isa, packed, comparison, negate, options, ways, out);
    cut(out, packed.rows());
}

/// How many slices each run of `run` codes needs before a comparison with `constant` is decided: entry i counts the runs
/// that need i + 1 (ByteSlice paper, equation 2; a register of S bits has runs of S / 8). Plain Rust, not for speed.
///
/// # Panics
/// When the packing is not byteslice, or `run` is 0.
pub fn slices_needed(packed: Packed<'_>, constant: u64, run: usize) -> Vec<usize> {
    assert_eq!(packed.format().packing(), Packing::ByteSlice, "the packing of a column whose slices are counted");
    let slices = Slices::<u8>::new(packed);
    let mut needed = vec![0; slices.count];
    for start in (0..slices.rows).step_by(run) {
        let rows = start..slices.rows.min(start + run);
        let equal = |row: &usize, slice: usize| {
            let unit = |slice: usize| constant << slices.padding >> ((slices.count - 1 - slice) * 8) & 0xff;
            (0..=slice).all(|slice| slices.unit(slice, *row) == unit(slice))
        };
        let open = |slice: usize| rows.clone().any(|row| equal(&row, slice));
        let deepest = (0..slices.count - 1).find(|slice| !open(*slice)).unwrap_or(slices.count - 1);
        needed[deepest] += 1;
    }
    needed
}

/// Codes of a block of bits: a word of the vertical layout with S = 512.
pub(super) const BLOCK: usize = 512;

/// The lowest bits of a column's codes, and the constant (with all of its bits) that a scan compares with.
#[derive(Clone, Copy)]
pub(super) struct Tail<'a> {
    /// Per block, and per bit from the most significant down, one word per 64 codes.
    pub(super) words: &'a [[u64; BLOCK / 64]],
    pub(super) bits: usize,
    pub(super) constant: u64,
}

/// Option 2 of the paper: the whole bytes of a code in slices, the k mod 8 bits below them bit by bit. A block of 512
/// codes has its bits from the most significant down, 64 bytes each.
#[derive(Debug, Clone)]
pub struct BitTail {
    width: u8,
    rows: usize,
    /// The codes without their lowest bits; `None` when k is below 8.
    bytes: Option<(Format, Vec<u8>)>,
    /// Per block of 512 codes, and per bit, one word per 64 codes.
    tail: Vec<[u64; BLOCK / 64]>,
}

impl BitTail {
    /// Packs codes of `width` bits.
    ///
    /// # Errors
    /// When `width` is not from 1 to 64.
    pub fn new(isa: Isa, width: u8, codes: &[u64]) -> Result<Self, FormatError> {
        Format::new(Packing::ByteSlice, width)?;
        let bits = usize::from(width % 8);
        let bytes = match width - width % 8 {
            0 => None,
            whole => {
                let format = Format::new(Packing::ByteSlice, whole)?;
                let upper: Vec<u64> = codes.iter().map(|code| code >> bits).collect();
                let mut bytes = Vec::new();
                super::super::pack(isa, format, &upper, &mut bytes);
                Some((format, bytes))
            }
        };
        let mut tail = vec![[0; BLOCK / 64]; codes.len().div_ceil(BLOCK) * bits];
        for (row, code) in codes.iter().enumerate() {
            for bit in 0..bits {
                let word = &mut tail[row / BLOCK * bits + bit][row % BLOCK / 64];
                *word |= (code >> (bits - 1 - bit) & 1) << (row % 64);
            }
        }
        Ok(Self { width, rows: codes.len(), bytes, tail })
    }

    /// Bytes that the codes take.
    pub fn bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, |(_, bytes)| bytes.len()) + size_of_val(self.tail.as_slice())
    }

    /// The code at a TID: its bytes, then bit by bit.
    ///
    /// # Panics
    /// When the TID is not below the number of codes.
    pub fn get(&self, tid: u32) -> u64 {
        let row = tid as usize;
        assert!(row < self.rows, "TID {tid} in a run of {} records", self.rows);
        let upper = self.upper().map_or(0, |packed| super::get(packed, row));
        let bits = usize::from(self.width % 8);
        let tail = &self.tail[row / BLOCK * bits..][..bits];
        tail.iter().fold(upper, |code, words| code << 1 | words[row % BLOCK / 64] >> (row % 64) & 1)
    }

    /// Codes less than `constant` (which may be any number), with early stop after the bytes of 512 codes.
    ///
    /// # Panics
    /// When `out` has not one word per 64 codes.
    pub fn scan_less(&self, isa: Isa, constant: u64, out: &mut [u64]) {
        assert_eq!(out.len(), words(self.rows), "words for the bits of {} codes", self.rows);
        if constant > u64::MAX >> (64 - self.width) {
            out.fill(u64::MAX);
            return cut(out, self.rows);
        }
        let tail = Tail { words: &self.tail, bits: usize::from(self.width % 8), constant };
        match self.upper() {
            Some(packed) => dispatch!(isa, less_with_tail(Some(Slices::<u8>::new(packed)), tail, out)),
            None => dispatch!(isa, less_with_tail(None, tail, out)),
        }
        cut(out, self.rows);
    }

    fn upper(&self) -> Option<Packed<'_>> {
        let (format, bytes) = self.bytes.as_ref()?;
        Some(Packed::new(*format, self.rows, bytes).expect("bytes that were packed in this format"))
    }
}
