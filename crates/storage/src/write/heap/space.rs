//! The map of free space: a byte for each page says how much of it is free, a byte for each chunk of 4096 pages what its
//! emptiest page has, so that an insertion looks at few bytes instead of at pages. Numbers whose pages are gone are as good as
//! empty pages.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys::{CHUNKS, GONE, SPACE, key};
use crate::lmdb::values;
use crate::{Result, TableId};
use heed::{RoTxn, RwTxn};
use std::collections::{BTreeMap, BTreeSet};

/// Pages of a chunk.
const CHUNK: u64 = 4096;
/// What a page has free at least that a load looks at, of 255: a quarter. It takes a read and a write of the whole page.
const MUCH: u8 = 64;
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

    /// The first page in which so many bytes are free, or number whose page is gone.
    pub(crate) fn find(
        &mut self,
        environment: &Environment,
        transaction: &RoTxn<'_>,
        bytes: usize,
    ) -> Result<Option<u64>> {
        let wanted = (bytes * 255).div_ceil(self.page_bytes);
        let Ok(wanted) = u8::try_from(wanted) else { return Ok(None) };
        self.first(environment, transaction, wanted)
    }

    /// The first page of which much is free, or number whose page is gone.
    pub(crate) fn find_much(&mut self, environment: &Environment, transaction: &RoTxn<'_>) -> Result<Option<u64>> {
        self.first(environment, transaction, MUCH)
    }

    /// The first number whose page is gone.
    pub(crate) fn find_gone(&mut self, environment: &Environment, transaction: &RoTxn<'_>) -> Result<Option<u64>> {
        self.first(environment, transaction, GONE)
    }

    /// How many whole pages the room is worth that pages have of which much is free.
    pub(crate) fn much_in_pages(&mut self, environment: &Environment, transaction: &RoTxn<'_>) -> Result<u64> {
        let mut classes = 0;
        for chunk in (0..self.most.len()).filter(|chunk| self.most[*chunk] >= MUCH).collect::<Vec<_>>() {
            let pages = self.chunk(environment, transaction, chunk as u64)?;
            classes +=
                pages.iter().filter(|class| (MUCH..GONE).contains(class)).map(|class| u64::from(*class)).sum::<u64>();
        }
        Ok(classes / 255)
    }

    fn first(&mut self, environment: &Environment, transaction: &RoTxn<'_>, wanted: u8) -> Result<Option<u64>> {
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
        self.set_class(environment, transaction, page, (free * 255 / self.page_bytes).min(usize::from(GONE) - 1) as u8)
    }

    /// Notes that a load has no use for what a page has free.
    pub(crate) fn refuse_much(
        &mut self,
        environment: &Environment,
        transaction: &RoTxn<'_>,
        page: u64,
        free: usize,
    ) -> Result<()> {
        let class = (free * 255 / self.page_bytes).min(usize::from(MUCH) - 1) as u8;
        self.set_class(environment, transaction, page, class)
    }

    /// Notes that a page is gone.
    pub(crate) fn set_gone(&mut self, environment: &Environment, transaction: &RoTxn<'_>, page: u64) -> Result<()> {
        self.set_class(environment, transaction, page, GONE)
    }

    /// Whether the map says that a page is gone.
    pub(crate) fn is_gone(&mut self, environment: &Environment, transaction: &RoTxn<'_>, page: u64) -> Result<bool> {
        let at = (page % CHUNK) as usize;
        // Of most tables no page is gone.
        if self.most.get((page / CHUNK) as usize) != Some(&GONE) {
            return Ok(false);
        }
        Ok(self.chunk(environment, transaction, page / CHUNK)?.get(at) == Some(&GONE))
    }

    /// Notes that there are no numbers from `pages` on any more.
    pub(crate) fn cut(&mut self, environment: &Environment, transaction: &RoTxn<'_>, pages: u64) -> Result<()> {
        let (whole, within) = (pages / CHUNK, (pages % CHUNK) as usize);
        let chunks = whole + u64::from(within > 0);
        for chunk in chunks..self.most.len() as u64 {
            self.chunks.remove(&chunk);
            self.changed.insert(chunk);
        }
        self.most.truncate(chunks as usize);
        if within > 0 && self.most.len() as u64 == chunks {
            let last = self.chunk(environment, transaction, whole)?;
            last.truncate(within);
            let most = last.iter().fold(0, |most: u8, class| most.max(*class));
            self.most[whole as usize] = most;
            self.changed.insert(whole);
        }
        Ok(())
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
        self.set_class(environment, transaction, page, (wanted.min(usize::from(GONE)) as u8).saturating_sub(1))
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
            let key = key(self.table, SPACE, chunk);
            if chunk >= self.most.len() as u64 {
                values::delete(environment, transaction, Name::Heap, &key)?;
                continue;
            }
            let pages = self.chunks.get(&chunk).map(Vec::as_slice).unwrap_or_default();
            values::put(environment, transaction, Name::Heap, &key, pages)?;
        }
        if self.most.is_empty() {
            return values::delete(environment, transaction, Name::Heap, &key(self.table, SPACE, CHUNKS));
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
