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
    /// Keys of a join that a set is made of at most: a key takes a few nanoseconds, and spares the probes of what it leaves out.
    pub const MOST_KEYS: usize = 1 << 24;

    /// A set of keys is worth a look at each code when the column has this many times as many distinct values.
    pub const DISTINCT_PER_KEY: f64 = 1.25;

    /// Whether so many keys leave out enough of a column's distinct values to be worth a look at each code.
    pub fn rules_out_enough(keys: f64, distinct: f64) -> bool {
        keys * Self::DISTINCT_PER_KEY <= distinct
    }

    /// The set of `values`, in any order, duplicates allowed; `None` when they lie too far apart.
    pub fn new(values: &[i64]) -> Option<Self> {
        match (values.iter().min(), values.iter().max()) {
            (Some(low), Some(high)) => Self::within(*low, *high, values.iter().copied()),
            _ => Some(Self { low: 0, words: Vec::new(), len: 0 }),
        }
    }

    /// A set of values that lie from `low` to `high`; `None` when these are too far apart.
    ///
    /// # Panics
    /// For a value that lies elsewhere.
    pub fn within(low: i64, high: i64, values: impl Iterator<Item = i64>) -> Option<Self> {
        let range = i128::from(high) - i128::from(low);
        if range >= BITS {
            return None;
        }
        let mut words = vec![0u64; (range.max(0) / 64 + 1) as usize];
        for value in values {
            let at = value.wrapping_sub(low) as usize;
            words[at / 64] |= 1 << (at % 64);
        }
        let low = i128::from(low);
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
        let Ok(at) = usize::try_from(value.saturating_sub(self.low)) else { return false };
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// The largest integer that a bit stands for.
    pub(crate) fn high(&self) -> i128 {
        self.low + self.words.len() as i128 * 64 - 1
    }

    /// The smallest integer.
    pub(crate) fn low(&self) -> i128 {
        self.low
    }

    /// One bit each for `value` and the integers after it, in so many words.
    pub(crate) fn bits_from(&self, value: i128, words: usize) -> Vec<u64> {
        let from = value - self.low;
        let (at, shift) = (from.div_euclid(64), from.rem_euclid(64) as u32);
        let mut bits = Vec::with_capacity(words);
        // Words before the first integer of the set have none, but that the last of them may reach into it.
        let before = usize::try_from(-1 - at).unwrap_or(0).min(words);
        bits.resize(before, 0);
        if at < 0 && before < words {
            bits.push(if shift == 0 { 0 } else { self.words.first().copied().unwrap_or(0) << (64 - shift) });
        }
        let own = self.words.get(usize::try_from(at.max(0)).unwrap_or(usize::MAX)..).unwrap_or(&[]);
        let own = &own[..own.len().min(words - bits.len())];
        match shift {
            0 => bits.extend_from_slice(own),
            _ => {
                let next = own.iter().skip(1).copied();
                let behind = at.max(0) as usize + own.len();
                let last = self.words.get(behind).copied().unwrap_or(0);
                bits.extend(
                    own.iter().zip(next.chain([last])).map(|(word, next)| word >> shift | next << (64 - shift)),
                );
            }
        }
        bits.resize(words, 0);
        bits
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
            words in 0usize..12,
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
            }
            let bits = set.bits_from(first, words);
            prop_assert_eq!(bits.len(), words);
            for at in 0..64 * words {
                prop_assert_eq!(bits[at / 64] >> (at % 64) & 1 == 1, expected.contains(&(first + at as i128)), "{}", at);
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
