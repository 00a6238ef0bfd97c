//! Entries of a dense page value by value, as the scanners of the read-optimized paper decode them (section 5.3): a cursor goes
//! forward from record to record, and gives the values that are asked for.
//!
//! SQL decodes zones column by column instead ([`crate::segment::dense::read`]); this is for experiments. Places were held against
//! the page when it was parsed; a field that leads past its page all the same is read as 0.

use crate::model::page_packing::PagePacking;
use crate::segment::dense::form::{EntryKind, FieldForm, PageForm};
use crate::segment::dense::page::DensePage;
use gingham_kernels::dense::{PageBits, zeros_bits};
use std::ops::Range;

/// A cursor over the records of a page. It starts at no record, and only goes forward.
pub trait DenseEntries {
    /// Goes to a record, by its place among the page's: that at which the cursor is, or one behind it.
    fn go(&mut self, record: usize);
    /// The value of a field at the record, of an integer column: modulo 2^64 where it is negative.
    fn value(&self, field: usize) -> u64;
    /// The byte string of a field at the record.
    fn bytes(&self, field: usize) -> &[u8];
    /// Where the cursor is, to go on from there later.
    fn place(&self) -> CursorPlace;
}

/// Work on the records of a page, whatever the kind of its entries.
pub trait DenseVisitor {
    /// Reads records of a page through a cursor.
    fn visit<E: DenseEntries>(&mut self, entries: &mut E);
}

/// Where a cursor is within a page; the default is in front of its first record.
#[derive(Debug, Clone, Copy, Default)]
pub struct CursorPlace {
    /// Records that were reached or passed.
    reached: usize,
    /// Bit of the record's fields; of runs the word behind its run; of strings the byte at which the record's begins.
    at: usize,
    /// The number that delta-coded columns make; of runs the code; of strings the length.
    number: u64,
    /// Byte at which the record's strings begin.
    strings: usize,
}

/// A page's bytes and its parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageView<'p> {
    pub form: &'p PageForm,
    pub page: &'p DensePage,
    /// The page's bytes, and [`SPARE`](gingham_kernels::dense::SPARE) behind them.
    pub bytes: &'p [u8],
    /// How each field is read.
    pub fields: &'p [FieldRead],
}

/// How a field of a page's entries becomes a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldRead {
    source: FieldSource,
    /// Bits before it in the entry, or below it in the number of the delta-coded columns.
    shift: usize,
    bits: u32,
    mask: u64,
    /// The smallest value, to which codes are added.
    base: u64,
}

/// Where a field's code is.
#[derive(Debug, Clone, Copy)]
enum FieldSource {
    /// In the entry, in bits that one load brings.
    Entry,
    /// In the entry, in more.
    WideEntry,
    /// In the number that the delta-coded columns make.
    Number,
    /// In the page's dictionary, whose entries begin at this byte and have so many.
    Dictionary(usize, u32),
}

/// Bits that one load of eight bytes is sure to bring, wherever in a byte they begin.
const ONE_LOAD: u32 = 57;

impl FieldRead {
    /// For each column of a page its field, given the smallest value of each.
    pub fn of_page(form: &PageForm, page: &DensePage, bases: &[u64]) -> Vec<Self> {
        let read = |(place, (field, base)): (usize, (&FieldForm, &u64))| {
            let dictionary = page.dictionaries.iter().find(|(column, _)| *column == place);
            let source = match (field.packing, dictionary) {
                (PagePacking::Delta, _) => FieldSource::Number,
                (_, Some((_, entries))) => FieldSource::Dictionary(entries.start, field.code_bytes() as u32),
                _ if field.bits <= ONE_LOAD => FieldSource::Entry,
                _ => FieldSource::WideEntry,
            };
            let mask = u64::MAX.checked_shr(u64::BITS - field.bits.min(u64::BITS)).unwrap_or(0);
            // Columns of no bits may have all of a number below them.
            let shift = if matches!(source, FieldSource::Number) { field.shift.min(63) } else { field.shift };
            Self { source, shift, bits: field.bits, mask, base: *base }
        };
        form.fields.iter().zip(bases).enumerate().map(read).collect()
    }
}

impl<'p> PageView<'p> {
    /// Lets `visitor` read from `place` on, and gives back where it stopped; `None` when the bytes are too few.
    pub fn visit(self, place: CursorPlace, visitor: &mut impl DenseVisitor) -> Option<CursorPlace> {
        let bits = PageBits::new(self.bytes, self.page.bytes.len() * 8)?;
        let fields = Fields { view: self, bits };
        Some(match self.form.kind {
            EntryKind::Tuples { stride } => run(visitor, FixedEntries { fields, stride, place }),
            EntryKind::Runs { word_bytes } => run(visitor, RunEntries { fields, word_bytes, place }),
            EntryKind::Strings => run(visitor, StringEntries { fields, place }),
            EntryKind::VariableTuples => {
                let strings = self.form.strings().map(|field| (field, 0..0)).collect();
                run(visitor, VariableEntries { fields, place, strings })
            }
        })
    }
}

fn run<E: DenseEntries>(visitor: &mut impl DenseVisitor, mut entries: E) -> CursorPlace {
    visitor.visit(&mut entries);
    entries.place()
}

/// The fields of entries, wherever these begin.
#[derive(Clone, Copy)]
struct Fields<'p> {
    view: PageView<'p>,
    bits: PageBits<'p>,
}

impl Fields<'_> {
    #[inline(always)]
    fn field(&self, at: usize, bits: u32) -> u64 {
        self.bits.field(at, bits).unwrap_or_default()
    }

    /// The value of a field, of an entry whose fields begin at `at`, behind the number of the delta-coded columns.
    #[inline(always)]
    fn value(&self, field: usize, at: usize, number: u64) -> u64 {
        let read = &self.view.fields[field];
        let code = match read.source {
            FieldSource::Entry => self.bits.masked(at + read.shift, read.mask).unwrap_or_default(),
            FieldSource::Number => number >> read.shift & read.mask,
            FieldSource::WideEntry => self.field(at + read.shift, read.bits),
            FieldSource::Dictionary(start, bytes) => {
                let index = self.bits.masked(at + read.shift, read.mask).unwrap_or_default();
                self.field((start + index as usize * bytes as usize) * 8, bytes * 8)
            }
        };
        code.wrapping_add(read.base)
    }

    /// The bytes of a string that lies at a place of the page.
    fn string(&self, place: Range<usize>) -> &[u8] {
        self.view.bytes.get(place).unwrap_or_default()
    }
}

/// Entries of one length.
struct FixedEntries<'p> {
    fields: Fields<'p>,
    stride: usize,
    place: CursorPlace,
}

impl DenseEntries for FixedEntries<'_> {
    #[inline(always)]
    fn go(&mut self, record: usize) {
        self.place.at = self.fields.view.page.entries.start * 8 + record * self.stride;
    }

    #[inline(always)]
    fn value(&self, field: usize) -> u64 {
        self.fields.value(field, self.place.at, self.place.number)
    }

    fn bytes(&self, _field: usize) -> &[u8] {
        &[]
    }

    fn place(&self) -> CursorPlace {
        self.place
    }
}

/// Runs of a single column.
struct RunEntries<'p> {
    fields: Fields<'p>,
    word_bytes: usize,
    place: CursorPlace,
}

impl DenseEntries for RunEntries<'_> {
    #[inline(always)]
    fn go(&mut self, record: usize) {
        let code_bits = self.fields.view.form.fields[0].bits;
        while self.place.reached <= record && self.place.at < self.fields.view.page.count {
            let at = self.fields.view.page.entries.start + self.place.at * self.word_bytes;
            let word = self.fields.field(at * 8, self.word_bytes as u32 * 8);
            self.place.number = word & !(u64::MAX << code_bits);
            self.place.reached += (word >> code_bits) as usize;
            self.place.at += 1;
        }
    }

    #[inline(always)]
    fn value(&self, _field: usize) -> u64 {
        self.place.number.wrapping_add(self.fields.view.fields[0].base)
    }

    fn bytes(&self, _field: usize) -> &[u8] {
        &[]
    }

    fn place(&self) -> CursorPlace {
        self.place
    }
}

/// Byte strings of a single column, which are not compressed.
struct StringEntries<'p> {
    fields: Fields<'p>,
    place: CursorPlace,
}

impl DenseEntries for StringEntries<'_> {
    #[inline(always)]
    fn go(&mut self, record: usize) {
        let (page, bits) = (self.fields.view.page, self.fields.view.form.fields[0].bits as usize);
        if self.place.reached == 0 {
            self.place.at = page.entries.start + (page.count * bits).div_ceil(8);
        }
        while self.place.reached <= record {
            self.place.at += self.place.number as usize;
            self.place.number = self.fields.field(page.entries.start * 8 + self.place.reached * bits, bits as u32);
            self.place.reached += 1;
        }
    }

    fn value(&self, _field: usize) -> u64 {
        0
    }

    #[inline(always)]
    fn bytes(&self, _field: usize) -> &[u8] {
        self.fields.string(self.place.at..self.place.at + self.place.number as usize)
    }

    fn place(&self) -> CursorPlace {
        self.place
    }
}

/// Entries whose lengths differ: a number by its difference first, or byte strings behind the bits.
struct VariableEntries<'p> {
    fields: Fields<'p>,
    place: CursorPlace,
    /// The fields of byte strings, and where those of the record lie.
    strings: Vec<(usize, Range<usize>)>,
}

impl VariableEntries<'_> {
    /// Goes to the next record.
    #[inline(always)]
    fn step(&mut self) {
        let (form, page) = (self.fields.view.form, self.fields.view.page);
        let mut at = match self.place.reached {
            0 => page.entries.start * 8,
            _ if self.strings.is_empty() => self.place.at + form.rest_bits,
            _ => self.end_of_strings() * 8,
        };
        if form.number_bits > 0 {
            let mut bits = form.number_bits;
            if self.place.reached > 0 {
                let zeros = zeros_bits(bits);
                bits = bits.saturating_sub(self.fields.field(at, zeros) as u32);
                at += zeros as usize;
            }
            self.place.number = self.place.number.wrapping_add(self.fields.field(at, bits));
            at += bits as usize;
        }
        self.place.at = at;
        self.place.reached += 1;
        if !self.strings.is_empty() {
            self.place.strings = (at + form.rest_bits).div_ceil(8);
            self.find_strings();
        }
    }

    /// Finds the strings of the record.
    fn find_strings(&mut self) {
        let mut byte = self.place.strings;
        for (field, place) in &mut self.strings {
            let form = &self.fields.view.form.fields[*field];
            let length = self.fields.field(self.place.at + form.shift, form.bits) as usize;
            *place = byte..byte + length;
            byte += length;
        }
    }

    fn end_of_strings(&self) -> usize {
        self.strings.last().map_or(self.place.strings, |(_, place)| place.end)
    }
}

impl DenseEntries for VariableEntries<'_> {
    #[inline(always)]
    fn go(&mut self, record: usize) {
        if self.place.reached > 0 && self.strings.last().is_some_and(|(_, place)| place.end == 0) {
            // The cursor was made anew at its place.
            self.find_strings();
        }
        while self.place.reached <= record {
            self.step();
        }
    }

    #[inline(always)]
    fn value(&self, field: usize) -> u64 {
        self.fields.value(field, self.place.at, self.place.number)
    }

    fn bytes(&self, field: usize) -> &[u8] {
        let string = self.strings.iter().find(|(column, _)| *column == field);
        string.map_or(&[][..], |(_, place)| self.fields.string(place.clone()))
    }

    fn place(&self) -> CursorPlace {
        self.place
    }
}
