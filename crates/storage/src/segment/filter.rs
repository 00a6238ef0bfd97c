//! Filters of keys: of most keys that a segment does not have, a filter says so at the price of one look at a page of it.
//!
//! It is a blocked Bloom filter (Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", section 3): a
//! key's bits lie in one **block**, a cache line of eight words, and it sets one bit in each of them, so that they are set and
//! tested side by side. Readers take **pages** of 64 blocks, each with a checksum in the directory, when they ask for a key, and
//! keep none: the system's cache does. docs/formats/segment.md has the bytes.

use crate::encoding::meta::Encoding;
use crate::segment::format::BlockEntry;
use crate::segment::key_hash::hash_keys;
use crate::segment::meta::ColumnMeta;
use crate::{ColumnId, Result, TableDefinition};
use arrow::array::{Array, RecordBatch};
use arrow::buffer::NullBuffer;
use serde::{Deserialize, Serialize};

/// Keys for each block: 16 bits for each key, so that of keys that are not there one of about 1100 gets through (12 bits: one of
/// 240, 20: one of 3900). One that does costs a scan of the segment's codes.
const BLOCK_KEYS: u64 = 32;
/// Words of a block.
const WORDS: usize = 8;
/// Bytes of a block.
const BLOCK: usize = WORDS * 8;
/// Bytes of a page; a filter's last one may be shorter.
pub(crate) const PAGE: usize = 4096;
/// What the lower half of a hash is multiplied by for its bit in each word: those of Parquet's split block Bloom filter.
const SALTS: [u32; WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// A filter as the directory describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilterMeta {
    /// Columns of the key, ascending.
    pub columns: Vec<ColumnId>,
    /// Keys that were put into it: records without a NULL in the key.
    pub keys: u64,
    /// Checksums of its pages.
    #[serde(skip)]
    pub pages: Vec<u32>,
    /// Where it starts in the file.
    #[serde(skip)]
    pub offset: u64,
}

impl FilterMeta {
    fn blocks(&self) -> u64 {
        self.keys.div_ceil(BLOCK_KEYS)
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.blocks() * BLOCK as u64
    }

    /// Pages that it takes.
    pub fn page_count(&self) -> usize {
        self.bytes().div_ceil(PAGE as u64) as usize
    }

    /// Where a key's block starts.
    pub fn place(&self, hash: u64) -> usize {
        (((hash >> 32) * self.blocks()) >> 32) as usize * BLOCK
    }

    /// An empty filter's description and the bytes of one with these keys.
    pub fn build(columns: Vec<ColumnId>, hashes: &[u64]) -> (Self, Vec<u8>) {
        let mut meta = Self { columns, keys: hashes.len() as u64, pages: Vec::new(), offset: 0 };
        let mut blocks = vec![[0u64; WORDS]; meta.blocks() as usize];
        for hash in hashes {
            let block = &mut blocks[meta.place(*hash) / BLOCK];
            block.iter_mut().zip(bits(*hash)).for_each(|(word, bit)| *word |= bit);
        }
        let bytes: Vec<u8> = blocks.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        meta.pages = bytes.chunks(PAGE).map(crc32c::crc32c).collect();
        (meta, bytes)
    }

    /// What is wrong with it in a segment of `columns` and so many records.
    pub fn verify(&self, columns: &[ColumnMeta], rows: usize) -> std::result::Result<(), String> {
        let there = |id: &ColumnId| columns.iter().any(|column| column.column == *id);
        if self.columns.is_empty() || !self.columns.is_sorted_by(|a, b| a < b) || !self.columns.iter().all(there) {
            return Err(format!("directory: a filter of columns {:?}", self.columns));
        }
        if self.keys > rows as u64 {
            return Err(format!("directory: a filter of {} keys of {rows} records", self.keys));
        }
        Ok(())
    }
}

/// The bit of a key in each word of its block.
fn bits(hash: u64) -> [u64; WORDS] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 26))
}

/// Whether the key's bits are set in `filter`, whose part from `start` on, block by block, is at hand.
pub(crate) fn contains(meta: &FilterMeta, filter: &[u8], start: usize, hash: u64) -> bool {
    if meta.keys == 0 {
        return false;
    }
    let block = meta.place(hash).checked_sub(start).and_then(|place| filter.get(place..place + BLOCK));
    let Some(block) = block else { return true };
    let words = block.as_chunks::<8>().0;
    words.iter().zip(bits(hash)).all(|(word, bit)| u64::from_le_bytes(*word) & bit != 0)
}

/// The keys of the records that are to be written.
#[derive(Debug)]
pub(crate) struct KeyHashes {
    /// Ascending.
    pub columns: Vec<ColumnId>,
    /// One for each record without a NULL in the key.
    pub hashes: Vec<u64>,
}

impl KeyHashes {
    /// One for each key all of whose columns are among those of a table, none twice.
    pub fn of_table(table: &TableDefinition, batches: &[RecordBatch]) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for key in &table.keys {
            let mut columns = key.columns.clone();
            columns.sort_unstable();
            let places: Vec<usize> = columns.iter().filter_map(|id| place(table, *id)).collect();
            let known = all.iter().any(|other| other.columns == columns);
            if known || places.len() < columns.len() || !columns.is_sorted_by(|a, b| a < b) {
                continue;
            }
            let mut hashes = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
            for batch in batches {
                let arrays: Vec<_> = places.iter().map(|place| batch.column(*place).clone()).collect();
                let of_batch = hash_keys(&columns, &arrays)?;
                let nulls = arrays.iter().fold(None, |nulls, array| NullBuffer::union(nulls.as_ref(), array.nulls()));
                match nulls {
                    None => hashes.extend(of_batch),
                    Some(nulls) => hashes.extend(nulls.valid_indices().map(|row| of_batch[row])),
                }
            }
            all.push(Self { columns, hashes });
        }
        Ok(all)
    }
}

fn place(table: &TableDefinition, id: ColumnId) -> Option<usize> {
    table.columns.iter().position(|column| column.id == id)
}

/// Whether zone maps tell of a value of the column in which zone it is, so that a filter would tell little more: there are
/// several zones, and their values lie apart.
pub(crate) fn apart(column: &ColumnMeta, zones: &[BlockEntry]) -> bool {
    if column.encoding == Encoding::Plain || zones.len() < 2 {
        return false;
    }
    let mut ranges: Vec<(u64, u64)> = zones.iter().map(|zone| (zone.min, zone.max)).collect();
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sketch::{combine, hash_integer};

    fn hashes(keys: std::ops::Range<u64>) -> Vec<u64> {
        keys.map(|key| hash_integer(key.into())).collect()
    }

    #[test]
    fn what_was_put_in_is_there_and_little_else() {
        for keys in [1, 2, 31, 32, 33, 1000, 2048, 2049, 300_000] {
            let own = hashes(0..keys);
            let (meta, bytes) = FilterMeta::build(vec![1], &own);
            assert_eq!((bytes.len() as u64, bytes.len().div_ceil(PAGE)), (meta.bytes(), meta.page_count()));
            assert!(own.iter().all(|hash| contains(&meta, &bytes, 0, *hash)), "{keys}");
            let others = hashes(1 << 40..(1 << 40) + 300_000);
            let wrong = others.iter().filter(|hash| contains(&meta, &bytes, 0, **hash)).count();
            // One in 1100 of 300,000 is 270; a filter that is not full lets fewer through.
            assert!(wrong < 400, "{wrong} of {keys}");
        }
        let (meta, bytes) = FilterMeta::build(vec![1], &[]);
        assert_eq!((meta.bytes(), bytes.len()), (0, 0));
    }

    #[test]
    fn pairs_of_equal_values_hash_apart() {
        let pairs: Vec<u64> = hashes(0..50_000).into_iter().map(|hash| combine(hash, hash)).collect();
        let (meta, bytes) = FilterMeta::build(vec![1, 2], &pairs[..25_000]);
        let wrong = pairs[25_000..].iter().filter(|hash| contains(&meta, &bytes, 0, **hash)).count();
        assert!(wrong < 60, "{wrong}");
    }
}
