//! A sketch of an order, which gives quantiles of any number of values in bounded memory: the compactors of Karnin, Lang and
//! Liberty (Optimal Quantile Approximation in Streams, 2016).
//!
//! A level is a list of values, each of which stands for twice as many as on the level below. A full level is sorted, and every
//! second of its values goes up. Up to 512 values all are kept, and quantiles exact; of more, an answer's rank is about half of a
//! percent of all values off.

/// Values of the highest level.
const MOST: usize = 512;
/// Values of the lowest ones, so that they are not sorted for each few.
const LEAST: usize = 64;
/// Most levels that a stored sketch may have: values are counted in 64 bits.
const LEVELS: usize = 64;

/// A sketch under construction, or merged from several.
#[derive(Debug, Default)]
pub(super) struct Quantiles {
    /// Level by level, the lowest first.
    levels: Vec<Vec<i128>>,
    /// Which of two neighbours goes up; as likely the one as the other, and the same in each run.
    coin: u64,
}

impl Quantiles {
    /// Adds a value.
    #[inline]
    pub(super) fn push(&mut self, value: i128) {
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        self.levels[0].push(value);
        if self.levels[0].len() >= self.room(0) {
            self.compact();
        }
    }

    /// Adds the values of another.
    pub(super) fn merge(&mut self, other: Self) {
        for (level, values) in other.levels.into_iter().enumerate() {
            if self.levels.len() <= level {
                self.levels.push(Vec::new());
            }
            self.levels[level].extend(values);
        }
        self.compact();
    }

    /// How many values a level has room for: the highest has most.
    fn room(&self, level: usize) -> usize {
        let below = self.levels.len() - 1 - level;
        (MOST * 2usize.pow(below.min(8) as u32) / 3usize.pow(below.min(8) as u32)).max(LEAST)
    }

    /// Empties the levels that are full into those above.
    fn compact(&mut self) {
        let mut level = 0;
        while level < self.levels.len() {
            // A level that is added leaves those below less room.
            if self.levels[level].len() < self.room(level) {
                level += 1;
                continue;
            }
            if level + 1 == self.levels.len() {
                self.levels.push(Vec::new());
            }
            let mut values = std::mem::take(&mut self.levels[level]);
            values.sort_unstable();
            // What has no neighbour stays.
            let rest = if values.len() % 2 == 1 { values.pop() } else { None };
            let second = self.flip();
            self.levels[level + 1].extend(values.iter().skip(second).step_by(2));
            values.clear();
            values.extend(rest);
            self.levels[level] = values;
            level += 1;
        }
    }

    fn flip(&mut self) -> usize {
        self.coin = self.coin.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.coin >> 63) as usize
    }

    /// The values at these fractions of the order, counted as `percentile_disc` does; `None` without values.
    pub(super) fn at<const N: usize>(&self, fractions: [f64; N]) -> Option<[i128; N]> {
        let weighted = self.levels.iter().enumerate().flat_map(|(level, values)| {
            let weight = 1u64 << level.min(LEVELS - 1);
            values.iter().map(move |value| (*value, weight))
        });
        let mut weighted: Vec<(i128, u64)> = weighted.collect();
        weighted.sort_unstable();
        let last = weighted.last()?.0;
        let all: u128 = weighted.iter().map(|(_, weight)| u128::from(*weight)).sum();
        Some(fractions.map(|fraction| {
            let wanted = ((fraction * all as f64).ceil() as u128).max(1);
            let mut seen = 0;
            let found = weighted.iter().find(|(_, weight)| {
                seen += u128::from(*weight);
                seen >= wanted
            });
            found.map_or(last, |(value, _)| *value)
        }))
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.capacity() * size_of::<i128>() + size_of::<Vec<i128>>()).sum()
    }

    /// Its values, for another that merges them.
    pub(super) fn levels(&self) -> &[Vec<i128>] {
        &self.levels
    }

    /// A sketch of values that another had; `None` where there are too many levels.
    pub(super) fn of_levels(levels: Vec<Vec<i128>>) -> Option<Self> {
        (levels.len() <= LEVELS).then_some(Self { levels, coin: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRACTIONS: [f64; 3] = [0.25, 0.5, 0.75];

    /// Values in an order that is none, each once.
    fn shuffled(count: i128) -> impl Iterator<Item = i128> {
        (0..count).map(move |number| number * 7919 % count)
    }

    #[test]
    fn few_values_are_exact() {
        let mut sketch = Quantiles::default();
        assert_eq!(sketch.at(FRACTIONS), None);
        for (count, expected) in [(1, [0, 0, 0]), (3, [0, 1, 2]), (4, [0, 1, 2]), (500, [124, 249, 374])] {
            sketch = Quantiles::default();
            shuffled(count).for_each(|value| sketch.push(value));
            assert_eq!(sketch.at(FRACTIONS), Some(expected), "{count}");
        }
    }

    #[test]
    fn ranks_of_many_values_are_near() {
        for count in [5_000, 100_000, 1_000_003] {
            for parts in [1, 7] {
                let mut parted: Vec<Quantiles> = (0..parts).map(|_| Quantiles::default()).collect();
                shuffled(count).zip((0..parts).cycle()).for_each(|(value, part)| parted[part].push(value));
                let mut all = Quantiles::default();
                parted.into_iter().for_each(|part| all.merge(part));
                assert!(all.bytes() < 56 << 10, "{} bytes", all.bytes());
                for (value, fraction) in all.at(FRACTIONS).expect("values").into_iter().zip(FRACTIONS) {
                    let off = (value as f64 / count as f64 - fraction).abs();
                    assert!(off < 0.02, "{value} of {count} in {parts} is {off} off {fraction}");
                }
            }
        }
    }
}
