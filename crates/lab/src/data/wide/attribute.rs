//! An attribute of a wide table: codes, and what they mean.

use crate::data::Codes;
use std::collections::HashMap;

/// What codes mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The value is this base plus the code.
    Base(i64),
    /// The code is the position among the sorted entries.
    Dictionary(Vec<String>),
}

/// A column of codes with its meaning.
#[derive(Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Bits of a code.
    pub width: u8,
    /// Codes from 0 up to, not including, this one occur.
    pub domain: u64,
    /// What they mean.
    pub meaning: Meaning,
    /// One per row.
    pub codes: Codes,
}

impl Attribute {
    /// The first code that stands for a value of at least `value`: `domain` when there is none.
    ///
    /// # Panics
    /// When the attribute has a dictionary, here and in the other direction: queries are written for their tables.
    pub fn at_least(&self, value: i64) -> u64 {
        let Meaning::Base(base) = self.meaning else { panic!("{} has text, not numbers", self.name) };
        u64::try_from(value.saturating_sub(base)).unwrap_or(0).min(self.domain)
    }

    /// The code of a text, or the first code of a larger one where the dictionary has not this one.
    pub fn of_text(&self, text: &str) -> u64 {
        let Meaning::Dictionary(entries) = &self.meaning else { panic!("{} has numbers, not text", self.name) };
        entries.partition_point(|entry| entry.as_str() < text) as u64
    }

    /// True when the dictionary has the text.
    pub fn has_text(&self, text: &str) -> bool {
        matches!(&self.meaning, Meaning::Dictionary(entries) if entries.binary_search_by(|entry| entry.as_str().cmp(text)).is_ok())
    }

    /// The attribute without its codes.
    pub(super) fn clone_meaning(&self) -> Self {
        let (name, meaning) = (self.name.clone(), self.meaning.clone());
        Self { name, meaning, codes: Codes::U8(Vec::new()), ..*self }
    }
}

/// Gathers the values of an attribute, and encodes them when all are known.
#[derive(Debug)]
pub enum Builder {
    /// Numbers.
    Numbers(Vec<i64>),
    /// Texts, as numbers in the order of their first occurrence.
    Texts {
        /// Number of each text.
        known: HashMap<String, u32>,
        /// The number of each row's text.
        rows: Vec<u32>,
    },
}

impl Builder {
    /// A builder of a column of numbers.
    pub fn numbers() -> Self {
        Self::Numbers(Vec::new())
    }

    /// A builder of a column of texts.
    pub fn texts() -> Self {
        Self::Texts { known: HashMap::new(), rows: Vec::new() }
    }

    /// Adds a number.
    ///
    /// # Panics
    /// When the builder is one of texts; adding a text, when it is one of numbers.
    pub fn number(&mut self, value: i64) {
        let Self::Numbers(values) = self else { panic!("a number among texts") };
        values.push(value);
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        let Self::Texts { known, rows } = self else { panic!("a text among numbers") };
        let number = match known.get(text) {
            Some(number) => *number,
            None => {
                let number = known.len() as u32;
                known.insert(text.to_string(), number);
                number
            }
        };
        rows.push(number);
    }

    /// Encodes what was gathered: numbers as differences from the smallest, texts as positions among the sorted ones.
    /// Attributes that are compared with each other are given the same `bounds`.
    pub fn finish(self, name: &str, bounds: Option<(i64, i64)>) -> Attribute {
        let (domain, meaning, codes): (u64, Meaning, Vec<u64>) = match self {
            Self::Numbers(values) => {
                let found = || (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0));
                let (low, high) = bounds.unwrap_or_else(found);
                let codes = values.iter().map(|value| value.wrapping_sub(low) as u64).collect();
                (high.wrapping_sub(low) as u64 + 1, Meaning::Base(low), codes)
            }
            Self::Texts { known, rows } => {
                let mut entries: Vec<(String, u32)> = known.into_iter().collect();
                entries.sort_unstable();
                let mut code_of = vec![0; entries.len()];
                entries.iter().enumerate().for_each(|(code, (_, number))| code_of[*number as usize] = code as u64);
                let codes = rows.iter().map(|number| code_of[*number as usize]).collect();
                (entries.len() as u64, Meaning::Dictionary(entries.into_iter().map(|(text, _)| text).collect()), codes)
            }
        };
        let width = (64 - domain.saturating_sub(1).leading_zeros()).max(1) as u8;
        let mut codes = codes.into_iter();
        let rows = codes.len();
        // The iterator has exactly so many.
        let codes = Codes::generate(width, rows, || codes.next().unwrap_or(0));
        Attribute { name: name.to_string(), width, domain, meaning, codes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_differences_from_the_smallest() {
        let mut builder = Builder::numbers();
        [10, 7, 300].into_iter().for_each(|value| builder.number(value));
        let attribute = builder.finish("n", None);
        assert_eq!((attribute.width, attribute.domain, attribute.codes.get(2)), (9, 294, 293));
        assert_eq!([6, 7, 11, 300, 301, 1000].map(|value| attribute.at_least(value)), [0, 0, 4, 293, 294, 294]);
    }

    #[test]
    fn texts_are_positions_among_the_sorted() {
        let mut builder = Builder::texts();
        ["pear", "apple", "pear", "fig"].into_iter().for_each(|text| builder.text(text));
        let attribute = builder.finish("t", None);
        assert_eq!(attribute.width, 2);
        assert_eq!((0..4).map(|row| attribute.codes.get(row)).collect::<Vec<_>>(), [2, 0, 2, 1]);
        assert_eq!((attribute.of_text("fig"), attribute.of_text("banana"), attribute.of_text("zebra")), (1, 1, 3));
        assert!(attribute.has_text("fig") && !attribute.has_text("banana"));
    }
}
