//! Records of NSM and PAX tables: inserted where there is room, changed in their page, moved when they outgrow it.

use crate::Result;
use crate::lmdb::heap_keys::PAGES;
use crate::lmdb::heap_record::{RecordId, place_of, record_id};
use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::Field;
use crate::pages::field_column::FieldColumn;
use crate::pages::nsm::{NsmPage, SLOT};
use crate::pages::owned_field::OwnedField;
use crate::pages::page::{Page, Update};
use crate::pages::pax::PaxPage;
use crate::write::heap::writer::HeapWriter;

impl HeapWriter<'_, '_> {
    /// Adds a record that fits a page.
    pub(crate) fn insert_record(&mut self, fields: &[OwnedField]) -> Result<RecordId> {
        let fields: Vec<Field<'_>> = fields.iter().map(OwnedField::field).collect();
        let bytes = NsmPage::record_bytes(&self.state.schema, &fields) + SLOT;
        let environment = self.transaction.environment;
        while let Some(number) = self.state.space.find(environment, &self.transaction.transaction, bytes)? {
            match self.page_mut(PAGES, number)?.insert(&fields)? {
                Some(slot) => {
                    self.note_free(number)?;
                    return Ok(record_id(number, slot));
                }
                None => self.state.space.refuse(environment, &self.transaction.transaction, number, bytes)?,
            }
        }
        let number = self.state.heap.pages;
        let mut page = self.new_page(number, &fields)?;
        let slot = page.insert(&fields)?.ok_or_else(|| self.too_large())?;
        self.state.heap.pages += 1;
        self.add_page(PAGES, number, page)?;
        self.note_free(number)?;
        Ok(record_id(number, slot))
    }

    /// An empty page, whose minipages are made for values as long as those of the page before.
    fn new_page(&mut self, number: u64, fields: &[Field<'_>]) -> Result<Page<Vec<u8>>> {
        let (options, table) = (self.state.heap.options, self.table());
        if options.layout == HeapLayout::Nsm {
            return Ok(Page::Nsm(NsmPage::empty(
                HeapLayout::Nsm,
                options.page_bytes,
                &self.state.schema,
                table,
                number,
            )));
        }
        let average = match number.checked_sub(1) {
            Some(before) => match self.page(PAGES, before)? {
                Page::Pax(page) if page.records() > 0 => page.averages(),
                _ => Vec::new(),
            },
            None => Vec::new(),
        };
        let own = || fields.iter().map(|field| field.variable_bytes() as f64).collect();
        let average = if average.is_empty() { own() } else { average };
        let (length, deletes) = (options.page_bytes, options.deletes);
        Ok(Page::Pax(PaxPage::empty(length, &self.state.schema, table, number, deletes, &average)?))
    }

    /// Tells the map what is free in a page.
    fn note_free(&mut self, number: u64) -> Result<()> {
        let free = self.page(PAGES, number)?.free();
        self.state.space.set(self.transaction.environment, &self.transaction.transaction, number, free)
    }

    /// Whether there is a record of that id.
    fn has_record(&mut self, id: RecordId) -> Result<bool> {
        let (number, slot) = place_of(id);
        Ok(number < self.state.heap.pages && self.page(PAGES, number)?.is_live(slot))
    }

    /// The ids of all records, page by page.
    pub(crate) fn ids_of_pages(&mut self) -> Result<Vec<RecordId>> {
        let mut ids = Vec::with_capacity(self.state.heap.rows as usize);
        for number in 0..self.state.heap.pages {
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
        let id = match self.page_mut(PAGES, number)?.update(slot, &list)? {
            Update::Done => {
                self.note_free(number)?;
                id
            }
            Update::Outgrown => {
                let Some(mut record) = self.fields_of(id)? else { return Ok(None) };
                self.page_mut(PAGES, number)?.delete(slot);
                self.note_free(number)?;
                attributes.iter().zip(values).for_each(|(attribute, value)| record[*attribute] = value);
                self.spill(&mut record)?;
                self.insert_record(&record)?
            }
        };
        self.forget(&before)?;
        Ok(Some(id))
    }

    /// Changes attributes of fixed width of many records, page by page: none of them moves, takes more or less room or has
    /// values elsewhere. `columns` has the new values, a row for each id. Fails when there is no record of some id.
    pub(crate) fn update_fixed(&mut self, ids: &[RecordId], columns: &[(usize, FieldColumn)]) -> Result<()> {
        let (mut changes, mut row) = (Vec::with_capacity(columns.len()), 0);
        for of_page in ids.chunk_by(|a, b| place_of(*a).0 == place_of(*b).0) {
            let number = place_of(of_page[0]).0;
            if number >= self.state.heap.pages {
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
        let (number, slot) = place_of(id);
        self.page_mut(PAGES, number)?.delete(slot);
        self.note_free(number)?;
        self.forget(&record)?;
        Ok(true)
    }
}
