//! Rows in an order: by the integers of their columns, so that nothing is decoded for it. Dictionary codes ascend as their
//! values do.
//!
//! What the keys of a row are becomes one number, as few bits for each as its column's range takes, and rows are sorted by
//! that: all of them digit by digit, the first of them by selection. Equal rows keep their places, or, where these depend on
//! chance, are told apart by their other columns: either way any number of threads gives the same.

use crate::rows::{Column, Rows, Values};
use gingham_kernels::order::{Scratch, sort};
use std::cmp::Ordering;

/// A column by which rows are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// Which.
    pub column: usize,
    /// The largest first.
    pub descending: bool,
    /// NULLs before all else, whichever way the rest goes.
    pub nulls_first: bool,
}

/// A key's values as numbers from 0 on.
struct Digit {
    key: SortKey,
    min: i128,
    max: i128,
    /// 1 where NULLs come before the values.
    first: u128,
    /// Of NULL.
    null: u128,
    bits: u32,
}

impl Rows {
    /// The places of the first rows in an order, at most `first`. Rows with equal keys come in the order of their places when
    /// these are `placed`, the same in each run, and else in the order of their other columns.
    ///
    /// # Panics
    /// For a column that is none.
    pub fn in_order(&self, keys: &[SortKey], placed: bool, first: usize) -> Vec<usize> {
        let ties = |a: usize, b: usize| {
            let others = self.columns.iter().map(|column| column.get(a).cmp(&column.get(b)));
            if placed { Ordering::Equal } else { others.fold(Ordering::Equal, Ordering::then) }
        };
        let digits: Option<Vec<Digit>> = keys.iter().map(|key| Digit::new(*key, &self.columns[key.column])).collect();
        let bits = digits.as_ref().map_or(u32::MAX, |digits| digits.iter().map(|digit| digit.bits).sum());
        let digits = digits.unwrap_or_default();
        if bits <= u64::BITS && first >= self.rows && u32::try_from(self.rows).is_ok() {
            let mut codes = vec![0u64; self.rows];
            for digit in &digits {
                digit.append(&self.columns[digit.key.column], &mut codes, |code, bits, digit| {
                    code.checked_shl(bits).unwrap_or(0) | digit as u64
                });
            }
            return all_in_order(&codes, bits, ties);
        }
        if bits <= u128::BITS {
            let mut codes = vec![0u128; self.rows];
            for digit in &digits {
                digit.append(&self.columns[digit.key.column], &mut codes, |code, bits, digit| {
                    code.checked_shl(bits).unwrap_or(0) | digit
                });
            }
            return first_in_order(self.rows, first, |a, b| codes[a].cmp(&codes[b]).then_with(|| ties(a, b)));
        }
        let by_keys = |a, b| {
            let each = keys.iter().map(|key| key.compare(&self.columns[key.column], a, b));
            each.fold(Ordering::Equal, Ordering::then)
        };
        first_in_order(self.rows, first, |a, b| by_keys(a, b).then_with(|| ties(a, b)))
    }
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
        let mut codes = vec![0u128; self.rows];
        digit.append(column, &mut codes, |_, _, digit| digit);
        let mut ranked = codes.clone();
        let (_, last, _) = ranked.select_nth_unstable(first - 1);
        (0..self.rows).filter(|row| codes[*row] <= *last).collect()
    }
}

/// All places in the order of their codes, then in that of `ties`, then in their own.
fn all_in_order(codes: &[u64], bits: u32, ties: impl Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let (mut places, mut sorted) = (Vec::new(), Vec::new());
    sort(codes, bits.max(1) as u8, &mut Scratch::default(), &mut places, &mut sorted);
    let mut places: Vec<usize> = places.into_iter().map(|place| place as usize).collect();
    let mut start = 0;
    for equal in sorted.chunk_by(|a, b| a == b) {
        if equal.len() > 1 {
            places[start..start + equal.len()].sort_by(|a, b| ties(*a, *b));
        }
        start += equal.len();
    }
    places
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

    /// Puts the digit of each row behind the code that it has so far.
    fn append<C: Copy>(&self, column: &Column, codes: &mut [C], with: impl Fn(C, u32, u128) -> C) {
        for (row, code) in codes.iter_mut().enumerate() {
            let digit = match column.get(row) {
                None => self.null,
                Some(value) if self.key.descending => self.max.abs_diff(value) + self.first,
                Some(value) => value.abs_diff(self.min) + self.first,
            };
            *code = with(*code, self.bits, digit);
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
        let rows = match &self.values {
            Values::Short(values) => values.len(),
            Values::Wide(values) => values.len(),
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
            prop_assert_eq!(rows.in_order(&keys, placed, first), expected);
        }
    }
}
