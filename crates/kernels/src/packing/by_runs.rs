//! What works on every packing alike: a run of codes at a time, through the packing's own scans, lookups and unpacking
//! and scratch that stays in the first-level cache.

use super::test::{Order, Relation};
use super::{Combine, Format, Operator, Options, PART_ROWS, Packed, Packing, Test};
use crate::{Code, Isa, bits, lookup};
use std::ops::Range;

/// Codes of a run: at 8 bytes each they fill no more than the first-level cache, and the two dispatches of a call on a
/// run are nothing beside the work on it.
pub(super) const RUN: usize = 8 * PART_ROWS;

/// Calls `$body` with `$code` as the native integer of codes of `$width` bits.
macro_rules! with_code {
    ($width:expr, $code:ident => $body:expr) => {
        match $width {
            0..=8 => {
                type $code = u8;
                $body
            }
            9..=16 => {
                type $code = u16;
                $body
            }
            17..=32 => {
                type $code = u32;
                $body
            }
            _ => {
                type $code = u64;
                $body
            }
        }
    };
}
pub(super) use with_code;

/// Fills in the answers of each run of `rows` codes, and combines them with `out`. Runs that `out` has decided are left
/// out when the options allow it.
pub(super) fn each_run(
    rows: usize,
    options: Options,
    out: &mut [u64],
    mut answer: impl FnMut(Range<usize>, &mut [u64]),
) {
    for (i, out) in out.chunks_mut(RUN / 64).enumerate() {
        if options.early_stop && out.iter().all(|word| options.combine.interest(*word) == 0) {
            continue;
        }
        let mut answers = [0; RUN / 64];
        let answers = &mut answers[..out.len()];
        answer(i * RUN..rows.min((i + 1) * RUN), answers);
        for (out, answer) in out.iter_mut().zip(answers) {
            *out = options.combine.apply(*out, *answer);
        }
    }
}

/// The part of a column that a run of [`each_run`] is.
fn part(packed: Packed<'_>, rows: Range<usize>) -> Packed<'_> {
    packed.part(rows).expect("a run starts at a multiple of PART_ROWS and ends within the rows")
}

pub(super) fn scan_any(isa: Isa, packed: Packed<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    let each = Options { combine: Combine::Or, ..options };
    each_run(packed.rows(), options, out, |rows, answers| {
        let part = part(packed, rows);
        for &value in values {
            super::scan(isa, part, Test::Compare(Operator::Equal, value), each, answers);
        }
    });
}

/// [`scan_any`] of codes that are unpacked first.
pub(super) fn scan_any_unpacked(isa: Isa, packed: Packed<'_>, values: &[u64], options: Options, out: &mut [u64]) {
    let max = packed.format().max_code();
    with_code!(packed.format().width(), C => {
        let values: Vec<C> = values.iter().filter(|value| **value <= max).map(|value| C::truncate(*value)).collect();
        let mut codes = Vec::<C>::with_capacity(RUN);
        each_run(packed.rows(), options, out, |rows, answers| {
            codes.clear();
            super::unpack(isa, packed, rows, &mut codes);
            crate::scan::equal_any(isa, &codes, &values, answers);
        });
    });
}

pub(super) fn scan_bitmap(isa: Isa, packed: Packed<'_>, bitmap: &[u64], options: Options, out: &mut [u64]) {
    with_code!(packed.format().width(), C => {
        let mut codes = Vec::<C>::with_capacity(RUN);
        each_run(packed.rows(), options, out, |rows, answers| {
            codes.clear();
            super::unpack(isa, packed, rows, &mut codes);
            crate::scan::in_bitmap(isa, &codes, bitmap, answers);
        });
    });
}

pub(super) fn compare(
    isa: Isa,
    left: Packed<'_>,
    operator: Operator,
    right: Packed<'_>,
    options: Options,
    out: &mut [u64],
) {
    let (relation, order, negate) = operator.relation();
    let (first, second) = if order == Order::Given { (left, right) } else { (right, left) };
    let flip = if negate { u64::MAX } else { 0 };
    with_code!(left.format().width().max(right.format().width()), C => {
        let (mut a, mut b) = (Vec::<C>::with_capacity(RUN), Vec::<C>::with_capacity(RUN));
        each_run(left.rows(), options, out, |rows, answers| {
            a.clear();
            b.clear();
            super::unpack(isa, first, rows.clone(), &mut a);
            super::unpack(isa, second, rows, &mut b);
            for (i, (a, b)) in a.chunks(64).zip(b.chunks(64)).enumerate() {
                answers[i] = flip ^ match relation {
                    Relation::Equal => word(a, b, |a, b| a == b),
                    Relation::Less => word(a, b, |a, b| a < b),
                };
            }
        });
    });
}

#[inline(always)]
fn word<C: Code>(a: &[C], b: &[C], test: impl Fn(C, C) -> bool) -> u64 {
    a.iter().zip(b).enumerate().fold(0, |word, (i, (&a, &b))| word | u64::from(test(a, b)) << i)
}

/// A run of which more than one code in so many is wanted is unpacked as a whole first: that goes by vectors, a lookup code by
/// code. Measured on Zen 5; codes of HBP take as long either way once all of them are wanted.
const fn dense(packing: Packing) -> usize {
    match packing {
        Packing::Native | Packing::Vbp | Packing::ByteSlice | Packing::ByteSlice16 => 8,
        Packing::BitPacked => 4,
        Packing::Hbp => 1,
    }
}

pub(super) fn lookup_bits<C: Code>(isa: Isa, packed: Packed<'_>, bits: &[u64], out: &mut Vec<C>) {
    let (mut tids, mut codes) = (Vec::with_capacity(RUN), Vec::new());
    for (i, bits) in bits.chunks(RUN / 64).enumerate() {
        let rows = i * RUN..packed.rows().min((i + 1) * RUN);
        tids.clear();
        bits::to_tids(isa, bits, 0, &mut tids);
        if tids.len() == rows.len() {
            super::unpack(isa, packed, rows, out);
        } else if tids.len() > rows.len() / dense(packed.format().packing()) {
            codes.clear();
            super::unpack(isa, packed, rows, &mut codes);
            lookup::copy(isa, &codes, &tids, out);
        } else {
            super::lookup(isa, part(packed, rows), &tids, out);
        }
    }
}

pub(super) fn append<C: Code>(isa: Isa, format: Format, rows: usize, codes: &[C], bytes: &mut Vec<u8>) {
    let mut all = Vec::<u64>::with_capacity(rows + codes.len());
    let packed = Packed::new(format, rows, bytes).expect("the caller checked the bytes");
    super::unpack(isa, packed, 0..rows, &mut all);
    all.extend(codes.iter().map(|code| code.to_u64()));
    bytes.clear();
    super::pack(isa, format, &all, bytes);
}
