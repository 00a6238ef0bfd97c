//! PAX pages (section 3.2, figure 4): a minipage for each attribute.
//!
//! An F-minipage holds the codes of a fixed attribute one behind the other, a V-minipage the bytes of a variable one; behind
//! them come a V-minipage's end offsets, and the presence bits of a nullable attribute. All minipages of a page have places
//! for the same number of records. A record id is a slot; under `compact` its index in the minipages is its rank among the
//! live slots, under `defer` the slot itself. A NULL keeps its place: see docs/decisions/0027-heap-pages.md.

pub(crate) mod borrow;
pub(crate) mod edit;
pub(crate) mod fill;
pub(crate) mod frame;

use crate::model::heap_options::{Deletes, HeapLayout};
use crate::pages::attribute::{AttributeForm, Field, OverflowReference, PageSchema};
use crate::pages::bit;
use crate::pages::head::{HEAD, Head, put_u16, u16_at, u32_at};
use crate::pages::nsm::ELSEWHERE;
use crate::pages::pax::frame::Need;
use crate::{Error, Result};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A page of minipages, read in place, or changed where the bytes may be.
#[derive(Debug, Clone)]
pub struct PaxPage<B> {
    pub(crate) bytes: B,
    pub(crate) head: Head,
    pub(crate) schema: Arc<PageSchema>,
    /// The begin of each minipage, and the end of the page.
    starts: Vec<usize>,
    /// How often the minipages were sized anew since the page was opened or made.
    reorganised: u32,
}

impl<B: Deref<Target = [u8]>> PaxPage<B> {
    /// Opens `bytes` as a page of `schema`. Fails when it is none: by the checksum of all that lies before the minipages,
    /// as far as `verify` asks for it, and in any case where a minipage would lie outside or be too small. The minipages
    /// that are read are to be checked by [`Self::verify`] first.
    pub fn open(bytes: B, schema: &Arc<PageSchema>, verify: bool, place: &dyn Fn() -> String) -> Result<Self> {
        let corrupt = |detail: String| Error::corrupt(place(), detail);
        let head = Head::parse(&bytes, place)?;
        let attributes = schema.attributes.len();
        if head.layout != HeapLayout::Pax || usize::from(head.attributes) != attributes {
            return Err(corrupt(format!("a page of layout {:?} with {} attributes", head.layout, head.attributes)));
        }
        let directory = frame::directory(attributes, head.ids.into());
        if directory > bytes.len() {
            return Err(corrupt(format!("{attributes} attributes and {} record ids do not fit it", head.ids)));
        }
        let mut starts = Vec::with_capacity(attributes + 1);
        for (at, own) in schema.attributes.iter().enumerate() {
            let word = u16_at(&bytes, HEAD + 2 * at);
            let (start, class) = (usize::from(word & !7), word & 7);
            let after = starts.last().copied().unwrap_or(directory);
            let nullable = bit::get(&bytes[HEAD + 6 * attributes..], at);
            let misplaced = own.kind == AttributeForm::Fixed(16) && !start.is_multiple_of(16);
            if class != own.class() || nullable != own.nullable || misplaced || start < after {
                return Err(corrupt(format!(
                    "minipage {at} (column '{}'): class {class}, nullable {nullable}, begins at {start} after {after}",
                    own.name
                )));
            }
            starts.push(start);
        }
        starts.push(bytes.len());
        let page = Self { bytes, head, schema: Arc::clone(schema), starts, reorganised: 0 };
        let first = page.starts[0];
        if first > page.bytes.len() {
            return Err(corrupt(format!("minipage 0 begins at {first}")));
        }
        let found = if verify { crc32c::crc32c(&page.bytes[4..first]) } else { u32_at(&page.bytes, 0) };
        if found != u32_at(&page.bytes, 0) {
            return Err(corrupt(format!("checksum is {found:08x}, {:08x} was stored", u32_at(&page.bytes, 0))));
        }
        page.check_sizes().map_err(corrupt)?;
        Ok(page)
    }

    /// Checks that minipages have the places that the head says, and the counts that the bitmap does.
    fn check_sizes(&self) -> Result<(), String> {
        for attribute in 0..self.schema.attributes.len() {
            let (start, end) = (self.starts[attribute], self.starts[attribute + 1]);
            let least = frame::least_bytes(&self.schema, attribute, self.capacity());
            if end < start || end - start < least {
                return Err(format!("minipage {attribute}: from {start} to {end}, {least} bytes are needed"));
            }
        }
        let (records, slots, ids) = (self.records(), self.slots(), usize::from(self.head.ids));
        if slots > ids || self.positions() > self.capacity() || records != bit::rank(self.live_bits(), slots) {
            return Err(format!("{records} records in {slots} of {ids} slots, {} places", self.capacity()));
        }
        Ok(())
    }

    /// Checks a minipage: its checksum, and that the ends of its values ascend and lie in it.
    pub fn verify(&self, attribute: usize, place: &dyn Fn() -> String) -> Result<()> {
        let corrupt = |detail: String| {
            let name = &self.schema.attributes[attribute].name;
            Err(Error::corrupt(place(), format!("minipage {attribute} (column '{name}'): {detail}")))
        };
        let found = crc32c::crc32c(&self.bytes[self.starts[attribute]..self.starts[attribute + 1]]);
        let stored = u32_at(&self.bytes, self.checksum_at(attribute));
        if found != stored {
            return corrupt(format!("checksum is {found:08x}, {stored:08x} was stored"));
        }
        if self.schema.attributes[attribute].kind == AttributeForm::Variable {
            let mut before = 0;
            for position in 0..self.positions() {
                let raw = self.raw_end(attribute, position);
                let end = usize::from(raw & !ELSEWHERE);
                let misfit = raw & ELSEWHERE != 0 && end - before.min(end) != OverflowReference::BYTES;
                if end < before || end > self.heap_bytes(attribute) || misfit {
                    return corrupt(format!("value {position} ends at {end}, the one before at {before}"));
                }
                before = end;
            }
        }
        Ok(())
    }

    /// Live records.
    pub fn records(&self) -> usize {
        self.head.records.into()
    }

    /// Slots given out, those of deleted records among them.
    pub fn slots(&self) -> usize {
        self.head.slots.into()
    }

    /// What deletions do.
    pub fn deletes(&self) -> Deletes {
        self.head.deletes
    }

    /// Places that each minipage has.
    pub fn capacity(&self) -> usize {
        self.head.capacity.into()
    }

    /// Places that are taken: those of live records, and under `defer` those of deleted ones too.
    pub fn positions(&self) -> usize {
        match self.head.deletes {
            Deletes::Compact => self.records(),
            Deletes::Defer => self.slots(),
        }
    }

    /// Whether the slot has a record.
    pub fn is_live(&self, slot: usize) -> bool {
        slot < self.slots() && bit::get(self.live_bits(), slot)
    }

    /// The bitmap of live records, a bit for each slot.
    pub fn live_bits(&self) -> &[u8] {
        let at = frame::live_at(self.schema.attributes.len());
        &self.bytes[at..at + bit::bytes(self.head.ids.into())]
    }

    /// The place in the minipages of a slot's record: for a live slot its index among the live ones.
    pub fn position(&self, slot: usize) -> usize {
        if self.head.deletes == Deletes::Defer || self.records() == self.slots() {
            slot
        } else {
            bit::rank(self.live_bits(), slot)
        }
    }

    /// The slot of the record at a place.
    pub fn slot_of(&self, position: usize) -> usize {
        if self.head.deletes == Deletes::Defer || self.records() == self.slots() {
            position
        } else {
            bit::select(self.live_bits(), self.slots(), position).unwrap_or(position)
        }
    }

    /// How often the minipages were sized anew since the page was opened or made.
    pub fn reorganised(&self) -> u32 {
        self.reorganised
    }

    /// Bytes that are free, wherever they lie.
    pub fn free(&self) -> usize {
        let used = (0..self.schema.attributes.len()).map(|attribute| self.live_bytes(attribute)).collect();
        let need = Need { positions: self.positions(), ids: self.slots(), used };
        self.bytes.len().saturating_sub(frame::least(&self.schema, &need))
    }

    /// One attribute of the record of a live slot.
    pub fn field(&self, slot: usize, attribute: usize) -> Field<'_> {
        self.field_at(self.position(slot), attribute)
    }

    /// One attribute of the record at a place.
    pub(crate) fn field_at(&self, position: usize, attribute: usize) -> Field<'_> {
        let own = &self.schema.attributes[attribute];
        if own.nullable && !bit::get(self.presence(attribute), position) {
            return Field::Null;
        }
        match own.kind {
            AttributeForm::Fixed(width) => {
                let mut code = [0; 16];
                let at = self.starts[attribute] + position * width;
                code[..width].copy_from_slice(&self.bytes[at..at + width]);
                Field::Code(u128::from_le_bytes(code))
            }
            AttributeForm::Variable => {
                let span = self.span(attribute, position);
                let start = self.starts[attribute];
                // Ends that `verify` refuses give an empty value here rather than a panic.
                let bytes = self.bytes.get(start + span.start..start + span.end).unwrap_or_default();
                let elsewhere = self.raw_end(attribute, position) & ELSEWHERE != 0;
                match OverflowReference::parse(bytes).filter(|_| elsewhere) {
                    Some(reference) => Field::Overflow(reference),
                    None => Field::Bytes(bytes),
                }
            }
        }
    }

    /// Where a minipage begins; behind the last one, where the page ends.
    pub(crate) fn start(&self, attribute: usize) -> usize {
        self.starts[attribute]
    }

    /// The bytes of the codes of an F-minipage's places that are taken.
    pub(crate) fn codes(&self, attribute: usize, width: usize) -> Range<usize> {
        let start = self.starts[attribute];
        start..start + self.positions() * width
    }

    /// The part of a V-minipage that values lie in.
    pub(crate) fn heap(&self, attribute: usize) -> Range<usize> {
        let start = self.starts[attribute];
        start..start + self.heap_bytes(attribute)
    }

    /// The presence bits of a nullable attribute.
    pub(crate) fn presence(&self, attribute: usize) -> &[u8] {
        &self.bytes[self.presence_at(attribute)..self.starts[attribute + 1]]
    }

    /// Where presence bits begin: at the end of the minipage, and nowhere for an attribute that has none.
    pub(crate) fn presence_at(&self, attribute: usize) -> usize {
        let nullable = self.schema.attributes[attribute].nullable;
        self.starts[attribute + 1] - if nullable { bit::bytes(self.capacity()) } else { 0 }
    }

    /// Where the end offsets of a V-minipage begin.
    pub(crate) fn ends_at(&self, attribute: usize) -> usize {
        self.presence_at(attribute) - 2 * self.capacity()
    }

    /// Bytes that a V-minipage has for values.
    fn heap_bytes(&self, attribute: usize) -> usize {
        self.ends_at(attribute) - self.starts[attribute]
    }

    /// An end offset with its flag.
    pub(crate) fn raw_end(&self, attribute: usize, position: usize) -> u16 {
        u16_at(&self.bytes, self.ends_at(attribute) + 2 * position)
    }

    /// The bytes of a value, counted from the begin of the minipage.
    pub(crate) fn span(&self, attribute: usize, position: usize) -> Range<usize> {
        let end = |position| usize::from(self.raw_end(attribute, position) & !ELSEWHERE);
        let start = position.checked_sub(1).map_or(0, end);
        start..end(position)
    }

    /// Bytes of a V-minipage that values take, deleted ones among them; 0 of an F-minipage.
    pub(crate) fn used_bytes(&self, attribute: usize) -> usize {
        match (self.schema.attributes[attribute].kind, self.positions().checked_sub(1)) {
            (AttributeForm::Variable, Some(last)) => self.span(attribute, last).end,
            _ => 0,
        }
    }

    /// Bytes of a V-minipage that values of live records take.
    fn live_bytes(&self, attribute: usize) -> usize {
        if self.positions() == self.records() || self.schema.attributes[attribute].kind != AttributeForm::Variable {
            return self.used_bytes(attribute);
        }
        let live = (0..self.positions()).filter(|slot| self.is_live(*slot));
        live.map(|position| self.span(attribute, position).len()).sum()
    }

    fn checksum_at(&self, attribute: usize) -> usize {
        HEAD + 2 * self.schema.attributes.len() + 4 * attribute
    }
}

impl PaxPage<Vec<u8>> {
    fn set_raw_end(&mut self, attribute: usize, position: usize, end: u16) {
        let at = self.ends_at(attribute) + 2 * position;
        put_u16(&mut self.bytes, at, end);
    }

    fn set_live(&mut self, slot: usize, live: bool) {
        let at = frame::live_at(self.schema.attributes.len());
        bit::set(&mut self.bytes[at..], slot, live);
    }
}
