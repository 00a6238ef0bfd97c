//! A page of either kind: what the table does with it, whatever its layout.

use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{Field, OwnedField, PageSchema};
use crate::pages::field_column::FieldColumn;
use crate::pages::head::{HEAD, Head, u16_at, u32_at};
use crate::pages::nsm::NsmPage;
use crate::pages::pax::PaxPage;
use crate::{Error, Result, TableId};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// What became of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// The record has its new values.
    Done,
    /// It has outgrown its page, which is as it was: the caller must move it.
    Outgrown,
}

/// A page of whole records or of minipages.
#[derive(Debug, Clone)]
pub enum Page<B> {
    /// NSM, or DSM's pairs.
    Nsm(NsmPage<B>),
    /// PAX.
    Pax(PaxPage<B>),
}

/// Calls a method that both kinds of pages have.
macro_rules! either {
    ($page:expr, $inner:ident => $call:expr) => {
        match $page {
            Page::Nsm($inner) => $call,
            Page::Pax($inner) => $call,
        }
    };
}

impl<B: Deref<Target = [u8]>> Page<B> {
    /// Opens `bytes` as a page of a table of this layout. A PAX page's minipages are verified one by one, by
    /// [`PaxPage::verify`].
    pub fn open(
        layout: HeapLayout,
        bytes: B,
        schema: &Arc<PageSchema>,
        verify: bool,
        place: &dyn Fn() -> String,
    ) -> Result<Self> {
        Ok(match layout {
            HeapLayout::Pax => Self::Pax(PaxPage::open(bytes, schema, verify, place)?),
            HeapLayout::Nsm | HeapLayout::Dsm => Self::Nsm(NsmPage::open(bytes, schema, verify, place)?),
        })
    }

    /// Live records.
    pub fn records(&self) -> usize {
        either!(self, page => page.records())
    }

    /// Slots given out, those of deleted records among them.
    pub fn slots(&self) -> usize {
        either!(self, page => page.slots())
    }

    /// What the page's head says of its place: table, column (of DSM alone) and number.
    pub(crate) fn key(&self) -> (TableId, u32, u64) {
        let head = either!(self, page => &page.head);
        let column = if head.layout == HeapLayout::Dsm { head.column } else { PAGES };
        (head.table, column, head.number)
    }

    /// Whether the slot has a record.
    pub fn is_live(&self, slot: usize) -> bool {
        either!(self, page => page.is_live(slot))
    }

    /// Bytes that are free.
    pub fn free(&self) -> usize {
        either!(self, page => page.free())
    }

    /// One attribute of the record of a live slot, by its place among the table's.
    pub fn field(&self, slot: usize, attribute: usize) -> Field<'_> {
        match self.schema().place_of(attribute) {
            Some(place) => either!(self, page => page.field(slot, place)),
            None => self.schema().initial(attribute),
        }
    }

    /// What the record of a live slot has of columns that were dropped.
    pub(crate) fn dropped_fields(&self, slot: usize) -> Vec<OwnedField> {
        let dropped = self.schema().places().filter(|place| self.schema().is_dropped(*place));
        dropped.map(|place| either!(self, page => page.field(slot, place)).into()).collect()
    }

    /// The schema of the page.
    pub(crate) fn schema(&self) -> &PageSchema {
        either!(self, page => &page.schema)
    }
}

/// The attribute of the keys of NSM and PAX pages.
pub(crate) const PAGES: u32 = 0;

impl Page<Vec<u8>> {
    /// Adds a record; `None` when the page has no room for it: one that was made for other columns has none for any.
    pub fn insert(&mut self, fields: &[Field<'_>]) -> Result<Option<usize>> {
        if self.schema().sources.is_some() {
            return Ok(None);
        }
        match self {
            Self::Nsm(page) => page.insert(fields),
            Self::Pax(page) => page.insert(fields, 0),
        }
    }

    /// Adds as many of the records `rows` as fit behind those of a page without deleted ones, and returns their number.
    pub(crate) fn append_rows(&mut self, columns: &[FieldColumn], rows: Range<usize>, threshold: u8) -> Result<usize> {
        if self.schema().sources.is_some() {
            return Ok(0);
        }
        match self {
            Self::Nsm(page) => page.append_rows(columns, rows),
            Self::Pax(page) => Ok(page.append(columns, rows, threshold)),
        }
    }

    /// Changes attributes of a live record. It outgrows a page that has not all of them, or no NULLs where one is to be.
    pub fn update(&mut self, slot: usize, changes: &[(usize, Field<'_>)]) -> Result<Update> {
        if self.schema().sources.is_none() {
            return either!(self, page => page.update(slot, changes));
        }
        let placed = changes.iter().map(|(attribute, field)| {
            let place = self.schema().place_of(*attribute)?;
            let fits = *field != Field::Null || self.schema().attributes[place].nullable;
            fits.then_some((place, *field))
        });
        let Some(placed) = placed.collect::<Option<Vec<_>>>() else { return Ok(Update::Outgrown) };
        either!(self, page => page.update(slot, &placed))
    }

    /// Deletes a live record.
    pub fn delete(&mut self, slot: usize) {
        either!(self, page => page.delete(slot));
    }

    /// The page's bytes, as they must be for commit `written`.
    pub fn seal(&mut self, written: u64) -> &[u8] {
        either!(self, page => page.seal(written))
    }
}

/// What a page says of itself when it gets another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Renumbered {
    /// Live records.
    pub records: u64,
    /// Bytes that are free.
    pub free: usize,
}

/// Gives a sealed NSM or PAX page another place, (table, number), and commit, and the shape that its columns are there. Fails when it is damaged, as its checksums tell.
pub(crate) fn renumber(
    bytes: &mut [u8],
    (table, number, written): (TableId, u64, u64),
    shape: u32,
    place: &dyn Fn() -> String,
) -> Result<Renumbered> {
    let head = Head::parse(bytes, place)?;
    let require = |part: Option<&[u8]>, stored: u32| match part.map(crc32c::crc32c) {
        Some(found) if found == stored => Ok(()),
        Some(found) => Err(Error::corrupt(place(), format!("checksum is {found:08x}, {stored:08x} was stored"))),
        None => Err(Error::corrupt(place(), "its parts don't lie in it")),
    };
    // Minipages have checksums of their own.
    let attributes = usize::from(head.attributes);
    let end = match head.layout {
        HeapLayout::Pax if bytes.len() < HEAD + 6 * attributes => 0,
        HeapLayout::Pax => usize::from(u16_at(bytes, HEAD) & !7),
        HeapLayout::Nsm | HeapLayout::Dsm => bytes.len(),
    };
    require(bytes.get(4..end).filter(|_| end >= HEAD), u32_at(bytes, 0))?;
    if head.layout == HeapLayout::Pax {
        let start =
            |at: usize| if at < attributes { usize::from(u16_at(bytes, HEAD + 2 * at) & !7) } else { bytes.len() };
        for at in 0..attributes {
            require(bytes.get(start(at)..start(at + 1)), u32_at(bytes, HEAD + 2 * attributes + 4 * at))?;
        }
    }
    Head { table, number, written, column: shape, ..head }.write(bytes);
    let checksum = crc32c::crc32c(&bytes[4..end]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    Ok(Renumbered { records: head.records.into(), free: head.free.into() })
}
