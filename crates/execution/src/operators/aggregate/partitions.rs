//! Groups that have left a thread's table, in parts by the first digits of their keys' hashes. A table that has outgrown its
//! share of the cache, and gathers few records a group, is emptied into parts and begun anew: so that it stays in the cache,
//! and that what all threads have of a part is put together by one of them, part by part, in a table that is small again
//! (Kuiper, Boncz and Mühleisen, Robust External Hash Aggregation in the Solid State Age, ICDE 2024, section IV).

/// Digits of a hash that say the part.
const PART_BITS: u32 = 8;
/// How many parts there are.
pub(super) const PARTS: usize = 1 << PART_BITS;
/// Words of a block, about.
const BLOCK: usize = 1 << 13;

/// Groups by part.
#[derive(Debug)]
pub(crate) struct Partitions {
    parts: Vec<Partition>,
    /// Words of a key, and of a state.
    width: usize,
    stride: usize,
    /// How many groups were added, and words of all blocks.
    rows: usize,
    words: usize,
}

/// The groups of a part: blocks of rows, each a key's words and its state behind them.
#[derive(Debug, Default)]
pub(super) struct Partition(Vec<Vec<u64>>);

impl Partitions {
    /// For keys and states of so many words.
    pub(super) fn new(width: usize, stride: usize) -> Self {
        let parts = std::iter::repeat_with(Partition::default).take(PARTS).collect();
        Self { parts, width, stride, rows: 0, words: 0 }
    }

    /// Adds a group whose key has this hash.
    pub(super) fn push(&mut self, hash: u64, key: &[u64], state: &[u64]) {
        let row = self.width + self.stride;
        let blocks = &mut self.parts[(hash >> (u64::BITS - PART_BITS)) as usize].0;
        let is_full = |block: &Vec<u64>| block.capacity() - block.len() < row;
        if blocks.last().is_none_or(is_full) {
            let block = Vec::with_capacity(BLOCK.max(row));
            self.words += block.capacity();
            blocks.push(block);
        }
        if let Some(block) = blocks.last_mut() {
            block.extend_from_slice(key);
            block.extend_from_slice(state);
        }
        self.rows += 1;
    }

    /// How many groups were added.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.words * size_of::<u64>()
    }

    /// The parts, in their order.
    pub(super) fn into_parts(self) -> Vec<Partition> {
        self.parts
    }
}

impl Partition {
    /// The blocks of rows.
    pub(super) fn blocks(self) -> impl Iterator<Item = Vec<u64>> {
        self.0.into_iter()
    }
}
