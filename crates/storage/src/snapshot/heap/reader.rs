//! A heap table at one commit: its pages are read in place in the map, under a read transaction of LMDB's that lives as long as
//! they are looked at.

use crate::lmdb::environment::Environment;
use crate::lmdb::heap_keys::PAGES;
use crate::lmdb::heap_record;
use crate::lmdb::heap_record::{HeapRecord, RecordId, free_bytes, place_of, record_id};
use crate::model::heap_options::HeapLayout;
use crate::model::view::ColumnView;
use crate::pages::attribute::{Field, OverflowReference, OwnedField, PageSchema};
use crate::pages::columns::gathered;
use crate::pages::head::Head;
use crate::pages::page::Page;
use crate::pages::shapes::PageSchemas;
use crate::snapshot::heap::kept_views::KeptViews;
use crate::snapshot::heap::overlay::Overlay;
use crate::snapshot::heap::page_source::PageSource;
use crate::snapshot::heap::pairs::{schemas_of_pairs, slot_of};
use crate::snapshot::heap::verified::{Checked, TablePages, Verified, once};
use crate::snapshot::pin::Pin;
use crate::{Datum, Error, Result, TableDefinition, TableId};
use arrow::buffer::Buffer;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Record ids of a DSM zone.
const ZONE_IDS: u64 = 1024;

/// A heap table at one commit.
#[derive(Debug)]
pub struct HeapReader {
    pub(crate) source: PageSource,
    definition: Arc<TableDefinition>,
    /// The commit that last changed the table.
    pub(crate) version: u64,
    heap: HeapRecord,
    schema: Arc<PageSchema>,
    /// NSM and PAX: the schemas of pages of each shape.
    pub(crate) schemas: PageSchemas,
    /// DSM: the schema of each attribute's relation.
    pairs: Vec<Arc<PageSchema>>,
    /// What was checked of an open transaction's copies. Their commits' numbers may be given again.
    copies: TablePages,
    pub(crate) views: KeptViews,
}

impl HeapReader {
    /// The table as `pin` sees it.
    pub(crate) fn open(verified: &Verified, pin: Pin, table: TableId) -> Result<Self> {
        let record = pin.read(|transaction| heap_record::heap_record(pin.environment(), transaction, table))?;
        let source = PageSource::new(verified, pin, record.1.prefix(table), record.0.name.to_string(), None);
        Ok(Self::of(source, Arc::new(record.0), record.1, record.2))
    }

    /// The table of that definition and record, which are those that `source` shows; `version` is the commit that last
    /// changed it.
    pub(crate) fn of(source: PageSource, definition: Arc<TableDefinition>, heap: HeapRecord, version: u64) -> Self {
        let schemas = PageSchemas::of(&definition, &heap.shapes);
        let schema = Arc::clone(schemas.current());
        let pairs = schemas_of_pairs(&schema, heap.options.layout);
        let (copies, views) = (TablePages::default(), KeptViews::default());
        Self { source, definition, version, heap, schema, schemas, pairs, copies, views }
    }

    /// What an open transaction has written, when the reader belongs to one that has.
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        self.source.overlay.as_deref()
    }

    /// Bytes of its pages that are free, about; `None` in dsm, whose pages have no map of free space.
    pub fn free_bytes(&self) -> Result<Option<u64>> {
        let (options, environment, table) = (self.heap.options, self.environment(), self.prefix());
        if options.layout == HeapLayout::Dsm {
            return Ok(None);
        }
        let free = self.pin().read(|transaction| free_bytes(environment, transaction, table, options.page_bytes))?;
        Ok(Some(free))
    }

    /// Bytes of its pages that are free, as their heads say, and all bytes of its pages.
    pub fn free_of_pages(&self) -> Result<(u64, u64)> {
        let attributes: Vec<u32> = match self.heap.options.layout {
            HeapLayout::Dsm => self.schema.attributes().iter().map(|own| own.column).collect(),
            HeapLayout::Nsm | HeapLayout::Pax => vec![PAGES],
        };
        let (mut free, mut all) = (0, 0);
        for attribute in attributes {
            self.source.each(attribute, 0..self.heap.end(attribute), |number, bytes| {
                let place = || place(self.environment(), &self.schema, attribute, number);
                free += u64::from(Head::parse(bytes, &place)?.free);
                all += bytes.len() as u64;
                Ok(())
            })?;
        }
        Ok((free, all))
    }

    /// The read transaction under which pages are read in place.
    pub(crate) fn pin(&self) -> &Pin {
        &self.source.pin
    }

    /// Lets go of what is kept for a query that is under way.
    pub(crate) fn rest(&self) {
        self.views.clear();
    }

    /// What was checked of the table as this reader sees it.
    pub(crate) fn checked(&self) -> &TablePages {
        if self.overlay().is_some() { &self.copies } else { &self.source.checked }
    }

    pub(crate) fn environment(&self) -> &Environment {
        self.source.pin.environment()
    }

    /// The table.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// What the catalog keeps of it.
    pub fn record(&self) -> &HeapRecord {
        &self.heap
    }

    /// What the keys of its pages and entries begin with.
    pub(crate) fn prefix(&self) -> TableId {
        self.heap.prefix(self.definition.id)
    }

    /// Its attributes.
    pub fn schema(&self) -> &PageSchema {
        &self.schema
    }

    /// Records, exact.
    pub fn rows(&self) -> u64 {
        self.heap.rows
    }

    /// The values of a record, in the order of the columns; `None` when there is none of that id.
    pub fn get(&self, id: RecordId) -> Result<Option<Vec<Datum>>> {
        let all: Vec<usize> = self.schema.places().collect();
        self.values(id, &all)
    }

    /// The values that a record has of the columns at these places among the table's; `None` when there is no record of that id.
    /// No page or minipage is touched but theirs.
    pub fn values(&self, id: RecordId, places: &[usize]) -> Result<Option<Vec<Datum>>> {
        let (number, slot) = place_of(id);
        match self.heap.options.layout {
            // The first relation tells whether there is a record.
            HeapLayout::Dsm if places.is_empty() => Ok(self.pair(0, id)?.map(|_| Vec::new())),
            HeapLayout::Dsm => places.iter().map(|at| self.pair(*at, id)).collect(),
            HeapLayout::Nsm | HeapLayout::Pax if number < self.heap.pages => {
                let Some((page, checked)) = self.find_page(PAGES, number)? else { return Ok(None) };
                self.verify(&page, &checked, number, places.iter().copied())?;
                let value = |at: &usize| self.datum(*at, page.field(slot, *at));
                page.is_live(slot).then(|| places.iter().map(value).collect()).transpose()
            }
            HeapLayout::Nsm | HeapLayout::Pax => Ok(None),
        }
    }

    /// DSM: the value that a record has of an attribute.
    fn pair(&self, attribute: usize, id: RecordId) -> Result<Option<Datum>> {
        let Some(page) = self.pair_page(self.schema.attributes()[attribute].column, id)? else { return Ok(None) };
        match slot_of(&page, id) {
            Ok(slot) => self.datum(attribute, page.field(slot, 1)).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn datum(&self, attribute: usize, field: Field<'_>) -> Result<Datum> {
        let own = &self.schema.attributes()[attribute];
        match field {
            Field::Overflow(reference) => own.datum(&Field::Bytes(&self.fetch(reference)?)),
            field => own.datum(&field),
        }
    }

    pub(crate) fn fetch(&self, reference: OverflowReference) -> Result<Vec<u8>> {
        self.source.long_value(reference)
    }

    /// Zones to read: a number of a page each, which may be gone, in DSM a run of record ids.
    pub fn zones(&self) -> u64 {
        match self.heap.options.layout {
            HeapLayout::Dsm => self.heap.next_record.div_ceil(ZONE_IDS),
            HeapLayout::Nsm | HeapLayout::Pax => self.heap.pages,
        }
    }

    /// A zone, of which nothing but the head of its page was looked at.
    pub(crate) fn zone(&self, zone: u64) -> Result<HeapZone<'_>> {
        Ok(match self.heap.options.layout {
            HeapLayout::Dsm => {
                let ids = zone * ZONE_IDS..(zone + 1) * ZONE_IDS;
                let mut found = Vec::new();
                let first = self.schema.attributes()[0].column;
                self.each_pair(first, ids.start, ids.end, |id, _| {
                    found.push(id);
                    Ok(())
                })?;
                HeapZone { reader: self, source: RecordSource::Ids(found) }
            }
            HeapLayout::Nsm | HeapLayout::Pax => {
                let source = match self.find_page(PAGES, zone)? {
                    Some((page, checked)) => RecordSource::Page(Box::new(page), zone, checked),
                    None => RecordSource::Ids(Vec::new()),
                };
                HeapZone { reader: self, source }
            }
        })
    }

    /// A page that must be there, in place, of whose minipages none was checked for this, and what was checked of it before.
    pub(crate) fn page(&self, attribute: u32, number: u64) -> Result<(Page<Buffer>, Arc<Checked>)> {
        let place = || place(self.environment(), &self.schema, attribute, number);
        self.find_page(attribute, number)?.ok_or_else(|| Error::corrupt(place(), "the page is missing"))
    }

    /// A page as [`page`](Self::page) gives it; `None` when it is gone.
    fn find_page(&self, attribute: u32, number: u64) -> Result<Option<(Page<Buffer>, Arc<Checked>)>> {
        let (environment, layout) = (self.environment(), self.heap.options.layout);
        let place = || place(environment, &self.schema, attribute, number);
        let Some((bytes, copied)) = self.source.page(attribute, number)? else { return Ok(None) };
        let head = Head::parse(&bytes, &place)?;
        let written = head.written;
        let schema = match layout {
            HeapLayout::Dsm => {
                let pairs = self.schema.attributes().iter().position(|own| own.column == attribute);
                pairs.map_or(&self.schema, |at| &self.pairs[at])
            }
            HeapLayout::Nsm | HeapLayout::Pax => self.schemas.of_page(&head, &place)?,
        };
        let known = if copied { &self.copies } else { &*self.source.checked };
        let checked = known.page(attribute, number, written, schema.attributes().len());
        let page = Page::open(layout, bytes, schema, !checked.head().load(Ordering::Acquire), &place)?;
        checked.head().store(true, Ordering::Release);
        Ok(Some((page, checked)))
    }

    /// A page that must be there, in place, all of which was checked.
    pub(crate) fn whole_page(&self, attribute: u32, number: u64) -> Result<Page<Buffer>> {
        let (page, checked) = self.page(attribute, number)?;
        self.verify_all(&page, &checked, number)?;
        Ok(page)
    }

    /// Checks all minipages of a PAX page.
    fn verify_all(&self, page: &Page<Buffer>, checked: &Checked, number: u64) -> Result<()> {
        let Page::Pax(page) = page else { return Ok(()) };
        let place = || place(self.environment(), &self.schema, PAGES, number);
        page.schema.places().try_for_each(|at| once(checked.minipage(at), || page.verify(at, &place)))
    }

    /// Checks the minipages of these attributes of the table in a PAX page.
    pub(super) fn verify(
        &self,
        page: &Page<Buffer>,
        checked: &Checked,
        number: u64,
        minipages: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let Page::Pax(page) = page else { return Ok(()) };
        let place = || place(self.environment(), &self.schema, PAGES, number);
        let mut placed = minipages.filter_map(|at| page.schema.place_of(at));
        placed.try_for_each(|at| once(checked.minipage(at), || page.verify(at, &place)))
    }

    /// The page of a relation that a record id belongs to.
    pub(crate) fn pair_page(&self, column: u32, id: RecordId) -> Result<Option<Page<Buffer>>> {
        self.source.last_up_to(column, id)?.map(|first| self.whole_page(column, first)).transpose()
    }

    /// Calls `visit` with the schema, number and bytes of each page of a relation, all checked before, that has record ids in
    /// `ids`.
    pub(crate) fn each_page_of_pairs(
        &self,
        column: u32,
        ids: Range<RecordId>,
        mut visit: impl FnMut(&PageSchema, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let first = self.source.last_up_to(column, ids.start)?.unwrap_or(ids.start);
        let Some(at) = self.schema.attributes().iter().position(|own| own.column == column) else { return Ok(()) };
        self.source
            .run(column, first..ids.end, None)?
            .iter()
            .try_for_each(|(number, page)| visit(&self.pairs[at], number, page))
    }

    /// Calls `visit` with the pairs of a relation whose record ids lie in `start..end`, ascending.
    pub(crate) fn each_pair(
        &self,
        column: u32,
        start: RecordId,
        end: RecordId,
        mut visit: impl FnMut(RecordId, Field<'_>) -> Result<()>,
    ) -> Result<()> {
        let first = self.source.last_up_to(column, start)?.unwrap_or(start);
        let mut firsts = Vec::new();
        self.source.each(column, first..end, |first, _| {
            firsts.push(first);
            Ok(())
        })?;
        for first in firsts {
            let page = self.whole_page(column, first)?;
            let from = slot_of(&page, start).unwrap_or_else(|before| before);
            for slot in from..page.slots() {
                let Field::Code(id) = page.field(slot, 0) else { continue };
                if id >= u128::from(end) {
                    return Ok(());
                }
                visit(id as RecordId, page.field(slot, 1))?;
            }
        }
        Ok(())
    }
}

/// A page of a table, or a run of record ids of a DSM table: a short segment to who reads it.
#[derive(Debug)]
pub(crate) struct HeapZone<'r> {
    reader: &'r HeapReader,
    source: RecordSource,
}

#[derive(Debug)]
enum RecordSource {
    Page(Box<Page<Buffer>>, u64, Arc<Checked>),
    Ids(Vec<RecordId>),
}

impl HeapZone<'_> {
    /// Rows of the zone's views.
    pub(crate) fn rows(&self) -> usize {
        match &self.source {
            RecordSource::Page(page, ..) => page.rows(),
            RecordSource::Ids(ids) => ids.len(),
        }
    }

    /// A bit for each row that is a record; `None` when all are.
    pub(crate) fn live_rows(&self) -> Option<Vec<u64>> {
        match &self.source {
            RecordSource::Page(page, ..) => page.live_rows(),
            RecordSource::Ids(_) => None,
        }
    }

    /// The record id of a row.
    pub(crate) fn id_of_row(&self, row: usize) -> RecordId {
        match &self.source {
            RecordSource::Page(page, number, _) => record_id(*number, page.slot_of_row(row)),
            RecordSource::Ids(ids) => ids[row],
        }
    }

    /// The view of an attribute, whose minipage or relation is looked at for it.
    pub(crate) fn view(&self, attribute: usize) -> Result<ColumnView> {
        let reader = self.reader;
        let fetch = |reference| reader.fetch(reference);
        match &self.source {
            RecordSource::Page(page, number, checked) => {
                reader.verify(page, checked, *number, [attribute].into_iter())?;
                page.column_view(&reader.schema.attributes()[attribute], attribute, &fetch)
            }
            RecordSource::Ids(ids) => {
                let own = &reader.schema.attributes()[attribute];
                let (start, end) = (ids.first().copied().unwrap_or(0), ids.last().map_or(0, |last| last + 1));
                let mut fields = Vec::with_capacity(ids.len());
                reader.each_pair(own.column, start, end, |id, field| {
                    if ids.get(fields.len()) != Some(&id) {
                        let place = format!("column '{}' of table {}", own.name, reader.schema.table);
                        return Err(Error::corrupt(place, format!("record {id} is not where other columns have it")));
                    }
                    fields.push(OwnedField::from(field));
                    Ok(())
                })?;
                if fields.len() != ids.len() {
                    let place = format!("column '{}' of table {}", own.name, reader.schema.table);
                    return Err(Error::corrupt(
                        place,
                        format!("{} of {} records from {start} on", fields.len(), ids.len()),
                    ));
                }
                gathered(own, ids.len(), fields.iter().map(OwnedField::field), &fetch)
            }
        }
    }
}

/// A page as people read of it: file, number, column and table.
pub(crate) fn place(environment: &Environment, schema: &PageSchema, attribute: u32, number: u64) -> String {
    let file = environment.folder().join("data.mdb");
    match schema.attributes().iter().find(|own| own.column == attribute) {
        Some(own) => format!("{}, page {number} of column '{}' of table {}", file.display(), own.name, schema.table),
        None => format!("{}, page {number} of table {}", file.display(), schema.table),
    }
}
