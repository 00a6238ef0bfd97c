//! NSM pages (section 2.1 and figure 5): whole records one behind the other, an array of slots that grows towards them from
//! the page's end.
//!
//! A record is its presence bits, the values of its fixed attributes, an array of offsets, and the bytes of its variable
//! attributes. A slot is the offset and the length of a record; a deleted record's slot is zero until it is used again.

pub(crate) mod edit;

use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{AttributeForm, Field, OverflowReference, PageSchema};
use crate::pages::bit;
use crate::pages::head::{HEAD, Head, u16_at, u32_at};
use crate::{Error, Result};
use std::ops::Deref;
use std::sync::Arc;

/// Bytes of a slot.
pub(crate) const SLOT: usize = 4;
/// In an end offset: the value lies elsewhere.
pub(crate) const ELSEWHERE: u16 = 1 << 15;

/// A slotted page, read in place, or changed where the bytes may be.
#[derive(Debug, Clone)]
pub struct NsmPage<B> {
    pub(crate) bytes: B,
    pub(crate) head: Head,
    pub(crate) schema: Arc<PageSchema>,
}

impl<B: Deref<Target = [u8]>> NsmPage<B> {
    /// Opens `bytes` as a page of `schema`, which for DSM is that of the pairs. Fails when they are none: by checksum, as
    /// far as `verify` asks for it, and in any case where an offset leads outside.
    pub fn open(bytes: B, schema: &Arc<PageSchema>, verify: bool, place: &dyn Fn() -> String) -> Result<Self> {
        let corrupt = |detail: String| Error::corrupt(place(), detail);
        let head = Head::parse(&bytes, place)?;
        let found = if verify { crc32c::crc32c(&bytes[4..]) } else { u32_at(&bytes, 0) };
        if found != u32_at(&bytes, 0) {
            return Err(corrupt(format!("checksum is {found:08x}, {:08x} was stored", u32_at(&bytes, 0))));
        }
        if head.layout == HeapLayout::Pax || usize::from(head.attributes) != schema.attributes.len() {
            return Err(corrupt(format!("a page of layout {:?} with {} attributes", head.layout, head.attributes)));
        }
        let page = Self { bytes, head, schema: Arc::clone(schema) };
        let (top, slots) = (page.top(), page.slots());
        if top < HEAD || top + SLOT * slots > page.bytes.len() {
            return Err(corrupt(format!("{slots} slots and records up to byte {top} do not fit it")));
        }
        let (mut live, mut used) = (0, 0);
        for slot in 0..slots {
            let (start, length) = page.slot(slot);
            if start == 0 {
                continue;
            }
            let least = schema.fixed_bytes + 2 * schema.variables;
            if start < HEAD || start + length > top || length < least {
                return Err(corrupt(format!("slot {slot}: a record of {length} bytes at {start}")));
            }
            page.ends(start, length).map_err(|detail| corrupt(format!("slot {slot}: {detail}")))?;
            live += 1;
            used += length;
        }
        if live != page.records() || used + page.garbage() != top - HEAD {
            return Err(corrupt(format!("{live} records in {used} bytes, the head says otherwise")));
        }
        Ok(page)
    }

    /// Checks that the ends of the variable values of a record ascend and lie in it.
    fn ends(&self, start: usize, length: usize) -> Result<(), String> {
        let mut before = self.schema.fixed_bytes + 2 * self.schema.variables;
        for variable in 0..self.schema.variables {
            let raw = u16_at(&self.bytes, start + self.schema.fixed_bytes + 2 * variable);
            let end = usize::from(raw & !ELSEWHERE);
            let reference = raw & ELSEWHERE != 0;
            if end < before || end > length || (reference && end - before != OverflowReference::BYTES) {
                return Err(format!("value {variable} ends at {end}, after {before}, in {length} bytes"));
            }
            before = end;
        }
        Ok(())
    }

    /// Live records.
    pub fn records(&self) -> usize {
        self.head.records.into()
    }

    /// Slots, those of deleted records among them.
    pub fn slots(&self) -> usize {
        self.head.slots.into()
    }

    /// Bytes that are free, wherever they lie.
    pub fn free(&self) -> usize {
        self.bytes.len() - SLOT * self.slots() - self.top() + self.garbage()
    }

    /// Where the area of records ends.
    pub(crate) fn top(&self) -> usize {
        self.head.capacity.into()
    }

    /// Bytes before it that no record uses.
    pub(crate) fn garbage(&self) -> usize {
        self.head.ids.into()
    }

    /// Where the record of a slot begins, and its length; 0 and 0 when it was deleted.
    pub(crate) fn slot(&self, slot: usize) -> (usize, usize) {
        let at = self.bytes.len() - SLOT * (slot + 1);
        (u16_at(&self.bytes, at).into(), u16_at(&self.bytes, at + 2).into())
    }

    /// Whether the slot has a record.
    pub fn is_live(&self, slot: usize) -> bool {
        slot < self.slots() && self.slot(slot).0 != 0
    }

    /// One attribute of the record of a live slot.
    pub fn field(&self, slot: usize, attribute: usize) -> Field<'_> {
        let (start, length) = self.slot(slot);
        field_of(&self.schema, &self.bytes[start..start + length], attribute).expect("ends that were checked")
    }
}

/// One attribute of a record; `None` when it leads out of the record, as none does whose ends were checked.
pub(crate) fn field_of<'p>(schema: &PageSchema, record: &'p [u8], attribute: usize) -> Option<Field<'p>> {
    let fixed = record.get(..schema.fixed_bytes)?;
    if schema.presence[attribute].is_some_and(|presence| !bit::get(fixed, presence)) {
        return Some(Field::Null);
    }
    let place = schema.places[attribute];
    match schema.attributes[attribute].kind {
        AttributeForm::Fixed(width) => {
            let mut code = [0; 16];
            code[..width].copy_from_slice(&fixed[place..place + width]);
            Some(Field::Code(u128::from_le_bytes(code)))
        }
        AttributeForm::Variable => {
            let ends = record.get(schema.fixed_bytes..schema.fixed_bytes + 2 * schema.variables)?;
            let start = match place {
                0 => schema.fixed_bytes + ends.len(),
                _ => usize::from(u16_at(ends, 2 * (place - 1)) & !ELSEWHERE),
            };
            let end = u16_at(ends, 2 * place);
            let bytes = record.get(start..usize::from(end & !ELSEWHERE))?;
            Some(match OverflowReference::parse(bytes).filter(|_| end & ELSEWHERE != 0) {
                Some(reference) => Field::Overflow(reference),
                None => Field::Bytes(bytes),
            })
        }
    }
}
