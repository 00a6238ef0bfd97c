//! The keys of a group or of a join as words of 64 bits. Each key is a digit of a word as long as the digits of a word fit; what needs more
//! has a word of its own. Few words are compared and hashed without looking at strings or at how many keys there are.

use crate::data::limits::Limits;
use crate::program::expression::{Arithmetic, Expression};
use crate::program::steps::{Builder, Nullable, StepId};
use crate::{Error, Result};

/// The numbers that the digits of a word can be together are fewer than this: they have 63 bits.
const LARGEST: u64 = i64::MAX as u64;

/// A digit of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordDigit {
    word: usize,
    /// Numbers that the digits below it can be together.
    below: u64,
    /// Values that it has.
    size: u64,
}

/// Where the words of a group have a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPlace {
    /// A digit: the key's distance from `low`, and behind the last of these NULL, where it may be NULL.
    Digit { digit: WordDigit, low: i128, nullable: bool },
    /// All of a word, where its digit `null`, if it has one, is 0.
    Word { word: usize, null: Option<WordDigit> },
}

/// How many numbers each word can be that has digits; `None` where a key has all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct WordSizes(Vec<Option<u64>>);

/// Words of keys in the making.
#[derive(Debug, Default)]
pub(super) struct KeyWords {
    pub(super) words: Vec<StepId>,
    pub(super) places: Vec<KeyPlace>,
    sizes: WordSizes,
}

impl WordDigit {
    #[inline]
    fn of(self, words: &[u64]) -> u64 {
        words[self.word] / self.below % self.size
    }
}

impl KeyPlace {
    /// The key of a group that has these words; `None` is NULL.
    #[inline]
    pub(super) fn of(&self, words: &[u64]) -> Option<i128> {
        match *self {
            Self::Digit { digit, low, nullable } => {
                let distance = digit.of(words);
                (!nullable || distance != digit.size - 1).then(|| low + i128::from(distance))
            }
            Self::Word { word, null } => {
                null.is_none_or(|null| null.of(words) == 0).then(|| (words[word] as i64).into())
            }
        }
    }

    /// Leaves out the last key of `words` where `others`, the words of the keys before it, have it as a digit.
    pub(super) fn take_from(&self, words: &[u64], others: &mut [u64]) {
        if let Self::Digit { digit, .. } = self
            && let Some(word) = others.get_mut(digit.word)
        {
            *word = words[digit.word] / digit.size;
        }
    }

    /// The least value of a key that is a digit.
    pub(super) fn low(&self) -> Option<i128> {
        match *self {
            Self::Digit { low, .. } => Some(low),
            Self::Word { .. } => None,
        }
    }

    fn digits_mut(&mut self) -> Option<&mut WordDigit> {
        match self {
            Self::Digit { digit, .. } | Self::Word { null: Some(digit), .. } => Some(digit),
            Self::Word { null: None, .. } => None,
        }
    }
}

impl WordSizes {
    /// Adds a key that is never NULL.
    pub(super) fn add(&mut self, limits: Limits) -> Result<()> {
        match size(limits, false)? {
            Some(size) => drop(self.add_digit(size)),
            None => drop(self.add_word(None)),
        }
        Ok(())
    }

    /// Adds a digit to the first word that has room for it. Gives the word's number.
    fn add_digit(&mut self, size: u64) -> usize {
        let together = |own: &Option<u64>| own.and_then(|own| own.checked_mul(size)).filter(|size| *size < LARGEST);
        match self.0.iter_mut().enumerate().find_map(|(word, own)| Some((word, together(own)?, own))) {
            Some((word, all, own)) => {
                *own = Some(all);
                word
            }
            None => self.add_word(Some(size)),
        }
    }

    fn add_word(&mut self, size: Option<u64>) -> usize {
        self.0.push(size);
        self.0.len() - 1
    }

    /// The sizes, by word.
    pub(super) fn words(&self) -> &[Option<u64>] {
        &self.0
    }
}

/// Values that a key has as a digit, NULL among them; `None` where they are too many.
fn size(limits: Limits, nullable: bool) -> Result<Option<u64>> {
    if !limits.is_short() {
        return Err(Error::Unsupported("a key of more than 64 bits".to_owned()));
    }
    let values = (limits.max - limits.min + 1).max(1) + i128::from(nullable);
    Ok(u64::try_from(values).ok().filter(|size| *size < LARGEST))
}

impl KeyWords {
    /// The words of some keys.
    pub(super) fn new(builder: &mut Builder, keys: &[Expression]) -> Result<Self> {
        let mut all = Self::default();
        for key in keys {
            let key = builder.lower(key)?;
            all.add(builder, key)?;
        }
        Ok(all)
    }

    /// The words of groups, which are told apart by these keys: one at least.
    pub(super) fn of_groups(builder: &mut Builder, keys: &[Expression]) -> Result<Self> {
        let mut all = Self::new(builder, keys)?;
        if all.words.is_empty() {
            all.words.push(builder.constant(0));
            all.sizes.add_word(Some(1));
        }
        Ok(all)
    }

    /// Adds a key behind the others.
    pub(super) fn add(&mut self, builder: &mut Builder, key: Nullable) -> Result<()> {
        let limits = builder.range(key.value);
        self.add_within(builder, key, limits)
    }

    /// Adds a key that lies within `limits` behind the others.
    pub(super) fn add_within(&mut self, builder: &mut Builder, key: Nullable, limits: Limits) -> Result<()> {
        let (low, nullable) = (limits.min, key.valid.is_some());
        let place = match size(limits, nullable)? {
            Some(size) => {
                let from = builder.constant(low);
                let mut distance = builder.combine(Arithmetic::Subtract, key.value, from)?;
                if let Some(valid) = key.valid {
                    let null = builder.constant(i128::from(size) - 1);
                    distance = builder.choose(valid, distance, null);
                }
                KeyPlace::Digit { digit: self.add_digit(builder, distance, size)?, low, nullable }
            }
            None => {
                let (mut word, mut null) = (key.value, None);
                if let Some(valid) = key.valid {
                    let (zero, one) = (builder.constant(0), builder.constant(1));
                    word = builder.choose(valid, word, zero);
                    let is_null = builder.choose(valid, zero, one);
                    null = Some(self.add_digit(builder, is_null, 2)?);
                }
                self.words.push(word);
                KeyPlace::Word { word: self.sizes.add_word(None), null }
            }
        };
        self.places.push(place);
        Ok(())
    }

    /// Adds a digit to the first word that has room for it.
    fn add_digit(&mut self, builder: &mut Builder, digit: StepId, size: u64) -> Result<WordDigit> {
        let word = self.sizes.add_digit(size);
        if word == self.words.len() {
            self.words.push(digit);
        } else {
            self.words[word] = builder.with_digit(self.words[word], digit, size.into())?;
        }
        let above = self.places.iter_mut().filter_map(KeyPlace::digits_mut);
        above.filter(|digit| digit.word == word).for_each(|digit| digit.below *= size);
        Ok(WordDigit { word, below: 1, size })
    }

    /// Groups that the keys' ranges allow; as many as there are numbers, where they take several words.
    pub(super) fn groups(&self) -> u64 {
        if let [Some(size)] = *self.sizes.words() { size } else { u64::MAX }
    }
}

/// Puts the words of keys, of which each column has those of `rows` keys, into `out`, a key behind the other, in place of what it had.
pub(crate) fn interleave<'c>(mut columns: impl ExactSizeIterator<Item = &'c [i64]>, rows: usize, out: &mut Vec<u64>) {
    let width = columns.len();
    out.clear();
    if width == 1 {
        return out.extend(columns.next().unwrap_or_default().iter().map(|value| *value as u64));
    }
    out.resize(rows * width, 0);
    for (word, column) in columns.enumerate() {
        let words = out.iter_mut().skip(word).step_by(width);
        words.zip(column).for_each(|(word, value)| *word = *value as u64);
    }
}
