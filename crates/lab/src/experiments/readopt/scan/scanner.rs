//! A scanner of one file: of all of its records, or of those at the positions that the scanner before has passed on. The first of them
//! alone, on a file of whole records, is the paper's row scanner; several, on a file for each column, are its column scanners; on files
//! of several columns each they read its materialised views (section 6.8).
//!
//! A scanner decodes the columns of an entry that the query uses, then tries their predicates, then writes the values of an entry that
//! passes into the tuple buffer.

use super::buffer::{TUPLES, TupleBuffer};
use super::paced::PacedStream;
use crate::experiments::readopt::forced::Forced;
use gingham::storage::Result;
use gingham::storage::lab::{CursorPlace, DenseEntries, DenseVisitor, FilePage};

/// `column >= value`; its outcome is forced where a selectivity is asked for.
#[derive(Debug, Clone)]
pub struct ScanPredicate {
    /// The value.
    pub at_least: u32,
    /// The forced outcome, which decides in the condition's place.
    pub forced: Option<Forced>,
}

impl ScanPredicate {
    #[inline(always)]
    fn passes(&mut self, value: u32) -> bool {
        let holds = value >= self.at_least;
        self.forced.as_mut().map_or(holds, |forced| forced.call(holds))
    }
}

/// A column that a scanner decodes.
#[derive(Debug, Clone)]
pub struct ScannedField {
    /// The column's place in the file's entries.
    pub field: usize,
    /// Where its words go in a tuple.
    pub offset: usize,
    /// Words of its values.
    pub words: usize,
    /// The column's predicate.
    pub predicate: Option<ScanPredicate>,
}

/// A scanner of one file.
pub struct Scanner<'f> {
    stream: PacedStream<'f>,
    page: Option<(FilePage<'f>, CursorPlace)>,
    /// The next record of the page, of a scanner of all records.
    next: usize,
    work: Decoding,
}

/// A scanner's work on a record.
struct Decoding {
    /// Columns of one word: their fields, and where they go in a tuple.
    words: Vec<(usize, usize)>,
    /// Longer ones, with their words.
    strings: Vec<(usize, usize, usize)>,
    /// Where tested words are in a tuple, and their predicates.
    predicates: Vec<(usize, ScanPredicate)>,
}

impl<'f> Scanner<'f> {
    /// A scanner of these columns, of which those with predicates come first.
    pub fn new(stream: PacedStream<'f>, fields: Vec<ScannedField>) -> Self {
        let mut work = Decoding { words: Vec::new(), strings: Vec::new(), predicates: Vec::new() };
        for ScannedField { field, offset, words, predicate } in fields {
            match words {
                1 => work.words.push((field, offset)),
                words => work.strings.push((field, offset, words)),
            }
            work.predicates.extend(predicate.map(|predicate| (offset, predicate)));
        }
        Self { stream, page: None, next: 0, work }
    }

    /// The file.
    pub fn stream(&self) -> &PacedStream<'f> {
        &self.stream
    }

    /// Adds tuples of the coming records until the buffer is full; false when there are no more records.
    pub fn fill(&mut self, buffer: &mut TupleBuffer) -> Result<bool> {
        while !buffer.is_full() {
            if self.page.is_none() {
                let Some(page) = self.stream.next_page()? else { return Ok(false) };
                self.page = Some((page, CursorPlace::default()));
                self.next = 0;
            }
            let Some((page, place)) = &mut self.page else { continue };
            let records = page.records();
            let (count, first) = ((records.end - records.start) as usize, records.start);
            let mut all = AllRecords { next: self.next, count, first, work: &mut self.work, buffer };
            *place = page.visit(*place, &mut all);
            self.next = all.next;
            if self.next == count {
                self.page = None;
            }
        }
        Ok(true)
    }

    /// Adds this file's values to the tuples of a buffer, which are those at its positions, ascending; tuples that don't pass are left out.
    pub fn extend(&mut self, buffer: &mut TupleBuffer) -> Result<()> {
        let (mut done, mut kept) = (0, 0);
        while let Some(position) = buffer.positions.get(done) {
            let Some((page, place)) = self.page.as_mut().filter(|(page, _)| *position < page.records().end) else {
                // The pages up to the position are read like all others, and not looked at.
                let page = self.stream.next_page()?;
                self.page = page.map(|page| (page, CursorPlace::default()));
                if self.page.is_none() {
                    break;
                }
                continue;
            };
            let mut listed = ListedRecords { records: page.records(), done, kept, work: &mut self.work, buffer };
            *place = page.visit(*place, &mut listed);
            (done, kept) = (listed.done, listed.kept);
        }
        buffer.positions.truncate(kept);
        Ok(())
    }

    /// Reads what is left of the file, as of one that is asked for nothing more: its reads are under way.
    pub fn finish(&mut self) -> Result<()> {
        while self.stream.next_page()?.is_some() {}
        Ok(())
    }
}

impl Decoding {
    /// Decodes the columns of the record that a cursor is at into a tuple, and tries their predicates.
    #[inline(always)]
    fn decode<E: DenseEntries>(&mut self, entries: &E, tuple: &mut [u32]) -> bool {
        for (field, offset) in &self.words {
            tuple[*offset] = entries.value(*field) as u32;
        }
        for (field, offset, words) in &self.strings {
            let bytes = entries.bytes(*field).as_chunks::<4>().0;
            let out = &mut tuple[*offset..offset + words];
            out.iter_mut().zip(bytes).for_each(|(out, word)| *out = u32::from_le_bytes(*word));
        }
        self.predicates.iter_mut().all(|(offset, predicate)| predicate.passes(tuple[*offset]))
    }
}

/// Goes over the records of a page.
struct AllRecords<'s> {
    next: usize,
    count: usize,
    first: u64,
    work: &'s mut Decoding,
    buffer: &'s mut TupleBuffer,
}

impl DenseVisitor for AllRecords<'_> {
    #[inline]
    fn visit<E: DenseEntries>(&mut self, entries: &mut E) {
        let width = self.buffer.width;
        while self.next < self.count && self.buffer.positions.len() < TUPLES {
            entries.go(self.next);
            let at = self.buffer.positions.len() * width;
            if self.work.decode(entries, &mut self.buffer.words[at..at + width]) {
                self.buffer.positions.push(self.first + self.next as u64);
            }
            self.next += 1;
        }
    }
}

/// Goes over the records of a page that a list of positions names.
struct ListedRecords<'s> {
    /// The page's.
    records: std::ops::Range<u64>,
    /// Positions that are done.
    done: usize,
    /// Tuples that have passed.
    kept: usize,
    work: &'s mut Decoding,
    buffer: &'s mut TupleBuffer,
}

impl DenseVisitor for ListedRecords<'_> {
    #[inline]
    fn visit<E: DenseEntries>(&mut self, entries: &mut E) {
        let TupleBuffer { width, words, positions } = &mut *self.buffer;
        while let Some(position) = positions.get(self.done).copied().filter(|position| *position < self.records.end) {
            entries.go((position - self.records.start) as usize);
            let at = self.done * *width;
            if self.work.decode(entries, &mut words[at..at + *width]) {
                if self.kept < self.done {
                    words.copy_within(at..at + *width, self.kept * *width);
                    positions[self.kept] = position;
                }
                self.kept += 1;
            }
            self.done += 1;
        }
    }
}
