//! The materialised tuple buffer (section 5.3): a hundred un-encoded tuples, row by row, with their places in the table. What is done
//! with a full one is its parent's business.

/// Tuples of a buffer: they fit the first cache.
pub const TUPLES: usize = 100;

/// A block of tuples.
#[derive(Debug)]
pub struct TupleBuffer {
    /// Words of a tuple.
    pub width: usize,
    /// The tuples, one after the other.
    pub words: Vec<u32>,
    /// Each one's place in the table.
    pub positions: Vec<u64>,
}

impl TupleBuffer {
    /// An empty one, for tuples of so many words.
    pub fn new(width: usize) -> Self {
        Self { width, words: vec![0; width * TUPLES], positions: Vec::with_capacity(TUPLES) }
    }

    /// True when it has its hundred tuples.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.positions.len() >= TUPLES
    }

    /// The tuples.
    pub fn tuples(&self) -> impl Iterator<Item = &[u32]> {
        self.words.chunks_exact(self.width).take(self.positions.len())
    }
}

/// The operator that a scanner gives its tuples to.
pub trait Parent {
    /// Takes the tuples of a buffer, which is emptied then.
    fn take(&mut self, tuples: &TupleBuffer);
}

/// Drops the tuples, as the paper's does, after adding them up: a few cycles each, so that the answer can be checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Tuples.
    pub count: u64,
    /// A sum that depends on each tuple's words, on their order, and on the order of tuples.
    pub sum: u64,
}

/// The factor of a tuple's first word, and its growth from word to word: odd numbers of 32 bits.
const FACTOR: (u32, u32) = (0x9e37_79b1, 0x85eb_ca6a);

/// The sum of words, each times a factor of its place in a tuple, of which the first is given.
#[inline(always)]
pub fn tuple_sum_at(words: &[u32], first: usize) -> u64 {
    let mut factor = FACTOR.0.wrapping_add(FACTOR.1.wrapping_mul(first as u32));
    let mut sum = 0_u64;
    for word in words {
        sum = sum.wrapping_add(u64::from(*word) * u64::from(factor));
        factor = factor.wrapping_add(FACTOR.1);
    }
    sum
}

impl Dropped {
    /// Adds a tuple.
    #[inline(always)]
    pub fn add(&mut self, words: &[u32]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(self.count.wrapping_mul(tuple_sum_at(words, 0)));
    }
}

impl Parent for Dropped {
    fn take(&mut self, tuples: &TupleBuffer) {
        tuples.tuples().for_each(|words| self.add(words));
    }
}
