//! The description of a group's dense pages in the directory, and where the fields of an entry lie.

use crate::model::design::is_page_size;
use crate::model::page_packing::{MOST_INDEX_BITS, PagePacking};
use crate::segment::decode::Native;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bits of the number of a page's entries; the bits above are flags.
pub(super) const COUNT_BITS: u32 = 24;
/// Flag of a page that has NULLs.
pub(super) const HAS_NULLS: u32 = 1 << 31;
/// Flag of a page whose byte strings are compressed by zstd.
pub(super) const IS_COMPRESSED: u32 = 1 << 30;
/// Bytes before the entries of a page without NULLs.
pub(super) const PAGE_HEADER: usize = 4;
/// Bytes of the size of a page's dictionaries, its last.
pub(super) const SIZE_BYTES: usize = 4;
/// Bytes of the number of entries of one dictionary of a page.
pub(super) const ENTRIES_BYTES: usize = 2;
/// Bytes of an entry of the page table.
pub(crate) const PAGE_ENTRY: usize = 8;
/// Most bits of the columns that are delta-coded as one number.
pub(super) const MOST_NUMBER_BITS: u32 = 64;

/// The dense pages of a column group, as its directory describes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenseMeta {
    /// Bytes of a page.
    pub page_size: u32,
    /// The fields of an entry, in the order of the group's columns.
    pub fields: Vec<PageField>,
    /// Pages.
    pub pages: u32,
    /// Bytes of the last page, which ends where its bytes do.
    pub last_page: u32,
    /// Offset of the first page in the file.
    #[serde(skip)]
    pub(crate) offset: u64,
    /// An entry for each page.
    #[serde(skip)]
    pub(crate) table: Vec<PageEntry>,
}

/// A field of a page's entries, which is of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageField {
    /// The packing.
    pub packing: PagePacking,
    /// Bits of its code, index or length: 0 to 64, or 128.
    pub bits: u8,
}

/// One page in the page table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageEntry {
    /// TID of its first record. A page that an entry of the page before goes on in has that one's.
    pub first: u32,
    /// CRC-32C of its bytes.
    pub checksum: u32,
}

impl PageEntry {
    /// The bytes.
    pub fn to_bytes(self) -> [u8; PAGE_ENTRY] {
        (u64::from(self.first) | u64::from(self.checksum) << 32).to_le_bytes()
    }

    /// The entry.
    pub fn parse(bytes: [u8; PAGE_ENTRY]) -> Self {
        let both = u64::from_le_bytes(bytes);
        Self { first: both as u32, checksum: (both >> 32) as u32 }
    }
}

impl DenseMeta {
    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        match self.pages.checked_sub(1) {
            Some(full) => u64::from(full) * u64::from(self.page_size) + u64::from(self.last_page),
            None => 0,
        }
    }

    /// Bytes of some pages, from the first page on.
    pub(super) fn span(&self, pages: Range<usize>) -> Range<u64> {
        let start = |page: usize| (page as u64 * u64::from(self.page_size)).min(self.bytes());
        start(pages.start)..start(pages.end)
    }

    /// The pages that hold records of a range, which is not empty.
    pub(crate) fn pages_of(&self, records: &Range<usize>) -> Range<usize> {
        let reached = self.table.partition_point(|page| page.first as usize <= records.start);
        let first = self.table[..reached].last().map_or(0, |page| page.first);
        let start = self.table.partition_point(|page| page.first < first);
        start..self.table.partition_point(|page| (page.first as usize) < records.end)
    }

    /// Holds the page table against a segment of `rows` records.
    pub(crate) fn verify(&self, rows: usize) -> Result<(), String> {
        let firsts = self.table.iter().map(|page| page.first);
        let ordered =
            firsts.clone().is_sorted() && firsts.clone().next_back().is_none_or(|last| (last as usize) < rows);
        if self.table.len() != self.pages as usize || (rows > 0) != (self.pages > 0) {
            return Err(format!("{} pages of {rows} records", self.pages));
        }
        if !ordered || firsts.clone().next().is_some_and(|first| first != 0) {
            return Err("the pages' first records are not in order".into());
        }
        let last = if self.pages == 0 { 0..=0 } else { 1..=self.page_size };
        if !last.contains(&self.last_page) {
            return Err(format!("a last page of {} bytes", self.last_page));
        }
        Ok(())
    }
}

/// Kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A record each, all of so many bits.
    Tuples {
        /// Bits from entry to entry.
        stride: usize,
    },
    /// A record each: a number by its difference first, or byte strings behind the bits.
    VariableTuples,
    /// A run of one column each, in words of so many bytes.
    Runs {
        /// 4 or 8.
        word_bytes: usize,
    },
    /// The lengths of byte strings, behind all of which the strings follow.
    Strings,
}

/// Where a column lies in an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldForm {
    /// The form that it is decoded to.
    pub native: Native,
    /// The packing.
    pub packing: PagePacking,
    /// The bits of a field.
    pub bits: u32,
    /// For a delta-coded column the bits of the number below it, for another the bits of the entry's rest before it.
    pub shift: usize,
}

/// The form of a group's pages.
#[derive(Debug, Clone)]
pub(crate) struct PageForm {
    /// Bytes of a page.
    pub page_size: usize,
    /// The fields, in the order of the group's columns.
    pub fields: Vec<FieldForm>,
    /// The kind of entries.
    pub kind: EntryKind,
    /// Bits of the number that the delta-coded columns make; 0 without any.
    pub number_bits: u32,
    /// Bits of the other columns.
    pub rest_bits: usize,
    /// Columns with a dictionary in each page.
    pub dictionaries: usize,
    /// Bits of their indexes.
    pub index_bits: u32,
}

impl PageForm {
    /// The form of pages whose fields are these, of columns that are decoded so and have codes of so many bits; or what can't be.
    pub fn new(page_size: u32, fields: &[PageField], columns: &[(Native, u8)]) -> Result<Self, String> {
        if !is_page_size(page_size) || fields.len() != columns.len() || fields.is_empty() {
            return Err(format!(
                "pages of {page_size} bytes and {} fields for {} columns",
                fields.len(),
                columns.len()
            ));
        }
        let mut forms = Vec::with_capacity(fields.len());
        for (field, (native, code_bits)) in fields.iter().zip(columns) {
            forms.push(field_form(*field, *native, *code_bits, fields.len())?);
        }
        let of = |packing: PagePacking| forms.iter().filter(move |field| field.packing == packing);
        let delta = of(PagePacking::Delta).count();
        if forms[..delta].iter().any(|field| field.packing != PagePacking::Delta) {
            return Err("delta of columns that are not the first".into());
        }
        let number_bits = of(PagePacking::Delta).map(|field| field.bits).sum();
        if number_bits > MOST_NUMBER_BITS || delta > 0 && number_bits == 0 {
            return Err(format!("delta of numbers of {number_bits} bits"));
        }
        let mut below = number_bits as usize;
        for field in &mut forms[..delta] {
            below -= field.bits as usize;
            field.shift = below;
        }
        let mut rest_bits = 0;
        for field in &mut forms[delta..] {
            field.shift = rest_bits;
            rest_bits += field.bits as usize;
        }
        let index = |field: &FieldForm| match field.packing {
            PagePacking::PageDictionary(_) => Some(field.bits),
            _ => None,
        };
        let dictionaries = forms.iter().filter_map(index).count();
        let index_bits = forms.iter().find_map(index).unwrap_or(0);
        if forms.iter().filter_map(index).any(|bits| bits != index_bits) {
            return Err("indexes of several widths".into());
        }
        let kind = match (forms.as_slice(), number_bits) {
            ([FieldForm { packing: PagePacking::RunLength, bits, .. }], _) => {
                EntryKind::Runs { word_bytes: if *bits < 32 { 4 } else { 8 } }
            }
            ([FieldForm { native: Native::Bytes { .. }, .. }], _) => EntryKind::Strings,
            (fields, 0) if !fields.iter().any(FieldForm::is_string) => EntryKind::Tuples { stride: rest_bits },
            _ => EntryKind::VariableTuples,
        };
        let page_size = page_size as usize;
        Ok(Self { page_size, fields: forms, kind, number_bits, rest_bits, dictionaries, index_bits })
    }

    /// Delta-coded columns, which are the first.
    pub fn delta_fields(&self) -> usize {
        self.fields.iter().take_while(|field| field.packing == PagePacking::Delta).count()
    }

    /// Columns of byte strings, by their place.
    pub fn strings(&self) -> impl Iterator<Item = usize> {
        (0..self.fields.len()).filter(|field| self.fields[*field].is_string())
    }

    /// Bytes of the mask that says which columns have NULLs in a page.
    pub fn mask_bytes(&self) -> usize {
        self.fields.len().div_ceil(8)
    }

    /// Bytes at the end of a page whose dictionaries take `entries` bytes.
    pub fn dictionary_bytes(&self, entries: usize) -> usize {
        if self.dictionaries == 0 { 0 } else { SIZE_BYTES + self.dictionaries * ENTRIES_BYTES + entries }
    }
}

impl FieldForm {
    /// True of byte strings, whose bits are their length.
    pub fn is_string(&self) -> bool {
        matches!(self.native, Native::Bytes { .. })
    }

    /// Bytes of a code in memory and in a page's dictionary.
    pub fn code_bytes(&self) -> usize {
        self.native.length(1)
    }
}

/// The form of one field among `fields`; where it lies comes later.
fn field_form(field: PageField, native: Native, code_bits: u8, fields: usize) -> Result<FieldForm, String> {
    let PageField { packing, bits } = field;
    let fits = match (packing, native) {
        (PagePacking::BitPacked | PagePacking::Delta, Native::Codes { .. }) => bits == code_bits && bits <= 64,
        (PagePacking::RunLength, Native::Codes { .. }) => bits == code_bits && bits < 64 && fields == 1,
        (PagePacking::PageDictionary(most), Native::Codes { .. }) => {
            bits == most && (1..=MOST_INDEX_BITS).contains(&most)
        }
        (PagePacking::Plain, Native::Codes { width }) => bits == width * 8,
        (PagePacking::Plain, Native::Wide) => bits == 128,
        (PagePacking::Plain, Native::Bytes { .. }) => bits < 32,
        _ => false,
    };
    if !fits {
        return Err(format!("packing {packing} of {bits} bits for {native:?} with codes of {code_bits} bits"));
    }
    Ok(FieldForm { native, packing, bits: bits.into(), shift: 0 })
}
