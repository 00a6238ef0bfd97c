//! Changes to a PAX page: section 4.2's insertions, updates and deletions.

use crate::SqlState;
use crate::model::heap_options::{Deletes, HeapLayout};
use crate::pages::attribute::{AttributeForm, Field, PageSchema};
use crate::pages::bit;
use crate::pages::head::{HEAD, Head, put_u16};
use crate::pages::nsm::ELSEWHERE;
use crate::pages::page::Update;
use crate::pages::pax::{PaxPage, frame};
use crate::{Error, Result, TableId};
use frame::{Frame, Need};
use std::sync::Arc;

impl PaxPage<Vec<u8>> {
    /// An empty page of `length` bytes, whose minipages are made for values of `average` bytes, by attribute.
    pub fn empty(
        length: usize,
        schema: &Arc<PageSchema>,
        table: TableId,
        number: u64,
        deletes: Deletes,
        average: &[f64],
    ) -> Result<Self> {
        let attributes = schema.attributes.len();
        let head = Head { deletes, column: schema.shape, ..Head::new(HeapLayout::Pax, table, number, attributes) };
        let need = Need { positions: 1, ids: 1, used: vec![0; attributes] };
        let frame = frame::plan(schema, length, &need, average).ok_or_else(|| {
            Error::invalid(
                SqlState::ProgramLimitExceeded,
                format!("a record of table {} does not fit a page", schema.table),
            )
        })?;
        let (bytes, schema) = (vec![0; length], Arc::clone(schema));
        let mut page = Self { bytes, head, schema, starts: frame.starts, reorganised: 0 };
        (page.head.capacity, page.head.ids) = (frame.capacity as u16, frame.ids as u16);
        Ok(page)
    }

    /// Average bytes of the values that the page holds, by attribute: what the next page is made for.
    pub fn averages(&self) -> Vec<f64> {
        let records = self.records().max(1) as f64;
        (0..self.schema.attributes.len()).map(|attribute| self.live_bytes(attribute) as f64 / records).collect()
    }

    /// Adds a record: in the slot of a deleted one, if there is any. Where a minipage has no room for it but the page has,
    /// the minipages are sized anew, unless less than `threshold` percent of the page are free. `None` when the page is
    /// full.
    pub fn insert(&mut self, fields: &[Field<'_>], threshold: u8) -> Result<Option<usize>> {
        self.schema.check(fields)?;
        let reused = (self.records() < self.slots()).then(|| bit::first_clear(self.live_bits(), self.slots()));
        let slot = reused.flatten().unwrap_or(self.slots());
        let taken = self.head.deletes == Deletes::Defer && slot < self.slots();
        let need = self.need_of(fields, slot, taken);
        if !self.has_room(&need) {
            let need = self.live_need(&need, fields);
            let worthwhile = self.free() * 100 >= usize::from(threshold) * self.bytes.len();
            if !worthwhile || frame::least(&self.schema, &need) > self.bytes.len() {
                return Ok(None);
            }
            let records = (self.records() + 1) as f64;
            let average: Vec<f64> = need.used.iter().map(|used| *used as f64 / records).collect();
            if !self.reorganise(&need, &average) {
                return Ok(None);
            }
        }
        let (position, before) = (self.position(slot), self.positions());
        if !taken {
            (0..fields.len()).for_each(|attribute| self.open_gap(attribute, position, before));
        }
        self.head.slots = self.head.slots.max(slot as u16 + 1);
        self.head.records += 1;
        self.set_live(slot, true);
        for (attribute, field) in fields.iter().enumerate() {
            self.write(attribute, position, field);
        }
        Ok(Some(slot))
    }

    /// What the minipages must have room for, as they are, to take a record in a slot.
    fn need_of(&self, fields: &[Field<'_>], slot: usize, taken: bool) -> Need {
        let replaced = |attribute: usize| if taken { self.span(attribute, slot).len() } else { 0 };
        let used = fields
            .iter()
            .enumerate()
            .map(|(attribute, field)| match self.schema.attributes[attribute].kind {
                AttributeForm::Fixed(_) => 0,
                AttributeForm::Variable => self.used_bytes(attribute) - replaced(attribute) + field.variable_bytes(),
            })
            .collect();
        Need { positions: self.positions() + usize::from(!taken), ids: self.slots().max(slot + 1), used }
    }

    /// What the page needs once the values of deleted records are gone.
    fn live_need(&self, need: &Need, fields: &[Field<'_>]) -> Need {
        let used = (0..fields.len()).map(|at| self.live_bytes(at) + fields[at].variable_bytes()).collect();
        Need { used, ..need.clone() }
    }

    /// Whether the minipages are large enough.
    fn has_room(&self, need: &Need) -> bool {
        need.positions <= self.capacity()
            && need.ids <= usize::from(self.head.ids)
            && (0..need.used.len()).all(|attribute| self.has_room_for(attribute, need.used[attribute]))
    }

    fn has_room_for(&self, attribute: usize, used: usize) -> bool {
        self.schema.attributes[attribute].kind != AttributeForm::Variable || used <= self.heap_bytes(attribute)
    }

    /// Changes attributes of a live record. A value that its V-minipage has no room for borrows from a neighbouring one;
    /// where both have none but the page has, all are sized anew.
    pub fn update(&mut self, slot: usize, changes: &[(usize, Field<'_>)]) -> Result<Update> {
        self.schema.check_changes(changes)?;
        let position = self.position(slot);
        let mut grown = Vec::new();
        for (attribute, field) in changes {
            if self.schema.attributes[*attribute].kind == AttributeForm::Variable {
                let before = self.span(*attribute, position).len();
                let used = self.used_bytes(*attribute) - before + field.variable_bytes();
                grown.push((*attribute, used.saturating_sub(self.heap_bytes(*attribute))));
            }
        }
        // Two attributes that change at once could borrow what the other needs.
        let has_room = match &grown[..] {
            [(attribute, missing)] => *missing == 0 || self.borrow(*attribute, *missing),
            grown => grown.iter().all(|(_, missing)| *missing == 0),
        };
        if !has_room && !self.resize_for(position, changes) {
            return Ok(Update::Outgrown);
        }
        for (attribute, field) in changes {
            self.write(*attribute, position, field);
        }
        Ok(Update::Done)
    }

    /// Sizes the minipages anew for changes to the record at a place; false when the page has no room for them.
    fn resize_for(&mut self, position: usize, changes: &[(usize, Field<'_>)]) -> bool {
        let mut used: Vec<usize> = (0..self.starts.len() - 1).map(|attribute| self.live_bytes(attribute)).collect();
        for (attribute, field) in changes {
            if self.schema.attributes[*attribute].kind == AttributeForm::Variable {
                // The value stays until it is written, and needs its bytes until then.
                let before = self.span(*attribute, position).len();
                used[*attribute] += field.variable_bytes().max(before) - before;
            }
        }
        let records = self.records().max(1) as f64;
        let average: Vec<f64> = used.iter().map(|used| *used as f64 / records).collect();
        self.reorganise(&Need { positions: self.positions(), ids: self.slots(), used }, &average)
    }

    /// Deletes a live record: its gaps are closed, or its place is left for another.
    pub fn delete(&mut self, slot: usize) {
        if self.head.deletes == Deletes::Compact {
            let position = self.position(slot);
            let positions = self.positions();
            (0..self.starts.len() - 1).for_each(|attribute| self.close_gap(attribute, position, positions));
        }
        self.set_live(slot, false);
        self.head.records -= 1;
        while self.slots() > 0 && !self.is_live(self.slots() - 1) {
            self.head.slots -= 1;
        }
    }

    /// Makes an empty place for a record at `position` of the `positions` that are taken.
    fn open_gap(&mut self, attribute: usize, position: usize, positions: usize) {
        match self.schema.attributes[attribute].kind {
            AttributeForm::Fixed(width) => {
                let start = self.starts[attribute];
                let (from, to) = (start + position * width, start + positions * width);
                self.bytes.copy_within(from..to, from + width);
            }
            AttributeForm::Variable => {
                let ends = self.ends_at(attribute);
                let begin = position.checked_sub(1).map_or(0, |before| self.span(attribute, before).end);
                self.bytes.copy_within(ends + 2 * position..ends + 2 * positions, ends + 2 * position + 2);
                self.set_raw_end(attribute, position, begin as u16);
            }
        }
        if self.schema.attributes[attribute].nullable {
            let (from, to) = (self.presence_at(attribute), self.starts[attribute + 1]);
            bit::open(&mut self.bytes[from..to], position, positions);
        }
    }

    /// Takes the place at `position` out.
    fn close_gap(&mut self, attribute: usize, position: usize, positions: usize) {
        match self.schema.attributes[attribute].kind {
            AttributeForm::Fixed(width) => {
                let start = self.starts[attribute];
                let (from, to) = (start + (position + 1) * width, start + positions * width);
                self.bytes.copy_within(from..to, from - width);
            }
            AttributeForm::Variable => {
                self.write_bytes(attribute, position, &[], 0);
                let ends = self.ends_at(attribute);
                self.bytes.copy_within(ends + 2 * position + 2..ends + 2 * positions, ends + 2 * position);
            }
        }
        if self.schema.attributes[attribute].nullable {
            let (from, to) = (self.presence_at(attribute), self.starts[attribute + 1]);
            bit::close(&mut self.bytes[from..to], position, positions);
        }
    }

    /// Writes a value to a place whose minipage has room for it.
    fn write(&mut self, attribute: usize, position: usize, field: &Field<'_>) {
        if self.schema.attributes[attribute].nullable {
            let at = self.presence_at(attribute);
            bit::set(&mut self.bytes[at..], position, *field != Field::Null);
        }
        match (self.schema.attributes[attribute].kind, field) {
            (AttributeForm::Fixed(width), field) => {
                let code = if let Field::Code(code) = field { *code } else { 0 };
                let at = self.starts[attribute] + position * width;
                self.bytes[at..at + width].copy_from_slice(&code.to_le_bytes()[..width]);
            }
            (AttributeForm::Variable, Field::Bytes(bytes)) => self.write_bytes(attribute, position, bytes, 0),
            (AttributeForm::Variable, Field::Overflow(reference)) => {
                self.write_bytes(attribute, position, &reference.to_bytes(), ELSEWHERE);
            }
            (AttributeForm::Variable, _) => self.write_bytes(attribute, position, &[], 0),
        }
    }

    /// Replaces the bytes of a value; those behind it move.
    fn write_bytes(&mut self, attribute: usize, position: usize, value: &[u8], flag: u16) {
        let (start, span) = (self.starts[attribute], self.span(attribute, position));
        let used = self.used_bytes(attribute);
        if value.len() != span.len() {
            let behind = start + span.end..start + used.max(span.end);
            self.bytes.copy_within(behind, start + span.start + value.len());
            for later in position + 1..self.positions() {
                let raw = self.raw_end(attribute, later);
                let end = usize::from(raw & !ELSEWHERE) + value.len() - span.len();
                self.set_raw_end(attribute, later, end as u16 | raw & ELSEWHERE);
            }
        }
        self.bytes[start + span.start..start + span.start + value.len()].copy_from_slice(value);
        self.set_raw_end(attribute, position, (span.start + value.len()) as u16 | flag);
    }

    /// Sizes all minipages anew, and drops the values of deleted records. False when what is needed does not fit.
    pub(super) fn reorganise(&mut self, need: &Need, average: &[f64]) -> bool {
        let Some(Frame { capacity, ids, starts }) = frame::plan(&self.schema, self.bytes.len(), need, average) else {
            return false;
        };
        let (bytes, schema) = (vec![0; self.bytes.len()], Arc::clone(&self.schema));
        let mut new = Self { bytes, head: self.head, schema, starts, reorganised: self.reorganised + 1 };
        (new.head.capacity, new.head.ids) = (capacity as u16, ids as u16);
        let live = frame::live_at(self.schema.attributes.len());
        let bits = bit::bytes(self.slots());
        new.bytes[live..live + bits].copy_from_slice(&self.bytes[live..live + bits]);
        for attribute in 0..self.schema.attributes.len() {
            match self.schema.attributes[attribute].kind {
                AttributeForm::Fixed(width) => {
                    let (from, to) = (self.codes(attribute, width), new.codes(attribute, width));
                    new.bytes[to].copy_from_slice(&self.bytes[from]);
                }
                AttributeForm::Variable => self.copy_values(attribute, &mut new),
            }
            if self.schema.attributes[attribute].nullable {
                let (from, to) = (self.presence_at(attribute), new.presence_at(attribute));
                let bytes = bit::bytes(self.positions());
                new.bytes[to..to + bytes].copy_from_slice(&self.bytes[from..from + bytes]);
            }
        }
        *self = new;
        true
    }

    /// Copies the values of a V-minipage, those of deleted records as empty ones.
    fn copy_values(&self, attribute: usize, new: &mut Self) {
        let (from, to) = (self.starts[attribute], new.starts[attribute]);
        if self.positions() == self.records() {
            let used = self.used_bytes(attribute);
            new.bytes[to..to + used].copy_from_slice(&self.bytes[from..from + used]);
            let (ends, new_ends, bytes) = (self.ends_at(attribute), new.ends_at(attribute), 2 * self.positions());
            new.bytes[new_ends..new_ends + bytes].copy_from_slice(&self.bytes[ends..ends + bytes]);
            return;
        }
        let mut end = 0;
        for position in 0..self.positions() {
            let mut flag = 0;
            if self.is_live(position) {
                let span = self.span(attribute, position);
                new.bytes[to + end..to + end + span.len()]
                    .copy_from_slice(&self.bytes[from + span.start..from + span.end]);
                end += span.len();
                flag = self.raw_end(attribute, position) & ELSEWHERE;
            }
            new.set_raw_end(attribute, position, end as u16 | flag);
        }
    }

    /// The page's bytes, with head, directory and checksums as they must be for commit `written`.
    pub fn seal(&mut self, written: u64) -> &[u8] {
        self.head.written = written;
        self.head.free = self.free() as u16;
        let (head, attributes) = (self.head, self.schema.attributes.len());
        head.write(&mut self.bytes);
        for attribute in 0..attributes {
            let (start, end) = (self.starts[attribute], self.starts[attribute + 1]);
            let class = self.schema.attributes[attribute].class();
            put_u16(&mut self.bytes, HEAD + 2 * attribute, start as u16 | class);
            let checksum = crc32c::crc32c(&self.bytes[start..end]);
            let at = self.checksum_at(attribute);
            self.bytes[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
            let nullable = self.schema.attributes[attribute].nullable;
            bit::set(&mut self.bytes[HEAD + 6 * attributes..], attribute, nullable);
        }
        let checksum = crc32c::crc32c(&self.bytes[4..self.starts[0]]);
        self.bytes[..4].copy_from_slice(&checksum.to_le_bytes());
        &self.bytes
    }
}

/// The bytes that a record takes at least in an empty page of its own; more than the page has when it fits none.
pub(crate) fn page_bytes(schema: &PageSchema, fields: &[Field<'_>]) -> usize {
    let used = fields.iter().map(Field::variable_bytes).collect();
    frame::least(schema, &Need { positions: 1, ids: 1, used })
}
