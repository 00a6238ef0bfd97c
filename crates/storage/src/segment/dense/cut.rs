//! Where pages end: each takes as many entries as fit, its NULLs and dictionaries included.
//!
//! One rule measures a packing before it is chosen and writes it afterwards, so that the choice is by exact bytes.

use crate::segment::dense::entries::ColumnEntries;
use crate::segment::dense::form::{COUNT_BITS, EntryKind, PAGE_HEADER, PageForm};
use gingham_kernels::dense::zeros_bits;
use std::ops::Range;

/// Most entries of a page, so that their number has its place in the header.
const MOST_ENTRIES: usize = (1 << COUNT_BITS) - 1;

/// The pages of a group.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    /// For each header the record behind its last.
    pub ends: Vec<usize>,
    /// Bytes of all pages.
    pub bytes: u64,
}

/// The columns of a group in a form, ready to be cut.
pub(crate) struct Cutter<'a> {
    /// The form.
    pub form: &'a PageForm,
    /// The columns.
    pub columns: &'a [ColumnEntries],
    /// The numbers that the delta-coded columns make; empty without any.
    pub numbers: Numbers<'a>,
    /// For each column with a dictionary what [`ColumnEntries::seen_before`] says; empty for others.
    pub seen: &'a [&'a [u32]],
}

/// For each record the codes of a group's first columns as one number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers<'a> {
    /// The numbers of these columns, or of more.
    pub all: &'a [u64],
    /// Bits of the columns that are too many.
    pub surplus: u32,
}

impl Numbers<'_> {
    /// The number of a record.
    #[inline]
    pub fn of(&self, record: usize) -> u64 {
        self.all[record] >> self.surplus
    }
}

/// Columns that a record's size depends on, found once for all records.
struct Parts<'a> {
    nullable: Vec<&'a ColumnEntries>,
    strings: Vec<&'a ColumnEntries>,
    /// For each dictionary what was seen before, and the bytes of an entry.
    dictionaries: Vec<(&'a [u32], usize)>,
}

/// The entries of a page so far.
#[derive(Default)]
struct Filled {
    bits: usize,
    dictionary_entries: usize,
    dictionary_bytes: usize,
}

impl Cutter<'_> {
    /// Cuts some records.
    pub fn cut(&self, records: Range<usize>) -> Pages {
        let (mut pages, mut start, size) = (Pages::default(), records.start, self.form.page_size);
        let parts = self.parts();
        while start < records.end {
            let (end, bytes) = match self.form.kind {
                EntryKind::Runs { word_bytes } => self.runs(start..records.end, word_bytes),
                _ => self.tuples(&parts, start..records.end),
            };
            pages.bytes = pages.bytes.next_multiple_of(size as u64) + bytes as u64;
            pages.ends.push(end);
            start = end;
        }
        pages
    }

    /// Cuts a page off some records: the record behind its last, of which it has at least one, and its bytes.
    fn tuples(&self, parts: &Parts<'_>, records: Range<usize>) -> (usize, usize) {
        let start = records.start;
        let has_nulls = !parts.nullable.is_empty();
        if let (EntryKind::Tuples { stride }, false, 0) = (self.form.kind, has_nulls, self.form.dictionaries) {
            let most = ((self.form.page_size - PAGE_HEADER) * 8).checked_div(stride).unwrap_or(MOST_ENTRIES);
            let count = most.clamp(1, MOST_ENTRIES).min(records.len());
            return (start + count, PAGE_HEADER + (count * stride).div_ceil(8));
        }
        let (mut filled, mut bytes, mut null_columns) = (Filled::default(), 0, vec![false; parts.nullable.len()]);
        for record in records.clone() {
            self.add(parts, start, record, &mut filled);
            parts.nullable.iter().zip(&mut null_columns).for_each(|(column, null)| *null |= !column.is_valid(record));
            let count = record + 1 - start;
            let with_null = null_columns.iter().filter(|null| **null).count();
            let now = self.bytes(&filled, count, with_null);
            let indexes = 1_usize << self.form.index_bits;
            if count > 1 && (now > self.form.page_size || filled.dictionary_entries > indexes || count > MOST_ENTRIES) {
                return (record, bytes);
            }
            bytes = now;
        }
        (records.end, bytes)
    }

    fn parts(&self) -> Parts<'_> {
        let with_dictionary = self.seen.iter().zip(&self.form.fields).filter(|(seen, _)| !seen.is_empty());
        Parts {
            nullable: self.columns.iter().filter(|column| column.has_nulls()).collect(),
            strings: self.form.strings().map(|column| &self.columns[column]).collect(),
            dictionaries: with_dictionary.map(|(seen, field)| (*seen, field.code_bytes())).collect(),
        }
    }

    /// Adds a record to a page that begins with record `start`.
    #[inline]
    fn add(&self, parts: &Parts<'_>, start: usize, record: usize, filled: &mut Filled) {
        let (form, number_bits) = (self.form, self.form.number_bits);
        if number_bits > 0 {
            filled.bits += if record == start {
                number_bits as usize
            } else {
                difference_bits(self.numbers.of(record - 1), self.numbers.of(record), number_bits)
            };
        }
        filled.bits += form.rest_bits;
        if !parts.strings.is_empty() {
            let bytes: u64 = parts.strings.iter().map(|column| column.codes[record]).sum();
            filled.bits = filled.bits.next_multiple_of(8) + bytes as usize * 8;
        }
        for (seen, bytes) in &parts.dictionaries {
            let is_new = usize::from(seen[record] as usize <= start);
            filled.dictionary_entries += is_new;
            filled.dictionary_bytes += is_new * bytes;
        }
    }

    /// Bytes of a page with so many entries, of which `with_null` columns have a NULL.
    fn bytes(&self, filled: &Filled, count: usize, with_null: usize) -> usize {
        let nulls = if with_null == 0 { 0 } else { self.form.mask_bytes() + with_null * count.div_ceil(8) };
        PAGE_HEADER + nulls + filled.bits.div_ceil(8) + self.form.dictionary_bytes(filled.dictionary_bytes)
    }

    /// Cuts a page of runs off some records, as `tuples` does one of records.
    fn runs(&self, records: Range<usize>, word_bytes: usize) -> (usize, usize) {
        let (mut words, mut end, mut nulls, mut bytes) = (0_usize, records.start, false, 0);
        for run in runs(&self.columns[0], records, self.longest_run(word_bytes)) {
            words += 1;
            nulls |= !run.valid;
            let null_bytes = if nulls { self.form.mask_bytes() + words.div_ceil(8) } else { 0 };
            let now = PAGE_HEADER + null_bytes + words * word_bytes;
            if now > self.form.page_size {
                break;
            }
            (end, bytes) = (end + run.length, now);
        }
        (end, bytes)
    }

    /// The longest run that a word says.
    pub fn longest_run(&self, word_bytes: usize) -> usize {
        (u64::MAX >> (64 - word_bytes as u32 * 8 + self.form.fields[0].bits)) as usize
    }
}

/// Records that follow one another and have the same code, or no value.
pub(crate) struct Run {
    /// The code of the records.
    pub code: u64,
    /// Whether the records have a value.
    pub valid: bool,
    /// The number of records.
    pub length: usize,
}

/// The runs of some records, none longer than `longest`.
pub(crate) fn runs(column: &ColumnEntries, records: Range<usize>, longest: usize) -> impl Iterator<Item = Run> {
    let mut start = records.start;
    std::iter::from_fn(move || {
        let code = *column.codes[..records.end].get(start)?;
        let valid = column.is_valid(start);
        let rest = &column.codes[start..records.end.min(start.saturating_add(longest))];
        let same = |(at, next): &(usize, &u64)| **next == code && column.is_valid(start + at) == valid;
        let length = rest.iter().enumerate().take_while(same).count();
        start += length;
        Some(Run { code, valid, length })
    })
}

/// Bits of a number of `width` bits that is stored as the difference from the one before.
pub(crate) fn difference_bits(before: u64, number: u64, width: u32) -> usize {
    let difference = number.wrapping_sub(before);
    (zeros_bits(width) + (u64::BITS - difference.leading_zeros())) as usize
}
