//! Asking the filters of an open segment, page by page, and holding them against the records.

use crate::segment::filter::{FilterMeta, PAGE, contains};
use crate::segment::key_hash::hash_keys;
use crate::segment::reader::{Opened, Segment};
use crate::{ColumnDefinition, ColumnId, Error, Result};
use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use gingham_kernels::Isa;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Keys for which pages are read one by one; for more than a quarter of the pages all of them are.
const ONE_BY_ONE: usize = 4;

impl Segment {
    /// The filters of all of its files, and whether they are of use: a key whose columns an UPDATE has written anew, one of them or
    /// all, is not what the filter was made of.
    fn filters(&self) -> impl Iterator<Item = (&Opened, &FilterMeta, bool)> {
        self.files().iter().flat_map(move |file| {
            let here =
                move |id: &ColumnId| self.place_of(*id).is_some_and(|place| Arc::ptr_eq(self.source(place).0, file));
            let filters = file.directory.filters.iter();
            filters.map(move |filter| (&**file, filter, filter.columns.iter().all(here)))
        })
    }

    /// The filter of keys over `columns`, which are in any order, and the file that has it.
    fn filter(&self, columns: &[ColumnId]) -> Option<(&Opened, &FilterMeta)> {
        let same = |filter: &FilterMeta| {
            filter.columns.len() == columns.len() && columns.iter().all(|id| filter.columns.contains(id))
        };
        self.filters().find_map(|(file, filter, of_use)| (of_use && same(filter)).then_some((file, filter)))
    }

    /// True when it has a filter of keys over `columns`, which are in any order.
    pub(crate) fn has_filter(&self, columns: &[ColumnId]) -> bool {
        self.filter(columns).is_some()
    }

    /// Bytes that filters of keys take in its files, those that are of no use any more among them.
    pub fn filter_bytes(&self) -> u64 {
        self.filters().map(|(_, filter, _)| filter.bytes()).sum()
    }

    /// Columns of the keys that it has filters of, ascending.
    pub(crate) fn filtered_keys(&self) -> impl Iterator<Item = &[ColumnId]> {
        self.filters().filter_map(|(_, filter, of_use)| of_use.then_some(filter.columns.as_slice()))
    }

    /// Positions of the keys over `columns`, given by their hashes, that a record of the segment may have, deleted ones too;
    /// `None` when it has no filter of such keys. Fails when the filter is damaged.
    pub(crate) fn may_have(&self, columns: &[ColumnId], hashes: &[u64]) -> Result<Option<Vec<usize>>> {
        let Some((file, filter)) = self.filter(columns) else { return Ok(None) };
        let mut found = Vec::new();
        if filter.keys == 0 {
            return Ok(Some(found));
        }
        if hashes.len() * ONE_BY_ONE > filter.pages.len() {
            let bytes = file.pages(filter, 0..filter.pages.len()).map_err(|error| self.failed(error))?;
            found.extend((0..hashes.len()).filter(|number| contains(filter, &bytes, 0, hashes[*number])));
            return Ok(Some(found));
        }
        for (number, hash) in hashes.iter().enumerate() {
            let page = filter.place(*hash) / PAGE;
            let bytes = file.pages(filter, page..page + 1).map_err(|error| self.failed(error))?;
            if contains(filter, &bytes, page * PAGE, *hash) {
                found.push(number);
            }
        }
        Ok(Some(found))
    }

    /// Reads every filter and makes those that are of use anew from the records; one error for each that is another.
    pub(super) fn check_filters(&self) -> Vec<Error> {
        self.filters().filter_map(|(file, filter, of_use)| self.check_filter(file, filter, of_use).err()).collect()
    }

    fn check_filter(&self, file: &Opened, filter: &FilterMeta, of_use: bool) -> Result<()> {
        let stored = file.pages(filter, 0..filter.pages.len())?;
        if !of_use {
            return Ok(());
        }
        let metas = filter.columns.iter().filter_map(|id| self.column(*id));
        let columns: Vec<ColumnDefinition> =
            metas.map(|meta| ColumnDefinition::new(meta.column, "key", meta.logical_type.clone())).collect();
        let mut all = Vec::with_capacity(filter.keys as usize);
        for zone in 0..self.zones() {
            let rows = self.zone_rows(zone).len();
            let decoded = |column| crate::decode::decode(&self.view(column, zone)?, 0..rows, Isa::best());
            let arrays: Vec<ArrayRef> = columns.iter().map(decoded).collect::<Result<_>>()?;
            let hashes = hash_keys(&filter.columns, &arrays)?;
            let nulls = arrays.iter().fold(None, |nulls, array| NullBuffer::union(nulls.as_ref(), array.nulls()));
            let present = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
            all.extend((0..rows).filter(present).map(|row| hashes[row]));
        }
        let (made, bytes) = FilterMeta::build(filter.columns.clone(), &all);
        if made.keys == filter.keys && bytes == *stored {
            return Ok(());
        }
        let detail = format!("{} (at byte {}) is not that of the records", name(filter), filter.offset);
        Err(Error::corrupt(&file.place, detail))
    }
}

impl Opened {
    /// Reads pages of a filter and verifies their checksums.
    fn pages(&self, filter: &FilterMeta, pages: Range<usize>) -> Result<Cow<'_, [u8]>> {
        let (start, end) = ((pages.start * PAGE) as u64, ((pages.end * PAGE) as u64).min(filter.bytes()));
        let bytes = self.source.read(filter.offset + start, (end - start) as usize)?;
        for ((page, bytes), checksum) in pages.clone().zip(bytes.chunks(PAGE)).zip(&filter.pages[pages]) {
            let found = crc32c::crc32c(bytes);
            if found != *checksum {
                let offset = filter.offset + (page * PAGE) as u64;
                self.source.is_damaged(offset, bytes.len());
                let name = name(filter);
                let detail = format!(
                    "{name}, page {page} (at byte {offset}): checksum is {found:08x} where {checksum:08x} was written"
                );
                return Err(Error::corrupt(&self.place, detail));
            }
        }
        Ok(bytes)
    }
}

/// A filter in messages: `filter of key (columns 1, 2)`.
fn name(filter: &FilterMeta) -> String {
    let columns: Vec<String> = filter.columns.iter().map(ToString::to_string).collect();
    let word = if columns.len() == 1 { "column" } else { "columns" };
    format!("filter of key ({word} {})", columns.join(", "))
}
