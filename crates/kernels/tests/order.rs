//! Partitioning, sorting, merging and searching, of native codes and of byte slices, against the standard library's
//! stable sort and plain loops: all widths, lengths round the edges of vectors, blocks and runs, codes in every order.

mod common;

use common::Numbers;
use gingham_kernels::lab::order::{self as slices, Ordered};
use gingham_kernels::order::{self, Bound, Bounds};
use gingham_kernels::packing::{self, Format, PART_ROWS, Packed, Packing};
use gingham_kernels::{Code, Isa};

/// Lengths round the edges of result words, registers, small runs and blocks of places.
const LENGTHS: &[usize] =
    &[0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 128, 255, 257, 511, 512, 513, 1023, 1025, 2047, 2049, 5000];

/// How codes are spread, and in which order they come.
const SPREADS: [&str; 6] = ["random", "skewed", "sorted", "reversed", "equal", "one slice"];

fn codes(numbers: &mut Numbers, rows: usize, width: u8, spread: &str) -> Vec<u64> {
    let max = u64::MAX >> (64 - width);
    let centre = numbers.next() & max;
    let mut codes: Vec<u64> = (0..rows)
        .map(|_| match (spread, numbers.next() % 8) {
            ("equal", _) => centre,
            // All but the middle byte, or the only one, are the same.
            ("one slice", _) => centre ^ (numbers.next() & 0xff) << (width / 2 / 8 * 8) & max,
            ("skewed", 0) => numbers.next() & max,
            ("skewed", _) => numbers.next() & 3 & max,
            (_, 0) => 0,
            (_, 1) => max,
            _ => numbers.next() & max,
        })
        .collect();
    match spread {
        "sorted" => codes.sort_unstable(),
        "reversed" => codes.sort_unstable_by(|a, b| b.cmp(a)),
        _ => {}
    }
    codes
}

fn format(width: u8) -> Format {
    Format::new(Packing::ByteSlice, width).unwrap()
}

fn packed_bytes(width: u8, codes: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    packing::pack(Isa::Scalar, format(width), codes, &mut bytes);
    bytes
}

/// Calls `check` with codes of every width and spread in some of the lengths.
fn each(seed: u64, mut check: impl FnMut(u8, &str, &[u64], &mut Numbers)) {
    let mut numbers = Numbers(seed);
    let mut length = 0;
    for width in 1..=64 {
        for spread in SPREADS {
            for _ in 0..3 {
                length = (length + 1) % LENGTHS.len();
                let codes = codes(&mut numbers, LENGTHS[length], width, spread);
                check(width, spread, &codes, &mut numbers);
            }
        }
    }
}

/// The rows in the order of a key, equal ones as they come.
fn sorted_by<K: Ord>(codes: &[u64], key: impl Fn(u64) -> K) -> Vec<u32> {
    let mut tids: Vec<u32> = (0..codes.len() as u32).collect();
    tids.sort_by_key(|tid| key(codes[*tid as usize]));
    tids
}

fn at(codes: &[u64], tids: &[u32]) -> Vec<u64> {
    tids.iter().map(|tid| codes[*tid as usize]).collect()
}

/// Calls `$body` with `$codes` in the native integer of their width.
macro_rules! as_native {
    ($width:expr, $codes:expr, $native:ident => $body:expr) => {
        match $width {
            1..=8 => as_native!(@u8, $codes, $native => $body),
            9..=16 => as_native!(@u16, $codes, $native => $body),
            17..=32 => as_native!(@u32, $codes, $native => $body),
            _ => as_native!(@u64, $codes, $native => $body),
        }
    };
    (@$type:ty, $codes:expr, $native:ident => $body:expr) => {{
        let $native: Vec<$type> = $codes.iter().map(|code| <$type>::truncate(*code)).collect();
        $body
    }};
}

fn widened<C: Code>(codes: &[C]) -> Vec<u64> {
    codes.iter().map(|code| code.to_u64()).collect()
}

/// What sorts: memory that is used again and again, so that what an earlier sort left in it shows.
#[derive(Default)]
struct Sorter {
    scratch: slices::SliceScratch,
    out: Ordered,
    native: order::Scratch,
    tids: Vec<u32>,
}

impl Sorter {
    fn check(&mut self, width: u8, codes: &[u64], what: &str) {
        let expected = sorted_by(codes, |code| code);
        let sorted = at(codes, &expected);
        let what = format!("{} {what} codes of {width} bits", codes.len());
        let bytes = packed_bytes(width, codes);
        let packed = Packed::new(format(width), codes.len(), &bytes).unwrap();
        slices::sort(packed, &mut self.scratch, &mut self.out);
        assert!(self.out.tids == expected, "TIDs of {what}");
        assert!(self.out.bytes == packed_bytes(width, &sorted), "slices of {what}");
        as_native!(width, codes, native => {
            let mut out = Vec::new();
            order::sort(&native, width, &mut self.native, &mut self.tids, &mut out);
            assert!(self.tids == expected && widened(&out) == sorted, "native: {what}");
        });
        let places = usize::BITS - codes.len().leading_zeros();
        if places + u32::from(width) <= u64::BITS {
            let number = |code: u64, place: u64| code << places | place;
            let mut found: Vec<u64> = { codes.iter().zip(0..) }.map(|(code, place)| number(*code, place)).collect();
            order::sort_numbers(&mut found, places, width, &mut self.native);
            let sorted = sorted.iter().zip(&expected).map(|(code, place)| number(*code, (*place).into()));
            assert!(found.into_iter().eq(sorted), "numbers: {what}");
        }
    }
}

#[test]
fn sorts() {
    let mut sorter = Sorter::default();
    each(1, |width, spread, codes, _| sorter.check(width, codes, spread));
}

#[test]
fn sorts_more_than_a_run() {
    let mut sorter = Sorter::default();
    let mut numbers = Numbers(2);
    // Of the skewed codes most begin alike, so that even their bucket is more than a run.
    let cases = [
        (8, "random"),
        (12, "skewed"),
        (16, "random"),
        (31, "skewed"),
        (31, "reversed"),
        (31, "equal"),
        (64, "one slice"),
    ];
    for (width, spread) in cases {
        let rows = order::RUN / 3 * 4 + (numbers.next() % 1000) as usize;
        sorter.check(width, &codes(&mut numbers, rows, width, spread), spread);
    }
}

#[test]
fn output_past_the_caches() {
    let mut numbers = Numbers(8);
    let width = 12;
    let codes = codes(&mut numbers, (1 << 23) + 100, width, "random");
    let bytes = packed_bytes(width, &codes);
    let packed = Packed::new(format(width), codes.len(), &bytes).unwrap();
    let native: Vec<u16> = codes.iter().map(|code| *code as u16).collect();
    let expected = sorted_by(&codes, |code| code >> 4);
    let moved = at(&codes, &expected);
    let (mut out, mut tids, mut native_out) = (Ordered::default(), Vec::new(), Vec::new());
    slices::partition(packed, 0, &mut out);
    assert!(out.tids == expected && out.bytes == packed_bytes(width, &moved));
    slices::partition_tids(packed, 0, &mut tids);
    assert!(tids == expected);
    order::partition(&native, width, 0, &mut tids, &mut native_out);
    assert!(tids == expected && widened(&native_out) == moved);
    tids.fill(0);
    order::partition_tids(&native, width, 0, &mut tids);
    assert!(tids == expected);
    Sorter::default().check(width, &codes, "far");
}

#[test]
fn sorts_parts() {
    let mut numbers = Numbers(3);
    let codes = codes(&mut numbers, 3000, 19, "random");
    let bytes = packed_bytes(19, &codes);
    let packed = Packed::new(format(19), codes.len(), &bytes).unwrap();
    let rows = 2 * PART_ROWS..2900;
    let part = packed.part(rows.clone()).unwrap();
    let expected = sorted_by(&codes[rows.clone()], |code| code);
    let mut out = Ordered::default();
    slices::sort(part, &mut slices::SliceScratch::default(), &mut out);
    assert_eq!(out.tids, expected);
    let mut found = Vec::<u64>::new();
    packing::unpack(Isa::Scalar, out.packed(format(19)), 0..rows.len(), &mut found);
    assert_eq!(found, at(&codes[rows.clone()], &expected));
    slices::partition(part, 1, &mut out);
    assert_eq!(out.tids, sorted_by(&codes[rows], |code| code >> 3 & 0xff));
}

/// The digit number `digit` of codes of `width` bits.
fn digit_of(code: u64, width: u8, digit: usize) -> u8 {
    let count = usize::from(width).div_ceil(8);
    let padded = u128::from(code) << (count * 8 - usize::from(width));
    (padded >> ((count - 1 - digit) * 8)) as u8
}

#[test]
fn partitions() {
    let (mut out, mut tids) = (Ordered::default(), Vec::new());
    each(4, |width, spread, codes, numbers| {
        let digit = (numbers.next() % u64::from(width.div_ceil(8))) as usize;
        let expected = sorted_by(codes, |code| digit_of(code, width, digit));
        let sorted = at(codes, &expected);
        let count =
            |value: usize| codes.iter().filter(|code| usize::from(digit_of(**code, width, digit)) < value).count();
        let expected_bounds: Bounds = std::array::from_fn(|value| count(value) as u32);
        let what = format!("{} {spread} codes of {width} bits by digit {digit}", codes.len());
        let bytes = packed_bytes(width, codes);
        let packed = Packed::new(format(width), codes.len(), &bytes).unwrap();
        assert_eq!(slices::partition(packed, digit, &mut out), expected_bounds, "{what}");
        assert!(out.tids == expected, "TIDs of {what}");
        assert!(out.bytes == packed_bytes(width, &sorted), "slices of {what}");
        assert_eq!(slices::partition_tids(packed, digit, &mut tids), expected_bounds, "{what}");
        assert!(tids == expected, "TIDs alone of {what}");
        let counts: Vec<u32> = expected_bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(slices::histogram(packed, digit)[..], counts[..], "{what}");
        as_native!(width, codes, native => {
            let mut out = Vec::new();
            assert_eq!(order::partition(&native, width, digit, &mut tids, &mut out), expected_bounds, "{what}");
            assert!(tids == expected && widened(&out) == sorted, "native: {what}");
            assert_eq!(order::partition_tids(&native, width, digit, &mut tids), expected_bounds, "{what}");
            assert!(tids == expected, "native TIDs alone of {what}");
        });
    });
}

#[test]
fn merges() {
    let mut out = Vec::new();
    each(5, |width, spread, codes, numbers| {
        let mut parts = [Vec::new(), Vec::new()];
        let share = numbers.next() % 5;
        for code in codes {
            parts[usize::from(numbers.next() % 4 < share)].push(*code);
        }
        parts.iter_mut().for_each(|part| part.sort_unstable());
        let both: Vec<u64> = parts.concat();
        let expected = sorted_by(&both, |code| code);
        let what = format!("{} and {} {spread} codes of {width} bits", parts[0].len(), parts[1].len());
        let bytes = [0, 1].map(|part: usize| packed_bytes(width, &parts[part]));
        let [left, right] = [0, 1].map(|part| Packed::new(format(width), parts[part].len(), &bytes[part]).unwrap());
        for isa in Isa::available() {
            slices::merge(isa, left, right, &mut out);
            assert!(out == expected, "{what}, {isa:?}");
        }
        as_native!(width, parts[0], left => as_native!(width, parts[1], right => {
            order::merge(&widened(&left), &widened(&right), &mut out);
            assert!(out == expected, "native: {what}");
        }));
    });
}

/// Constants that matter: the ends of the domain and past them, codes that there are, and what lies beside them.
fn constants(codes: &[u64], width: u8, numbers: &mut Numbers) -> Vec<u64> {
    let max = u64::MAX >> (64 - width);
    let mut constants = vec![0, 1, max / 2, max, max.saturating_add(1), u64::MAX];
    for _ in 0..20 {
        if let Some(code) = codes.get((numbers.next() % codes.len().max(1) as u64) as usize) {
            constants.extend([*code, code.saturating_add(1), code.saturating_sub(1)]);
        }
    }
    constants
}

fn assert_found(width: u8, codes: &[u64], constants: &[u64], what: &str) {
    let bytes = packed_bytes(width, codes);
    let packed = Packed::new(format(width), codes.len(), &bytes).unwrap();
    for bound in [Bound::Lower, Bound::Upper] {
        let before = |constant: u64| match bound {
            Bound::Lower => codes.partition_point(|code| *code < constant),
            Bound::Upper => codes.partition_point(|code| *code <= constant),
        };
        let expected: Vec<u32> = constants.iter().map(|constant| before(*constant) as u32).collect();
        let what = format!("{bound:?} of {} in {} {what} codes of {width} bits", constants.len(), codes.len());
        for isa in Isa::available() {
            let mut out = vec![7];
            slices::search(isa, packed, constants, bound, &mut out);
            assert_eq!(out[0], 7);
            assert!(out[1..] == expected, "{what}, {isa:?}");
            for (constant, expected) in constants.iter().zip(&expected).take(20) {
                assert_eq!(
                    slices::bound(isa, packed, *constant, bound),
                    *expected as usize,
                    "{constant}: {what}, {isa:?}"
                );
            }
        }
        as_native!(width, codes, native => {
            let mut out = vec![7];
            order::search(&native, width, constants, bound, &mut out);
            assert!(out[1..] == expected, "native: {what}");
            for (constant, expected) in constants.iter().zip(&expected).take(20) {
                assert_eq!(order::bound(&native, *constant, bound), *expected as usize, "native, {constant}: {what}");
            }
        });
    }
}

#[test]
fn searches() {
    each(6, |width, spread, codes, numbers| {
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        let some = constants(&codes, width, numbers);
        assert_found(width, &codes, &some, spread);
        // So many that the leading digits are looked up first.
        let many: Vec<u64> = some.iter().copied().cycle().take(300).collect();
        assert_found(width, &codes, &many, spread);
    });
}

#[test]
fn searches_among_codes_that_begin_alike() {
    let mut numbers = Numbers(7);
    for width in [17, 30, 48, 64] {
        // Thousands of codes share their first two bytes, their first four, or all.
        let part = |bits: u8, numbers: &mut Numbers| numbers.next() & ((1 << bits) - 1);
        let mut codes: Vec<u64> = (0..3000).map(|_| part(width - 15, &mut numbers)).collect();
        codes.extend((0..3000).map(|_| 1 << (width - 2) | part(width / 2, &mut numbers)));
        codes.extend([3 << (width - 3); 1000]);
        codes.sort_unstable();
        let some = constants(&codes, width, &mut numbers);
        assert_found(width, &codes, &some, "alike");
        let many: Vec<u64> = some.iter().copied().cycle().take(300).collect();
        assert_found(width, &codes, &many, "alike");
    }
}

#[test]
#[should_panic(expected = "the packing of a column that is taken as byte slices")]
fn other_packings_have_no_slices() {
    let format = Format::new(Packing::Native, 8).unwrap();
    slices::histogram(Packed::new(format, 2, &[1, 2]).unwrap(), 0);
}

#[test]
#[should_panic(expected = "slice 2 of 2")]
fn slices_are_counted() {
    let bytes = packed_bytes(9, &[1, 2]);
    slices::histogram(Packed::new(format(9), 2, &bytes).unwrap(), 2);
}
