//! The smallest or the largest string of each group. A group's string is copied when a better one comes, which of records
//! in any order is seldom. Most comparisons need no more than the first eight bytes.

use super::apart::{Makers, maker};
use crate::Result;
use arrow::array::BinaryViewArray;
use std::cmp::Ordering;

/// Of all groups.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) function: usize,
    largest: bool,
    best: Vec<Option<Best>>,
    /// Bytes of their strings.
    bytes: usize,
    /// When all have come, the strings' numbers.
    numbers: Vec<Option<u32>>,
}

#[derive(Debug)]
struct Best {
    /// The first bytes, the first one the highest.
    start: u64,
    text: Box<[u8]>,
}

fn start_of(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => text.iter().enumerate().fold(0, |start, (at, byte)| start | u64::from(*byte) << (56 - 8 * at)),
    }
}

impl Texts {
    pub(super) fn new(function: usize, largest: bool) -> Self {
        Self { function, largest, best: Vec::new(), bytes: 0, numbers: Vec::new() }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        self.best.resize_with(groups, || None);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.best.capacity() * size_of::<Option<Best>>()
    }

    /// Adds the strings of records whose groups have these places.
    pub(super) fn add(&mut self, texts: &BinaryViewArray, places: impl Iterator<Item = usize>) {
        for (text, place) in texts.iter().zip(places) {
            if let Some(text) = text {
                self.offer(place, text);
            }
        }
    }

    /// A group has a string.
    fn offer(&mut self, place: usize, text: &[u8]) {
        let start = start_of(text);
        let better = if self.largest { Ordering::Greater } else { Ordering::Less };
        if let Some(best) = &self.best[place] {
            if start.cmp(&best.start).then_with(|| text.cmp(&best.text)) != better {
                return;
            }
            self.bytes -= best.text.len();
        }
        self.bytes += text.len();
        self.best[place] = Some(Best { start, text: text.into() });
    }

    /// Adds those of another thread, whose groups have these places here.
    pub(super) fn merge(&mut self, other: Self, places: &[u64]) {
        for (best, place) in other.best.into_iter().zip(places) {
            if let Some(best) = best {
                self.offer(*place as usize, &best.text);
            }
        }
    }

    /// All have come.
    pub(super) fn end(&mut self, (functions, memory): Makers<'_>) -> Result<()> {
        let texts: Vec<Option<&[u8]>> = self.best.iter().map(|best| best.as_ref().map(|best| &*best.text)).collect();
        let function = maker(functions, self.function)?;
        memory.grow(texts.len() * size_of::<Option<&[u8]>>())?;
        self.numbers = function.numbers(&texts, memory)?;
        Ok(())
    }

    /// The number of a group's string; `None` when it has none.
    pub(super) fn number(&self, place: usize) -> Option<u32> {
        self.numbers.get(place).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_is_the_first_in_the_order_of_bytes(texts in prop::collection::vec("[ab\u{0}é]{0,10}", 1..20), largest in any::<bool>()) {
            let mut best = Texts::new(0, largest);
            best.resize(1);
            texts.iter().for_each(|text| best.offer(0, text.as_bytes()));
            let mut other = Texts::new(0, largest);
            other.resize(2);
            other.merge(best, &[1]);
            let expected = if largest { texts.iter().max() } else { texts.iter().min() };
            let found = other.best[1].as_ref().map(|best| best.text.to_vec());
            prop_assert_eq!(found.as_deref(), expected.map(String::as_bytes));
            prop_assert_eq!(other.bytes, expected.map_or(0, String::len));
        }
    }
}
