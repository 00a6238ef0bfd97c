//! Bit-packed with AVX-512. A permutation of the 16-bit words of one load brings those of each code to a lane of 32 or
//! 64 bits, where it is compared as it lies, as in `avx2.rs`. Machines with AVX-512 VBMI move bytes instead and shift
//! within a lane for nothing, so that narrow codes take lanes of 8 or 16 bits.

use super::super::Options;
use super::super::test::Comparison;
use super::{Run, each_word, scalar};
use crate::Code;
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn lookup<C: Code>(run: Run<'_>, tids: &[u32], out: &mut Vec<C>) {
    scalar::lookup(run, tids, out);
}

/// The comparisons as constants of the compiler.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const WITHIN: u8 = 2;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn scan(run: Run<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    match comparison {
        Comparison::Equal(_) => scan_kind::<EQUAL>(run, comparison, negate, options, out),
        Comparison::Less(_) => scan_kind::<LESS>(run, comparison, negate, options, out),
        Comparison::Within { .. } => scan_kind::<WITHIN>(run, comparison, negate, options, out),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn scan_kind<const KIND: u8>(run: Run<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    if run.width <= 57 && is_x86_feature_detected!("avx512vbmi") {
        // SAFETY: the machine has VBMI, as just found, and all that this function is compiled for.
        return unsafe { scan_bytes::<KIND>(run, comparison, negate, options, out) };
    }
    scan_words::<KIND>(run, comparison, negate, options, out);
}

/// [`scan_kind`] on any machine with AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn scan_words<const KIND: u8>(run: Run<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    match run.width {
        0..=17 => {
            let lanes = CodeLanes::of_words::<4>(run.width, comparison);
            scan_lanes::<4, KIND>(run, negate, options, out, &lanes, |bytes| lanes.move_words(bytes));
        }
        18..=49 => {
            let lanes = CodeLanes::of_words::<8>(run.width, comparison);
            scan_lanes::<8, KIND>(run, negate, options, out, &lanes, |bytes| lanes.move_words(bytes));
        }
        _ => {
            let pairs = WordPairs::new(run.width);
            let lanes = CodeLanes::of_words::<8>(64, comparison);
            scan_lanes::<8, KIND>(run, negate, options, out, &lanes, |bytes| pairs.codes(bytes));
        }
    }
}

/// [`scan_kind`] on machines with VBMI, for codes of at most 57 bits.
#[target_feature(enable = "avx512vbmi,avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn scan_bytes<const KIND: u8>(run: Run<'_>, comparison: Comparison, negate: bool, options: Options, out: &mut [u64]) {
    match run.width {
        0..=8 => {
            let lanes = CodeLanes::of_bytes::<1>(run.width, comparison);
            scan_lanes::<1, KIND>(run, negate, options, out, &lanes, |bytes| lanes.move_bytes(bytes));
        }
        9..=16 => {
            let lanes = CodeLanes::of_bytes::<2>(run.width, comparison);
            scan_lanes::<2, KIND>(run, negate, options, out, &lanes, |bytes| lanes.move_bytes(bytes));
        }
        17..=30 => {
            let lanes = CodeLanes::of_bytes::<4>(run.width, comparison);
            scan_lanes::<4, KIND>(run, negate, options, out, &lanes, |bytes| lanes.move_bytes(bytes));
        }
        _ => {
            let lanes = CodeLanes::of_bytes::<8>(run.width, comparison);
            scan_lanes::<8, KIND>(run, negate, options, out, &lanes, |bytes| lanes.move_bytes(bytes));
        }
    }
}

/// Scans with lanes of `BYTES` bytes, given what brings the codes that a register begins with to the lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn scan_lanes<const BYTES: usize, const KIND: u8>(
    run: Run<'_>,
    negate: bool,
    options: Options,
    out: &mut [u64],
    lanes: &CodeLanes,
    codes: impl Fn(__m512i) -> __m512i,
) {
    each_word(negate, options, out, |row_word| {
        let bytes = run.word(row_word);
        (0..BYTES).fold(0, |bits, i| {
            let bytes: &[u8; 64] =
                bytes[i * 8 / BYTES * run.width..].first_chunk().expect("64 bytes follow the last code");
            // SAFETY: the array has the 64 bytes of a register, and the load asks for no alignment.
            let codes = codes(unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) });
            bits | compare::<BYTES, KIND>(codes, lanes) << (i * 64 / BYTES)
        })
    });
}

/// What brings codes to lanes, and what they are compared with there.
struct CodeLanes {
    /// Byte or 16-bit word that each byte or word comes from.
    index: __m512i,
    /// Bit within its 64 bits that each byte begins with.
    shifts: __m512i,
    /// The bits of the codes.
    mask: __m512i,
    constants: [__m512i; 2],
}

impl CodeLanes {
    /// Lanes of `BYTES` bytes that begin with the 16-bit word that a code begins in. With the 15 bits that may lie
    /// before it, the code must fit the lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn of_words<const BYTES: usize>(width: usize, comparison: Comparison) -> Self {
        let (mut index, mut mask) = ([0; 32], [0; 64]);
        let mut shifted = [[0; 64]; 2];
        for lane in 0..64 / BYTES {
            let (at, shift) = (lane * width / 16, lane * width % 16);
            for word in 0..BYTES / 2 {
                // What lies past the register belongs to no code of it.
                index[lane * BYTES / 2 + word] = (at + word).min(31) as u16;
            }
            put(&mut mask, lane, BYTES, u64::MAX >> (64 - width) << shift);
            for (shifted, constant) in shifted.iter_mut().zip(comparison.constants()) {
                put(shifted, lane, BYTES, constant << shift);
            }
        }
        let index = index.map(u16::to_le_bytes);
        Self {
            index: load(index.as_flattened().first_chunk().expect("32 words are 64 bytes")),
            shifts: _mm512_setzero_si512(),
            mask: load(&mask),
            constants: shifted.map(|shifted| load(&shifted)),
        }
    }

    /// Lanes of `BYTES` bytes that begin with their code, which lies in the 64 bits that begin with the byte of the first
    /// code of a lane of 64 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn of_bytes<const BYTES: usize>(width: usize, comparison: Comparison) -> Self {
        let (mut index, mut shifts, mut mask) = ([0; 64], [0; 64], [0; 64]);
        let mut plain = [[0; 64]; 2];
        for byte in 0..64 {
            let first = byte / 8 * (8 / BYTES) * width;
            index[byte] = (first / 8 + byte % 8).min(63) as u8;
            let lane = byte % 8 / BYTES;
            shifts[byte] = ((first % 8 + lane * width + byte % BYTES * 8) % 64) as u8;
        }
        for lane in 0..64 / BYTES {
            put(&mut mask, lane, BYTES, u64::MAX >> (64 - width));
            for (plain, constant) in plain.iter_mut().zip(comparison.constants()) {
                put(plain, lane, BYTES, constant);
            }
        }
        let constants = plain.map(|plain| load(&plain));
        Self { index: load(&index), shifts: load(&shifts), mask: load(&mask), constants }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn move_words(&self, bytes: __m512i) -> __m512i {
        _mm512_and_si512(_mm512_permutexvar_epi16(self.index, bytes), self.mask)
    }

    #[inline]
    #[target_feature(enable = "avx512vbmi,avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn move_bytes(&self, bytes: __m512i) -> __m512i {
        let shifted = _mm512_multishift_epi64_epi8(self.shifts, _mm512_permutexvar_epi8(self.index, bytes));
        _mm512_and_si512(shifted, self.mask)
    }
}

/// What brings codes of any width above 32 bits to lanes of 64: each comes from two words, as in [`crate::bitpack`].
struct WordPairs {
    word: __m512i,
    next: __m512i,
    right: __m512i,
    left: __m512i,
    mask: __m512i,
}

impl WordPairs {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn new(width: usize) -> Self {
        let first: [usize; 8] = std::array::from_fn(|lane| lane * width);
        let lanes = |lane: &dyn Fn(usize) -> usize| {
            let lanes = first.map(|first| (lane(first) as u64).to_le_bytes());
            load(lanes.as_flattened().first_chunk().expect("eight words are 64 bytes"))
        };
        Self {
            word: lanes(&|first| first / 64),
            // A code in the last word ends there: what it takes from a next one is masked away.
            next: lanes(&|first| (first / 64 + 1).min(7)),
            right: lanes(&|first| first % 64),
            left: lanes(&|first| 64 - first % 64),
            mask: _mm512_set1_epi64((u64::MAX >> (64 - width)) as i64),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
    fn codes(&self, bytes: __m512i) -> __m512i {
        let low = _mm512_srlv_epi64(_mm512_permutexvar_epi64(self.word, bytes), self.right);
        let high = _mm512_sllv_epi64(_mm512_permutexvar_epi64(self.next, bytes), self.left);
        _mm512_and_si512(_mm512_or_si512(low, high), self.mask)
    }
}

/// The lower `size` bytes of `bits` as lane number `lane`.
fn put(lanes: &mut [u8; 64], lane: usize, size: usize, bits: u64) {
    lanes[lane * size..][..size].copy_from_slice(&bits.to_le_bytes()[..size]);
}

/// A bit per lane of `BYTES` bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn compare<const BYTES: usize, const KIND: u8>(codes: __m512i, lanes: &CodeLanes) -> u64 {
    let [first, second] = lanes.constants;
    macro_rules! lanes {
        ($equal:ident, $less:ident, $at_least:ident, $and_less:ident) => {
            match KIND {
                EQUAL => u64::from($equal(codes, first)),
                LESS => u64::from($less(codes, first)),
                _ => u64::from($and_less($at_least(codes, first), codes, second)),
            }
        };
    }
    match BYTES {
        1 => {
            lanes!(_mm512_cmpeq_epu8_mask, _mm512_cmplt_epu8_mask, _mm512_cmpge_epu8_mask, _mm512_mask_cmplt_epu8_mask)
        }
        2 => lanes!(
            _mm512_cmpeq_epu16_mask,
            _mm512_cmplt_epu16_mask,
            _mm512_cmpge_epu16_mask,
            _mm512_mask_cmplt_epu16_mask
        ),
        4 => lanes!(
            _mm512_cmpeq_epu32_mask,
            _mm512_cmplt_epu32_mask,
            _mm512_cmpge_epu32_mask,
            _mm512_mask_cmplt_epu32_mask
        ),
        _ => lanes!(
            _mm512_cmpeq_epu64_mask,
            _mm512_cmplt_epu64_mask,
            _mm512_cmpge_epu64_mask,
            _mm512_mask_cmplt_epu64_mask
        ),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the 64 bytes of a register, and the load asks for no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Format, Packed, Packing, Test, pack, scan};
    use super::*;
    use crate::Isa;

    /// Machines with VBMI don't come by the other way otherwise.
    #[test]
    fn words_are_permuted_without_vbmi() {
        if Isa::best() < Isa::Avx512 {
            return;
        }
        for width in (1..=63).filter(|width| ![8, 16, 32].contains(width)) {
            let format = Format::new(Packing::BitPacked, width).unwrap();
            let code = |row: u64| (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width);
            let codes: Vec<u64> = (0..300).map(code).collect();
            let mut bytes = Vec::new();
            pack(Isa::Scalar, format, &codes, &mut bytes);
            let packed = Packed::new(format, codes.len(), &bytes).unwrap();
            let (low, end) = (code(7).min(code(8)).max(1), code(7).max(code(8)).max(3));
            let run = Run::new(packed);
            let check = |test: Test, scan_words: &dyn Fn(&mut [u64])| {
                let (mut expected, mut out) = ([0; 5], [0; 5]);
                scan(Isa::Scalar, packed, test, Options::default(), &mut expected);
                scan_words(&mut out);
                out[4] &= (1 << 44) - 1;
                assert_eq!(out, expected, "{test:?} on {width} bits");
            };
            let options = Options::default();
            // SAFETY: the machine has AVX-512, as asked above, here and below.
            check(Test::Compare(crate::packing::Operator::Equal, low), &|out| unsafe {
                scan_words::<EQUAL>(run, Comparison::Equal(low), false, options, out);
            });
            // SAFETY: as above.
            check(Test::Compare(crate::packing::Operator::Less, low), &|out| unsafe {
                scan_words::<LESS>(run, Comparison::Less(low), false, options, out);
            });
            if low + 1 < end {
                // SAFETY: as above.
                check(Test::Between(low, end - 1), &|out| unsafe {
                    scan_words::<WITHIN>(run, Comparison::Within { low, end }, false, options, out);
                });
            }
        }
    }
}
