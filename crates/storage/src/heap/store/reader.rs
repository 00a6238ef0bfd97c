//! A heap table at one commit: its pages are read in place in the map, under a read transaction of LMDB's that lives as long as
//! they are looked at.

use super::keys::{OVERFLOW, PAGES, key, parse};
use super::pairs::slot_of;
use super::verified::{Checked, TablePages, once};
use super::{HeapRecord, RecordId, place_of, record_id};
use crate::catalog::environment::{Environment, Name};
use crate::catalog::{Store, heap, values};
use crate::heap::attribute::{Field, OverflowReference, PageSchema};
use crate::heap::columns::gathered;
use crate::heap::head::{Head, HeapLayout};
use crate::heap::page::Page;
use crate::io::lmdb::ReadPin;
use crate::view::ColumnView;
use crate::{Datum, Error, Result, TableDefinition, TableId};
use arrow::buffer::Buffer;
use heed::RoTxn;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Record ids of a DSM zone.
const ZONE_IDS: u64 = 1024;

/// A heap table at one commit.
#[derive(Debug)]
pub struct HeapReader {
    pub(super) pin: Arc<ReadPin>,
    pub(super) store: Arc<Store>,
    definition: Arc<TableDefinition>,
    /// The commit that last changed the table.
    pub(super) version: u64,
    heap: HeapRecord,
    schema: Arc<PageSchema>,
    /// DSM: the schema of each attribute's relation.
    pairs: Vec<Arc<PageSchema>>,
    pub(super) checked: Arc<TablePages>,
}

impl HeapReader {
    /// The table as `pin` sees it.
    pub(crate) fn open(store: Arc<Store>, pin: Arc<ReadPin>, table: TableId) -> Result<Self> {
        let record = pin.read(|transaction| heap::heap_record(&store, transaction, table))?;
        Ok(Self::of(store, pin, Arc::new(record.0), record.1, record.2))
    }

    /// The table of that definition and record, which are those that `pin` sees; `version` is the commit that last changed
    /// it.
    pub(crate) fn of(
        store: Arc<Store>,
        pin: Arc<ReadPin>,
        definition: Arc<TableDefinition>,
        heap: HeapRecord,
        version: u64,
    ) -> Self {
        let schema = Arc::new(PageSchema::new(&definition));
        let pairs = (0..schema.attributes().len()).map(|at| Arc::new(schema.of_pairs(at))).collect();
        let checked = store.verified.table(definition.id);
        Self { pin, store, definition, version, heap, schema, pairs, checked }
    }

    /// The table.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// What the catalog keeps of it.
    pub fn record(&self) -> &HeapRecord {
        &self.heap
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
        let mut values = Vec::with_capacity(self.schema.attributes().len());
        let (number, slot) = place_of(id);
        let whole = match self.heap.options.layout {
            HeapLayout::Dsm => None,
            _ if number >= self.heap.pages => return Ok(None),
            _ => Some(self.whole_page(PAGES, number)?),
        };
        for (attribute, own) in self.schema.attributes().iter().enumerate() {
            let value = match &whole {
                Some(page) if page.is_live(slot) => self.datum(attribute, page.field(slot, attribute))?,
                Some(_) => return Ok(None),
                None => {
                    let Some(page) = self.pair_page(own.column, id)? else { return Ok(None) };
                    let Ok(slot) = slot_of(&page, id) else { return Ok(None) };
                    self.datum(attribute, page.field(slot, 1))?
                }
            };
            values.push(value);
        }
        Ok(Some(values))
    }

    fn datum(&self, attribute: usize, field: Field<'_>) -> Result<Datum> {
        let own = &self.schema.attributes()[attribute];
        match field {
            Field::Overflow(reference) => own.datum(&Field::Bytes(&self.fetch(reference)?)),
            field => own.datum(&field),
        }
    }

    pub(super) fn fetch(&self, reference: OverflowReference) -> Result<Vec<u8>> {
        let (environment, name) = (&self.store.environment, &self.schema.table);
        self.pin.read(|transaction| overflow(environment, transaction, name, self.definition.id, reference))
    }

    /// Zones to read: a page each, in DSM a run of record ids.
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
                HeapZone { reader: self, source: Source::Ids(found) }
            }
            HeapLayout::Nsm | HeapLayout::Pax => {
                let (page, checked) = self.page(PAGES, zone)?;
                HeapZone { reader: self, source: Source::Page(Box::new(page), zone, checked) }
            }
        })
    }

    /// A page, in place, of whose minipages none was checked for this, and what was checked of it before.
    pub(super) fn page(&self, attribute: u32, number: u64) -> Result<(Page<Buffer>, Arc<Checked>)> {
        let (environment, layout) = (&self.store.environment, self.heap.options.layout);
        let place = || place(environment, &self.schema, attribute, number);
        let key = key(self.definition.id, attribute, number);
        let found = self.pin.get(environment.values(Name::Heap)?, &key).map_err(environment.failed("reading"))?;
        let bytes = found.ok_or_else(|| Error::corrupt(place(), "the page is missing"))?;
        let bytes = Buffer::from(bytes::Bytes::from_owner(bytes));
        let pairs = self.schema.attributes().iter().position(|own| own.column == attribute);
        let schema = pairs.filter(|_| layout == HeapLayout::Dsm).map_or(&self.schema, |at| &self.pairs[at]);
        let written = Head::parse(&bytes, &place)?.written;
        let checked = self.checked.page(attribute, number, written, schema.attributes().len());
        let page = Page::open(layout, bytes, schema, !checked.head().load(Ordering::Acquire), &place)?;
        checked.head().store(true, Ordering::Release);
        Ok((page, checked))
    }

    /// A page, in place, all of which was checked.
    pub(super) fn whole_page(&self, attribute: u32, number: u64) -> Result<Page<Buffer>> {
        let (page, checked) = self.page(attribute, number)?;
        if let Page::Pax(page) = &page {
            let place = || place(&self.store.environment, &self.schema, attribute, number);
            (0..self.schema.attributes().len())
                .try_for_each(|attribute| once(checked.minipage(attribute), || page.verify(attribute, &place)))?;
        }
        Ok(page)
    }

    /// The key of the last page of a relation whose first record id is not beyond `id`.
    fn pair_key(&self, column: u32, id: RecordId) -> Result<Option<u64>> {
        let environment = &self.store.environment;
        let (values, wanted) = (environment.values(Name::Heap)?, key(self.definition.id, column, id));
        self.pin.read(|transaction| {
            let found =
                values.get_lower_than_or_equal_to(transaction, &wanted).map_err(environment.failed("reading"))?;
            let found = found.and_then(|(key, _)| parse(key));
            Ok(found.filter(|(table, own, _)| (*table, *own) == (self.definition.id, column)).map(|(.., first)| first))
        })
    }

    /// The page of a relation that a record id belongs to.
    pub(super) fn pair_page(&self, column: u32, id: RecordId) -> Result<Option<Page<Buffer>>> {
        self.pair_key(column, id)?.map(|first| self.whole_page(column, first)).transpose()
    }

    /// Calls `visit` with the pairs of a relation whose record ids lie in `start..end`, ascending.
    pub(super) fn each_pair(
        &self,
        column: u32,
        start: RecordId,
        end: RecordId,
        mut visit: impl FnMut(RecordId, Field<'_>) -> Result<()>,
    ) -> Result<()> {
        let environment = &self.store.environment;
        let first = self.pair_key(column, start)?.unwrap_or(start);
        let (from, to) = (key(self.definition.id, column, first), key(self.definition.id, column, end));
        let values = environment.values(Name::Heap)?;
        let firsts: Vec<u64> = self.pin.read(|transaction| {
            let failed = environment.failed("reading");
            let range =
                values.range(transaction, &(Bound::Included(&from[..]), Bound::Excluded(&to[..]))).map_err(&failed)?;
            let numbers = range.map(|entry| entry.map(|(key, _)| parse(key).map_or(0, |(.., first)| first)));
            numbers.collect::<heed::Result<_>>().map_err(failed)
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
    source: Source,
}

#[derive(Debug)]
enum Source {
    Page(Box<Page<Buffer>>, u64, Arc<Checked>),
    Ids(Vec<RecordId>),
}

impl HeapZone<'_> {
    /// Rows of the zone's views.
    pub(crate) fn rows(&self) -> usize {
        match &self.source {
            Source::Page(page, ..) => page.rows(),
            Source::Ids(ids) => ids.len(),
        }
    }

    /// A bit for each row that is a record; `None` when all are.
    pub(crate) fn live_rows(&self) -> Option<Vec<u64>> {
        match &self.source {
            Source::Page(page, ..) => page.live_rows(),
            Source::Ids(_) => None,
        }
    }

    /// The record id of a row.
    pub(crate) fn id_of_row(&self, row: usize) -> RecordId {
        match &self.source {
            Source::Page(page, number, _) => record_id(*number, page.slot_of_row(row)),
            Source::Ids(ids) => ids[row],
        }
    }

    /// The view of an attribute, whose minipage or relation is looked at for it.
    pub(crate) fn view(&self, attribute: usize) -> Result<ColumnView> {
        let reader = self.reader;
        let fetch = |reference| reader.fetch(reference);
        match &self.source {
            Source::Page(page, number, checked) => {
                let place = || place(&reader.store.environment, &reader.schema, PAGES, *number);
                if let Page::Pax(page) = &**page {
                    once(checked.minipage(attribute), || page.verify(attribute, &place))?;
                }
                page.column_view(attribute, &fetch)
            }
            Source::Ids(ids) => {
                let own = &reader.schema.attributes()[attribute];
                let (start, end) = (ids.first().copied().unwrap_or(0), ids.last().map_or(0, |last| last + 1));
                let mut fields = Vec::with_capacity(ids.len());
                reader.each_pair(own.column, start, end, |id, field| {
                    if ids.get(fields.len()) != Some(&id) {
                        let place = format!("column '{}' of table {}", own.name, reader.schema.table);
                        return Err(Error::corrupt(place, format!("record {id} is not where other columns have it")));
                    }
                    fields.push(super::convert::OwnedField::from(field));
                    Ok(())
                })?;
                if fields.len() != ids.len() {
                    let place = format!("column '{}' of table {}", own.name, reader.schema.table);
                    return Err(Error::corrupt(
                        place,
                        format!("{} of {} records from {start} on", fields.len(), ids.len()),
                    ));
                }
                gathered(own, ids.len(), fields.iter().map(super::convert::OwnedField::field), &fetch)
            }
        }
    }
}

/// A value that is too long for a page of the table `name`, of number `table`.
pub(super) fn overflow(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    name: &str,
    table: TableId,
    reference: OverflowReference,
) -> Result<Vec<u8>> {
    let key = key(table, OVERFLOW, reference.number);
    match values::get(environment, transaction, Name::Heap, &key)? {
        Some(value) if value.len() == reference.length as usize => Ok(value.to_vec()),
        found => {
            let place = format!("long value {} of table {name}", reference.number);
            let found = found.map_or("it is missing".to_owned(), |value| format!("it has {} bytes", value.len()));
            Err(Error::corrupt(place, format!("{found}, {} were written", reference.length)))
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
