//! Reading a part of a delimited file, buffer by buffer, each ending with a whole record.

use crate::files::source::{FileSource, SourceReader, io_error};
use crate::files::text::boundaries;
use crate::files::text::split::{CsvField, Dialect, FieldForm, MAX_BUFFER, SplitOutcome};
use crate::{Error, Result};
use gingham_storage::SqlState;
use memchr::memchr;
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

/// Bytes read at a time: within reach of the second-level cache while the columns are parsed one after the other.
const BUFFER_BYTES: usize = 256 << 10;
/// Most bytes of a record.
pub(crate) const RECORD_BYTES: usize = 64 << 20;

const _: () = assert!(RECORD_BYTES * 2 <= MAX_BUFFER);

/// A buffer's records.
#[derive(Debug, Default)]
pub(crate) struct ChunkRecords {
    /// Fields of all records that can be read, one record after the other.
    pub(crate) fields: Vec<CsvField>,
    /// Where each of them begins in the file.
    pub(crate) starts: Vec<u64>,
    /// Where those begin that can't be read or have the wrong number of fields, and why.
    pub(crate) bad: Vec<(u64, String)>,
}

/// How many fields the records of a file have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    /// Fields of a record.
    pub(crate) fields: usize,
    /// A record with fewer has NULL in the others.
    pub(crate) padded: bool,
}

/// A part of a file, from the beginning of a record to that of another, or the file's end.
pub(crate) struct Chunks {
    reader: SourceReader,
    path: PathBuf,
    dialect: Dialect,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold something.
    filled: usize,
    /// Where the first record that was not given out begins in the buffer.
    at: usize,
    /// Where the buffer begins in the file.
    offset: u64,
    /// Where the part ends.
    end: u64,
}

impl Chunks {
    /// Opens the part `range` of a file.
    pub(crate) fn open(source: &FileSource, range: Range<u64>, dialect: Dialect) -> Result<Self> {
        let reader = source.reader(range.start)?;
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let buffer = vec![0; BUFFER_BYTES.min(length.saturating_add(1))];
        let path = source.path().to_owned();
        Ok(Self { reader, path, dialect, buffer, filled: 0, at: 0, offset: range.start, end: range.end })
    }

    /// Bytes of the file that were read so far of a text that can't be read in parts.
    pub(crate) fn consumed(&self) -> u64 {
        self.reader.consumed()
    }

    /// The bytes that the fields of the last records lie in.
    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// Where the next record begins in the file.
    pub(crate) fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Reads on and cuts the buffer's records of `width` fields into `records`; false at the end.
    pub(crate) fn next(&mut self, width: Width, records: &mut ChunkRecords) -> Result<bool> {
        (records.fields, records.starts, records.bad) = Default::default();
        loop {
            self.fill()?;
            let last = self.offset + self.filled as u64 >= self.end;
            let more = self.cut(width, last, records);
            if !records.starts.is_empty() || !records.bad.is_empty() {
                return Ok(true);
            }
            if !more || last {
                return Ok(false);
            }
            if self.at == 0 && self.filled == self.buffer.len() {
                self.grow()?;
            }
        }
    }

    /// Cuts the records of the buffer; true when the part goes on behind them.
    fn cut(&mut self, width: Width, last: bool, records: &mut ChunkRecords) -> bool {
        let bytes = &self.buffer[..self.filled];
        loop {
            let first = records.fields.len();
            match self.dialect.record(bytes, self.at, last, &mut records.fields) {
                SplitOutcome::Record { next, problem } => {
                    let start = self.offset + self.dialect.record_start(bytes, self.at) as u64;
                    let fields = records.fields.len() - first;
                    match problem {
                        Some(problem) => records.bad.push((start, problem.to_owned())),
                        None if fields == width.fields => records.starts.push(start),
                        None if fields < width.fields && width.padded => {
                            let end = records.fields.last().map_or(0, |field| field.end);
                            let missing = CsvField { start: end, end, form: FieldForm::Bare };
                            records.fields.resize(first + width.fields, missing);
                            records.starts.push(start);
                        }
                        None => {
                            records.fields.truncate(first);
                            records.bad.push((start, wrong_width(fields, width.fields)));
                        }
                    }
                    self.at = next;
                }
                SplitOutcome::More => return true,
                SplitOutcome::End => {
                    self.at = self.filled;
                    return false;
                }
            }
        }
    }

    /// Moves what is left to the buffer's beginning and reads behind it.
    fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.offset += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        while self.filled < self.buffer.len() {
            let left = self.end - (self.offset + self.filled as u64);
            let room = (self.buffer.len() - self.filled).min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = self.reader.read(&mut self.buffer[self.filled..self.filled + room]);
            match read.map_err(|error| io_error(&self.path, &error))? {
                0 => {
                    // The part's end, or that of a file which became shorter.
                    self.end = self.offset + self.filled as u64;
                    return Ok(());
                }
                bytes => self.filled += bytes,
            }
        }
        Ok(())
    }

    fn grow(&mut self) -> Result<()> {
        if self.buffer.len() >= RECORD_BYTES {
            return Err(Error::invalid(
                SqlState::BadCopyFileFormat,
                format!(
                    "{}: the record at byte {} is longer than {} MiB; is a quote not closed?",
                    self.path.display(),
                    self.offset,
                    RECORD_BYTES >> 20
                ),
            ));
        }
        self.buffer.resize(self.buffer.len() * 2, 0);
        Ok(())
    }
}

fn wrong_width(fields: usize, width: usize) -> String {
    format!("{fields} field{} where {width} are expected", if fields == 1 { "" } else { "s" })
}

/// Cuts the part `range` of a file into at most `parts` of about the same length, each beginning with a record.
pub(crate) fn split(source: &FileSource, range: Range<u64>, parts: u64, dialect: Dialect) -> Result<Vec<Range<u64>>> {
    let length = range.end - range.start;
    let wanted: Vec<u64> = (1..parts).map(|part| range.start + length * part / parts).collect();
    let mut cuts = match (dialect.quote, dialect.comment) {
        (None, _) => wanted.iter().map(|wanted| next_line(source, *wanted)).collect::<Result<_>>()?,
        (Some(quote), None) => boundaries::boundaries(source, range.clone(), &wanted, (dialect, quote))?,
        // Quotes in comments mean nothing.
        (Some(_), Some(_)) => records_behind(source, range.clone(), &wanted, dialect)?,
    };
    cuts.push(range.end);
    let mut all = Vec::new();
    let mut start = range.start;
    for cut in cuts {
        let cut = cut.min(range.end);
        if cut > start {
            all.push(start..cut);
            start = cut;
        }
    }
    Ok(all)
}

/// Reads the part `range` of a file by the buffer, until `look` finds something.
fn look_through<R>(
    source: &FileSource,
    range: Range<u64>,
    mut look: impl FnMut(u64, &[u8]) -> Option<R>,
) -> Result<Option<R>> {
    let mut file = source.reader(range.start)?.take(range.end - range.start);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut offset = range.start;
    loop {
        let read = file.read(&mut buffer).map_err(|error| io_error(source.path(), &error))?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(found) = look(offset, &buffer[..read]) {
            return Ok(Some(found));
        }
        offset += read as u64;
    }
}

/// The beginning of the line behind `offset`.
fn next_line(source: &FileSource, offset: u64) -> Result<u64> {
    let found =
        look_through(source, offset..u64::MAX, |at, bytes| memchr(b'\n', bytes).map(|found| at + found as u64 + 1))?;
    Ok(found.unwrap_or(u64::MAX))
}

/// For each offset in `wanted` the first record that begins there or behind it, found by cutting all records.
fn records_behind(source: &FileSource, range: Range<u64>, wanted: &[u64], dialect: Dialect) -> Result<Vec<u64>> {
    let mut chunks = Chunks::open(source, range.clone(), dialect)?;
    let mut records = ChunkRecords::default();
    let mut found = Vec::new();
    let impossible = Width { fields: usize::MAX, padded: false };
    while found.len() < wanted.len() && chunks.next(impossible, &mut records)? {
        // With an impossible width every record is a bad one, of which only the beginning is kept.
        for (start, _) in &records.bad {
            while wanted.get(found.len()).is_some_and(|wanted| start >= wanted) {
                found.push(*start);
            }
        }
    }
    found.resize(wanted.len(), range.end);
    Ok(found)
}

/// The number of the line at each of the ascending `offsets`, from 1.
pub(crate) fn lines(source: &FileSource, offsets: &[u64]) -> Result<Vec<u64>> {
    let mut lines = Vec::with_capacity(offsets.len());
    let mut line = 1;
    let end = offsets.last().copied().unwrap_or(0);
    look_through(source, 0..end, |start, bytes| {
        let mut from = 0;
        while let Some(offset) = offsets.get(lines.len()).filter(|offset| **offset < start + bytes.len() as u64) {
            let to = (*offset - start) as usize;
            line += count_lines(&bytes[from..to]);
            lines.push(line);
            from = to;
        }
        line += count_lines(&bytes[from..]);
        None::<()>
    })?;
    lines.resize(offsets.len(), line);
    Ok(lines)
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::options::Compression;
    use proptest::prelude::*;
    use std::io::Write;

    const CSV: Dialect = Dialect::of(b',', Some(b'"'));

    fn file(text: &[u8]) -> (tempfile::NamedTempFile, FileSource) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text).expect("text");
        let source = FileSource::open(file.path(), Compression::Auto, None).expect("a file");
        (file, source)
    }

    /// First fields of all records, and the number of bad ones.
    fn read(source: &FileSource, range: Range<u64>, fields: usize) -> (Vec<String>, Vec<(u64, String)>) {
        let (mut chunks, width) = (Chunks::open(source, range, CSV).expect("a part"), Width { fields, padded: false });
        let (mut all, mut bad, mut records) = (Vec::new(), Vec::new(), ChunkRecords::default());
        while chunks.next(width, &mut records).expect("records") {
            assert_eq!(records.fields.len(), records.starts.len() * fields);
            all.extend(
                records
                    .fields
                    .chunks(fields)
                    .map(|fields| String::from_utf8_lossy(fields[0].of(chunks.buffer())).into_owned()),
            );
            bad.append(&mut records.bad);
        }
        (all, bad)
    }

    #[test]
    fn a_file_of_many_buffers_is_read_whole() {
        let text: String = (0..200_000).map(|row| format!("{row},\"x\ny\"\n")).collect();
        let (_file, source) = file(text.as_bytes());
        let (rows, bad) = read(&source, 0..text.len() as u64, 2);
        assert!(bad.is_empty());
        assert_eq!(rows, (0..200_000).map(|row| row.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn parts_hold_every_record_once() {
        for quoted in [false, true] {
            let text: String = (0..3000)
                .map(|row| if quoted { format!("{row},\"a\n1,b\"\n") } else { format!("{row},ab\n") })
                .collect();
            let (_file, source) = file(text.as_bytes());
            for parts in [1, 2, 3, 7] {
                let ranges = split(&source, 0..text.len() as u64, parts, CSV).expect("parts");
                assert_eq!(ranges.len() as u64, parts);
                let rows: Vec<String> = ranges.into_iter().flat_map(|range| read(&source, range, 2).0).collect();
                assert_eq!(rows, (0..3000).map(|row| row.to_string()).collect::<Vec<_>>());
            }
        }
    }

    proptest! {
        /// The quick way finds places where records begin, as the slow one does.
        #[test]
        fn parts_of_any_text_hold_the_records_of_the_whole(
            pieces in prop::collection::vec("[ab, ]{0,3}|\"[a,\n ]{0,4}(\"\"[\n,]{0,2})?\"|\n|\n\n|,|\r\n|\"", 1..40),
            parts in 1_u64..6,
            backslash in any::<bool>(),
        ) {
            let text: String = pieces.concat();
            let dialect = if backslash { Dialect { escape: b'\\', ..CSV } } else { CSV };
            let (_file, source) = file(text.as_bytes());
            let range = 0..text.len() as u64;
            let starts = |range: Range<u64>| {
                let mut chunks = Chunks::open(&source, range, dialect).expect("a part");
                let (mut all, mut records) = (Vec::new(), ChunkRecords::default());
                let width = Width { fields: usize::MAX, padded: false };
                while chunks.next(width, &mut records).expect("records") {
                    all.append(&mut records.bad);
                }
                all
            };
            // Where a quote stays open, the rest of the file is told anew, so that only files that close theirs are the same.
            let whole = starts(range.clone());
            if whole.iter().any(|(_, why)| why.contains("not closed")) {
                return Ok(());
            }
            let ranges = split(&source, range, parts, dialect).expect("parts");
            let cut: Vec<(u64, String)> = ranges.into_iter().flat_map(starts).collect();
            prop_assert_eq!(cut, whole);
        }
    }

    #[test]
    fn a_record_longer_than_a_buffer_is_one() {
        let long = "x".repeat(3 << 20);
        let text = format!("a,\"{long}\"\nb,c");
        let (_file, source) = file(text.as_bytes());
        assert_eq!(read(&source, 0..text.len() as u64, 2).0, ["a", "b"]);
    }

    #[test]
    fn packed_and_encoded_files_are_texts() {
        let text: String = (0..300_000).map(|row| format!("é{row},x\n")).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).expect("packed");
        let utf16 = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        for bytes in [gzip.finish().expect("packed"), zstd::encode_all(text.as_bytes(), 1).expect("packed"), utf16] {
            let (_file, source) = file(&bytes);
            assert_eq!(source.length(), None);
            let (rows, bad) = read(&source, 0..u64::MAX, 2);
            assert!(bad.is_empty());
            assert_eq!(rows, (0..300_000).map(|row| format!("é{row}")).collect::<Vec<_>>());
            assert_eq!(lines(&source, &[0, 6, 2_000_000]).expect("lines")[..2], [1, 2]);
        }
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"\x1f\x8bno gzip at all").expect("bytes");
        let read = FileSource::open(file.path(), Compression::Auto, None);
        assert!(read.is_err());
    }

    #[test]
    fn bad_records_are_told_apart_and_found_by_line() {
        let text = b"1,2\n\n3\n4,5\n\"6\"7,8\n9,10";
        let (_file, source) = file(text);
        let (rows, bad) = read(&source, 0..text.len() as u64, 2);
        assert_eq!(rows, ["1", "4", "9"]);
        assert_eq!(bad[0], (5, "1 field where 2 are expected".into()));
        let offsets: Vec<u64> = bad.iter().map(|(start, _)| *start).collect();
        assert_eq!(lines(&source, &offsets).expect("lines"), [3, 5]);
    }
}
