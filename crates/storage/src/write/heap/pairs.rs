//! DSM's relations: for each column pairs of a record id and a value, in pages that LMDB's keys make a tree of record ids.
//! A page that becomes too full is split in the middle, pages that become empty are put together; new records go behind the last
//! one.

use crate::lmdb::environment::Name;
use crate::lmdb::heap_keys::{key, parse};
use crate::lmdb::heap_record::RecordId;
use crate::pages::attribute::{Field, OwnedField};
use crate::pages::head::HEAD;
use crate::pages::nsm::NsmPage;
use crate::pages::page::{Page, Update};
use crate::snapshot::heap::pairs::slot_of;
use crate::write::heap::writer::HeapWriter;
use crate::{ColumnId, Error, Result};

impl HeapWriter<'_, '_> {
    /// Adds a record to all relations.
    pub(crate) fn insert_pairs(&mut self, fields: &[OwnedField]) -> Result<RecordId> {
        let fields: Vec<Field<'_>> = fields.iter().map(OwnedField::field).collect();
        self.insert_fields(&fields)
    }

    /// Inserts a record of borrowed fields, none of which is longer than a page takes.
    pub(crate) fn insert_fields(&mut self, fields: &[Field<'_>]) -> Result<RecordId> {
        let id = self.state.heap.next_record;
        self.state.schema.check(fields)?;
        for (attribute, field) in fields.iter().enumerate() {
            let pair = [Field::Code(id.into()), *field];
            let column = self.state.schema.attributes()[attribute].column;
            let last = match self.state.tails.get(&column) {
                Some(first) => Some(*first),
                // A load in batches leaves the pages alone that others see.
                None if self.state.first_new.is_some() => None,
                None => self.page_up_to(column, RecordId::MAX)?,
            };
            let added = match last {
                Some(first) => append(self.page_mut(column, first)?, &pair)?,
                None => false,
            };
            let tail = if added { last.unwrap_or(id) } else { id };
            if !added {
                let mut page = self.empty_pairs(attribute, id);
                append(&mut page, &pair)?;
                self.state.heap.pages += 1;
                self.add_page(column, id, page)?;
            }
            self.state.tails.insert(column, tail);
        }
        self.state.heap.next_record += 1;
        Ok(id)
    }

    /// Adds a pair behind all others of a column's relation, which is filled alone.
    pub(crate) fn append_pair(&mut self, column: ColumnId, id: RecordId, field: Field<'_>) -> Result<()> {
        let place = self.state.schema.attributes().iter().position(|own| own.column == column);
        let Some(attribute) = place else {
            return Err(Error::Internal(format!("table {} has no column {column}", self.state.schema.table)));
        };
        self.state.changed = true;
        let pair = [Field::Code(id.into()), field];
        let last = match self.state.tails.get(&column) {
            Some(first) => Some(*first),
            None => self.page_up_to(column, RecordId::MAX)?,
        };
        if let Some(first) = last
            && append(self.page_mut(column, first)?, &pair)?
        {
            return Ok(());
        }
        let mut page = self.empty_pairs(attribute, id);
        if !append(&mut page, &pair)? {
            return Err(self.too_large());
        }
        self.state.heap.pages += 1;
        self.state.tails.insert(column, id);
        self.add_page(column, id, page)
    }

    /// Takes a column's relation away. Gives its pairs, whose long values stay.
    pub(crate) fn take_relation(&mut self, column: ColumnId) -> Result<Vec<(RecordId, OwnedField)>> {
        self.state.changed = true;
        let mut pairs = Vec::with_capacity(self.state.heap.rows as usize);
        while let Some(first) = self.page_up_to(column, RecordId::MAX)? {
            let page = self.page(column, first)?;
            for slot in (0..page.slots()).rev() {
                if let Field::Code(id) = page.field(slot, 0) {
                    pairs.push((id as RecordId, page.field(slot, 1).into()));
                }
            }
            self.remove_pair_page(column, first)?;
        }
        pairs.reverse();
        Ok(pairs)
    }

    fn empty_pairs(&self, attribute: usize, first: RecordId) -> Page<Vec<u8>> {
        let column = self.state.schema.attributes()[attribute].column;
        let length = self.state.heap.options.page_bytes;
        Page::Nsm(NsmPage::of_column(length, &self.state.pairs[attribute], self.table(), column, first))
    }

    /// Page and slot of a record's pair. Fails when another relation than the first lacks a record that the first one has.
    fn pair(&mut self, attribute: usize, id: RecordId) -> Result<Option<(u64, usize)>> {
        let found = self.place_of_pair(attribute, id)?;
        if found.is_none() && attribute > 0 && self.place_of_pair(0, id)?.is_some() {
            return Err(self.missing_pair(attribute, id));
        }
        Ok(found)
    }

    fn place_of_pair(&mut self, attribute: usize, id: RecordId) -> Result<Option<(u64, usize)>> {
        let column = self.state.schema.attributes()[attribute].column;
        let Some(first) = self.page_up_to(column, id)? else { return Ok(None) };
        Ok(slot_of(self.page(column, first)?, id).ok().map(|slot| (first, slot)))
    }

    fn missing_pair(&self, attribute: usize, id: RecordId) -> Error {
        let name = &self.state.schema.attributes()[attribute].name;
        let place = format!("column '{name}' of table {}", self.state.schema.table);
        Error::corrupt(place, format!("record {id} is missing, which other columns have"))
    }

    /// The ids of all records, from the relation of the first column.
    pub(crate) fn ids_of_pairs(&mut self) -> Result<Vec<RecordId>> {
        let column = self.state.schema.attributes()[0].column;
        let mut ids = Vec::with_capacity(self.state.heap.rows as usize);
        let mut last = self.page_up_to(column, RecordId::MAX)?;
        while let Some(first) = last {
            let page = self.page(column, first)?;
            for slot in (0..page.slots()).rev() {
                if let Field::Code(id) = page.field(slot, 0) {
                    ids.push(id as RecordId);
                }
            }
            last = match first.checked_sub(1) {
                Some(before) => self.page_up_to(column, before)?,
                None => None,
            };
        }
        ids.reverse();
        Ok(ids)
    }

    /// The fields of a record at these places.
    pub(crate) fn pairs_of(&mut self, id: RecordId, places: &[usize]) -> Result<Option<Vec<OwnedField>>> {
        if places.is_empty() {
            return Ok(self.pair(0, id)?.map(|_| Vec::new()));
        }
        // Any relation tells whether there is a record: no page is read but those of the fields.
        let mut fields = Vec::with_capacity(places.len());
        for at in places {
            let Some((first, slot)) = self.pair(*at, id)? else { return Ok(None) };
            let column = self.state.schema.attributes()[*at].column;
            fields.push(self.page(column, first)?.field(slot, 1).into());
        }
        Ok(Some(fields))
    }

    /// Changes attributes of a record, whose id stays.
    pub(crate) fn update_pairs(&mut self, id: RecordId, changes: Vec<(usize, OwnedField)>) -> Result<Option<RecordId>> {
        let any = changes.first().map_or(0, |(attribute, _)| *attribute);
        if self.pair(any, id)?.is_none() {
            return Ok(None);
        }
        for (attribute, value) in changes {
            let mut values = [value];
            self.spill_values(&mut values)?;
            let column = self.state.schema.attributes()[attribute].column;
            let mut before = OwnedField::Null;
            while let Some((first, slot)) = self.pair(attribute, id)? {
                let page = self.page_mut(column, first)?;
                before = page.field(slot, 1).into();
                match page.update(slot, &[(1, values[0].field())])? {
                    Update::Done => {
                        let free = page.free();
                        self.note_pairs(attribute, first, free);
                        break;
                    }
                    Update::Outgrown => self.split(attribute, first)?,
                }
            }
            self.forget(&[before])?;
        }
        Ok(Some(id))
    }

    /// Moves the upper half of a page's pairs to a new one.
    fn split(&mut self, attribute: usize, first: u64) -> Result<()> {
        let column = self.state.schema.attributes()[attribute].column;
        let page = self.page(column, first)?;
        let (slots, middle) = (page.slots(), page.slots() / 2);
        if middle == 0 {
            return Err(self.too_large());
        }
        let moved: Vec<[OwnedField; 2]> =
            (middle..slots).map(|slot| [page.field(slot, 0).into(), page.field(slot, 1).into()]).collect();
        let OwnedField::Code(start) = moved[0][0] else { return Err(self.too_large()) };
        let start = start as RecordId;
        let mut upper = self.empty_pairs(attribute, start);
        for pair in &moved {
            append(&mut upper, &[pair[0].field(), pair[1].field()])?;
        }
        if let Page::Nsm(page) = self.page_mut(column, first)? {
            (middle..slots).rev().for_each(|slot| page.remove(slot));
        }
        if self.state.tails.get(&column).is_none_or(|tail| *tail == first) {
            self.state.tails.remove(&column);
        }
        self.state.heap.pages += 1;
        self.add_page(column, start, upper)
    }

    /// Deletes a record from all relations.
    pub(crate) fn delete_pairs(&mut self, id: RecordId) -> Result<bool> {
        for attribute in 0..self.state.schema.attributes().len() {
            let (first, slot) = match self.place_of_pair(attribute, id)? {
                Some(found) => found,
                None if attribute == 0 => return Ok(false),
                None => return Err(self.missing_pair(attribute, id)),
            };
            let column = self.state.schema.attributes()[attribute].column;
            let page = self.page_mut(column, first)?;
            let field = page.field(slot, 1).into();
            if let Page::Nsm(page) = page {
                page.remove(slot);
            }
            match (page.records(), page.free()) {
                (0, _) => self.remove_pair_page(column, first)?,
                (_, free) => self.note_pairs(attribute, first, free),
            }
            self.forget(&[field])?;
        }
        Ok(true)
    }

    /// Notes a page that has lost so much that it may be put together with another one.
    fn note_pairs(&mut self, attribute: usize, first: u64, free: usize) {
        if free > self.state.heap.options.page_bytes / 2 {
            self.state.emptier.insert((attribute, first));
        }
    }

    /// Puts pages together of which records were deleted, each with the one before it or behind it, where both leave a quarter of
    /// one page free: else pages of a few pairs would stay, as new records go behind the last one.
    pub(crate) fn join_pages_of_pairs(&mut self) -> Result<()> {
        for (attribute, first) in std::mem::take(&mut self.state.emptier) {
            let column = self.state.schema.attributes()[attribute].column;
            if self.page_up_to(column, first)? != Some(first) {
                continue;
            }
            let before = first.checked_sub(1).map(|last| self.page_up_to(column, last)).transpose()?.flatten();
            if let Some(before) = before
                && self.join(attribute, before, first)?
            {
                continue;
            }
            let last = self.page(column, first)?;
            let Field::Code(last) = last.field(last.slots() - 1, 0) else { continue };
            if let Some(next) = self.page_behind(column, last as RecordId)? {
                self.join(attribute, first, next)?;
            }
        }
        Ok(())
    }

    /// Moves the pairs of the page `upper` to the end of the page `lower`, which lies before it; false when these are too many.
    fn join(&mut self, attribute: usize, lower: u64, upper: u64) -> Result<bool> {
        let (column, length) = (self.state.schema.attributes()[attribute].column, self.state.heap.options.page_bytes);
        let free = self.page(column, lower)?.free();
        let page = self.page(column, upper)?;
        if length - HEAD - page.free() + length / 4 > free {
            return Ok(false);
        }
        let pair = |slot| -> [OwnedField; 2] { [page.field(slot, 0).into(), page.field(slot, 1).into()] };
        let moved: Vec<[OwnedField; 2]> = (0..page.slots()).map(pair).collect();
        let page = self.page_mut(column, lower)?;
        for pair in &moved {
            if !append(page, &[pair[0].field(), pair[1].field()])? {
                return Err(Error::Internal(format!(
                    "pairs of column {column} that were counted do not fit their page"
                )));
            }
        }
        self.remove_pair_page(column, upper)?;
        Ok(true)
    }

    /// The first page of a relation whose record ids lie beyond `last`.
    fn page_behind(&self, column: u32, last: RecordId) -> Result<Option<u64>> {
        let environment = self.transaction.environment;
        let (heap, wanted) = (environment.values(Name::Heap)?, key(self.table(), column, last));
        let found = heap.get_greater_than(&self.transaction.transaction, &wanted);
        let found = found.map_err(environment.failed("reading"))?.and_then(|(key, _)| parse(key));
        Ok(found.filter(|(table, own, _)| *table == self.table() && *own == column).map(|(_, _, first)| first))
    }

    fn remove_pair_page(&mut self, column: u32, first: u64) -> Result<()> {
        self.remove_page(column, first)?;
        self.state.tails.remove(&column);
        Ok(())
    }
}

/// Adds a pair behind the others; false when the page is full.
fn append(page: &mut Page<Vec<u8>>, pair: &[Field<'_>]) -> Result<bool> {
    match page {
        Page::Nsm(page) => Ok(page.append(pair)?.is_some()),
        Page::Pax(_) => Ok(false),
    }
}
