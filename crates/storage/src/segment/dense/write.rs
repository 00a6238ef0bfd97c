//! Pages to bytes: the number of entries, NULLs, the entries, and from the end backwards the dictionaries (read-optimized
//! paper, section 5.2).

use crate::model::page_packing::PagePacking;
use crate::segment::dense::choose::Chosen;
use crate::segment::dense::cut::{Cutter, Numbers, runs};
use crate::segment::dense::entries::ColumnEntries;
use crate::segment::dense::form::{EntryKind, HAS_NULLS, PageEntry};
use crate::{Error, Result};
use gingham_kernels::dense::zeros_bits;
use std::ops::Range;

/// Bits that are appended one field after the other.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    word: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends the low `width` bits of a value that has no others.
    #[inline]
    pub fn put(&mut self, value: u64, width: u32) {
        if width == 0 {
            return;
        }
        self.word |= value << self.filled;
        self.filled += width;
        if self.filled >= u64::BITS {
            self.bytes.extend_from_slice(&self.word.to_le_bytes());
            self.filled -= u64::BITS;
            self.word = if self.filled == 0 { 0 } else { value >> (width - self.filled) };
        }
    }

    /// Appends bytes behind the last byte that has bits.
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&self.word.to_le_bytes()[..self.filled.div_ceil(8) as usize]);
        (self.word, self.filled) = (0, 0);
        self.bytes.extend_from_slice(bytes);
    }

    /// All bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.put_bytes(&[]);
        self.bytes
    }

    /// A page with `count` entries begins, of which each column that has any NULL says where: whether entry .. has a value.
    pub fn begin(&mut self, count: usize, flags: u32, nulls: &[Option<Vec<bool>>]) {
        let has_nulls = nulls.iter().any(Option::is_some);
        let flags = flags | if has_nulls { HAS_NULLS } else { 0 };
        self.put((count as u32 | flags).into(), u32::BITS);
        if has_nulls {
            nulls.iter().for_each(|null| self.put(u64::from(null.is_some()), 1));
            self.put_bytes(&[]);
            for valid in nulls.iter().flatten() {
                valid.iter().for_each(|valid| self.put(u64::from(*valid), 1));
                self.put_bytes(&[]);
            }
        }
    }
}

/// For each column that has a NULL among some records, which of them have a value.
pub(super) fn null_bits(columns: &[ColumnEntries], records: &Range<usize>) -> Vec<Option<Vec<bool>>> {
    let bits = |column: &ColumnEntries| {
        let valid: Vec<bool> = records.clone().map(|record| column.is_valid(record)).collect();
        Some(valid).filter(|valid| valid.contains(&false))
    };
    columns.iter().map(|column| if column.has_nulls() { bits(column) } else { None }).collect()
}

/// Where pages go: gets each with its entry in the page table.
pub(crate) type PageSink<'a> = dyn FnMut(PageEntry, &[u8]) -> Result<()> + 'a;

/// Writes the pages of a group that was cut. Returns the bytes of the last.
pub(crate) fn write_pages(chosen: &Chosen, columns: &[ColumnEntries], sink: &mut PageSink<'_>) -> Result<usize> {
    let seen: Vec<&[u32]> = chosen.seen.iter().map(Vec::as_slice).collect();
    let numbers = Numbers { all: &chosen.numbers, surplus: 0 };
    let cutter = Cutter { form: &chosen.form, columns, numbers, seen: &seen };
    let (mut start, mut last) = (0, 0);
    let rows = columns.first().map_or(0, |column| column.rows);
    for end in &chosen.pages.ends {
        let (front, back) = match chosen.form.kind {
            EntryKind::Runs { word_bytes } => (run_page(&cutter, start..*end, word_bytes), Vec::new()),
            _ => tuple_page(&cutter, start..*end),
        };
        last = put_page(chosen.form.page_size, (start, *end == rows), front, &back, sink)?;
        start = *end;
    }
    Ok(last)
}

/// Writes a page that begins with a record, and whether it is the last. Unless it is, it is filled up to whole pages between its
/// entries and what stands at its end. Returns the bytes of the last of these.
pub(super) fn put_page(
    page_size: usize,
    (first, is_last): (usize, bool),
    mut front: Vec<u8>,
    back: &[u8],
    sink: &mut PageSink<'_>,
) -> Result<usize> {
    let used = front.len() + back.len();
    let length = if is_last { used } else { used.next_multiple_of(page_size) };
    front.resize(length - back.len(), 0);
    front.extend_from_slice(back);
    let mut last = 0;
    for page in front.chunks(page_size) {
        let first = u32::try_from(first).map_err(|_| Error::Unsupported("a segment of 2^32 records".into()))?;
        sink(PageEntry { first, checksum: crc32c::crc32c(page) }, page)?;
        last = page.len();
    }
    Ok(last)
}

fn run_page(cutter: &Cutter<'_>, records: Range<usize>, word_bytes: usize) -> Vec<u8> {
    let bits = cutter.form.fields[0].bits;
    let runs: Vec<_> = runs(&cutter.columns[0], records, cutter.longest_run(word_bytes)).collect();
    let valid = runs.iter().any(|run| !run.valid).then(|| runs.iter().map(|run| run.valid).collect());
    let mut page = BitWriter::default();
    page.begin(runs.len(), 0, &[valid]);
    for run in runs {
        page.put(run.code | (run.length as u64) << bits, word_bytes as u32 * 8);
    }
    page.finish()
}

/// The entries of a page, and its dictionaries.
fn tuple_page(cutter: &Cutter<'_>, records: Range<usize>) -> (Vec<u8>, Vec<u8>) {
    let Cutter { form, columns, numbers, seen } = cutter;
    let mut page = BitWriter::default();
    page.begin(records.len(), 0, &null_bits(columns, &records));
    let dictionaries: Vec<PageDictionary> =
        seen.iter().zip(*columns).map(|(seen, column)| PageDictionary::of(column, seen, &records)).collect();
    let rest = form.delta_fields();
    let has_strings = form.strings().next().is_some();
    for record in records.clone() {
        if form.number_bits > 0 {
            let before = (record > records.start).then(|| numbers.of(record - 1));
            put_number(&mut page, before, numbers.of(record), form.number_bits);
        }
        for (place, field) in form.fields.iter().enumerate().skip(rest) {
            let column = &columns[place];
            match (field.packing, field.bits) {
                (PagePacking::PageDictionary(_), bits) => {
                    page.put(dictionaries[place].indexes[record - records.start].into(), bits);
                }
                (_, 128) => {
                    let value = column.wide[record] as u128;
                    page.put(value as u64, 64);
                    page.put((value >> 64) as u64, 64);
                }
                (_, bits) => page.put(column.codes[record], bits),
            }
        }
        if has_strings {
            page.put_bytes(&[]);
            for column in form.strings().map(|place| &columns[place]) {
                page.put_bytes(&column.bytes[column.starts[record]..column.starts[record + 1]]);
            }
        }
    }
    (page.finish(), back(cutter, &dictionaries))
}

/// The end of a page: the dictionaries' entries, of the first column last, how many each has, and the bytes of
/// all this but the size itself.
fn back(cutter: &Cutter<'_>, dictionaries: &[PageDictionary]) -> Vec<u8> {
    if cutter.form.dictionaries == 0 {
        return Vec::new();
    }
    let (mut back, mut counts) = (Vec::new(), Vec::new());
    let with = |place: &usize| !cutter.seen[*place].is_empty();
    for place in (0..cutter.form.fields.len()).rev().filter(with) {
        let bytes = cutter.form.fields[place].code_bytes();
        dictionaries[place].entries.iter().for_each(|code| back.extend_from_slice(&code.to_le_bytes()[..bytes]));
    }
    for place in (0..cutter.form.fields.len()).filter(with) {
        counts.extend_from_slice(&(dictionaries[place].entries.len() as u16).to_le_bytes());
    }
    back.extend_from_slice(&counts);
    let size = back.len() as u32;
    back.extend_from_slice(&size.to_le_bytes());
    back
}

/// Appends a number of `width` bits, by its difference from the one before where there is one.
fn put_number(page: &mut BitWriter, before: Option<u64>, number: u64, width: u32) {
    let Some(before) = before else { return page.put(number, width) };
    let difference = number - before;
    let bits = u64::BITS - difference.leading_zeros();
    page.put((width - bits).into(), zeros_bits(width));
    page.put(difference, bits);
}

/// The dictionary of one column in one page.
#[derive(Default)]
struct PageDictionary {
    /// Codes in the order in which they first appear.
    entries: Vec<u64>,
    /// For each record the place of its code among them.
    indexes: Vec<u16>,
}

impl PageDictionary {
    /// The dictionary of a column in some records; empty when the column has none.
    fn of(column: &ColumnEntries, seen: &[u32], records: &Range<usize>) -> Self {
        let mut dictionary = Self::default();
        if seen.is_empty() {
            return dictionary;
        }
        for record in records.clone() {
            let index = match (seen[record] as usize).checked_sub(records.start + 1) {
                Some(before) => dictionary.indexes[before],
                None => {
                    dictionary.entries.push(column.codes[record]);
                    (dictionary.entries.len() - 1) as u16
                }
            };
            dictionary.indexes.push(index);
        }
        dictionary
    }
}
