//! The map of free space: a byte for each page says how much of it is free, a byte for each chunk of 4096 pages what its
//! emptiest page has, so that an insertion looks at few bytes instead of at pages.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys::{CHUNKS, SPACE, key};
use crate::lmdb::values;
use crate::{Result, TableId};
use heed::{RoTxn, RwTxn};
use std::collections::{BTreeMap, BTreeSet};

/// Pages of a chunk.
const CHUNK: u64 = 4096;
/// Pages that are looked at together.
const BLOCK: usize = 128;

/// The map of one table, as far as a writer has looked at it.
#[derive(Debug)]
pub(crate) struct Space {
    table: TableId,
    page_bytes: usize,
    /// By chunk, the byte of its emptiest page.
    most: Vec<u8>,
    chunks: BTreeMap<u64, Vec<u8>>,
    changed: BTreeSet<u64>,
}

impl Space {
    /// The map of a table, as `transaction` sees it.
    pub(crate) fn open(
        environment: &Environment,
        transaction: &RoTxn<'_>,
        table: TableId,
        page_bytes: usize,
    ) -> Result<Self> {
        let most = values::get(environment, transaction, Name::Heap, &key(table, SPACE, CHUNKS))?;
        let most = most.map(<[u8]>::to_vec).unwrap_or_default();
        Ok(Self { table, page_bytes, most, chunks: BTreeMap::new(), changed: BTreeSet::new() })
    }

    /// The first page in which so many bytes are free.
    pub(crate) fn find(
        &mut self,
        environment: &Environment,
        transaction: &RoTxn<'_>,
        bytes: usize,
    ) -> Result<Option<u64>> {
        let wanted = (bytes * 255).div_ceil(self.page_bytes);
        let Ok(wanted) = u8::try_from(wanted) else { return Ok(None) };
        let candidates: Vec<u64> =
            (0..).zip(&self.most).filter(|(_, most)| **most >= wanted).map(|(at, _)| at).collect();
        for chunk in candidates {
            let pages = self.chunk(environment, transaction, chunk)?;
            if let Some(page) = first_with(pages, wanted) {
                return Ok(Some(chunk * CHUNK + page as u64));
            }
        }
        Ok(None)
    }

    /// Notes how many bytes of a page are free.
    pub(crate) fn set(
        &mut self,
        environment: &Environment,
        transaction: &RoTxn<'_>,
        page: u64,
        free: usize,
    ) -> Result<()> {
        self.set_class(environment, transaction, page, (free * 255 / self.page_bytes).min(255) as u8)
    }

    /// Notes that a page has no room for so many bytes, whatever it was taken for.
    pub(crate) fn refuse(
        &mut self,
        environment: &Environment,
        transaction: &RoTxn<'_>,
        page: u64,
        bytes: usize,
    ) -> Result<()> {
        let wanted = (bytes * 255).div_ceil(self.page_bytes);
        self.set_class(environment, transaction, page, (wanted.min(255) as u8).saturating_sub(1))
    }

    fn set_class(&mut self, environment: &Environment, transaction: &RoTxn<'_>, page: u64, class: u8) -> Result<()> {
        let (chunk, at) = (page / CHUNK, (page % CHUNK) as usize);
        let known = self.most.get(chunk as usize).copied().unwrap_or(0);
        let pages = self.chunk(environment, transaction, chunk)?;
        if pages.len() <= at {
            pages.resize(at + 1, 0);
        } else if pages[at] == class {
            return Ok(());
        }
        let before = std::mem::replace(&mut pages[at], class);
        // The chunk is looked through only when its emptiest page may have become another one.
        let most = if class >= known {
            class
        } else if before < known {
            known
        } else {
            // Not `max`, which compares one at a time.
            pages.iter().fold(0, |most: u8, class| most.max(*class))
        };
        if self.most.len() <= chunk as usize {
            self.most.resize(chunk as usize + 1, 0);
        }
        self.most[chunk as usize] = most;
        self.changed.insert(chunk);
        Ok(())
    }

    fn chunk(&mut self, environment: &Environment, transaction: &RoTxn<'_>, chunk: u64) -> Result<&mut Vec<u8>> {
        if !self.chunks.contains_key(&chunk) {
            let stored = values::get(environment, transaction, Name::Heap, &key(self.table, SPACE, chunk))?;
            self.chunks.insert(chunk, stored.map(<[u8]>::to_vec).unwrap_or_default());
        }
        Ok(self.chunks.entry(chunk).or_default())
    }

    /// Writes what has changed.
    pub(crate) fn flush(&mut self, environment: &Environment, transaction: &mut RwTxn<'_>) -> Result<()> {
        if self.changed.is_empty() {
            return Ok(());
        }
        for chunk in std::mem::take(&mut self.changed) {
            let pages = self.chunks.get(&chunk).map(Vec::as_slice).unwrap_or_default();
            values::put(environment, transaction, Name::Heap, &key(self.table, SPACE, chunk), pages)?;
        }
        values::put(environment, transaction, Name::Heap, &key(self.table, SPACE, CHUNKS), &self.most)
    }
}

/// The first page of a chunk whose class is at least so large. A block is looked at without a way out, so that the processor
/// compares many at a time: the pages before those with room are thousands.
fn first_with(pages: &[u8], wanted: u8) -> Option<usize> {
    let has_room = |block: &[u8]| block.iter().fold(false, |any, class| any | (*class >= wanted));
    let begin = pages.chunks(BLOCK).position(has_room)? * BLOCK;
    pages[begin..].iter().position(|class| *class >= wanted).map(|within| begin + within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_with_room_is_found_wherever_it_lies() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 7] {
            assert_eq!(first_with(&vec![9; length], 10), None);
            for first in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 5, length.saturating_sub(1)] {
                let mut pages = vec![9; length];
                pages.iter_mut().skip(first).step_by(3).for_each(|class| *class = 10);
                assert_eq!(first_with(&pages, 10), Some(first).filter(|first| *first < length), "{length}");
            }
        }
    }
}
