//! LSB radix sort of native codes.
//!
//! A run that fits the caches is sorted from its last digit up, as pairs of a code and its TID, which one store moves.
//! More codes than that are first partitioned by their leading digits, until the runs fit: passes over all of memory from
//! the last digit up would write to 256 far places at a time, each time (Zen 5, 2^24 codes of 32 bits: about twice the
//! time).

use super::{DigitOffsets, Digits, Histogram, Output, SMALL, bounds, histogram, is_single, partition};
use crate::{Code, Value};
use std::ops::Range;

/// Codes of a run that is sorted from its last digit up. Partitioned runs have 4096 codes or more then, if their digits are
/// even; for fewer, counting 256 digits costs as much as moving the codes does. (Zen 5: 2^20 codes of 32 bits take half as
/// long again when they are partitioned first, 2^22 a third less.)
pub const RUN: usize = 1 << 20;

/// Bits of a TID, below the code in a pair.
const TID_BITS: u32 = 32;

/// Memory that a sort works in. What it holds is of no use.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Pairs of codes up to 32 bits with their TIDs, twice: passes go from one to the other.
    narrow: [Vec<u64>; 2],
    /// Pairs of a row and a code of more than 64 bits.
    wide: [Vec<i128>; 2],
}

impl Scratch {
    /// Memory for numbers and for codes of up to 32 bits, as many as the smaller buffer has room for.
    pub fn of(buffers: [Vec<u64>; 2]) -> Self {
        Self { narrow: buffers, ..Self::default() }
    }
}

/// Sorts codes of `width` bits: `tids` gets the rows in the order of their codes, and of equal codes in the order of
/// their TIDs; `out` gets the codes.
///
/// # Panics
/// When `width` is not from 1 to the bits of a code, or there are 2^32 codes or more.
pub fn sort<C: Code>(codes: &[C], width: u8, scratch: &mut Scratch, tids: &mut Vec<u32>, out: &mut Vec<C>) {
    assert!((1..=C::BITS).contains(&width.into()), "codes of {width} bits in {}", C::BITS);
    assert!(u32::try_from(codes.len()).is_ok(), "{} codes have no TIDs of 32 bits", codes.len());
    let digits = Digits::of(width);
    if digits.count() == 1 {
        partition(codes, width, 0, tids, out);
        return;
    }
    tids.resize(codes.len(), 0);
    out.resize(codes.len(), C::default());
    let out = Split { tids, codes: out };
    if C::BITS <= 32 {
        sort_pairs(codes, digits, &mut scratch.narrow, out);
    } else {
        sort_pairs(codes, digits, &mut scratch.wide, out);
    }
}

/// Sorts numbers by the `width` bits above their `low` first ones. Numbers that are equal there must ascend already, as pairs
/// of a code and a TID do that come in the order of their TIDs.
///
/// # Panics
/// When `low` and `width` are more than 64 bits together, or `width` is 0, or there are 2^32 numbers or more.
pub fn sort_numbers(numbers: &mut [u64], low: u32, width: u8, scratch: &mut Scratch) {
    assert!(width > 0 && low + u32::from(width) <= u64::BITS, "{width} bits above {low}");
    assert!(u32::try_from(numbers.len()).is_ok(), "{} numbers", numbers.len());
    let by = By { digits: Digits::of(width), low };
    let begun = begin(numbers, |_, number| number, by, &mut scratch.narrow);
    go_on(begun, by, &mut scratch.narrow, Whole(numbers));
}

/// A code and a TID in one integer.
trait Pair: Value + Ord {
    fn new(code: u64, tid: u32) -> Self;
    fn tid(self) -> u32;
    /// The bits above the `low` first ones.
    fn above(self, low: u32) -> u64;
}

macro_rules! pair {
    ($pair:ty) => {
        impl Pair for $pair {
            #[inline(always)]
            fn new(code: u64, tid: u32) -> Self {
                <$pair>::from(code) << TID_BITS | <$pair>::from(tid)
            }

            #[inline(always)]
            fn tid(self) -> u32 {
                self as u32
            }

            #[inline(always)]
            fn above(self, low: u32) -> u64 {
                (self >> low) as u64
            }
        }
    };
}

pair!(u64);
pair!(i128);

/// What pairs are sorted by: digits of the bits above the `low` first ones.
#[derive(Clone, Copy)]
struct By {
    digits: Digits,
    low: u32,
}

impl By {
    #[inline(always)]
    fn digit<P: Pair>(self, pair: P, digit: usize) -> u8 {
        self.digits.get(pair.above(self.low), digit)
    }
}

/// Where sorted pairs go.
trait Target<P> {
    fn put(&mut self, place: usize, pair: P);
}

/// Codes and TIDs, each for themselves.
struct Split<'a, C> {
    tids: &'a mut [u32],
    codes: &'a mut [C],
}

impl<C: Code, P: Pair> Target<P> for Split<'_, C> {
    #[inline(always)]
    fn put(&mut self, place: usize, pair: P) {
        self.tids[place] = pair.tid();
        self.codes[place] = C::truncate(pair.above(TID_BITS));
    }
}

/// The pairs as they are.
struct Whole<'a>(&'a mut [u64]);

impl Target<u64> for Whole<'_> {
    #[inline(always)]
    fn put(&mut self, place: usize, pair: u64) {
        self.0[place] = pair;
    }
}

fn sort_pairs<C: Code, P: Pair>(codes: &[C], digits: Digits, sets: &mut [Vec<P>; 2], out: Split<'_, C>) {
    let by = By { digits, low: TID_BITS };
    let begun = begin(codes, |tid, code| P::new(code.to_u64(), tid as u32), by, sets);
    go_on(begun, by, sets, out);
}

/// By which digit pairs are in order, and how many have each.
type Begun = (usize, Histogram);

/// Takes what `pair` makes of each item and its place to the first set, in the order of one digit: the first of all, or the last
/// where all are sorted from there up.
fn begin<I: Copy, P: Pair>(items: &[I], pair: impl Fn(usize, I) -> P, by: By, sets: &mut [Vec<P>; 2]) -> Begun {
    let rows = items.len();
    let digit = if rows > RUN { 0 } else { by.digits.count() - 1 };
    let counts = histogram(items, |item| by.digit(pair(0, item), digit));
    let mut places = DigitOffsets::new(&counts);
    sets.iter_mut().for_each(|set| set.resize(rows, P::default()));
    let bounds = bounds(&counts);
    let mut to = Output::new(&mut sets[0], &bounds);
    to.put_all(items.iter().enumerate().map(|(place, item)| {
        let pair = pair(place, *item);
        let digit = by.digit(pair, digit);
        (digit, places.take(digit), pair)
    }));
    to.finish();
    (digit, counts)
}

/// Sorts the pairs of the first set, which are in the order of a digit, to the output.
fn go_on<P: Pair>((digit, counts): Begun, by: By, sets: &mut [Vec<P>; 2], out: impl Target<P>) {
    let rows = sets[0].len();
    let mut sorter = Sorter { by, sets, out };
    if rows > RUN {
        sorter.buckets(0, 0, &counts, 1);
    } else {
        sorter.passes(0, 0..rows, 0..digit);
    }
}

struct Sorter<'a, P, T> {
    by: By,
    sets: &'a mut [Vec<P>; 2],
    out: T,
}

impl<P: Pair, T: Target<P>> Sorter<'_, P, T> {
    /// Sorts the buckets that lie in a set from row `start` on, which agree in the digits before `digit`.
    fn buckets(&mut self, set: usize, mut start: usize, counts: &Histogram, digit: usize) {
        for count in *counts {
            self.run(set, start..start + count as usize, digit);
            start += count as usize;
        }
    }

    /// Sorts rows of a set, which agree in the digits before `digit`, to the output.
    fn run(&mut self, set: usize, rows: Range<usize>, digit: usize) {
        if rows.len() <= SMALL {
            // Equal codes keep their order, since their TIDs, in the lower bits, ascend.
            self.sets[set][rows.clone()].sort_unstable();
            return self.finish(set, rows);
        }
        if rows.len() <= RUN {
            return self.passes(set, rows, digit..self.by.digits.count());
        }
        if digit == self.by.digits.count() {
            return self.finish(set, rows);
        }
        let counts = self.histogram(set, rows.clone(), digit);
        if is_single(&counts, rows.len()) {
            return self.run(set, rows, digit + 1);
        }
        self.pass(set, rows.clone(), digit, &counts);
        self.buckets(1 - set, rows.start, &counts, digit + 1);
    }

    /// Sorts rows of a set by some digits, the last first, to the output.
    fn passes(&mut self, mut set: usize, rows: Range<usize>, digits: Range<usize>) {
        for digit in digits.clone().rev() {
            let counts = self.histogram(set, rows.clone(), digit);
            if is_single(&counts, rows.len()) {
                continue;
            }
            if digit == digits.start {
                return self.last_pass(set, rows, digit, &counts);
            }
            self.pass(set, rows.clone(), digit, &counts);
            set = 1 - set;
        }
        self.finish(set, rows);
    }

    fn histogram(&self, set: usize, rows: Range<usize>, digit: usize) -> Histogram {
        histogram(&self.sets[set][rows], |pair| self.by.digit(pair, digit))
    }

    /// Takes rows of a set to their places by one digit, in the other set.
    fn pass(&mut self, set: usize, rows: Range<usize>, digit: usize, counts: &Histogram) {
        let [first, second] = self.sets;
        let (from, to) = if set == 0 { (first, second) } else { (second, first) };
        let (mut places, to) = (DigitOffsets::new(counts), &mut to[rows.clone()]);
        for pair in &from[rows] {
            to[places.take(self.by.digit(*pair, digit))] = *pair;
        }
    }

    /// The last pass of a sort, which writes to the output.
    fn last_pass(&mut self, set: usize, rows: Range<usize>, digit: usize, counts: &Histogram) {
        let (mut places, start) = (DigitOffsets::new(counts), rows.start);
        for pair in &self.sets[set][rows] {
            self.out.put(start + places.take(self.by.digit(*pair, digit)), *pair);
        }
    }

    /// Takes sorted rows of a set to the output.
    fn finish(&mut self, set: usize, rows: Range<usize>) {
        let start = rows.start;
        for (place, pair) in self.sets[set][rows].iter().enumerate() {
            self.out.put(start + place, *pair);
        }
    }
}
