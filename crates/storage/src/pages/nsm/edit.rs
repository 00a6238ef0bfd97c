//! Changes to an NSM page: records come, change and go; the area of records is closed up when what is free lies apart.

use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{AttributeForm, Field, PageSchema};
use crate::pages::bit;
use crate::pages::field_column::FieldColumn;
use crate::pages::head::{HEAD, Head, put_u16};
use crate::pages::nsm::{ELSEWHERE, NsmPage, SLOT};
use crate::pages::page::Update;
use crate::{ColumnId, Result, TableId};
use std::ops::Range;
use std::sync::Arc;

impl NsmPage<Vec<u8>> {
    /// An empty page of `length` bytes.
    pub fn empty(layout: HeapLayout, length: usize, schema: &Arc<PageSchema>, table: TableId, number: u64) -> Self {
        let head = Head::new(layout, table, number, schema.attributes.len());
        let head = Head { capacity: HEAD as u16, column: schema.shape, ..head };
        Self { bytes: vec![0; length], head, schema: Arc::clone(schema) }
    }

    /// An empty page of the DSM relation of a column, whose key's record id is `first`.
    pub fn of_column(length: usize, schema: &Arc<PageSchema>, table: TableId, column: ColumnId, first: u64) -> Self {
        let mut page = Self::empty(HeapLayout::Dsm, length, schema, table, first);
        page.head.column = column;
        page
    }

    /// Bytes that a record takes, its slot left out.
    pub(crate) fn record_bytes(schema: &PageSchema, fields: &[Field<'_>]) -> usize {
        schema.fixed_bytes + 2 * schema.variables + fields.iter().map(Field::variable_bytes).sum::<usize>()
    }

    /// Adds a record where there is room: in the slot of a deleted one, if there is any. `None` when the page is full.
    pub fn insert(&mut self, fields: &[Field<'_>]) -> Result<Option<usize>> {
        let reused = (self.records() < self.slots()).then(|| (0..self.slots()).find(|slot| !self.is_live(*slot)));
        let slot = reused.flatten().unwrap_or(self.slots());
        self.insert_at(slot, fields)
    }

    /// Adds a record behind all slots: DSM's, whose record ids ascend.
    pub fn append(&mut self, fields: &[Field<'_>]) -> Result<Option<usize>> {
        self.insert_at(self.slots(), fields)
    }

    /// Adds as many of the records `rows` as fit behind those of a page without deleted ones, and returns their number.
    pub(crate) fn append_rows(&mut self, columns: &[FieldColumn], rows: Range<usize>) -> Result<usize> {
        let mut fields = Vec::with_capacity(columns.len());
        for row in rows.clone() {
            fields.clear();
            fields.extend(columns.iter().map(|column| column.field(row)));
            if self.append(&fields)?.is_none() {
                return Ok(row - rows.start);
            }
        }
        Ok(rows.len())
    }

    fn insert_at(&mut self, slot: usize, fields: &[Field<'_>]) -> Result<Option<usize>> {
        self.schema.check(fields)?;
        let length = Self::record_bytes(&self.schema, fields);
        let slots = self.slots().max(slot + 1);
        // What the new slot takes must be free too.
        if self.free() < length + SLOT * (slots - self.slots()) || slots > usize::from(u16::MAX) {
            return Ok(None);
        }
        if self.bytes.len() - SLOT * slots < self.top() + length {
            self.close_up();
        }
        self.head.slots = slots as u16;
        self.head.records += 1;
        let start = self.top();
        encode(&self.schema, fields, &mut self.bytes[start..start + length]);
        self.head.capacity += length as u16;
        self.set_slot(slot, start, length);
        Ok(Some(slot))
    }

    /// Changes attributes of a live record: in place where the record gets no longer, else behind the others.
    pub fn update(&mut self, slot: usize, changes: &[(usize, Field<'_>)]) -> Result<Update> {
        self.schema.check_changes(changes)?;
        let (start, before) = self.slot(slot);
        if changes.iter().all(|(attribute, _)| self.schema.attributes[*attribute].kind != AttributeForm::Variable) {
            let record = &mut self.bytes[start..start + before];
            changes.iter().for_each(|(attribute, field)| encode_fixed(&self.schema, *attribute, field, record));
            return Ok(Update::Done);
        }
        let old = self.bytes[start..start + before].to_vec();
        let mut fields: Vec<Field<'_>> = (0..self.schema.attributes.len())
            .map(|attribute| {
                crate::pages::nsm::field_of(&self.schema, &old, attribute).expect("ends that were checked")
            })
            .collect();
        for (attribute, field) in changes {
            fields[*attribute] = *field;
        }
        let length = Self::record_bytes(&self.schema, &fields);
        if length <= before {
            encode(&self.schema, &fields, &mut self.bytes[start..start + length]);
            self.head.ids += (before - length) as u16;
            self.set_slot(slot, start, length);
            return Ok(Update::Done);
        }
        if self.free() + before < length {
            return Ok(Update::Outgrown);
        }
        self.head.ids += before as u16;
        self.set_slot(slot, 0, 0);
        if self.bytes.len() - SLOT * self.slots() < self.top() + length {
            self.close_up();
        }
        let start = self.top();
        encode(&self.schema, &fields, &mut self.bytes[start..start + length]);
        self.head.capacity += length as u16;
        self.set_slot(slot, start, length);
        Ok(Update::Done)
    }

    /// Deletes a live record; its slot stays.
    pub fn delete(&mut self, slot: usize) {
        let (_, length) = self.slot(slot);
        self.head.ids += length as u16;
        self.head.records -= 1;
        self.set_slot(slot, 0, 0);
        while self.slots() > 0 && !self.is_live(self.slots() - 1) {
            self.head.slots -= 1;
        }
        if self.head.records == 0 {
            (self.head.capacity, self.head.ids) = (HEAD as u16, 0);
        }
    }

    /// Deletes a live record and its slot, so that the slots behind it move up: DSM's are all live.
    pub fn remove(&mut self, slot: usize) {
        let (_, length) = self.slot(slot);
        for later in slot + 1..self.slots() {
            let (start, length) = self.slot(later);
            self.set_slot(later - 1, start, length);
        }
        self.head.ids += length as u16;
        self.head.records -= 1;
        self.head.slots -= 1;
        if self.head.records == 0 {
            (self.head.capacity, self.head.ids) = (HEAD as u16, 0);
        }
    }

    /// Moves all records together, so that what is free lies before the slots.
    fn close_up(&mut self) {
        let mut live: Vec<(usize, usize, usize)> = (0..self.slots())
            .map(|slot| (self.slot(slot), slot))
            .filter(|((start, _), _)| *start != 0)
            .map(|((start, length), slot)| (start, length, slot))
            .collect();
        live.sort_unstable();
        let mut top = HEAD;
        for (start, length, slot) in live {
            self.bytes.copy_within(start..start + length, top);
            self.set_slot(slot, top, length);
            top += length;
        }
        (self.head.capacity, self.head.ids) = (top as u16, 0);
    }

    fn set_slot(&mut self, slot: usize, start: usize, length: usize) {
        let at = self.bytes.len() - SLOT * (slot + 1);
        put_u16(&mut self.bytes, at, start as u16);
        put_u16(&mut self.bytes, at + 2, length as u16);
    }

    /// The page's bytes, with head and checksum as they must be for commit `written`.
    pub fn seal(&mut self, written: u64) -> &[u8] {
        self.head.written = written;
        self.head.free = self.free() as u16;
        let (head, top, slots) = (self.head, self.top(), self.slots());
        head.write(&mut self.bytes);
        // What records and slots left behind is no part of the page.
        let end = self.bytes.len() - SLOT * slots;
        self.bytes[top..end].fill(0);
        let checksum = crc32c::crc32c(&self.bytes[4..]);
        self.bytes[..4].copy_from_slice(&checksum.to_le_bytes());
        &self.bytes
    }
}

/// Writes a record into `out`, which has its length.
fn encode(schema: &PageSchema, fields: &[Field<'_>], out: &mut [u8]) {
    out[..schema.fixed_bytes].fill(0);
    let mut end = schema.fixed_bytes + 2 * schema.variables;
    for (attribute, field) in fields.iter().enumerate() {
        if schema.attributes[attribute].kind != AttributeForm::Variable {
            encode_fixed(schema, attribute, field, out);
            continue;
        }
        encode_presence(schema, attribute, field, out);
        let mut flag = 0;
        match field {
            Field::Bytes(bytes) => out[end..end + bytes.len()].copy_from_slice(bytes),
            Field::Overflow(reference) => {
                flag = ELSEWHERE;
                out[end..end + field.variable_bytes()].copy_from_slice(&reference.to_bytes());
            }
            Field::Null | Field::Code(_) => {}
        }
        end += field.variable_bytes();
        put_u16(out, schema.fixed_bytes + 2 * schema.places[attribute], end as u16 | flag);
    }
}

/// Writes a fixed attribute into a record; zero for NULL.
fn encode_fixed(schema: &PageSchema, attribute: usize, field: &Field<'_>, record: &mut [u8]) {
    encode_presence(schema, attribute, field, record);
    if let AttributeForm::Fixed(width) = schema.attributes[attribute].kind {
        let (place, code) = (schema.places[attribute], if let Field::Code(code) = field { *code } else { 0 });
        record[place..place + width].copy_from_slice(&code.to_le_bytes()[..width]);
    }
}

fn encode_presence(schema: &PageSchema, attribute: usize, field: &Field<'_>, record: &mut [u8]) {
    if let Some(presence) = schema.presence[attribute] {
        bit::set(record, presence, *field != Field::Null);
    }
}
