//! A set of integers, one bit each: the keys of a join's build side, as a scan of its probe side takes them.

/// Most bits of a set (8 MB): keys further apart are not worth one.
const BITS: i128 = 1 << 26;

/// Integers of the integer class, no further than 67 million apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegerSet {
    /// What the first bit stands for.
    low: i128,
    words: Vec<u64>,
    len: usize,
}

impl IntegerSet {
    /// Keys of a join that are gathered at most.
    pub const MOST_KEYS: usize = 1 << 20;

    /// A set of keys is worth a look at each code when the column has this many times as many distinct values.
    pub const DISTINCT_PER_KEY: f64 = 1.25;

    /// Whether so many keys leave out enough of a column's distinct values to be worth a look at each code.
    pub fn rules_out_enough(keys: f64, distinct: f64) -> bool {
        keys * Self::DISTINCT_PER_KEY <= distinct
    }

    /// The set of `values`, in any order, duplicates allowed; `None` when they lie too far apart.
    pub fn new(values: &[i64]) -> Option<Self> {
        let (Some(low), Some(high)) = (values.iter().min(), values.iter().max()) else {
            return Some(Self { low: 0, words: Vec::new(), len: 0 });
        };
        let (low, high) = (i128::from(*low), i128::from(*high));
        if high - low >= BITS {
            return None;
        }
        let mut words = vec![0u64; ((high - low) / 64 + 1) as usize];
        for value in values {
            let at = (i128::from(*value) - low) as usize;
            words[at / 64] |= 1 << (at % 64);
        }
        let len = words.iter().map(|word| word.count_ones() as usize).sum();
        Some(Self { low, words, len })
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// Number of integers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `value` is one of them.
    pub fn contains(&self, value: i128) -> bool {
        self.bits_from(value) & 1 == 1
    }

    /// The largest integer that a bit stands for.
    pub(crate) fn high(&self) -> i128 {
        self.low + self.words.len() as i128 * 64 - 1
    }

    /// The smallest integer.
    pub(crate) fn low(&self) -> i128 {
        self.low
    }

    /// One bit each for `value` and the 63 integers after it.
    pub(crate) fn bits_from(&self, value: i128) -> u64 {
        let word = |at: i128| usize::try_from(at).ok().and_then(|at| self.words.get(at)).copied().unwrap_or(0);
        let Some(from) = value.checked_sub(self.low) else { return 0 };
        let (at, shift) = (from.div_euclid(64), from.rem_euclid(64) as u32);
        let high = if shift == 0 { 0 } else { word(at.saturating_add(1)) << (64 - shift) };
        word(at) >> shift | high
    }

    /// The integers, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = i128> + '_ {
        self.words.iter().enumerate().flat_map(move |(at, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit: i128| self.low + at as i128 * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn holds_what_it_was_given(
            base in prop_oneof![Just(i64::MIN), Just(i64::MAX - 300), -300i64..300],
            offsets in proptest::collection::vec(0i64..300, 0..40),
            from in -400i128..700,
        ) {
            let values: Vec<i64> = offsets.iter().map(|offset| base + offset).collect();
            let expected: BTreeSet<i128> = values.iter().map(|value| i128::from(*value)).collect();
            let set = IntegerSet::new(&values).unwrap();
            prop_assert_eq!(set.len(), expected.len());
            prop_assert!(set.iter().eq(expected.iter().copied()));
            let first = i128::from(base) + from;
            for bit in 0..64 {
                let value = first + i128::from(bit);
                prop_assert_eq!(set.contains(value), expected.contains(&value));
                prop_assert_eq!(set.bits_from(first) >> bit & 1 == 1, expected.contains(&value));
            }
        }
    }

    #[test]
    fn no_set_of_integers_far_apart() {
        assert_eq!(IntegerSet::new(&[i64::MIN, i64::MAX]), None);
        assert_eq!(IntegerSet::new(&[0, BITS as i64]), None);
        assert!(IntegerSet::new(&[0, BITS as i64 - 1]).is_some());
        assert!(!IntegerSet::new(&[]).unwrap().contains(i128::MIN));
    }
}
