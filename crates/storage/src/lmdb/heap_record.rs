//! Heap tables: pages kept as values of the catalog's LMDB environment, so that their changes are part of the transaction
//! that makes them.
//!
//! | file | what |
//! |---|---|
//! | `keys` | the keys of pages, long values and the map of free space |
//! | `space` | which page has room |
//! | `writer` | the one writer: insert, update, delete, get |
//! | `load` | its bulk loads |
//! | `suspended` | a load between two transactions, and its pieces |
//! | `records` | records in NSM and PAX pages |
//! | `pairs` | DSM's relations of record ids and values |
//! | `page_source` | where a reader finds pages: in place, or what an open transaction has made of them |
//! | `overlay` | pages that an open transaction has written, copied |
//! | `indexes` | indexes as records come and go |
//! | `lookup` | records found by an index |
//! | `reader` | a table at one commit, read in place |
//! | `zones` | the same as a run of zones, for scans |
//! | `verified` | which pages were checked |
//! | `kept_views` | views for who asks for the same again |
//! | `direct` | pages as the paper's operators read them, for experiments |

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys::{CHUNKS, GONE, SPACE, key};
use crate::lmdb::{records, values};
use crate::model::heap_options::{HeapLayout, HeapOptions};
use crate::model::page_shape::PageShapes;
use crate::pages::attribute::Attribute;
use crate::pages::bounds::ColumnBounds;
use crate::{Result, TableDefinition, TableId};
use heed::RoTxn;
use serde::{Deserialize, Serialize};

/// Where a record of a heap table is: in NSM and PAX page number × 65536 + slot, in DSM a number that is counted up.
pub type RecordId = u64;

/// What the catalog keeps of a heap table beside its definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapRecord {
    /// What its pages are like.
    pub options: HeapOptions,
    /// Records, exact.
    pub rows: u64,
    /// The number that those of all pages lie below. Numbers whose pages are gone are free.
    pub pages: u64,
    /// DSM: the next record id.
    pub next_record: u64,
    /// Number of the next value that is too long for a page.
    pub next_overflow: u64,
    /// Bounds of the columns' values, those that are known.
    #[serde(default)]
    pub columns: Vec<ColumnBounds>,
    /// The number that its keys begin with, 0 for the table's own: another one when its pages were made beside older ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prefix: TableId,
    /// Which columns the records of its NSM or PAX pages have.
    #[serde(default, skip_serializing_if = "PageShapes::is_plain")]
    pub shapes: PageShapes,
}

impl HeapRecord {
    /// An empty table's.
    pub(crate) fn new(options: HeapOptions) -> Self {
        Self {
            options,
            rows: 0,
            pages: 0,
            next_record: 0,
            next_overflow: 0,
            columns: Vec::new(),
            prefix: 0,
            shapes: PageShapes::default(),
        }
    }

    /// What the keys of its pages, long values and entries begin with; `table` is the table's number.
    pub(crate) fn prefix(&self, table: TableId) -> TableId {
        if self.prefix == 0 { table } else { self.prefix }
    }

    /// The number that all numbers of an attribute's keys are below. What lies beyond is of a load that has not ended
    /// (crate::write::batched_load).
    pub(crate) fn end(&self, attribute: u32) -> u64 {
        match attribute {
            SPACE => u64::MAX,
            crate::lmdb::heap_keys::OVERFLOW => self.next_overflow,
            _ if self.options.layout == HeapLayout::Dsm => self.next_record,
            _ => self.pages,
        }
    }

    /// The least id that no record has: one beyond is of a load that has not ended.
    pub(crate) fn first_new(&self) -> RecordId {
        match self.options.layout {
            HeapLayout::Dsm => self.next_record,
            HeapLayout::Nsm | HeapLayout::Pax => self.pages << 16,
        }
    }

    /// Bounds of an attribute's values: those that were kept, or else of its type.
    pub(crate) fn bounds(&self, own: &Attribute) -> ColumnBounds {
        match self.columns.iter().find(|known| known.column == own.column) {
            Some(known) => known.clone(),
            None if self.rows == 0 => ColumnBounds::empty(own),
            None => ColumnBounds::of_type(own),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The id of a record by page and slot.
pub(crate) fn record_id(page: u64, slot: usize) -> RecordId {
    page << 16 | slot as u64
}

/// Page and slot of a record id.
pub(crate) fn place_of(id: RecordId) -> (u64, usize) {
    (id >> 16, (id & 0xffff) as usize)
}

/// Definition and record of a heap table, and the commit that last changed it.
pub(crate) fn heap_record(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    table: TableId,
) -> Result<(TableDefinition, HeapRecord, u64)> {
    let record = records::existing(environment, transaction, table)?;
    let heap = record.pages()?.clone();
    Ok((record.definition, heap, record.version))
}

/// Free bytes of a table's pages, as its map knows them.
pub(crate) fn free_bytes(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    table: TableId,
    page_bytes: usize,
) -> Result<u64> {
    let mut classes = 0;
    let most = values::get(environment, transaction, Name::Heap, &key(table, SPACE, CHUNKS))?;
    for chunk in 0..most.map_or(0, <[u8]>::len) as u64 {
        let pages = values::get(environment, transaction, Name::Heap, &key(table, SPACE, chunk))?;
        let there = pages.unwrap_or_default().iter().filter(|class| **class != GONE);
        classes += there.map(|class| u64::from(*class)).sum::<u64>();
    }
    Ok(classes * page_bytes as u64 / 255)
}
