//! The smallest or the largest string of each group. A group's string is copied when a better one comes, which of records
//! in any order is seldom. Most comparisons need no more than the first eight bytes. All copies lie in one buffer: one that is
//! no longer than what it replaces takes its place, and when half of the buffer is of no use any more the rest moves up.

use crate::Result;
use crate::operators::aggregate::out_of_line::{Makers, maker};
use arrow::array::{Array, BinaryViewArray};
use gingham_kernels::element_ahead;
use std::cmp::Ordering;

/// Bytes of a buffer that may be of no use.
const WASTE: usize = 1 << 12;
/// Groups whose strings are asked for at once.
const BLOCK: usize = 64;

/// The byte strings that all groups have as their smallest or largest.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) function: usize,
    largest: bool,
    best: Vec<Option<BestText>>,
    /// Their strings.
    buffer: Vec<u8>,
    /// Bytes of the buffer that are some group's string.
    used: usize,
    /// When all have come, the strings' numbers.
    numbers: Vec<Option<u32>>,
}

#[derive(Debug, Clone, Copy)]
struct BestText {
    /// The first bytes, the first one the highest.
    start: u64,
    /// Where the string begins in the buffer.
    place: usize,
    length: usize,
}

fn start_of(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => text.iter().enumerate().fold(0, |start, (at, byte)| start | u64::from(*byte) << (56 - 8 * at)),
    }
}

impl BestText {
    fn text(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.place..self.place + self.length]
    }
}

impl Texts {
    pub(super) fn new(function: usize, largest: bool) -> Self {
        Self { function, largest, best: Vec::new(), buffer: Vec::new(), used: 0, numbers: Vec::new() }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    pub(super) fn bytes(&self) -> usize {
        self.buffer.capacity() + self.best.capacity() * size_of::<Option<BestText>>()
    }

    /// Adds the strings of records whose groups have these places.
    pub(super) fn add(&mut self, texts: &BinaryViewArray, places: impl Iterator<Item = usize>) {
        let mut block = [0; BLOCK];
        let (mut places, mut first) = (places, 0);
        while first < texts.len() {
            let rows = BLOCK.min(texts.len() - first);
            for (known, place) in block[..rows].iter_mut().zip(&mut places) {
                *known = place;
                element_ahead(&self.best, place);
            }
            for (row, place) in block[..rows].iter().enumerate() {
                if texts.is_valid(first + row) {
                    self.offer(*place, texts.value(first + row));
                }
            }
            first += rows;
        }
    }

    /// A group has a string.
    fn offer(&mut self, place: usize, text: &[u8]) {
        let start = start_of(text);
        let better = if self.largest { Ordering::Greater } else { Ordering::Less };
        let before = self.best[place];
        if let Some(best) = before {
            if start.cmp(&best.start).then_with(|| text.cmp(best.text(&self.buffer))) != better {
                return;
            }
            self.used -= best.length;
        }
        self.used += text.len();
        let length = text.len();
        let at = match before.filter(|best| best.length >= length) {
            Some(best) => {
                self.buffer[best.place..best.place + length].copy_from_slice(text);
                best.place
            }
            None => {
                self.buffer.extend_from_slice(text);
                self.buffer.len() - length
            }
        };
        self.best[place] = Some(BestText { start, place: at, length });
        if self.buffer.len() > 2 * self.used + WASTE {
            self.move_up();
        }
    }

    /// Leaves out of the buffer what is no group's string.
    fn move_up(&mut self) {
        let mut buffer = Vec::with_capacity(2 * self.used);
        for best in self.best.iter_mut().flatten() {
            let place = buffer.len();
            buffer.extend_from_slice(best.text(&self.buffer));
            best.place = place;
        }
        self.buffer = buffer;
    }

    /// Adds those of another thread, whose groups have these places here.
    pub(super) fn merge(&mut self, other: Self, places: &[u64]) {
        for (best, place) in other.best.iter().zip(places) {
            if let Some(best) = best {
                self.offer(*place as usize, best.text(&other.buffer));
            }
        }
    }

    /// All have come.
    pub(super) fn end(&mut self, (functions, memory): Makers<'_>) -> Result<()> {
        let texts = self.best.iter().map(|best| best.map(|best| best.text(&self.buffer)));
        let texts: Vec<Option<&[u8]>> = texts.collect();
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
        fn the_best_is_the_first_in_the_order_of_bytes(
            texts in prop::collection::vec((0..3usize, prop_oneof![4 => "[ab\u{0}é]{0,10}", 1 => "[ab]{500,1000}"]), 1..60),
            largest in any::<bool>(),
        ) {
            let mut best = Texts::new(0, largest);
            best.resize(3);
            texts.iter().for_each(|(group, text)| best.offer(*group, text.as_bytes()));
            let mut other = Texts::new(0, largest);
            other.resize(4);
            other.merge(best, &[3, 1, 0]);
            let mut used = 0;
            for (group, place) in [(0, 3), (1, 1), (2, 0)] {
                let own = texts.iter().filter(|(own, _)| *own == group).map(|(_, text)| text);
                let expected = if largest { own.max() } else { own.min() };
                let found = other.best[place].map(|best| best.text(&other.buffer));
                prop_assert_eq!(found, expected.map(String::as_bytes));
                used += expected.map_or(0, String::len);
            }
            prop_assert_eq!(other.used, used);
            prop_assert!(other.best[2].is_none() && other.buffer.len() <= 2 * used + WASTE);
        }
    }
}
