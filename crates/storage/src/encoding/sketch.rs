//! Estimates of distinct values: HyperLogLog sketches that segments keep and readers merge.
//!
//! The sketch itself is `cardinality-estimator`'s: 2^12 registers of 6 bits, 3 KB, 1.6 % standard error. Up to about a
//! hundred values it is a list of hashes, and exact except for values whose hashes agree in 25 bits. (With 2^11
//! registers that crate gives 0 for a thousand values.) Its words are kept as they are behind a byte that names the
//! form; the hashes of values are defined here, since sketches of different builds must merge. docs/formats/segment.md
//! has both.

use cardinality_estimator::CardinalityEstimator;
use std::hash::Hasher;

/// Hashes arrive made; this hasher is never asked.
#[derive(Debug, Default, Clone)]
pub struct NoHasher;

impl Hasher for NoHasher {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, _bytes: &[u8]) {}
}

type Estimator = CardinalityEstimator<u64, NoHasher, 12, 6>;

/// Form byte of a sketch with one word of two halves: up to two hashes.
const FEW: u8 = 1;
/// Form byte of a list of hashes.
const LIST: u8 = 2;
/// Form byte of registers.
const REGISTERS: u8 = 3;

/// Registers, and the bits of a hash that name one.
const REGISTER_BITS: u32 = 12;
/// Bytes of an estimator that has only few values, as a list, at most.
const LIST_BYTES: usize = 1 << 10;
/// Values between two looks at whether it is still a list.
const UNTIL_LOOK: u32 = 1 << 10;

/// A sketch under construction, or merged from several.
#[derive(Default)]
pub struct Sketch {
    estimator: Estimator,
    /// Values until it is looked at again.
    left: u32,
    /// Once there are registers: what each has at least. Of many values most change none, and need not go further.
    known: Vec<u8>,
}

impl std::fmt::Debug for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sketch").field("estimate", &self.estimate()).finish()
    }
}

impl Sketch {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value by its hash.
    #[inline]
    pub fn insert(&mut self, hash: u64) {
        match self.known.get_mut(hash as usize % (1 << REGISTER_BITS)) {
            Some(known) => {
                // A register keeps the longest run of ones that its hashes go on with.
                let ones = (hash >> REGISTER_BITS).trailing_ones() as u8 + 1;
                if ones > *known {
                    *known = ones;
                    self.estimator.insert_hash(hash);
                }
            }
            None => self.insert_early(hash),
        }
    }

    /// Adds a value while there may be no registers yet.
    fn insert_early(&mut self, hash: u64) {
        self.estimator.insert_hash(hash);
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => {
                if self.estimator.size_of() > LIST_BYTES {
                    self.known = vec![0; 1 << REGISTER_BITS];
                }
                UNTIL_LOOK
            }
        };
    }

    /// Adds what a stored sketch has seen; false when its bytes make no sense, and nothing is added.
    pub fn merge(&mut self, stored: &[u8]) -> bool {
        if stored.is_empty() {
            return true;
        }
        match parse(stored) {
            Some(other) => {
                self.estimator.merge(&other);
                true
            }
            None => false,
        }
    }

    /// Distinct values seen, estimated.
    pub fn estimate(&self) -> u64 {
        self.estimator.estimate() as u64
    }

    /// The bytes to store.
    pub fn to_bytes(&self) -> Vec<u8> {
        // The estimator's only outward form is this pair: a tagged word (a pointer in part, when there is a list) and
        // the list.
        let pair = serde_json::to_value(&self.estimator).and_then(serde_json::from_value::<(u64, Option<Vec<u32>>)>);
        let Ok((word, words)) = pair else { return Vec::new() };
        let mut bytes = Vec::new();
        match words {
            None => {
                bytes.push(FEW);
                bytes.extend_from_slice(&word.to_le_bytes());
            }
            Some(words) => {
                bytes.push(if word & 3 == 1 { LIST } else { REGISTERS });
                bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            }
        }
        bytes
    }
}

/// An estimator from stored bytes.
fn parse(stored: &[u8]) -> Option<Estimator> {
    let (form, rest) = stored.split_first()?;
    let pair = match *form {
        FEW => (u64::from_le_bytes(rest.try_into().ok()?), None),
        LIST | REGISTERS => {
            let (words, []) = rest.as_chunks::<4>() else { return None };
            let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
            let tag = if *form == LIST { 1u64 } else { 3 };
            // The first word of the registers counts those that are zero.
            if *form == REGISTERS && words.first().is_none_or(|zeros| *zeros > 1 << 12) {
                return None;
            }
            (tag, Some(words))
        }
        _ => return None,
    };
    serde_json::from_value(serde_json::to_value(pair).ok()?).ok()
}

/// Estimate of the distinct values behind stored sketches together.
pub fn estimate<'a>(stored: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut sketch = Sketch::new();
    for bytes in stored {
        sketch.merge(bytes);
    }
    sketch.estimate()
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finalizer: every bit of the input reaches every bit of the output.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Hash of an integer-class value.
pub fn hash_integer(value: i128) -> u64 {
    mix((value as u64).wrapping_add(((value >> 64) as u64).wrapping_mul(GOLDEN)).wrapping_add(GOLDEN))
}

/// Hash of a float by its ordered bits (a REAL widened).
pub fn hash_float(value: f64) -> u64 {
    mix(crate::model::view::float_order(value).wrapping_add(GOLDEN))
}

/// Hash of a byte string: words of eight bytes, the last one filled with zeros, folded in one after the other.
pub fn hash_bytes(value: &[u8]) -> u64 {
    let mut hash = (value.len() as u64).wrapping_mul(GOLDEN);
    let (words, rest) = value.as_chunks::<8>();
    for word in words {
        hash = fold(hash ^ u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = fold(hash ^ u64::from_le_bytes(last));
    }
    mix(hash)
}

/// Hash of several values by those of the ones before and of the next.
pub fn combine(before: u64, next: u64) -> u64 {
    mix(before.wrapping_mul(GOLDEN) ^ next)
}

/// One round: the halves of a 128-bit product, combined. Adding first keeps zero from absorbing what follows.
fn fold(word: u64) -> u64 {
    let product = u128::from(word.wrapping_add(GOLDEN)) * 0xa076_1d64_78bd_642f_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(range: std::ops::Range<u64>) -> Sketch {
        let mut sketch = Sketch::new();
        range.for_each(|value| sketch.insert(hash_integer(value.into())));
        sketch
    }

    #[test]
    fn stored_sketches_merge() {
        for (count, tolerance) in [(0, 0), (2, 0), (50, 0), (1000, 60), (200_000, 15_000)] {
            let low = sketch(0..count).to_bytes();
            let high = sketch(count / 2..count / 2 + count).to_bytes();
            assert!(low.len() < 3100, "{}", low.len());
            let merged = estimate([low.as_slice(), &high, &[]]);
            assert!(merged.abs_diff(count / 2 + count) <= tolerance, "{merged} for {count}");
        }
    }

    #[test]
    fn stored_bytes_are_the_same_each_time() {
        for count in [1, 3, 100, 5000] {
            assert_eq!(sketch(0..count).to_bytes(), sketch(0..count).to_bytes());
        }
        assert_eq!(hash_integer(-1), 13_029_008_266_876_403_067);
    }

    #[test]
    fn values_that_change_nothing_are_left_out() {
        for (count, distinct) in [(10_000_i64, 90), (10_000, 2500), (300_000, 300_000)] {
            let (mut sketch, mut plain) = (Sketch::new(), Estimator::new());
            for number in 0..count {
                let hash = hash_integer(i128::from(number * 7919 % distinct));
                sketch.insert(hash);
                plain.insert_hash(hash);
            }
            assert_eq!(sketch.known.is_empty(), distinct == 90);
            let plain = Sketch { estimator: plain, ..Sketch::default() };
            assert_eq!(sketch.to_bytes(), plain.to_bytes(), "{distinct} values");
        }
    }

    #[test]
    fn senseless_sketches_are_refused() {
        for bytes in [&[9][..], &[1, 2], &[2, 1, 2, 3], &[3, 0, 0, 0, 0], &[2, 0, 0, 0, 0]] {
            assert!(!Sketch::new().merge(bytes), "{bytes:?}");
        }
        let mut damaged = sketch(0..5000).to_bytes();
        damaged[4] = 255;
        assert!(!Sketch::new().merge(&damaged));
    }

    #[test]
    fn strings_hash_apart() {
        let mut sketch = Sketch::new();
        for number in 0..50_000 {
            sketch.insert(hash_bytes(format!("Customer#{number:09}").as_bytes()));
        }
        assert!(sketch.estimate().abs_diff(50_000) < 4000, "{}", sketch.estimate());
        assert_ne!(hash_bytes(b""), hash_bytes(b"\0"));
        assert_ne!(hash_bytes(b"a"), hash_bytes(b"a\0"));
    }
}
