//! A heap table as a run of zones with exact row counts, whose column views hold the values of several pages without those
//! of deleted records: to a scan it is one segment. Which pages make up a zone is found once for each commit that changes
//! the table, from the pages' heads; of the pages themselves only the minipages are touched that a view is made of.

use crate::decode::decode;
use crate::io::lmdb::PinnedRun;
use crate::lmdb::heap_keys::PAGES;
use crate::lmdb::heap_record::{RecordId, place_of, record_id};
use crate::model::heap_options::HeapLayout;
use crate::model::view::ColumnView;
use crate::pages::attribute::{Attribute, AttributeForm, Field};
use crate::pages::gather::Gather;
use crate::pages::gather::bare::Minipages;
use crate::pages::gather::pick::picked;
use crate::pages::head::Head;
use crate::pages::page::Page;
use crate::pages::parts::PagePart;
use crate::segment::ZoneMap;
use crate::snapshot::heap::pairs::slot_of;
use crate::snapshot::heap::reader::{HeapReader, place};
use crate::snapshot::heap::verified::Zones;
use crate::{ColumnDefinition, ColumnId, Datum, Error, LogicalType, Predicate, Result};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use gingham_kernels::Isa;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Records of a zone, but for what the last page has more or less: their codes of a column fit the second cache.
const ZONE_ROWS: usize = 16 << 10;

/// An index is asked for no more records than so many for each zone: past that, hardly a zone is left out.
const FEW_OF_ZONE: usize = 4;

/// Records of a zone for each that qualifies, from which on these are few: a minipage of 8-byte codes has eight in a line.
const ROWS_OF_FEW: usize = 32;

/// The column that record ids are given as, where a scan asks for them: no column of a table has this number.
pub const RECORD_IDS: ColumnId = ColumnId::MAX;

/// The column of record ids, called `name`.
pub(crate) fn id_column(name: String) -> ColumnDefinition {
    let (logical_type, initial) = (LogicalType::Int(64), Datum::Null);
    ColumnDefinition { id: RECORD_IDS, name, logical_type, nullable: false, default: None, initial, generation: None }
}

/// A page that a record lies in.
#[derive(Debug, Clone)]
pub struct FoundPage {
    /// What the page belongs to, for messages.
    pub title: String,
    /// What its bytes are.
    pub parts: Vec<PagePart>,
    /// The record's slot.
    pub slot: usize,
}

/// Records that lie together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageZone {
    /// Numbers of the pages, some of which may be gone; in DSM record ids.
    place: Range<u64>,
    /// The records' places among all of the table's.
    pub(crate) rows: Range<usize>,
}

/// The zones of a heap table at one commit.
#[derive(Debug)]
pub(crate) struct PageZones {
    reader: Arc<HeapReader>,
    zones: Arc<Zones>,
    ids: Attribute,
}

impl PageZones {
    /// The zones of the table.
    pub(crate) fn open(reader: &Arc<HeapReader>) -> Result<Self> {
        let zones = reader.checked().zones(reader.version, || reader.cut())?;
        let ids = Attribute::new(&id_column("record id".to_owned()));
        Ok(Self { reader: Arc::clone(reader), zones, ids })
    }

    /// The zones, in record order.
    pub(crate) fn zones(&self) -> &[PageZone] {
        &self.zones.zones
    }

    /// For each zone, whether an index leaves it for a predicate; `None` when no index says anything of it, or too little.
    pub(crate) fn candidates(&self, predicate: &Predicate) -> Result<Option<Vec<bool>>> {
        let zones = self.zones();
        let most = zones.len().saturating_mul(FEW_OF_ZONE);
        let Some(ids) = self.reader.candidates(predicate, most)? else { return Ok(None) };
        let paged = self.reader.record().options.layout != HeapLayout::Dsm;
        let mut wanted = vec![false; zones.len()];
        for id in ids {
            let place = if paged { place_of(id).0 } else { id };
            let zone = zones.partition_point(|zone| zone.place.end <= place);
            if let Some(wanted) = wanted.get_mut(zone) {
                *wanted = true;
            }
        }
        Ok(Some(wanted))
    }

    /// Records.
    pub(crate) fn rows(&self) -> usize {
        self.zones().last().map_or(0, |zone| zone.rows.end)
    }

    /// The attribute that a column is.
    pub(crate) fn attribute(&self, column: &ColumnDefinition) -> Result<&Attribute> {
        if column.id == RECORD_IDS {
            return Ok(&self.ids);
        }
        let found = self.reader.schema().attributes().iter().find(|own| own.column == column.id);
        found.ok_or_else(|| Error::Internal(format!("the pages of the table have no column '{}'", column.name)))
    }

    /// The bounds of a column as a map of every zone; `None` where some may be NULL, as nobody knows in which zone.
    pub(crate) fn zone_map(&self, column: ColumnId) -> Option<ZoneMap> {
        let own = self.reader.schema().attributes().iter().find(|own| own.column == column)?;
        let bounds = self.reader.record().bounds(own);
        let (min, max) = bounds.codes.filter(|_| !bounds.nulls && own.kind != AttributeForm::Fixed(16))?;
        Some(ZoneMap { min: min.try_into().ok()?, max: max.try_into().ok()?, nulls: 0, coded: true })
    }

    /// The values of a column in a zone.
    pub(crate) fn view(&self, column: &ColumnDefinition, zone: usize) -> Result<ColumnView> {
        if let Some(view) = self.reader.views.get(zone, column.id) {
            return Ok(view);
        }
        let view = self.gather(column, zone)?;
        self.reader.views.put(zone, column.id, &view);
        Ok(view)
    }

    /// Lets go of the views of a zone that a scan is through with, so that those of the next one are made in the same memory, which
    /// the second cache has.
    pub(crate) fn forget(&self, zone: usize) {
        self.reader.views.forget(zone);
    }

    /// The values of a column in a zone at `tids`, ascending; what the view has elsewhere means nothing. Where they are few, no more of
    /// PAX pages is touched than they need.
    pub(crate) fn view_at(&self, column: &ColumnDefinition, zone: usize, tids: &[u32]) -> Result<ColumnView> {
        if tids.len() > self.zones()[zone].rows.len() / ROWS_OF_FEW {
            return self.view(column, zone);
        }
        if let Some(known) = self.reader.views.get(zone, column.id) {
            return Ok(known);
        }
        match self.pick(column, zone, tids)? {
            Some(picked) => Ok(picked),
            None => self.view(column, zone),
        }
    }

    /// A view of the records `tids` of a PAX zone of which all that this takes was checked before; `None` where the whole view
    /// has to be gathered.
    fn pick(&self, column: &ColumnDefinition, zone: usize, tids: &[u32]) -> Result<Option<ColumnView>> {
        let Some(at) = self.codes_alone(column, zone) else { return Ok(None) };
        let (own, rows, run) = (&self.reader.schema().attributes()[at], self.zones()[zone].rows.len(), self.run(zone)?);
        Ok(picked(own, at, self.minipages(zone, &run), &run, rows, tids))
    }

    /// The attribute that a column is where it is one of a PAX zone whose minipages were checked before, and no record is NULL there.
    fn codes_alone(&self, column: &ColumnDefinition, zone: usize) -> Option<usize> {
        let reader = &self.reader;
        if reader.record().options.layout != HeapLayout::Pax || reader.overlay().is_some() {
            return None;
        }
        let at = reader.schema().attributes().iter().position(|own| own.column == column.id)?;
        let is_checked = self.zones.checked(zone, at).load(Ordering::Acquire);
        (is_checked && !self.has_nulls(&reader.schema().attributes()[at])).then_some(at)
    }

    /// Whether a record may be NULL there: a column of which none is so far is read as one that may not be.
    fn has_nulls(&self, own: &Attribute) -> bool {
        own.nullable && self.reader.record().bounds(own).nulls
    }

    /// The pages of a zone.
    fn run(&self, zone: usize) -> Result<PinnedRun> {
        let place = self.zones()[zone].place.clone();
        self.zones.run(zone, |known| self.reader.source.run(PAGES, place, known))
    }

    /// Where the minipages of a zone's pages lie.
    fn minipages(&self, zone: usize, run: &PinnedRun) -> &Minipages {
        let attributes = self.reader.schema().attributes().len();
        self.zones.minipages(zone, || {
            let is_present = |page: &&[u8]| self.reader.schemas.is_present(page);
            Minipages::of(attributes, run.iter().map(|(_, page)| Some(page).filter(is_present)))
        })
    }

    /// The values of a column in a zone, from its pages.
    fn gather(&self, column: &ColumnDefinition, number: usize) -> Result<ColumnView> {
        let zone = &self.zones()[number];
        let fetch = |reference| self.reader.fetch(reference);
        let own = self.attribute(column)?;
        let mut gather = Gather::new(own, self.has_nulls(own), zone.rows.len(), &fetch);
        let attribute = self.reader.schema().attributes().iter().position(|own| own.column == column.id);
        let checked = attribute.map(|at| (at, self.zones.checked(number, at)));
        match checked.filter(|(_, checked)| checked.load(Ordering::Acquire)) {
            Some((at, _)) if self.reader.overlay().is_none() => self.gather_checked(at, number, &mut gather)?,
            _ => self.gather_unchecked(column.id, zone, &mut gather)?,
        }
        if gather.rows() != zone.rows.len() {
            return Err(Error::corrupt(
                format!("column '{}' of table {}", column.name, self.reader.schema().table),
                format!("{} records in {:?} where their heads say {}", gather.rows(), zone.place, zone.rows.len()),
            ));
        }
        checked.inspect(|(_, checked)| checked.store(true, Ordering::Release));
        Ok(gather.finish())
    }

    /// Adds the values of an attribute in a zone of which all that this takes was checked before.
    fn gather_checked(&self, at: usize, zone: usize, gather: &mut Gather<'_>) -> Result<()> {
        let (schema, layout) = (self.reader.schema(), self.reader.record().options.layout);
        let (place, column) = (self.zones()[zone].place.clone(), schema.attributes()[at].column);
        let name = |attribute, number| {
            crate::snapshot::heap::reader::place(self.reader.environment(), schema, attribute, number)
        };
        if layout == HeapLayout::Dsm {
            return self.reader.each_page_of_pairs(column, place.clone(), |schema, number, page| {
                gather.extend_pairs(schema, &place, page, &|| name(column, number))
            });
        }
        let run = &self.run(zone)?;
        if layout == HeapLayout::Nsm {
            return run.iter().try_for_each(|(number, page)| {
                let place = || name(PAGES, number);
                let Some(schema) = self.reader.schemas.of_bytes(page) else {
                    return self.gather_page(column, number, gather);
                };
                match schema.place_of(at) {
                    Some(at) => gather.extend_slots(schema, at, page, &place),
                    None => self.gather_page(column, number, gather),
                }
            });
        }
        gather.extend_minipages(self.minipages(zone, run), at, run, |number, fits, gather| {
            if !fits {
                self.reader.page(PAGES, number)?.1.forget();
            }
            self.gather_page(column, number, gather)
        })
    }

    /// A view of a zone of which not all may have been checked.
    fn gather_unchecked(&self, column: ColumnId, zone: &PageZone, gather: &mut Gather<'_>) -> Result<()> {
        match self.reader.record().options.layout {
            HeapLayout::Dsm => self.gather_pairs(column, zone, gather),
            HeapLayout::Nsm | HeapLayout::Pax => {
                let mut numbers = Vec::new();
                self.reader.source.each(PAGES, zone.place.clone(), |number, _| {
                    numbers.push(number);
                    Ok(())
                })?;
                numbers.into_iter().try_for_each(|number| self.gather_page(column, number, gather))
            }
        }
    }

    /// Adds what the live records of a page have.
    fn gather_page(&self, column: ColumnId, number: u64, gather: &mut Gather<'_>) -> Result<()> {
        let reader = &*self.reader;
        let (page, checked) = reader.page(PAGES, number)?;
        if column == RECORD_IDS {
            let live = (0..page.slots()).filter(|slot| page.is_live(*slot));
            return live.map(|slot| Field::Code(code(record_id(number, slot)))).try_for_each(|id| gather.push(id));
        }
        let at = reader.schema().attributes().iter().position(|own| own.column == column);
        let at = at.ok_or_else(|| Error::Internal(format!("the pages of the table have no column {column}")))?;
        match &page {
            Page::Nsm(nsm) => {
                let live = (0..nsm.slots()).filter(|slot| nsm.is_live(*slot));
                live.map(|slot| page.field(slot, at)).try_for_each(|field| gather.push(field))
            }
            Page::Pax(_) => {
                reader.verify(&page, &checked, number, [at].into_iter())?;
                let own = &reader.schema().attributes()[at];
                let view = page.column_view(own, at, &|reference| reader.fetch(reference))?;
                gather.extend(&view, page.live_rows().as_deref())
            }
        }
    }

    /// Adds the values of a relation whose record ids lie in a zone.
    fn gather_pairs(&self, column: ColumnId, zone: &PageZone, gather: &mut Gather<'_>) -> Result<()> {
        let reader = &*self.reader;
        let ids = column == RECORD_IDS;
        let relation = if ids { reader.schema().attributes()[0].column } else { column };
        reader.each_pair(relation, zone.place.start, zone.place.end, |id, field| {
            gather.push(if ids { Field::Code(code(id)) } else { field })
        })
    }
}

/// The code of a record id as a BIGINT: above the smallest one.
fn code(id: RecordId) -> u128 {
    u128::from(id ^ 1 << 63)
}

impl HeapReader {
    /// The pages that a record lies in, by its number among the table's: one, or in DSM one for each column. `None` when the
    /// table has no such record.
    pub fn pages_of(self: &Arc<Self>, record: usize) -> Result<Option<Vec<FoundPage>>> {
        let zones = PageZones::open(self)?;
        let Some(zone) = zones.zones().iter().position(|zone| zone.rows.contains(&record)) else { return Ok(None) };
        let at = record - zones.zones()[zone].rows.start;
        let ids = decode(&zones.view(&id_column(String::new()), zone)?, at..at + 1, Isa::best())?;
        let id = ids.as_primitive::<Int64Type>().value(0) as RecordId;
        if self.record().options.layout != HeapLayout::Dsm {
            let (number, slot) = place_of(id);
            let title = format!("page {number} of {}", self.record().pages);
            return Ok(Some(vec![FoundPage { title, parts: self.whole_page(PAGES, number)?.parts(), slot }]));
        }
        let mut found = Vec::new();
        for own in self.schema().attributes() {
            let Some(page) = self.pair_page(own.column, id)? else { continue };
            let slot = slot_of(&page, id).unwrap_or_else(|before| before);
            let title = format!("a page of column '{}', pairs of a record id and a value", own.name);
            found.push(FoundPage { title, parts: page.parts(), slot });
        }
        Ok(Some(found))
    }

    /// Cuts the table into zones: whole pages, and no more records than a zone's unless one page has them.
    fn cut(&self) -> Result<Zones> {
        let environment = self.environment();
        let layout = self.record().options.layout;
        let attribute = match layout {
            HeapLayout::Dsm => self.schema().attributes()[0].column,
            HeapLayout::Nsm | HeapLayout::Pax => PAGES,
        };
        let mut zones: Vec<PageZone> = Vec::new();
        // A page can refer to any number of bytes: those of several are more than one view may hold.
        let most = if self.record().next_overflow > 0 { 0 } else { ZONE_ROWS };
        self.source.each(attribute, 0..self.record().end(attribute), |number, bytes| {
            let records = Head::parse(bytes, &|| place(environment, self.schema(), attribute, number))?.records;
            let (start, records) = (zones.last().map_or(0, |zone| zone.rows.end), usize::from(records));
            match zones.last_mut() {
                Some(zone) if zone.rows.len() + records <= most => {
                    zone.rows.end += records;
                    zone.place.end = number + 1;
                }
                _ => zones.push(PageZone { place: number..number + 1, rows: start..start + records }),
            }
            Ok(())
        })?;
        if layout == HeapLayout::Dsm {
            // A key names the first record of its page: the others follow up to the next one.
            let starts: Vec<u64> = zones.iter().skip(1).map(|zone| zone.place.start).collect();
            let ends = starts.into_iter().chain([self.record().next_record]);
            zones.iter_mut().zip(ends).for_each(|(zone, end)| zone.place.end = end);
        }
        let found = zones.last().map_or(0, |zone| zone.rows.end as u64);
        if found != self.rows() {
            let place =
                format!("{}, pages of table {}", environment.folder().join("data.mdb").display(), self.schema().table);
            return Err(Error::corrupt(place, format!("{found} records are found, the table has {}", self.rows())));
        }
        Ok(Zones::new(zones, self.schema().attributes().len()))
    }
}
