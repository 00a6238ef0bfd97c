//! A hash join with early materialisation (section 6.9): the tuples of the inner table go into buckets as its scanner materialises them,
//! those of the outer one look for theirs, and each pair becomes a tuple. The inner table fits memory, as the paper's does, so no bucket
//! is ever written out.

use super::buffer::{Parent, TUPLES, TupleBuffer, tuple_sum_at};

/// A link to no tuple.
const NONE: u32 = u32::MAX;

/// The inner table's tuples, by the hash of their key.
#[derive(Debug)]
pub struct Buckets {
    /// Place of the key in a tuple.
    key: usize,
    width: usize,
    /// The tuples, one after the other.
    tuples: Vec<u32>,
    /// For each bucket its last tuple.
    heads: Vec<u32>,
    /// For each tuple the one before it in its bucket.
    links: Vec<u32>,
}

impl Buckets {
    /// Buckets for about so many tuples.
    pub fn new(key: usize, width: usize, expected: usize) -> Self {
        let heads = vec![NONE; expected.next_power_of_two().max(2)];
        Self { key, width, tuples: Vec::new(), heads, links: Vec::new() }
    }

    #[inline(always)]
    fn bucket(&self, key: u32) -> usize {
        let hash = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (u64::BITS - self.heads.len().trailing_zeros())) as usize
    }
}

/// Puts tuples into buckets.
impl Parent for Buckets {
    fn take(&mut self, buffer: &TupleBuffer) {
        for tuple in buffer.tuples() {
            let bucket = self.bucket(tuple[self.key]);
            let number = self.links.len() as u32;
            self.links.push(std::mem::replace(&mut self.heads[bucket], number));
            self.tuples.extend_from_slice(tuple);
        }
    }
}

/// Looks for the partners of the outer table's tuples.
#[derive(Debug)]
pub struct OuterProbe<'b> {
    buckets: &'b Buckets,
    /// Place of the key in an outer tuple.
    key: usize,
    /// Places of the inner tuple's words in the result, and of the outer one's: all but the key.
    result: (Vec<usize>, Vec<usize>),
    buffer: TupleBuffer,
    /// The tuples that came out.
    pub found: Joined,
}

/// The tuples of a join, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Joined {
    /// Tuples.
    pub count: u64,
    /// The sum of their words, each times a factor of its place; their order is free.
    pub sum: u64,
}

impl<'b> OuterProbe<'b> {
    /// A probe whose tuples have their key at `key` and are so wide. The words of the inner table's come first in results when
    /// `inner_first`.
    pub fn new(buckets: &'b Buckets, key: usize, width: usize, inner_first: bool) -> Self {
        let (inner, outer) = (buckets.width - 1, width - 1);
        let places = |first: usize, words: usize, key: usize| {
            (0..=words)
                .map(|word| if word == key { usize::MAX } else { first + word - usize::from(word > key) })
                .collect()
        };
        let result = match inner_first {
            true => (places(0, inner, buckets.key), places(inner, outer, key)),
            false => (places(outer, inner, buckets.key), places(0, outer, key)),
        };
        Self { buckets, key, result, buffer: TupleBuffer::new(inner + outer), found: Joined::default() }
    }

    /// Adds up the tuples that are left in the buffer.
    pub fn finish(mut self) -> Joined {
        self.drop_tuples();
        self.found
    }

    fn drop_tuples(&mut self) {
        for tuple in self.buffer.tuples() {
            self.found.count += 1;
            self.found.sum = self.found.sum.wrapping_add(tuple_sum_at(tuple, 0));
        }
        self.buffer.positions.clear();
    }
}

impl Parent for OuterProbe<'_> {
    fn take(&mut self, buffer: &TupleBuffer) {
        for outer in buffer.tuples() {
            let key = outer[self.key];
            let mut link = self.buckets.heads[self.buckets.bucket(key)];
            while link != NONE {
                let inner = &self.buckets.tuples[link as usize * self.buckets.width..][..self.buckets.width];
                if inner[self.buckets.key] == key {
                    let at = self.buffer.positions.len() * self.buffer.width;
                    let out = &mut self.buffer.words[at..at + self.buffer.width];
                    let words = inner.iter().zip(&self.result.0).chain(outer.iter().zip(&self.result.1));
                    words.filter(|(_, place)| **place != usize::MAX).for_each(|(word, place)| out[*place] = *word);
                    self.buffer.positions.push(0);
                    if self.buffer.positions.len() == TUPLES {
                        self.drop_tuples();
                    }
                }
                link = self.buckets.links[link as usize];
            }
        }
    }
}
