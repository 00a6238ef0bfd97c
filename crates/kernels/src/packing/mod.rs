//! Packings: columns of k-bit codes in bytes, scanned and looked up where they lie (ByteSlice paper, sections 2 and 3).
//!
//! [`Packed`] is a column: a [`Format`] (packing, width of the codes) over bytes. The functions of this module work on
//! any of them and choose twice per call, by packing and then by instruction set, never per code.
//!
//! A packing is a variant of [`Packing`], a line of `of_packing!` below, and a module with the functions that the macro
//! is used for: `bytes`, `pack`, `scan`, `get`, `lookup` and `unpack`. Scans arrive there as one of three comparisons
//! (`test.rs`). What else there is works on every packing by `by_runs.rs`; a packing that does better gets its own arm
//! in the function below. `tests/packings.rs` takes up every packing of `Packing::ALL` by itself.
//!
//! Every scan writes one bit per code: bit t % 64 of word t / 64 is the answer for code t. `out` has one word per 64
//! codes; bits past the last code come out zero.

use crate::bits::{cut, words};
use crate::minmax::min_max;
use crate::{Code, Isa};
use std::ops::Range;

/// Calls a function of the module that a packing names.
macro_rules! of_packing {
    ($packing:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $packing {
            $crate::packing::Packing::Native => $crate::packing::native::$function($($argument),*),
            $crate::packing::Packing::Vbp => $crate::packing::vbp::$function($($argument),*),
            $crate::packing::Packing::Hbp => $crate::packing::hbp::$function($($argument),*),
            $crate::packing::Packing::BitPacked => $crate::packing::bit_packed::$function($($argument),*),
            $crate::packing::Packing::ByteSlice | $crate::packing::Packing::ByteSlice16 => {
                $crate::packing::byteslice::$function($($argument),*)
            }
        }
    };
}

mod address;
mod bit_packed;
mod by_code;
mod by_runs;
pub(crate) mod byteslice;
mod complex;
mod format;
mod hbp;
mod native;
mod test;
mod vbp;

pub use address::Address;
pub use by_code::{PackedCodes, append, lookup, lookup_bits, pack, unpack};
pub use complex::{Connective, Predicate, Way, evaluate};
pub use format::{Format, FormatError, MAX_ROWS, PART_ROWS, Packed, Packing};
use test::Plan;
pub use test::{Combine, Operator, Options, Test};

/// [`by_code::pack`] of one type of codes.
fn pack_codes<C: Code>(isa: Isa, format: Format, codes: &[C], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + format.bytes(codes.len()), 0);
    of_packing!(format.packing(), pack(isa, format, codes, &mut out[start..]));
}

/// [`by_code::append`] of one type of codes.
fn append_codes<C: Code>(isa: Isa, format: Format, rows: usize, codes: &[C], bytes: &mut Vec<u8>) {
    assert_eq!(bytes.len(), format.bytes(rows), "bytes of {rows} packed codes");
    match format.packing() {
        Packing::ByteSlice | Packing::ByteSlice16 => byteslice::append(isa, format, rows, codes, bytes),
        _ => by_runs::append(isa, format, rows, codes, bytes),
    }
}

/// [`by_code::unpack`] of one type of codes.
fn unpack_codes<C: Code>(isa: Isa, packed: Packed<'_>, rows: Range<usize>, out: &mut Vec<C>) {
    check_width::<C>(packed);
    let within = rows.start <= rows.end && rows.end <= packed.rows();
    assert!(within, "rows {rows:?} of a run of {} records", packed.rows());
    of_packing!(packed.format().packing(), unpack(isa, packed, rows, out));
}

/// Codes that qualify.
///
/// # Panics
/// When `out` has not one word per 64 codes, here and in every scan.
pub fn scan(isa: Isa, packed: Packed<'_>, test: Test, options: Options, out: &mut [u64]) {
    check_words(packed, out);
    match test.plan(packed.format().max_code()) {
        Plan::All => fill(true, options, out),
        Plan::Nothing => fill(false, options, out),
        Plan::Compare(comparison, negate) => {
            of_packing!(packed.format().packing(), scan(isa, packed, comparison, negate, options, out));
        }
    }
    cut(out, packed.rows());
}

/// Codes that equal one of `values`: for short lists, since each code is compared with each value.
pub fn scan_any(isa: Isa, packed: Packed<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    check_words(packed, out);
    match packed.format().packing() {
        Packing::ByteSlice | Packing::ByteSlice16 => byteslice::scan_any(isa, packed, values, options, out),
        Packing::Hbp => hbp::scan_any(isa, packed, values, options, out),
        Packing::Native => native::scan_any(isa, packed, values, options, out),
        Packing::BitPacked => bit_packed::scan_any(isa, packed, values, options, out),
        Packing::Vbp => by_runs::scan_any(isa, packed, values, options, out),
    }
    cut(out, packed.rows());
}

/// Codes whose bit of `bitmap` is set. A code past the end of the bitmap does not qualify.
pub fn scan_bitmap(isa: Isa, packed: Packed<'_>, bitmap: &[u64], options: Options, out: &mut [u64]) {
    check_words(packed, out);
    match packed.format().packing() {
        Packing::Native => native::scan_bitmap(isa, packed, bitmap, options, out),
        Packing::BitPacked => bit_packed::scan_bitmap(isa, packed, bitmap, options, out),
        Packing::ByteSlice => byteslice::scan_bitmap(isa, packed, bitmap, options, out),
        _ => by_runs::scan_bitmap(isa, packed, bitmap, options, out),
    }
    cut(out, packed.rows());
}

/// Rows whose code in `left` compares so with their code in `right`. The columns may differ in format; what their codes
/// mean must not.
///
/// # Panics
/// When the columns differ in rows.
pub fn compare(isa: Isa, left: Packed<'_>, operator: Operator, right: Packed<'_>, options: Options, out: &mut [u64]) {
    check_words(left, out);
    assert_eq!(left.rows(), right.rows(), "rows of two columns that are compared");
    match left.format().packing() {
        Packing::ByteSlice | Packing::ByteSlice16 if left.format() == right.format() => {
            byteslice::compare(isa, left, operator, right, options, out);
        }
        _ => by_runs::compare(isa, left, operator, right, options, out),
    }
    cut(out, left.rows());
}

/// The code at a TID.
///
/// # Panics
/// When the TID is not below the number of rows.
pub fn get(packed: Packed<'_>, tid: u32) -> u64 {
    assert!((tid as usize) < packed.rows(), "TID {tid} in a run of {} records", packed.rows());
    of_packing!(packed.format().packing(), get(packed, tid as usize))
}

/// [`by_code::lookup`] of one type of codes.
fn lookup_codes<C: Code>(isa: Isa, packed: Packed<'_>, tids: &[u32], out: &mut Vec<C>) {
    check_width::<C>(packed);
    out.reserve(tids.len());
    for tids in tids.chunks(CHECKED) {
        of_packing!(packed.format().packing(), lookup(isa, packed, Tids::new(isa, tids, packed.rows()), out));
    }
}

/// [`by_code::lookup_bits`] of one type of codes.
fn lookup_bits_codes<C: Code>(isa: Isa, packed: Packed<'_>, bits: &[u64], out: &mut Vec<C>) {
    check_width::<C>(packed);
    check_words(packed, bits);
    let past = bits.last().is_some_and(|last| !packed.rows().is_multiple_of(64) && last >> (packed.rows() % 64) != 0);
    assert!(!past, "a bit set past the last of {} records", packed.rows());
    by_runs::lookup_bits(isa, packed, bits, out);
}

/// TIDs that are compared with the number of rows before they are looked up: so few that they stay in the first-level
/// cache meanwhile, and so many that it makes no difference to a lookup that asks for lines ahead.
const CHECKED: usize = 1 << 12;

/// TIDs that have been compared with the number of rows, once for all packings.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Clone, Copy)]
struct Tids<'a> {
    tids: &'a [u32],
    rows: usize,
}

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
impl<'a> Tids<'a> {
    /// # Panics
    /// When a TID is not below `rows`.
    fn new(isa: Isa, tids: &'a [u32], rows: usize) -> Self {
        if let Some((_, max)) = min_max(isa, tids) {
            assert!((max as usize) < rows, "TID {max} in a run of {rows} records");
        }
        Self { tids, rows }
    }

    /// The TIDs: each is below [`Tids::rows`].
    fn tids(self) -> &'a [u32] {
        self.tids
    }

    /// Some of the TIDs.
    fn part(self, range: Range<usize>) -> Self {
        Self { tids: &self.tids[range], ..self }
    }

    /// The number of rows.
    fn rows(self) -> usize {
        self.rows
    }
}

/// The answer of a scan that is the same for all codes.
fn fill(answer: bool, options: Options, out: &mut [u64]) {
    let answer = if answer { u64::MAX } else { 0 };
    out.iter_mut().for_each(|word| *word = options.combine.apply(*word, answer));
}

fn check_words(packed: Packed<'_>, out: &[u64]) {
    assert_eq!(out.len(), words(packed.rows()), "words for the bits of {} codes", packed.rows());
}

fn check_width<C: Code>(packed: Packed<'_>) {
    let width = packed.format().width();
    assert!(u32::from(width) <= C::BITS, "codes of {width} bits don't fit {}", C::BITS);
}
