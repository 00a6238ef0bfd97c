//! The 48 bytes that every heap page begins with. With the 16 bytes that LMDB puts before a value they make a cache line's
//! end: byte 48 of a page lies on a line of the map.

use crate::model::heap_options::{Deletes, HeapLayout};
use crate::{Error, Result, TableId};

/// Version of the pages' format that this build writes and reads.
pub(crate) const VERSION: u8 = 1;
/// Bytes of the head.
pub(crate) const HEAD: usize = 48;
/// Where the head has the numbers of live records and of slots, and that of places in each minipage.
pub(crate) const RECORDS: usize = 38;
pub(crate) const SLOTS: usize = 40;
pub(crate) const CAPACITY: usize = 42;
/// Bytes that LMDB puts before a value that has pages of its own.
pub(crate) const BEFORE: usize = 16;
/// Shortest page.
pub const MIN_PAGE: usize = 4096 - BEFORE;
/// Longest page: offsets in it have 15 bits.
pub const MAX_PAGE: usize = 8 * 4096 - BEFORE;

/// Whether a page may have `length` bytes: whole pages of the map without LMDB's header.
pub fn is_page_length(length: usize) -> bool {
    (MIN_PAGE..=MAX_PAGE).contains(&length) && (length + BEFORE).is_multiple_of(4096)
}

/// The head of a page, parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Layout of the page.
    pub layout: HeapLayout,
    /// What deletions do.
    pub deletes: Deletes,
    /// The table.
    pub table: TableId,
    /// Number of the page within the table; of a DSM page the first record id of its key.
    pub number: u64,
    /// The commit that wrote the page.
    pub written: u64,
    /// The column of a DSM page; in other layouts the shape of the page, which says which columns its records have.
    pub column: u32,
    /// Attributes: of a DSM page 2, the record id and the value.
    pub attributes: u16,
    /// Live records.
    pub records: u16,
    /// Slots given out, those of deleted records among them.
    pub slots: u16,
    /// PAX: records that each minipage has places for. NSM: where the area of records ends.
    pub capacity: u16,
    /// PAX: bits of the bitmap of live records. NSM: bytes in the area of records that no record uses.
    pub ids: u16,
    /// Bytes that are free, wherever they lie.
    pub free: u16,
}

impl Head {
    /// An empty page's, of NSM or PAX of the first shape.
    pub fn new(layout: HeapLayout, table: TableId, number: u64, attributes: usize) -> Self {
        Self {
            layout,
            deletes: Deletes::Compact,
            table,
            number,
            written: 0,
            column: 0,
            attributes: attributes as u16,
            records: 0,
            slots: 0,
            capacity: 0,
            ids: 0,
            free: 0,
        }
    }

    /// Writes all but the checksum to the begin of `page`.
    pub fn write(&self, page: &mut [u8]) {
        page[4] = VERSION;
        page[5] = match self.layout {
            HeapLayout::Nsm => 1,
            HeapLayout::Dsm => 2,
            HeapLayout::Pax => 3,
        };
        page[6] = u8::from(self.deletes == Deletes::Defer);
        page[7] = 0;
        page[8..16].copy_from_slice(&self.table.to_le_bytes());
        page[16..24].copy_from_slice(&self.number.to_le_bytes());
        page[24..32].copy_from_slice(&self.written.to_le_bytes());
        page[32..36].copy_from_slice(&self.column.to_le_bytes());
        let counts = [self.attributes, self.records, self.slots, self.capacity, self.ids, self.free];
        for (at, count) in counts.into_iter().enumerate() {
            put_u16(page, 36 + 2 * at, count);
        }
    }

    /// The head of `page`, or what is wrong with it. The checksum, which covers more than the head, is the layout's to
    /// compare.
    pub fn parse(page: &[u8], place: &dyn Fn() -> String) -> Result<Self> {
        let corrupt = |detail: String| Err(Error::corrupt(place(), detail));
        if !is_page_length(page.len()) {
            return corrupt(format!("{} bytes are no page", page.len()));
        }
        if page[4] > VERSION {
            return Err(Error::Unsupported(format!(
                "{}: page version {} was written by a newer Gingham; this one reads up to {VERSION}",
                place(),
                page[4]
            )));
        }
        let layout = match page[5] {
            1 => HeapLayout::Nsm,
            2 => HeapLayout::Dsm,
            3 => HeapLayout::Pax,
            other => return corrupt(format!("unknown layout {other}")),
        };
        if page[4] == 0 || page[6] > 1 || page[7] != 0 {
            return corrupt(format!(
                "version {}, flags {:#x}, {:#x} are none that a page has",
                page[4], page[6], page[7]
            ));
        }
        let counts: [u16; 6] = std::array::from_fn(|at| u16_at(page, 36 + 2 * at));
        let [attributes, records, slots, capacity, ids, free] = counts;
        Ok(Self {
            layout,
            deletes: if page[6] == 1 { Deletes::Defer } else { Deletes::Compact },
            table: u64_at(page, 8),
            number: u64_at(page, 16),
            written: u64_at(page, 24),
            column: u32_at(page, 32),
            attributes,
            records,
            slots,
            capacity,
            ids,
            free,
        })
    }
}

/// Whether a page's head says that places of deleted records are kept.
pub(crate) fn is_deferred(page: &[u8]) -> bool {
    page[6] == 1
}

/// The shape that the head of an NSM or PAX page names; `None` for bytes that are too few for a head.
pub(crate) fn shape_of(page: &[u8]) -> Option<u32> {
    page.get(32..36).map(|bytes| u32_at(bytes, 0))
}

/// Two bytes at `at`, which the caller knows to be there.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Writes two bytes at `at`.
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// Four bytes at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// Eight bytes at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
