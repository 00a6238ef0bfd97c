//! The pages of a zone, and their columns as native codes.
//!
//! Pages don't end with zones: those at both ends are read for two zones. Pages of rows are read and checked once for all of
//! their columns that a reader wants.

use crate::model::page_packing::PagePacking;
use crate::segment::decode::{Native, check_range, write_offsets};
use crate::segment::dense::form::{DenseMeta, EntryKind, FieldForm, PageForm, SIZE_BYTES};
use crate::segment::dense::page::DensePage;
use crate::segment::dense::resume::{ResumePoint, ResumePoints};
use crate::segment::directory::MAX_STRING_BYTES;
use crate::segment::format::BlockEntry;
use crate::segment::region::{PADDING, as_codes};
use crate::segment::source::ReadBytes;
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, MutableBuffer};
use gingham_kernels::dense::{
    Deltas, PageBits, Runs, SPARE, expand_runs, fields, fields_at, sum_deltas, translate, zeros_bits,
};
use gingham_kernels::{Code, Isa};
use std::cell::OnceCell;
use std::ops::Range;

/// Indexes that are translated at once: they stay in the first cache.
const INDEXES: usize = 2048;

/// The pages that hold the records of a zone.
#[derive(Debug)]
pub(crate) struct ZonePages<'a> {
    meta: &'a DenseMeta,
    form: &'a PageForm,
    /// The group, by which places in its pages are known.
    group: usize,
    resume: &'a ResumePoints,
    zone: Range<usize>,
    /// The pages' bytes, and some behind them.
    buffer: ReadBytes<'a>,
    /// The pages, and what was found by walking through those whose entries differ in length.
    pages: Vec<(DensePage, OnceCell<Result<Walk, String>>)>,
}

/// The finds of one pass over the entries of a page.
#[derive(Debug, Default)]
struct Walk {
    /// The first entry that it has.
    first: usize,
    /// The numbers that delta-coded columns make; the lengths of byte strings that are alone in their page.
    numbers: Vec<u64>,
    /// The bit at which the other columns start.
    starts: Vec<u32>,
    /// Where each byte string lies, within the page's bytes or the expanded ones: entry by entry, column by column.
    strings: Vec<Range<usize>>,
    /// Byte strings that were compressed.
    expanded: Option<Vec<u8>>,
}

/// The bytes of the file that hold a zone of `records` and what must follow them: the pages and a part of what comes behind,
/// which is there in every file.
pub(crate) fn span(meta: &DenseMeta, records: &Range<usize>) -> (u64, usize) {
    let span = meta.span(meta.pages_of(records));
    (meta.offset + span.start, (span.end - span.start) as usize + SPARE)
}

impl<'a> ZonePages<'a> {
    /// Verifies and parses the pages of a zone, whose [`span`] is `buffer`, of a segment of so many records.
    pub fn parse(
        (meta, form): (&'a DenseMeta, &'a PageForm),
        (group, resume): (usize, &'a ResumePoints),
        zone: Range<usize>,
        rows: usize,
        buffer: ReadBytes<'a>,
    ) -> Result<Self, String> {
        let numbers = meta.pages_of(&zone);
        let before = meta.span(0..numbers.start).end as usize;
        let mut zone_pages = Self { meta, form, group, resume, zone, buffer, pages: Vec::with_capacity(numbers.len()) };
        let mut number = numbers.start;
        while number < numbers.end {
            let first = meta.table[number].first;
            let next = meta.table.partition_point(|page| page.first <= first);
            for page in number..next {
                zone_pages.verify(page, before).map_err(|detail| zone_pages.at(page, &detail))?;
            }
            let end = meta.table.get(next).map_or(rows, |page| page.first as usize);
            let span = meta.span(number..next);
            let place = span.start as usize - before..span.end as usize - before;
            let page = DensePage::parse(form, number, first as usize..end, (&zone_pages.buffer, place));
            zone_pages.pages.push((page.map_err(|detail| zone_pages.at(number, &detail))?, OnceCell::new()));
            number = next;
        }
        Ok(zone_pages)
    }

    /// Compares a page's checksum; the buffer has what lies `before` bytes behind the first page's start.
    fn verify(&self, page: usize, before: usize) -> Result<(), String> {
        let span = self.meta.span(page..page + 1);
        let bytes = &self.buffer[span.start as usize - before..span.end as usize - before];
        let (found, written) = (crc32c::crc32c(bytes), self.meta.table[page].checksum);
        if found == written { Ok(()) } else { Err(format!("checksum is {found:08x} where {written:08x} was written")) }
    }

    /// An error that names the page.
    fn at(&self, page: usize, detail: &str) -> String {
        format!("dense page {page} (at byte {}): {detail}", self.meta.offset + self.meta.span(page..page + 1).start)
    }

    /// Writes a column's codes (or offsets) and string bytes in native form; returns the validity bits, when the zone has NULLs, or
    /// what is wrong. `entry` is the directory's of the column and zone.
    pub fn decode(
        &self,
        place: usize,
        entry: &BlockEntry,
        codes: &mut [u8],
        bytes: &mut [u8],
    ) -> Result<Option<BooleanBuffer>, String> {
        match self.form.fields[place].native {
            Native::Codes { width: 1 } => self.codes::<u8>(place, entry, as_codes(codes))?,
            Native::Codes { width: 2 } => self.codes::<u16>(place, entry, as_codes(codes))?,
            Native::Codes { width: 4 } => self.codes::<u32>(place, entry, as_codes(codes))?,
            Native::Codes { .. } => self.codes::<u64>(place, entry, as_codes(codes))?,
            Native::Wide => self.wide(place, codes)?,
            Native::Bytes { text } => self.strings(place, codes, bytes, text)?,
        }
        self.validity(place, entry.nulls as usize)
    }

    /// Calls `work` with each page and those of its records that are in the zone, counted from the page's first.
    fn each_page(&self, mut work: impl FnMut(&DensePage, Range<usize>) -> Result<(), String>) -> Result<(), String> {
        for (page, _) in &self.pages {
            work(page, self.part(page)).map_err(|detail| self.at(page.number, &detail))?;
        }
        Ok(())
    }

    /// The records of a page that are in the zone, counted from the page's first.
    fn part(&self, page: &DensePage) -> Range<usize> {
        let first = page.records.start;
        self.zone.start.max(first) - first..self.zone.end.min(page.records.end) - first
    }

    /// [`Self::each_page`], with the part of `out` that the records of the page have.
    fn each_part<T>(
        &self,
        out: &mut [T],
        mut work: impl FnMut(&DensePage, Range<usize>, &mut [T]) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut rest = out;
        self.each_page(|page, part| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(part.len());
            rest = later;
            work(page, part, now)
        })
    }

    fn codes<C: Code>(&self, place: usize, entry: &BlockEntry, out: &mut [C]) -> Result<(), String> {
        self.each_part(out, |page, part, out| self.page_codes(page, place, part, out))?;
        check_range(entry, out)
    }

    /// The codes of some records of a page.
    fn page_codes<C: Code>(
        &self,
        page: &DensePage,
        place: usize,
        part: Range<usize>,
        out: &mut [C],
    ) -> Result<(), String> {
        let field = &self.form.fields[place];
        match (self.form.kind, field.packing) {
            (EntryKind::Runs { word_bytes }, _) => {
                let expanded = expand_runs(Isa::best(), self.runs(page, word_bytes), part.start, out);
                expanded.then_some(()).ok_or_else(|| "its runs are too few, or one has no code".into())
            }
            (_, PagePacking::PageDictionary(_)) => self.translate(page, place, part, out),
            (_, PagePacking::Delta) => {
                let mask = u64::MAX.checked_shr(u64::BITS - field.bits).unwrap_or(0);
                let walk = self.walk(page)?;
                let numbers = &walk.numbers[part.start - walk.first..part.end - walk.first];
                let code = |number: &u64| C::truncate(*number >> field.shift.min(63) & mask);
                out.iter_mut().zip(numbers).for_each(|(out, number)| *out = code(number));
                Ok(())
            }
            _ => self.fields(page, (field.shift, field.bits), part, out),
        }
    }

    /// Fields of some records of a page, at `shift` bits behind where the columns without delta start.
    fn fields<C: Code>(
        &self,
        page: &DensePage,
        (shift, bits): (usize, u32),
        part: Range<usize>,
        out: &mut [C],
    ) -> Result<(), String> {
        let (isa, entries) = (Isa::best(), self.page_bits(page)?);
        match self.form.kind {
            EntryKind::VariableTuples => {
                let walk = self.walk(page)?;
                let starts = &walk.starts[part.start - walk.first..part.end - walk.first];
                fields_at(isa, entries, starts, shift, bits, out);
            }
            _ => {
                let stride = self.form.rest_bits;
                fields(isa, entries, page.entries.start * 8 + part.start * stride + shift, stride, bits, out);
            }
        }
        Ok(())
    }

    /// The codes that indexes into a page's dictionary name.
    fn translate<C: Code>(
        &self,
        page: &DensePage,
        place: usize,
        part: Range<usize>,
        out: &mut [C],
    ) -> Result<(), String> {
        let FieldForm { shift, bits, .. } = self.form.fields[place];
        let dictionary = page.dictionaries.iter().find(|(column, _)| *column == place);
        let entries = dictionary.map_or(&[][..], |(_, place)| &self.bytes(page)[place.clone()]);
        let entry = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            C::truncate(u64::from_le_bytes(word))
        };
        let entries: Vec<C> = entries.chunks_exact(size_of::<C>()).map(entry).collect();
        let mut indexes = [0_u16; INDEXES];
        for (number, out) in out.chunks_mut(INDEXES).enumerate() {
            let (start, indexes) = (part.start + number * INDEXES, &mut indexes[..out.len()]);
            self.fields(page, (shift, bits), start..start + out.len(), indexes)?;
            if !translate(Isa::best(), indexes, &entries, out) {
                return Err(format!("an index past the {} entries of a dictionary", entries.len()));
            }
        }
        Ok(())
    }

    fn wide(&self, place: usize, out: &mut [u8]) -> Result<(), String> {
        let shift = self.form.fields[place].shift;
        let mut halves = Vec::new();
        self.each_part(out.as_chunks_mut::<16>().0, |page, part, out| {
            halves.resize(part.len(), 0_u64);
            for (first, half) in [(0, 0), (8, 64)] {
                self.fields(page, (shift + half, u64::BITS), part.clone(), &mut halves)?;
                let halves = out.iter_mut().zip(&halves);
                halves.for_each(|(out, half)| out[first..first + 8].copy_from_slice(&half.to_le_bytes()));
            }
            Ok(())
        })
    }

    fn strings(&self, place: usize, offsets: &mut [u8], bytes: &mut [u8], text: bool) -> Result<(), String> {
        let columns = self.form.strings().count();
        let among = self.form.strings().take_while(|column| *column != place).count();
        let (mut lengths, mut end) = (Vec::with_capacity(self.zone.len()), 0);
        self.each_page(|page, part| {
            let walk = self.walk(page)?;
            let source = walk.expanded.as_deref().unwrap_or_else(|| self.bytes(page));
            for string in part.map(|record| &walk.strings[record * columns + among]) {
                let string = &source[string.clone()];
                let all = bytes.len();
                let out = bytes.get_mut(end..end + string.len());
                out.ok_or_else(|| format!("more than the {all} bytes of strings that are expected"))?
                    .copy_from_slice(string);
                end += string.len();
                lengths.push(string.len() as u64);
            }
            Ok(())
        })?;
        write_offsets(&lengths, offsets, bytes, text)
    }

    /// The validity bits of a column, when any of the zone's records is NULL.
    fn validity(&self, place: usize, nulls: usize) -> Result<Option<BooleanBuffer>, String> {
        let bits_of =
            |page: &DensePage| page.nulls.iter().find(|(column, _)| *column == place).map(|(_, bits)| bits.clone());
        if nulls == 0 && self.pages.iter().all(|(page, _)| bits_of(page).is_none()) {
            return Ok(None);
        }
        let rows = self.zone.len();
        // Padded like every buffer of a view.
        let mut validity =
            BooleanBufferBuilder::new_from_buffer(MutableBuffer::with_capacity(rows.div_ceil(8) + PADDING), 0);
        self.each_page(|page, part| {
            let Some(bits) = bits_of(page) else {
                validity.append_n(part.len(), true);
                return Ok(());
            };
            let bits = &self.bytes(page)[bits];
            if let EntryKind::Runs { word_bytes } = self.form.kind {
                append_runs(&mut validity, bits, self.runs(page, word_bytes), part);
            } else {
                validity.append_packed_range(part, bits);
            }
            Ok(())
        })?;
        let validity = validity.finish();
        let found = rows - validity.count_set_bits();
        if validity.len() != rows || found != nulls {
            return Err(format!("{found} NULLs among {rows} records where {nulls} are expected"));
        }
        Ok((nulls > 0).then_some(validity))
    }

    fn bytes(&self, page: &DensePage) -> &[u8] {
        &self.buffer[page.bytes.clone()]
    }

    /// The runs of a page.
    fn runs(&self, page: &DensePage, word_bytes: usize) -> Runs<'_> {
        let words = &self.bytes(page)[page.entries.start..][..page.count * word_bytes];
        Runs { words, word_bytes, code_bits: self.form.fields[0].bits }
    }

    fn page_bits(&self, page: &DensePage) -> Result<PageBits<'_>, String> {
        let bits = page.entries.end * 8;
        PageBits::new(&self.buffer[page.bytes.start..], bits).ok_or_else(|| "too few bytes behind it".into())
    }

    /// The finds of a pass over a page's entries, made once.
    fn walk(&self, page: &DensePage) -> Result<&Walk, String> {
        let (_, walk) = &self.pages[self.pages.partition_point(|(other, _)| other.number < page.number)];
        let walked = walk.get_or_init(|| match self.form.kind {
            EntryKind::Strings => self.walk_strings(page),
            _ if self.form.strings().next().is_some() => self.walk_tuples(page),
            _ => self.walk_numbers(page),
        });
        walked.as_ref().map_err(String::clone)
    }

    /// Sums differences up, from the last known place before the zone to its end.
    fn walk_numbers(&self, page: &DensePage) -> Result<Walk, String> {
        let (width, rest) = (self.form.number_bits, self.form.rest_bits);
        let part = self.part(page);
        let known = self.resume.before((self.group, page.number), part.start);
        let (first, deltas) = match known {
            Some(ResumePoint { entry, bit, number }) => {
                (entry, Deltas { first: bit, before: Some(number), width, rest })
            }
            None => (0, Deltas { first: page.entries.start * 8, before: None, width, rest }),
        };
        let (mut numbers, mut starts) = (vec![0; part.end - first], vec![0; part.end - first]);
        let bits = page.entries.end.saturating_mul(8).min(u32::MAX as usize);
        let entries = PageBits::new(&self.buffer[page.bytes.start..], bits).ok_or("too few bytes behind it")?;
        if !sum_deltas(Isa::best(), entries, deltas, &mut numbers, &mut starts) {
            return Err("an entry goes past the page's entries, or has more leading zeros than bits".into());
        }
        if let (true, Some(number), Some(start)) = (part.end < page.count, numbers.last(), starts.last()) {
            let point = ResumePoint { entry: part.end, bit: *start as usize + rest, number: *number };
            self.resume.note((self.group, page.number), point);
        }
        Ok(Walk { first, numbers, starts, ..Walk::default() })
    }

    /// Walks entries that end with byte strings.
    fn walk_tuples(&self, page: &DensePage) -> Result<Walk, String> {
        let (form, entries) = (self.form, self.page_bits(page)?);
        let past = || "an entry goes past the page's entries".to_owned();
        let mut walk = Walk::default();
        let (mut at, mut number) = (page.entries.start * 8, 0_u64);
        for entry in 0..page.count {
            if form.number_bits > 0 {
                let mut bits = form.number_bits;
                if entry > 0 {
                    let zeros = entries.field(at, zeros_bits(bits)).ok_or_else(past)? as u32;
                    at += zeros_bits(bits) as usize;
                    bits = bits.checked_sub(zeros).ok_or("a difference has more leading zeros than bits")?;
                }
                number = number.wrapping_add(entries.field(at, bits).ok_or_else(past)?);
                at += bits as usize;
            }
            walk.numbers.push(number);
            walk.starts.push(u32::try_from(at).map_err(|_| past())?);
            let mut byte = (at + form.rest_bits).div_ceil(8);
            for field in form.strings().map(|place| &form.fields[place]) {
                let length = entries.field(at + field.shift, field.bits).ok_or_else(past)? as usize;
                walk.strings.push(byte..byte + length);
                byte += length;
            }
            if byte > page.entries.end {
                return Err(past());
            }
            at = byte * 8;
        }
        Ok(walk)
    }

    /// The lengths of strings that are alone in a page, and the strings.
    fn walk_strings(&self, page: &DensePage) -> Result<Walk, String> {
        let bits = self.form.fields[0].bits;
        let mut lengths = vec![0_u64; page.count];
        self.fields(page, (0, bits), 0..page.count, &mut lengths)?;
        let all = lengths.iter().fold(0_u64, |all, length| all.saturating_add(*length)) as usize;
        let start = page.entries.start + (page.count * self.form.rest_bits).div_ceil(8);
        let stored = &self.bytes(page)[start..page.entries.end];
        let past = || format!("{all} bytes of strings go past the end of the page");
        let (mut byte, expanded) = if page.is_compressed {
            (0, Some(expand(stored, all).ok_or_else(past)??))
        } else if all <= stored.len() {
            (start, None)
        } else {
            return Err(past());
        };
        let strings = lengths.iter().map(|length| {
            let string = byte..byte + *length as usize;
            byte = string.end;
            string
        });
        Ok(Walk { strings: strings.collect(), expanded, ..Walk::default() })
    }
}

/// Decompresses `all` bytes of strings; `None` when their frame is not there, or there are more than a zone may have.
fn expand(stored: &[u8], all: usize) -> Option<Result<Vec<u8>, String>> {
    let (length, rest) = stored.split_first_chunk::<SIZE_BYTES>()?;
    let frame = rest.get(..u32::from_le_bytes(*length) as usize)?;
    if all > MAX_STRING_BYTES {
        return None;
    }
    let mut out = Vec::new();
    if out.try_reserve_exact(all).is_err() {
        return Some(Err(format!("no memory for {all} bytes of strings")));
    }
    out.resize(all, 0);
    Some(match zstd::bulk::decompress_to_buffer(frame, &mut out) {
        Ok(length) if length == all => Ok(out),
        Ok(length) => Err(format!("{length} bytes after decompression where {all} are expected")),
        Err(error) => Err(format!("decompression: {error}")),
    })
}

/// Appends a bit for each of some records of a page of runs, which have a bit each.
fn append_runs(
    validity: &mut BooleanBufferBuilder,
    bits: &[u8],
    Runs { words, word_bytes, code_bits }: Runs<'_>,
    part: Range<usize>,
) {
    let mut start = 0;
    for (run, word) in words.chunks_exact(word_bytes).enumerate() {
        let mut bytes = [0; 8];
        bytes[..word_bytes].copy_from_slice(word);
        let end = start + (u64::from_le_bytes(bytes) >> code_bits) as usize;
        let within = part.start.max(start)..part.end.min(end);
        if !within.is_empty() {
            validity.append_n(within.len(), bits[run / 8] >> (run % 8) & 1 == 1);
        }
        if end >= part.end {
            break;
        }
        start = end;
    }
}
