//! Heap pages as the operators of the PAX paper read them (section 4.3 and appendix A): in place, value by value, with nothing
//! between the operator and the page but the tree that finds the page. All pages are checked once, when a table is
//! opened for it, and not looked at again: LMDB leaves them as they are for as long as the reader has its pin.
//!
//! SQL reads zones of many pages as views instead (docs/decisions/0030-heap-tables-in-queries.md); this is for experiments.

use crate::lmdb::environment::{Name, ValueDatabase};
use crate::lmdb::heap_keys::{Key, PAGES, key, parse};
use crate::lmdb::heap_record::{RecordId, place_of, record_id};
use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{AttributeForm, PageSchema};
use crate::pages::head::{CAPACITY, HEAD, RECORDS, u16_at};
use crate::pages::nsm::{ELSEWHERE, SLOT};
use crate::snapshot::heap::reader::HeapReader;
use crate::{Error, Result};
use heed::{RoTxn, WithoutTls};
use std::ops::Bound;
use std::sync::Arc;

/// A heap table none of whose records was deleted, and all of whose pages were checked: a row of a page is a slot, and a place
/// in its minipages.
#[derive(Debug)]
pub struct DirectPages {
    reader: Arc<HeapReader>,
    /// DSM: what a pair of each attribute's relation is like.
    pairs: Vec<PageSchema>,
}

/// The pages of a table within a read transaction.
#[derive(Clone, Copy)]
pub struct DirectRead<'p> {
    pages: &'p DirectPages,
    values: &'p ValueDatabase,
    transaction: &'p RoTxn<'p, WithoutTls>,
}

/// A page in the map.
#[derive(Debug, Clone, Copy)]
pub struct DirectPage<'p> {
    bytes: &'p [u8],
    number: u64,
    rows: usize,
}

/// One attribute of the records of a page.
pub trait PageColumn {
    /// The code of a row, of an attribute of fixed width up to 8 bytes.
    fn code(&self, row: usize) -> u64;
    /// The bytes of a row, of a variable attribute whose values lie in the page.
    fn bytes(&self, row: usize) -> &[u8];
}

/// An attribute of the records of a slotted page: each value is found through its record's slot.
#[derive(Debug, Clone, Copy)]
pub struct SlottedColumn<'p> {
    bytes: &'p [u8],
    kind: AttributeForm,
    /// Where a fixed value lies in the record; of a variable one the place of its end.
    place: usize,
    /// Where the bytes of the first variable value begin, when this is the first one.
    first: Option<usize>,
}

/// An attribute's minipage.
#[derive(Debug, Clone, Copy)]
pub struct MinipageColumn<'p> {
    minipage: &'p [u8],
    kind: AttributeForm,
    /// Where the ends of variable values begin.
    ends: usize,
}

impl DirectPages {
    /// Opens a table so, and checks all of its pages. Fails for one that has deleted records, long values, or columns that may be
    /// NULL.
    pub fn open(reader: Arc<HeapReader>) -> Result<Self> {
        let schema = reader.schema();
        let pairs = (0..schema.attributes().len()).map(|at| schema.of_pairs(at)).collect();
        let opened = Self { pairs, reader };
        opened.check()?;
        Ok(opened)
    }

    fn check(&self) -> Result<()> {
        let (reader, record) = (&self.reader, self.reader.record());
        let refused =
            |what: &str| Err(Error::Unsupported(format!("table {} has {what}; load it anew", reader.schema().table)));
        if let Some(own) = reader.schema().attributes().iter().find(|own| own.nullable) {
            let (table, name) = (&reader.schema().table, &own.name);
            return Err(Error::Unsupported(format!(
                "column '{name}' of table {table} may be NULL, which pages that are read directly can't tell; make it NOT NULL"
            )));
        }
        if !reader.schemas.is_plain() {
            return refused("pages that were made for other columns");
        }
        if record.next_overflow > 0 {
            return refused("values that lie outside its pages");
        }
        let relations: Vec<u32> = match record.options.layout {
            HeapLayout::Dsm => reader.schema().attributes().iter().map(|own| own.column).collect(),
            HeapLayout::Nsm | HeapLayout::Pax => vec![PAGES],
        };
        for relation in relations {
            for number in self.read(|read| read.numbers(relation))? {
                let page = reader.whole_page(relation, number)?;
                if page.records() < page.slots() {
                    return refused("deleted records");
                }
            }
        }
        Ok(())
    }

    /// The table.
    pub fn reader(&self) -> &Arc<HeapReader> {
        &self.reader
    }

    /// Reads within the transaction.
    pub fn read<R>(&self, work: impl FnOnce(DirectRead<'_>) -> Result<R>) -> Result<R> {
        let values = self.reader.environment().values(Name::Heap)?;
        self.reader.pin().read(|transaction| work(DirectRead { pages: self, values, transaction }))
    }
}

impl std::fmt::Debug for DirectRead<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectRead").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl<'p> DirectRead<'p> {
    /// The pages of an NSM or PAX table, in the order of their numbers.
    pub fn pages(self) -> Result<impl Iterator<Item = Result<DirectPage<'p>>>> {
        self.relation_pages(PAGES)
    }

    /// The pages of the relation of one attribute of a DSM table, in the order of record ids.
    pub fn pair_pages(self, attribute: usize) -> Result<impl Iterator<Item = Result<DirectPage<'p>>>> {
        self.relation_pages(self.column(attribute))
    }

    /// The page of an NSM or PAX table that has a record, and the record's row.
    pub fn page_of(self, id: RecordId) -> Result<Option<(DirectPage<'p>, usize)>> {
        let (number, row) = place_of(id);
        let found = self.values.get(self.transaction, &self.key(PAGES, number)).map_err(self.failed())?;
        Ok(found.map(|bytes| (DirectPage::new(bytes, number), row)).filter(|(page, row)| *row < page.rows))
    }

    /// The page of the relation of one attribute of a DSM table that has a record, by the tree of record ids, and the pair's
    /// row.
    pub fn pair_of(self, attribute: usize, id: RecordId) -> Result<Option<(DirectPage<'p>, usize)>> {
        let (column, schema) = (self.column(attribute), &self.pages.pairs[attribute]);
        let wanted = self.key(column, id);
        let found = self.values.get_lower_than_or_equal_to(self.transaction, &wanted).map_err(self.failed())?;
        let table = self.pages.reader.prefix();
        let of_relation = |(key, bytes): (&[u8], &'p [u8])| match parse(key) {
            Some((own, relation, first)) if (own, relation) == (table, column) => Some(DirectPage::new(bytes, first)),
            _ => None,
        };
        let Some(page) = found.and_then(of_relation) else { return Ok(None) };
        let ids = page.slotted(schema, 0);
        let (mut low, mut high) = (0, page.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if ids.code(middle) < id { low = middle + 1 } else { high = middle }
        }
        Ok((low < page.rows && ids.code(low) == id).then_some((page, low)))
    }

    /// What a pair of the relation of one attribute is like: the record id, the value.
    pub fn pair_schema(self, attribute: usize) -> &'p PageSchema {
        &self.pages.pairs[attribute]
    }

    /// What the records of the table are like.
    pub fn schema(self) -> &'p PageSchema {
        self.pages.reader.schema()
    }

    fn relation_pages(self, relation: u32) -> Result<impl Iterator<Item = Result<DirectPage<'p>>>> {
        let end = self.pages.reader.record().end(relation);
        let (first, end) = (self.key(relation, 0), self.key(relation, end));
        let bounds = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
        let range = self.values.range(self.transaction, &bounds).map_err(self.failed())?;
        Ok(range.map(move |entry| {
            let (key, bytes) = entry.map_err(self.failed())?;
            Ok(DirectPage::new(bytes, parse(key).map_or(0, |(.., number)| number)))
        }))
    }

    fn numbers(self, relation: u32) -> Result<Vec<u64>> {
        self.relation_pages(relation)?.map(|page| Ok(page?.number)).collect()
    }

    fn column(self, attribute: usize) -> u32 {
        self.schema().attributes()[attribute].column
    }

    fn key(self, relation: u32, number: u64) -> Key {
        key(self.pages.reader.prefix(), relation, number)
    }

    fn failed(self) -> impl Fn(heed::Error) -> Error + use<> {
        self.pages.reader.environment().failed("reading")
    }
}

impl<'p> DirectPage<'p> {
    /// The page that `bytes` are, whose head was checked when the table was opened.
    fn new(bytes: &'p [u8], number: u64) -> Self {
        Self { bytes, number, rows: u16_at(bytes, RECORDS).into() }
    }

    /// Records of the page.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The id of a row's record, in an NSM or PAX table.
    #[inline]
    pub fn id(&self, row: usize) -> RecordId {
        record_id(self.number, row)
    }

    /// An attribute of a slotted page's records, or of the pairs of a relation.
    #[inline]
    pub fn slotted(&self, schema: &PageSchema, attribute: usize) -> SlottedColumn<'p> {
        let (kind, place) = (schema.attributes[attribute].kind, schema.places[attribute]);
        match kind {
            AttributeForm::Fixed(_) => SlottedColumn { bytes: self.bytes, kind, place, first: None },
            AttributeForm::Variable => {
                let first = (place == 0).then_some(schema.fixed_bytes + 2 * schema.variables);
                SlottedColumn { bytes: self.bytes, kind, place: schema.fixed_bytes + 2 * place, first }
            }
        }
    }

    /// An attribute's minipage.
    #[inline]
    pub fn minipage(&self, schema: &PageSchema, attribute: usize) -> MinipageColumn<'p> {
        let begin = |attribute: usize| usize::from(u16_at(self.bytes, HEAD + 2 * attribute) & !7);
        let end = if attribute + 1 < schema.attributes.len() { begin(attribute + 1) } else { self.bytes.len() };
        let minipage = &self.bytes[begin(attribute)..end];
        let kind = schema.attributes[attribute].kind;
        let ends = match kind {
            AttributeForm::Fixed(_) => 0,
            AttributeForm::Variable => minipage.len() - 2 * usize::from(u16_at(self.bytes, CAPACITY)),
        };
        MinipageColumn { minipage, kind, ends }
    }
}

impl PageColumn for SlottedColumn<'_> {
    #[inline]
    fn code(&self, row: usize) -> u64 {
        let record: usize = u16_at(self.bytes, self.bytes.len() - SLOT * (row + 1)).into();
        code_at(self.bytes, record + self.place, self.kind)
    }

    #[inline]
    fn bytes(&self, row: usize) -> &[u8] {
        let record: usize = u16_at(self.bytes, self.bytes.len() - SLOT * (row + 1)).into();
        let end = |place: usize| usize::from(u16_at(self.bytes, record + place) & !ELSEWHERE);
        let start = self.first.unwrap_or_else(|| end(self.place - 2));
        &self.bytes[record + start..record + end(self.place)]
    }
}

impl PageColumn for MinipageColumn<'_> {
    #[inline]
    fn code(&self, row: usize) -> u64 {
        let width = if let AttributeForm::Fixed(width) = self.kind { width } else { 0 };
        code_at(self.minipage, row * width, self.kind)
    }

    #[inline]
    fn bytes(&self, row: usize) -> &[u8] {
        let end = |row: usize| usize::from(u16_at(self.minipage, self.ends + 2 * row) & !ELSEWHERE);
        &self.minipage[row.checked_sub(1).map_or(0, end)..end(row)]
    }
}

/// The code at `at`; of a variable attribute there is none, and 0 stands for it.
#[inline]
fn code_at(bytes: &[u8], at: usize, kind: AttributeForm) -> u64 {
    fn read<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
        bytes[at..].first_chunk().copied().unwrap_or([0; N])
    }
    match kind {
        AttributeForm::Fixed(8) => u64::from_le_bytes(read(bytes, at)),
        AttributeForm::Fixed(4) => u32::from_le_bytes(read(bytes, at)).into(),
        AttributeForm::Fixed(2) => u16::from_le_bytes(read(bytes, at)).into(),
        AttributeForm::Fixed(1) => bytes[at].into(),
        AttributeForm::Fixed(_) | AttributeForm::Variable => 0,
    }
}
