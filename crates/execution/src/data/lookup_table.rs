//! Lookup tables: functions over a small range of integers, worked out beforehand for each of them. A record then costs one
//! load, whatever the function is: the year of a date, a pattern that strings are compared with.

use crate::data::limits::Limits;
use std::sync::Arc;

/// A function by its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupTable {
    /// Any integer where the result is NULL.
    pub(crate) values: Arc<Cells>,
    /// Truths: 1 where the result is a value. `None` when each is.
    pub(crate) valid: Option<Arc<Cells>>,
    /// The result for NULL.
    pub(crate) null: Option<i64>,
}

impl LookupTable {
    /// From the results for `low` and the integers that follow it, and the one for NULL; `None` is NULL. An integer outside
    /// of these has the last one's result, and NULL when there are none.
    pub fn new(low: i64, results: &[Option<i64>], null: Option<i64>) -> Self {
        let filler = results.iter().flatten().min().copied().unwrap_or(0);
        let values = Cells::new(low, results.iter().map(|result| result.unwrap_or(filler)));
        let some_null = results.is_empty() || results.contains(&None);
        let valid = some_null.then(|| Cells::new(low, results.iter().map(|result| result.is_some().into())));
        Self { values: Arc::new(values), valid: valid.map(Arc::new), null }
    }

    /// The result for an integer or NULL.
    pub fn get(&self, argument: Option<i64>) -> Option<i64> {
        let Some(argument) = argument else { return self.null };
        let valid = self.valid.as_ref().is_none_or(|valid| valid.get(argument) != 0);
        valid.then(|| self.values.get(argument))
    }
}

/// At least one integer, the first for `low`, in as few bytes each as the distance from the smallest takes: they should
/// stay in the nearest cache.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) low: i64,
    /// Where they lie.
    pub(crate) range: Limits,
    distances: Distances,
}

#[derive(Debug, PartialEq, Eq)]
enum Distances {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

impl Cells {
    /// `integers` or, when there are none, a zero.
    fn new(low: i64, integers: impl Iterator<Item = i64> + Clone) -> Self {
        let min = integers.clone().min().unwrap_or(0);
        let max = integers.clone().max().unwrap_or(0);
        let mut distances: Vec<u64> = integers.map(|integer| integer.wrapping_sub(min) as u64).collect();
        if distances.is_empty() {
            distances.push(0);
        }
        let distances = match max.wrapping_sub(min) as u64 {
            0..=0xff => Distances::One(distances.into_iter().map(|distance| distance as u8).collect()),
            0x100..=0xffff => Distances::Two(distances.into_iter().map(|distance| distance as u16).collect()),
            0x1_0000..=0xffff_ffff => Distances::Four(distances.into_iter().map(|distance| distance as u32).collect()),
            _ => Distances::Eight(distances),
        };
        Self { low, range: Limits::new(min, max), distances }
    }

    /// What is added to a distance.
    pub(crate) fn base(&self) -> i64 {
        self.range.min as i64
    }

    /// Address of the first distance, bytes of each, and number of the last.
    pub(crate) fn place(&self) -> (*const u8, u8, usize) {
        match &self.distances {
            Distances::One(distances) => (distances.as_ptr(), 1, distances.len() - 1),
            Distances::Two(distances) => (distances.as_ptr().cast(), 2, distances.len() - 1),
            Distances::Four(distances) => (distances.as_ptr().cast(), 4, distances.len() - 1),
            Distances::Eight(distances) => (distances.as_ptr().cast(), 8, distances.len() - 1),
        }
    }

    fn get(&self, argument: i64) -> i64 {
        let mut found = Vec::with_capacity(1);
        self.read(&[argument], &mut found);
        found[0]
    }

    /// Appends the integers for `arguments` to `out`.
    pub(crate) fn read(&self, arguments: &[i64], out: &mut Vec<i64>) {
        match &self.distances {
            Distances::One(distances) => self.read_from(distances, arguments, out),
            Distances::Two(distances) => self.read_from(distances, arguments, out),
            Distances::Four(distances) => self.read_from(distances, arguments, out),
            Distances::Eight(distances) => self.read_from(distances, arguments, out),
        }
    }

    fn read_from<T: Copy + Into<u64>>(&self, distances: &[T], arguments: &[i64], out: &mut Vec<i64>) {
        let last = distances.len() as u64 - 1;
        out.extend(arguments.iter().map(|argument| {
            // Below `low` is far above it without a sign.
            let index = (argument.wrapping_sub(self.low) as u64).min(last);
            self.base().wrapping_add(distances[index as usize].into() as i64)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_gives_back_what_it_was_made_of() {
        let spans = [0, 1, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, i64::MAX, u64::MAX as i64];
        for (span, base) in spans.into_iter().flat_map(|span| [i64::MIN, -1, 0, 1992].map(|base| (span, base))) {
            let Some(most) = base.checked_add_unsigned(span as u64) else { continue };
            for (low, null) in [(i64::MIN, None), (-7, Some(3)), (0, Some(-1)), (i64::MAX - 3, None)] {
                let results = [Some(most), None, Some(base), Some(base.midpoint(most))];
                for length in 0..=results.len() {
                    let map = LookupTable::new(low, &results[..length], null);
                    for (at, result) in results[..length].iter().enumerate() {
                        assert_eq!(map.get(Some(low + at as i64)), *result, "{at} of {map:?}");
                    }
                    assert_eq!(map.get(None), null);
                    let outside = [low.checked_sub(1), low.checked_add(length as i64)];
                    for outside in outside.into_iter().flatten() {
                        let last = results[..length].last().copied().flatten();
                        assert_eq!(map.get(Some(outside)), last, "{outside} of {map:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn results_lie_in_as_few_bytes_as_they_take() {
        let bytes = |least: i64, most: i64| LookupTable::new(0, &[Some(least), Some(most)], None).values.place().1;
        assert_eq!([bytes(1992, 1998), bytes(0, 256), bytes(-1, 1 << 16), bytes(i64::MIN, i64::MAX)], [1, 2, 4, 8]);
    }
}
