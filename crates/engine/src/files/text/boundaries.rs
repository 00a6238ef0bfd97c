//! Where records begin in a file whose quotes may hide line breaks, found by looking at its quotes alone.

use crate::Result;
use crate::files::source::{FileSource, io_error};
use crate::files::text::split::Dialect;
use memchr::{memchr, memchr2};
use std::io::Read;
use std::ops::Range;

/// Bytes read at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// Where the reading of a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuotePlace {
    /// Outside of quotes; `starts` says that nothing but blanks stands behind the last delimiter or line break.
    Outside { starts: bool },
    /// Within quotes.
    Quoted,
    /// Behind a character that may escape the next one: a quote, or what stands before quotes.
    Escape { quote: bool },
    /// Behind a closing quote.
    Closed,
    /// In a record that can't be read, which ends with its line.
    Bad,
}

/// Looks for the first record that begins at each of the `wanted` offsets or behind it.
struct Finder<'a> {
    delimiter: u8,
    quote: u8,
    escape: u8,
    wanted: &'a [u64],
    found: Vec<u64>,
    place: QuotePlace,
}

/// For each offset in `wanted` the first record that begins there or behind it; the range's end where none does. The range begins
/// with a record, and the dialect, whose quote is given beside, has no comments.
pub(super) fn boundaries(
    source: &FileSource,
    range: Range<u64>,
    wanted: &[u64],
    (dialect, quote): (Dialect, u8),
) -> Result<Vec<u64>> {
    let (delimiter, escape) = (dialect.delimiter, dialect.escape);
    let place = QuotePlace::Outside { starts: true };
    let mut finder = Finder { delimiter, quote, escape, wanted, found: Vec::new(), place };
    let mut reader = source.reader(range.start)?.take(range.end - range.start);
    let (mut block, mut offset) = (vec![0; BLOCK_BYTES], range.start);
    while finder.found.len() < wanted.len() {
        let read = reader.read(&mut block).map_err(|error| io_error(source.path(), &error))?;
        if read == 0 {
            break;
        }
        finder.block(&block[..read], offset);
        offset += read as u64;
    }
    finder.found.resize(wanted.len(), range.end);
    Ok(finder.found)
}

impl Finder<'_> {
    /// Reads a block that begins at `offset` of the file.
    fn block(&mut self, block: &[u8], offset: u64) {
        let mut at = 0;
        while at < block.len() {
            at = match self.place {
                QuotePlace::Outside { starts } => self.outside(block, at, starts, offset),
                QuotePlace::Quoted => match memchr2(self.quote, self.escape, &block[at..]) {
                    None => block.len(),
                    Some(found) => {
                        self.place = QuotePlace::Escape { quote: block[at + found] == self.quote };
                        at + found + 1
                    }
                },
                QuotePlace::Escape { quote } => self.behind_escape(block[at], quote, at),
                QuotePlace::Closed => match block[at] {
                    byte if byte == self.delimiter || byte == b'\n' => {
                        self.place = QuotePlace::Outside { starts: true };
                        self.line_break(byte, offset + at as u64);
                        at + 1
                    }
                    b' ' | b'\r' => at + 1,
                    _ => {
                        self.place = QuotePlace::Bad;
                        at
                    }
                },
                QuotePlace::Bad => match memchr(b'\n', &block[at..]) {
                    None => block.len(),
                    Some(found) => {
                        self.place = QuotePlace::Outside { starts: true };
                        self.line_break(b'\n', offset + (at + found) as u64);
                        at + found + 1
                    }
                },
            };
        }
    }

    /// Reads on outside of quotes, to the next quote that opens a field, or line break that is looked for.
    fn outside(&mut self, block: &[u8], at: usize, starts: bool, offset: u64) -> usize {
        let next = self.wanted.get(self.found.len()).copied().unwrap_or(u64::MAX);
        // Line breaks before the one that is wanted mean nothing.
        let is_near = offset + block.len() as u64 >= next;
        let found = if is_near { memchr2(self.quote, b'\n', &block[at..]) } else { memchr(self.quote, &block[at..]) };
        let Some(found) = found.map(|found| at + found) else {
            self.place = QuotePlace::Outside { starts: self.begins_field(&block[at..], starts) };
            return block.len();
        };
        if block[found] != self.quote {
            self.place = QuotePlace::Outside { starts: true };
            self.line_break(b'\n', offset + found as u64);
        } else if self.begins_field(&block[at..found], starts) {
            self.place = QuotePlace::Quoted;
        } else {
            // A quote in a field that does not begin with one is text.
            self.place = QuotePlace::Outside { starts: false };
        }
        found + 1
    }

    /// Whether a field begins behind `bytes`, of whose beginning `starts` says the same.
    fn begins_field(&self, bytes: &[u8], starts: bool) -> bool {
        let is_blank = |byte: &u8| *byte == b' ' && *byte != self.delimiter;
        match bytes.iter().rev().find(|byte| !is_blank(byte)) {
            Some(byte) => *byte == self.delimiter || *byte == b'\n',
            None => starts,
        }
    }

    fn behind_escape(&mut self, byte: u8, is_quote: bool, at: usize) -> usize {
        match (is_quote, self.escape == self.quote) {
            // A quote that is written twice.
            (true, true) if byte == self.quote => {
                self.place = QuotePlace::Quoted;
                at + 1
            }
            (true, _) => {
                self.place = QuotePlace::Closed;
                at
            }
            (false, _) => {
                self.place = QuotePlace::Quoted;
                at + 1
            }
        }
    }

    /// Notes that a record begins behind a line break.
    fn line_break(&mut self, byte: u8, offset: u64) {
        while byte == b'\n' && self.wanted.get(self.found.len()).is_some_and(|wanted| offset + 1 >= *wanted) {
            self.found.push(offset + 1);
        }
    }
}
