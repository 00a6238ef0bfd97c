//! Rows in an order: by the integers of their columns, so that nothing is decoded for it. Dictionary codes ascend as their
//! values do.
//!
//! What the keys of a row are becomes one number, as few bits for each as its column's range takes, with the row's place behind
//! them. All rows are sorted by these numbers, digit by digit where they have 64 bits; threads sort a part each, between two
//! numbers of a sample. The first rows are found by selection. Equal rows keep their places, or, where these depend on
//! chance, are told apart by their other columns: either way any number of threads gives the same.

use crate::Result;
use crate::data::rows::{Column, Rows, Values};
use crate::schedule::helpers::Helpers;
use crate::schedule::pool::Pool;
use gingham_kernels::order::{Scratch, sort_numbers};
use gingham_storage::huge_vec;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Numbers of each part that are looked at to find where the parts of the order begin.
const SAMPLED: usize = 256;

/// A column by which rows are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// The column that is sorted by, by position.
    pub column: usize,
    /// The largest first.
    pub descending: bool,
    /// NULLs before all else, whichever way the rest goes.
    pub nulls_first: bool,
}

/// A key's values as numbers from 0 on.
#[derive(Clone, Copy)]
struct Digit {
    key: SortKey,
    min: i128,
    max: i128,
    /// 1 where NULLs come before the values.
    first: u128,
    /// The digit that stands for NULL.
    null: u128,
    bits: u32,
}

/// What a row is put in order by: digits and, in the lowest bits, its place.
trait Number: Copy + Ord + Send + Sync + Default + 'static {
    /// With so many bits behind it.
    fn with(self, bits: u32, digit: u128) -> Self;

    /// The bits below `low`.
    fn place(self, low: u32) -> usize;

    /// The bits from `low` on.
    fn digits(self, low: u32) -> Self;

    /// Sorts numbers that ascend where the `bits` from `low` on are equal.
    fn sort(numbers: &mut [Self], low: u32, bits: u32);
}

impl Number for u64 {
    #[inline(always)]
    fn with(self, bits: u32, digit: u128) -> Self {
        self.checked_shl(bits).unwrap_or(0) | digit as u64
    }

    fn place(self, low: u32) -> usize {
        (self & !(u64::MAX << low)) as usize
    }

    fn digits(self, low: u32) -> Self {
        self >> low
    }

    fn sort(numbers: &mut [Self], low: u32, bits: u32) {
        if bits > 0 {
            let mut scratch = Scratch::of([huge_vec(numbers.len()), huge_vec(numbers.len())]);
            sort_numbers(numbers, low, bits as u8, &mut scratch);
        }
    }
}

impl Number for u128 {
    #[inline(always)]
    fn with(self, bits: u32, digit: u128) -> Self {
        self.checked_shl(bits).unwrap_or(0) | digit
    }

    fn place(self, low: u32) -> usize {
        (self & !(u128::MAX << low)) as usize
    }

    fn digits(self, low: u32) -> Self {
        self >> low
    }

    fn sort(numbers: &mut [Self], _: u32, _: u32) {
        numbers.sort_unstable();
    }
}

/// How rows become numbers.
struct Numbering {
    rows: Arc<Rows>,
    digits: Vec<Digit>,
    /// Bits of all digits together.
    bits: u32,
    /// Bits of a place.
    low: u32,
}

impl Rows {
    /// Bytes that putting so many rows in an order takes at most, beside the places it gives.
    pub const fn bytes_to_sort(rows: usize) -> usize {
        // A number, again by part, and twice more while these are sorted. Of 128 bits: the first two of these.
        rows * 4 * size_of::<u64>()
    }

    /// The places of all rows in an order, found by as many as `workers` threads of a pool; of equal rows as by
    /// [`Self::in_order`].
    ///
    /// # Errors
    /// When a thread has failed.
    ///
    /// # Panics
    /// For a column that is none.
    pub fn all_in_order(
        self: &Arc<Self>,
        keys: &[SortKey],
        placed: bool,
        (pool, workers): (&Pool, usize),
    ) -> Result<Vec<usize>> {
        self.sorted(keys, placed, &Helpers::of(pool, &Arc::default(), workers))
    }

    /// These rows sorted by the threads of a pool.
    pub(crate) fn sorted(
        self: &Arc<Self>,
        keys: &[SortKey],
        placed: bool,
        helpers: &Helpers<'_>,
    ) -> Result<Vec<usize>> {
        let low = usize::BITS - self.rows.saturating_sub(1).leading_zeros();
        let Some((digits, bits)) = self.digits(keys).filter(|(_, bits)| bits + low < u128::BITS) else {
            return Ok(self.in_order(keys, placed, self.rows));
        };
        let numbering = Numbering { rows: Arc::clone(self), digits, bits, low };
        // Numbers of rows have 32 bits where they are sorted digit by digit.
        if bits + low <= u64::BITS && low <= u32::BITS {
            numbering.places::<u64>(placed, helpers)
        } else {
            numbering.places::<u128>(placed, helpers)
        }
    }

    /// The places of the first rows in an order, at most `first`. Rows with equal keys come in the order of their places when
    /// these are `placed`, the same in each run, and else in the order of their other columns.
    ///
    /// # Panics
    /// For a column that is none.
    pub fn in_order(&self, keys: &[SortKey], placed: bool, first: usize) -> Vec<usize> {
        let ties = |a: usize, b: usize| if placed { Ordering::Equal } else { self.compare_all(a, b) };
        if let Some((digits, _)) = self.digits(keys).filter(|(_, bits)| *bits <= u128::BITS) {
            let codes: Vec<u128> = self.numbers(&digits, 0..self.rows);
            return first_in_order(self.rows, first, |a, b| codes[a].cmp(&codes[b]).then_with(|| ties(a, b)));
        }
        let by_keys = |a, b| {
            let each = keys.iter().map(|key| key.compare(&self.columns[key.column], a, b));
            each.fold(Ordering::Equal, Ordering::then)
        };
        first_in_order(self.rows, first, |a, b| by_keys(a, b).then_with(|| ties(a, b)))
    }

    /// By all columns.
    fn compare_all(&self, a: usize, b: usize) -> Ordering {
        let columns = self.columns.iter().map(|column| column.get(a).cmp(&column.get(b)));
        columns.fold(Ordering::Equal, Ordering::then)
    }

    /// The keys as digits, and the bits of all of them; `None` where one has a range past integers of 128 bits.
    fn digits(&self, keys: &[SortKey]) -> Option<(Vec<Digit>, u32)> {
        let digits = keys.iter().map(|key| Digit::new(*key, &self.columns[key.column]));
        let digits = digits.collect::<Option<Vec<_>>>()?;
        let bits = digits.iter().map(|digit| digit.bits).sum();
        Some((digits, bits))
    }

    /// The digits of some rows as one number each.
    fn numbers<N: Number>(&self, digits: &[Digit], rows: Range<usize>) -> Vec<N> {
        let mut numbers = huge_vec(rows.len());
        numbers.resize(rows.len(), N::default());
        digits.iter().for_each(|digit| digit.append(&self.columns[digit.key.column], rows.start, &mut numbers));
        numbers
    }
}

impl Numbering {
    /// The places of all rows.
    fn places<N: Number>(self, placed: bool, helpers: &Helpers<'_>) -> Result<Vec<usize>> {
        let (rows, low, bits) = (self.rows.rows, self.low, self.bits);
        let (own, threads) = (Arc::new(self), helpers.threads(rows));
        let length = rows.div_ceil(threads).max(1);
        let numbering = Arc::clone(&own);
        let parts = helpers.each(threads, threads, move |part| {
            let start = (part * length).min(rows);
            numbering.part::<N>(start..(start + length).min(rows))
        })?;
        let sorted = match <[Vec<N>; 1]>::try_from(parts) {
            Ok([mut all]) => {
                N::sort(&mut all, low, bits);
                vec![all]
            }
            Err(parts) => {
                let (bounds, parts) = (bounds(&parts), Arc::new(parts));
                helpers.each(threads, threads, move |part| {
                    let begin = part.checked_sub(1).map(|before| bounds[before]);
                    let mut numbers = between(&parts, begin, bounds.get(part).copied());
                    N::sort(&mut numbers, low, bits);
                    numbers
                })?
            }
        };
        let all = sorted.iter().flatten();
        let mut places = huge_vec(rows);
        places.extend(all.clone().map(|number| number.place(low)));
        if !placed {
            let digits: Vec<N> = all.map(|number| number.digits(low)).collect();
            let mut rest = places.as_mut_slice();
            for equal in digits.chunk_by(|a, b| a == b) {
                let (own_places, behind) = rest.split_at_mut(equal.len());
                own_places.sort_by(|a, b| own.rows.compare_all(*a, *b));
                rest = behind;
            }
        }
        Ok(places)
    }

    /// The numbers of some rows, with their places.
    fn part<N: Number>(&self, rows: Range<usize>) -> Vec<N> {
        let mut numbers = self.rows.numbers::<N>(&self.digits, rows.clone());
        for (number, row) in numbers.iter_mut().zip(rows) {
            *number = number.with(self.low, row as u128);
        }
        numbers
    }
}

/// The numbers from `begin` on that come before `end`.
fn between<N: Number>(parts: &[Vec<N>], begin: Option<N>, end: Option<N>) -> Vec<N> {
    let is_own = |number: &N| begin.is_none_or(|begin| *number >= begin) && end.is_none_or(|end| *number < end);
    let mut numbers = huge_vec(parts.iter().map(|part| part.iter().filter(|number| is_own(number)).count()).sum());
    parts.iter().for_each(|part| numbers.extend(part.iter().copied().filter(is_own)));
    numbers
}

/// Where as many parts of about equal size begin as there are here, but for the first.
fn bounds<N: Number>(parts: &[Vec<N>]) -> Vec<N> {
    let sampled = parts.iter().flat_map(|part| part.iter().step_by((part.len() / SAMPLED).max(1)));
    let mut sampled: Vec<N> = sampled.copied().collect();
    sampled.sort_unstable();
    (1..parts.len()).filter_map(|part| sampled.get(sampled.len() * part / parts.len()).copied()).collect()
}

impl Rows {
    /// The places of the first rows in the order of one column, and of all that are equal to the last of them there, in no
    /// order: all from which the first can be chosen by whatever comes after that column.
    ///
    /// # Panics
    /// For a column that is none.
    pub fn first_and_ties(&self, key: SortKey, first: usize) -> Vec<usize> {
        let column = &self.columns[key.column];
        let all = || (0..self.rows).collect();
        if first == 0 || first >= self.rows {
            return if first == 0 { Vec::new() } else { all() };
        }
        let Some(digit) = Digit::new(key, column) else { return all() };
        let codes: Vec<u128> = self.numbers(&[digit], 0..self.rows);
        let mut ranked = codes.clone();
        let (_, last, _) = ranked.select_nth_unstable(first - 1);
        (0..self.rows).filter(|row| codes[*row] <= *last).collect()
    }
}

/// The first places in an order, and in their own where it does not tell them apart.
fn first_in_order(rows: usize, first: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let compare = |a: &usize, b: &usize| compare(*a, *b).then(a.cmp(b));
    let mut places: Vec<usize> = (0..rows).collect();
    if first < rows {
        places.select_nth_unstable_by(first, compare);
        places.truncate(first);
    }
    places.sort_unstable_by(compare);
    places
}

impl Digit {
    /// `None` when the range has more numbers than integers of 128 bits.
    fn new(key: SortKey, column: &Column) -> Option<Self> {
        let (min, max) = column.bounds();
        let nulls = column.valid.as_ref().is_some_and(|valid| valid.count_set_bits() < valid.len());
        let largest = max.checked_sub(min)?.unsigned_abs();
        let first = u128::from(nulls && key.nulls_first);
        let null = if key.nulls_first { 0 } else { largest.checked_add(1)? };
        let bits = u128::BITS - (largest.checked_add(nulls.into())?).leading_zeros();
        Some(Self { key, min, max, first, null, bits })
    }

    /// Puts the digit of each row from `start` on behind the number that it has so far.
    fn append<N: Number>(&self, column: &Column, start: usize, numbers: &mut [N]) {
        if let (Values::Short(values), None) = (&column.values, &column.valid) {
            // All differences are those of integers of 64 bits.
            let (min, max, descending) = (self.min as i64, self.max as i64, self.key.descending);
            for (number, value) in numbers.iter_mut().zip(&values[start..]) {
                let digit = if descending { max.wrapping_sub(*value) } else { value.wrapping_sub(min) };
                *number = number.with(self.bits, u128::from(digit as u64));
            }
            return;
        }
        for (row, number) in numbers.iter_mut().enumerate() {
            let digit = match column.get(start + row) {
                None => self.null,
                Some(value) if self.key.descending => self.max.abs_diff(value) + self.first,
                Some(value) => value.abs_diff(self.min) + self.first,
            };
            *number = number.with(self.bits, digit);
        }
    }
}

impl SortKey {
    fn compare(self, column: &Column, a: usize, b: usize) -> Ordering {
        match (column.get(a), column.get(b)) {
            (Some(a), Some(b)) if self.descending => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (None, None) => Ordering::Equal,
            (None, Some(_)) if self.nulls_first => Ordering::Less,
            (Some(_), None) if !self.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

impl Column {
    /// The smallest and largest integer; 0 and 0 of none.
    pub fn bounds(&self) -> (i128, i128) {
        let rows = match (&self.values, &self.valid) {
            (Values::Short(values), None) => {
                let bounds =
                    values.iter().fold((i64::MAX, i64::MIN), |(min, max), value| (min.min(*value), max.max(*value)));
                return if values.is_empty() { (0, 0) } else { (bounds.0.into(), bounds.1.into()) };
            }
            (Values::Short(values), _) => values.len(),
            (Values::Wide(values), _) => values.len(),
        };
        let values = (0..rows).filter_map(|row| self.get(row));
        let both = values.map(|value| (value, value));
        both.reduce(|(min, max), (value, _)| (min.min(value), max.max(value))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Columns with many ties, with a range past 64 bits, and with the widest.
    fn column(rows: usize) -> impl Strategy<Value = Vec<Option<i128>>> {
        let value = prop_oneof![
            (0..4i128).boxed(),
            (-1000..1000i128).boxed(),
            (i128::from(i64::MIN)..=i128::from(i64::MAX)).boxed(),
            prop_oneof![Just(i128::MIN), Just(i128::MAX), -(1i128 << 90)..1 << 90].boxed(),
        ];
        prop::sample::select(vec![0usize, 20]).prop_flat_map(move |nulls| {
            prop::collection::vec((0..100usize, value.clone()), rows)
                .prop_map(move |all| all.into_iter().map(|(dice, value)| (dice >= nulls).then_some(value)).collect())
        })
    }

    /// Columns whose values are all of one kind: their range decides how rows are sorted.
    fn narrow(rows: usize) -> impl Strategy<Value = Vec<Option<i128>>> {
        let value = prop_oneof![Just(2i128), Just(1 << 20), Just(1 << 40), Just(u64::MAX.into())];
        (value, any::<bool>()).prop_flat_map(move |(most, nulls)| {
            let value =
                (0..10u8, -1..=most / 2 * 2 - 1).prop_map(move |(dice, value)| (!nulls || dice > 0).then_some(value));
            prop::collection::vec(value, rows)
        })
    }

    fn stored(values: &[Option<i128>]) -> Column {
        let valid = values.contains(&None).then(|| values.iter().map(Option::is_some).collect());
        let short: Option<Vec<i64>> = values.iter().map(|value| i64::try_from(value.unwrap_or(7)).ok()).collect();
        let wide = || Values::Wide(values.iter().map(|value| value.unwrap_or(7)).collect());
        Column { values: short.map_or_else(wide, Values::Short), valid }
    }

    /// The order of two rows, by what SQL says.
    fn order(columns: &[Vec<Option<i128>>], keys: &[SortKey], placed: bool, a: usize, b: usize) -> Ordering {
        for key in keys {
            let (a, b) = (columns[key.column][a], columns[key.column][b]);
            let nulls = b.is_none().cmp(&a.is_none());
            let nulls = if key.nulls_first { nulls } else { nulls.reverse() };
            let values = if key.descending { b.cmp(&a) } else { a.cmp(&b) };
            let either = if a.is_none() || b.is_none() { nulls } else { values };
            if either != Ordering::Equal {
                return either;
            }
        }
        if placed {
            return a.cmp(&b);
        }
        let row = |row: usize| columns.iter().map(|column| column[row]).collect::<Vec<_>>();
        row(a).cmp(&row(b)).then(a.cmp(&b))
    }

    proptest! {
        #[test]
        fn rows_come_in_the_order_of_their_keys(
            columns in (0..300usize).prop_flat_map(|rows| {
                prop::collection::vec(prop_oneof![3 => narrow(rows).boxed(), 1 => column(rows).boxed()], 1..4)
            }),
            keys in prop::collection::vec((0..3usize, any::<bool>(), any::<bool>()), 0..4),
            placed in any::<bool>(),
            first in prop_oneof![Just(usize::MAX), 0..320usize],
        ) {
            let key = |(column, descending, nulls_first)| SortKey { column: column % columns.len(), descending, nulls_first };
            let keys: Vec<SortKey> = keys.into_iter().map(key).collect();
            let rows = Rows { rows: columns[0].len(), columns: columns.iter().map(|column| stored(column)).collect() };
            let mut expected: Vec<usize> = (0..rows.rows).collect();
            expected.sort_by(|a, b| order(&columns, &keys, placed, *a, *b));
            expected.truncate(first);
            if let Some(key) = keys.first() {
                let chosen = rows.first_and_ties(*key, first);
                let mut by_one: Vec<usize> = (0..rows.rows).collect();
                by_one.sort_by(|a, b| order(&columns, &[*key], true, *a, *b));
                let mut ties = by_one.split_off(first.min(rows.rows));
                let last = by_one.last().copied();
                ties.retain(|row| last.is_some_and(|last| columns[key.column][last] == columns[key.column][*row]));
                by_one.append(&mut ties);
                by_one.sort_unstable();
                // A range past 128 bits is not looked at.
                prop_assert!(chosen == by_one || chosen.len() == rows.rows);
            }
            prop_assert_eq!(rows.in_order(&keys, placed, first), expected.clone());
            if first >= rows.rows {
                let rows = Arc::new(rows);
                prop_assert_eq!(&rows.sorted(&keys, placed, &Helpers::none()).unwrap(), &expected);
                prop_assert_eq!(rows.all_in_order(&keys, placed, (&Pool::new(), 3)).unwrap(), expected);
            }
        }
    }
    #[test]
    fn threads_sort_parts() {
        let mut state = 7u64;
        let mut next = |span: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 20) % span) as i64
        };
        for spans in [[3, 1 << 40], [1 << 20, 5], [1, 1], [1 << 43, 1 << 43]] {
            let column = |span| {
                let values = (0..200_000).map(|_| next(span) - 2).collect();
                Column { values: Values::Short(values), valid: None }
            };
            let rows = Arc::new(Rows { rows: 200_000, columns: spans.map(column).into() });
            let keys = [(0, true), (1, false)];
            let keys = keys.map(|(column, descending)| SortKey { column, descending, nulls_first: false });
            for (keys, placed) in [(&keys[..], true), (&keys[..1], true), (&keys[..1], false)] {
                let expected = rows.in_order(keys, placed, usize::MAX);
                let found = rows.all_in_order(keys, placed, (&Pool::new(), 3)).unwrap();
                assert!(found == expected, "{spans:?}, {} keys, {placed}", keys.len());
            }
        }
    }
}
