//! Records of NSM and PAX tables: inserted where there is room, changed in their page, moved when they outgrow it.

use crate::Result;
use crate::lmdb::environment::Name;
use crate::lmdb::heap_keys::{PAGES, key, parse};
use crate::lmdb::heap_record::{RecordId, place_of, record_id};
use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{Field, OwnedField};
use crate::pages::field_column::FieldColumn;
use crate::pages::load::empty_page;
use crate::pages::nsm::{NsmPage, SLOT};
use crate::pages::page::{Page, Update};
use crate::write::heap::writer::HeapWriter;

impl HeapWriter<'_, '_> {
    /// Adds a record that fits a page.
    pub(crate) fn insert_record(&mut self, fields: &[OwnedField]) -> Result<RecordId> {
        let fields: Vec<Field<'_>> = fields.iter().map(OwnedField::field).collect();
        let bytes = NsmPage::record_bytes(&self.state.schema, &fields) + SLOT;
        let environment = self.transaction.environment;
        let number = loop {
            let found = self.state.space.find(environment, &self.transaction.transaction, bytes)?;
            let Some(number) = found else { break self.state.heap.pages };
            if self.is_free_number(number)? {
                break number;
            }
            match self.page_mut(PAGES, number)?.insert(&fields)? {
                Some(slot) => {
                    self.note_free(number)?;
                    return Ok(record_id(number, slot));
                }
                None => self.state.space.refuse(environment, &self.transaction.transaction, number, bytes)?,
            }
        };
        let mut page = self.new_page(number, &fields)?;
        let slot = page.insert(&fields)?.ok_or_else(|| self.too_large())?;
        self.add_numbered(number, page)?;
        self.note_free(number)?;
        Ok(record_id(number, slot))
    }

    /// Adds a page of a number that none has.
    pub(crate) fn add_numbered(&mut self, number: u64, page: Page<Vec<u8>>) -> Result<()> {
        self.state.heap.pages = self.state.heap.pages.max(number + 1);
        self.add_page(PAGES, number, page)
    }

    /// Whether a number is one of a page that is gone, as the map says. Where there is a page all the same, the map is told what is
    /// free in it: no page is ever put in the place of another one.
    pub(crate) fn is_free_number(&mut self, number: u64) -> Result<bool> {
        let environment = self.transaction.environment;
        if !self.state.space.is_gone(environment, &self.transaction.transaction, number)? {
            return Ok(false);
        }
        let is_there = self.page_up_to(PAGES, number)? == Some(number);
        if is_there {
            self.note_free(number)?;
        }
        Ok(!is_there)
    }

    /// The least number for a new page. A load in batches leaves those alone that readers look at.
    pub(crate) fn free_number(&mut self) -> Result<u64> {
        let environment = self.transaction.environment;
        while self.state.first_new.is_none()
            && let Some(number) = self.state.space.find_gone(environment, &self.transaction.transaction)?
        {
            if self.is_free_number(number)? {
                return Ok(number);
            }
        }
        Ok(self.state.heap.pages)
    }

    /// Whether there are pages of which so much is free that a load fills them.
    pub(crate) fn has_room_for_many(&mut self) -> Result<bool> {
        if self.state.first_new.is_some() {
            return Ok(false);
        }
        let environment = self.transaction.environment;
        let Some(number) = self.state.space.find_much(environment, &self.transaction.transaction)? else {
            return Ok(false);
        };
        // Numbers whose pages are gone are new pages' too.
        Ok(!self.is_free_number(number)?)
    }

    /// The greatest number of an attribute's page that is not beyond `last`; in dsm by their first record ids.
    pub(crate) fn page_up_to(&self, attribute: u32, last: u64) -> Result<Option<u64>> {
        let environment = self.transaction.environment;
        let (heap, wanted) = (environment.values(Name::Heap)?, key(self.table(), attribute, last));
        let found = heap.get_lower_than_or_equal_to(&self.transaction.transaction, &wanted);
        let found = found.map_err(environment.failed("reading"))?.and_then(|(key, _)| parse(key));
        Ok(found.filter(|(table, own, _)| *table == self.table() && *own == attribute).map(|(_, _, first)| first))
    }

    /// An empty page, whose minipages are made for values as long as those of the page before.
    fn new_page(&mut self, number: u64, fields: &[Field<'_>]) -> Result<Page<Vec<u8>>> {
        let (options, table) = (self.state.heap.options, self.table());
        let before = match number.checked_sub(1) {
            Some(last) if options.layout == HeapLayout::Pax => self.page_up_to(PAGES, last)?,
            _ => None,
        };
        let average = match before.map(|before| self.page(PAGES, before)).transpose()? {
            Some(Page::Pax(page)) if page.records() > 0 && page.schema.sources.is_none() => page.averages(),
            _ => Vec::new(),
        };
        let own = || fields.iter().map(|field| field.variable_bytes() as f64).collect();
        let average = if average.is_empty() { own() } else { average };
        empty_page(&options, &self.state.schema, (table, number), &average)
    }

    /// Takes a record out of its page, which goes with the last one.
    fn remove_from_page(&mut self, id: RecordId) -> Result<()> {
        let (number, slot) = place_of(id);
        let page = self.page_mut(PAGES, number)?;
        page.delete(slot);
        if page.records() > 0 {
            return self.note_free(number);
        }
        self.remove_page(PAGES, number)?;
        self.state.pages_went = true;
        self.state.space.set_gone(self.transaction.environment, &self.transaction.transaction, number)
    }

    /// Takes the numbers back behind the last page that there is, when pages went.
    pub(crate) fn cut_numbers(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.state.pages_went) || self.state.first_new.is_some() {
            return Ok(());
        }
        let pages = self.page_up_to(PAGES, u64::MAX)?.map_or(0, |last| last + 1);
        self.state.heap.pages = pages;
        self.state.space.cut(self.transaction.environment, &self.transaction.transaction, pages)
    }

    /// Tells the map what is free in a page.
    pub(crate) fn note_free(&mut self, number: u64) -> Result<()> {
        let free = self.page(PAGES, number)?.free();
        self.state.space.set(self.transaction.environment, &self.transaction.transaction, number, free)
    }

    /// Whether there is a record of that id.
    fn has_record(&mut self, id: RecordId) -> Result<bool> {
        let (number, slot) = place_of(id);
        Ok(self.has_page(number)? && self.page(PAGES, number)?.is_live(slot))
    }

    /// Whether a number is a page's. One that the map knows nothing of, and that is missing, is damage.
    fn has_page(&mut self, number: u64) -> Result<bool> {
        Ok(number < self.state.heap.pages && !self.is_free_number(number)?)
    }

    /// The ids of all records, page by page.
    pub(crate) fn ids_of_pages(&mut self) -> Result<Vec<RecordId>> {
        let mut ids = Vec::with_capacity(self.state.heap.rows as usize);
        for number in 0..self.state.heap.pages {
            if !self.has_page(number)? {
                continue;
            }
            let page = self.page(PAGES, number)?;
            ids.extend((0..page.slots()).filter(|slot| page.is_live(*slot)).map(|slot| record_id(number, slot)));
        }
        Ok(ids)
    }

    /// The fields of a record at these places.
    pub(crate) fn record_of(&mut self, id: RecordId, places: &[usize]) -> Result<Option<Vec<OwnedField>>> {
        if !self.has_record(id)? {
            return Ok(None);
        }
        let (number, slot) = place_of(id);
        let page = self.page(PAGES, number)?;
        Ok(Some(places.iter().map(|at| page.field(slot, *at).into()).collect()))
    }

    /// Changes attributes of a record; moves it when its page has no room for them.
    pub(crate) fn update_record(
        &mut self,
        id: RecordId,
        mut changes: Vec<(usize, OwnedField)>,
    ) -> Result<Option<RecordId>> {
        let (number, slot) = place_of(id);
        let (attributes, mut values): (Vec<usize>, Vec<OwnedField>) = changes.drain(..).unzip();
        let Some(before) = self.record_of(id, &attributes)? else { return Ok(None) };
        self.spill_values(&mut values)?;
        let list: Vec<(usize, Field<'_>)> =
            attributes.iter().zip(&values).map(|(attribute, value)| (*attribute, value.field())).collect();
        let mut dropped = Vec::new();
        let id = match self.page_mut(PAGES, number)?.update(slot, &list)? {
            Update::Done => {
                self.note_free(number)?;
                id
            }
            Update::Outgrown => {
                let Some(mut record) = self.fields_of(id)? else { return Ok(None) };
                dropped = self.dropped_fields(id)?;
                self.remove_from_page(id)?;
                attributes.iter().zip(values).for_each(|(attribute, value)| record[*attribute] = value);
                self.spill(&mut record)?;
                self.insert_record(&record)?
            }
        };
        self.forget(&before)?;
        self.forget(&dropped)?;
        Ok(Some(id))
    }

    /// What a record, which is there, has of columns that were dropped.
    fn dropped_fields(&mut self, id: RecordId) -> Result<Vec<OwnedField>> {
        let (number, slot) = place_of(id);
        Ok(self.page(PAGES, number)?.dropped_fields(slot))
    }

    /// Changes attributes of fixed width of many records, page by page: none of them moves, takes more or less room or has
    /// values elsewhere, and the pages are all of the table's columns. `columns` has the new values, a row for each id. Fails when there is no record of some id.
    pub(crate) fn update_fixed(&mut self, ids: &[RecordId], columns: &[(usize, FieldColumn)]) -> Result<()> {
        let (mut changes, mut row) = (Vec::with_capacity(columns.len()), 0);
        for of_page in ids.chunk_by(|a, b| place_of(*a).0 == place_of(*b).0) {
            let number = place_of(of_page[0]).0;
            if !self.has_page(number)? {
                return Err(self.gone(of_page[0]));
            }
            let page = self.page_mut(PAGES, number)?;
            for id in of_page {
                let slot = place_of(*id).1;
                if !page.is_live(slot) {
                    return Err(self.gone(*id));
                }
                changes.clear();
                changes.extend(columns.iter().map(|(attribute, column)| (*attribute, column.field(row))));
                page.update(slot, &changes)?;
                row += 1;
            }
        }
        Ok(())
    }

    /// Deletes a record and its long values.
    pub(crate) fn delete_record(&mut self, id: RecordId) -> Result<bool> {
        let Some(record) = self.fields_of(id)? else { return Ok(false) };
        let dropped = self.dropped_fields(id)?;
        self.remove_from_page(id)?;
        self.forget(&record)?;
        self.forget(&dropped)?;
        Ok(true)
    }
}
