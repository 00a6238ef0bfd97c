//! Reading a part of a delimited file, buffer by buffer, each ending with a whole record.

use crate::load::split::{CsvField, Dialect, MAX_BUFFER, SplitOutcome};
use crate::{Error, Result};
use gingham_storage::SqlState;
use memchr::memchr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes read at a time: within reach of the second-level cache while the columns are parsed one after the other.
const BUFFER_BYTES: usize = 1 << 20;
/// Most bytes of a record.
pub(super) const RECORD_BYTES: usize = 64 << 20;

const _: () = assert!(RECORD_BYTES * 2 <= MAX_BUFFER);

/// A buffer's records.
#[derive(Debug, Default)]
pub(super) struct ChunkRecords {
    /// Fields of all records that can be read, one record after the other.
    pub(super) fields: Vec<CsvField>,
    /// Where each of them begins in the file.
    pub(super) starts: Vec<u64>,
    /// Where those begin that can't be read or have the wrong number of fields, and why.
    pub(super) bad: Vec<(u64, String)>,
}

/// A part of a file, from the beginning of a record to that of another, or the file's end.
#[derive(Debug)]
pub(super) struct Chunks {
    file: File,
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
    pub(super) fn open(path: &Path, range: Range<u64>, dialect: Dialect) -> Result<Self> {
        let mut file = File::open(path).map_err(|error| io(path, &error))?;
        file.seek(SeekFrom::Start(range.start)).map_err(|error| io(path, &error))?;
        let buffer = vec![0; BUFFER_BYTES.min((range.end - range.start) as usize + 1)];
        Ok(Self { file, path: path.to_owned(), dialect, buffer, filled: 0, at: 0, offset: range.start, end: range.end })
    }

    /// The bytes that the fields of the last records lie in.
    pub(super) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// Where the next record begins in the file.
    pub(super) fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Reads on and cuts the buffer's records of `width` fields into `records`; false at the end.
    pub(super) fn next(&mut self, width: usize, records: &mut ChunkRecords) -> Result<bool> {
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
    fn cut(&mut self, width: usize, last: bool, records: &mut ChunkRecords) -> bool {
        let bytes = &self.buffer[..self.filled];
        loop {
            let first = records.fields.len();
            match self.dialect.record(bytes, self.at, last, &mut records.fields) {
                SplitOutcome::Record { next, problem } => {
                    let start = self.offset + self.dialect.record_start(bytes, self.at) as u64;
                    let fields = records.fields.len() - first;
                    match problem {
                        Some(problem) => records.bad.push((start, problem.to_owned())),
                        None if fields == width => records.starts.push(start),
                        None => {
                            records.fields.truncate(first);
                            records.bad.push((start, wrong_width(fields, width)));
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
            let read = self.file.read(&mut self.buffer[self.filled..self.filled + room]);
            match read.map_err(|error| io(&self.path, &error))? {
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

/// The error of a file operation.
pub(super) fn io(path: &Path, error: &std::io::Error) -> Error {
    let text = format!("{}: {error}", path.display());
    if error.kind() == std::io::ErrorKind::NotFound {
        return Error::invalid(SqlState::UndefinedFile, text);
    }
    Error::Io(text)
}

/// Cuts the part `range` of a file into at most `parts` of about the same length, each beginning with a record.
pub(super) fn split(path: &Path, range: Range<u64>, parts: u64, dialect: Dialect) -> Result<Vec<Range<u64>>> {
    let length = range.end - range.start;
    let wanted: Vec<u64> = (1..parts).map(|part| range.start + length * part / parts).collect();
    let mut cuts = match (wanted.last(), dialect.quotes) {
        (Some(last), true) if has_quote(path, range.start..*last)? => {
            boundaries(path, range.clone(), &wanted, dialect)?
        }
        _ => wanted.iter().map(|wanted| next_line(path, *wanted)).collect::<Result<_>>()?,
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
fn look_through<R>(path: &Path, range: Range<u64>, mut look: impl FnMut(u64, &[u8]) -> Option<R>) -> Result<Option<R>> {
    let mut file = File::open(path).map_err(|error| io(path, &error))?;
    file.seek(SeekFrom::Start(range.start)).map_err(|error| io(path, &error))?;
    let mut file = file.take(range.end - range.start);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut offset = range.start;
    loop {
        let read = file.read(&mut buffer).map_err(|error| io(path, &error))?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(found) = look(offset, &buffer[..read]) {
            return Ok(Some(found));
        }
        offset += read as u64;
    }
}

fn has_quote(path: &Path, range: Range<u64>) -> Result<bool> {
    Ok(look_through(path, range, |_, bytes| memchr(b'"', bytes))?.is_some())
}

/// The beginning of the line behind `offset`.
fn next_line(path: &Path, offset: u64) -> Result<u64> {
    let found =
        look_through(path, offset..u64::MAX, |at, bytes| memchr(b'\n', bytes).map(|found| at + found as u64 + 1))?;
    Ok(found.unwrap_or(u64::MAX))
}

/// For each offset in `wanted` the first record that begins there or behind it, where quotes may hide line breaks.
fn boundaries(path: &Path, range: Range<u64>, wanted: &[u64], dialect: Dialect) -> Result<Vec<u64>> {
    let mut chunks = Chunks::open(path, range.clone(), dialect)?;
    let mut records = ChunkRecords::default();
    let mut found = Vec::new();
    while found.len() < wanted.len() && chunks.next(usize::MAX, &mut records)? {
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
pub(super) fn lines(path: &Path, offsets: &[u64]) -> Result<Vec<u64>> {
    let mut lines = Vec::with_capacity(offsets.len());
    let mut line = 1;
    let end = offsets.last().copied().unwrap_or(0);
    look_through(path, 0..end, |start, bytes| {
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
    use std::io::Write;

    const CSV: Dialect = Dialect { delimiter: b',', quotes: true, trim: false, terminated: false, blank: false };

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text).expect("text");
        file
    }

    /// First fields of all records, and the number of bad ones.
    fn read(path: &Path, range: Range<u64>, width: usize) -> (Vec<String>, Vec<(u64, String)>) {
        let mut chunks = Chunks::open(path, range, CSV).expect("a part");
        let (mut all, mut bad, mut records) = (Vec::new(), Vec::new(), ChunkRecords::default());
        while chunks.next(width, &mut records).expect("records") {
            assert_eq!(records.fields.len(), records.starts.len() * width);
            all.extend(
                records
                    .fields
                    .chunks(width)
                    .map(|fields| String::from_utf8_lossy(fields[0].of(chunks.buffer())).into_owned()),
            );
            bad.append(&mut records.bad);
        }
        (all, bad)
    }

    #[test]
    fn a_file_of_many_buffers_is_read_whole() {
        let text: String = (0..200_000).map(|row| format!("{row},\"x\ny\"\n")).collect();
        let file = file(text.as_bytes());
        let (rows, bad) = read(file.path(), 0..text.len() as u64, 2);
        assert!(bad.is_empty());
        assert_eq!(rows, (0..200_000).map(|row| row.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn parts_hold_every_record_once() {
        for quoted in [false, true] {
            let text: String = (0..3000)
                .map(|row| if quoted { format!("{row},\"a\n1,b\"\n") } else { format!("{row},ab\n") })
                .collect();
            let file = file(text.as_bytes());
            for parts in [1, 2, 3, 7] {
                let ranges = split(file.path(), 0..text.len() as u64, parts, CSV).expect("parts");
                assert_eq!(ranges.len() as u64, parts);
                let rows: Vec<String> = ranges.into_iter().flat_map(|range| read(file.path(), range, 2).0).collect();
                assert_eq!(rows, (0..3000).map(|row| row.to_string()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_record_longer_than_a_buffer_is_one() {
        let long = "x".repeat(3 << 20);
        let text = format!("a,\"{long}\"\nb,c");
        let file = file(text.as_bytes());
        assert_eq!(read(file.path(), 0..text.len() as u64, 2).0, ["a", "b"]);
    }

    #[test]
    fn bad_records_are_told_apart_and_found_by_line() {
        let text = b"1,2\n\n3\n4,5\n\"6\"7,8\n9,10";
        let file = file(text);
        let (rows, bad) = read(file.path(), 0..text.len() as u64, 2);
        assert_eq!(rows, ["1", "4", "9"]);
        assert_eq!(bad[0], (5, "1 field where 2 are expected".into()));
        let offsets: Vec<u64> = bad.iter().map(|(start, _)| *start).collect();
        assert_eq!(lines(file.path(), &offsets).expect("lines"), [3, 5]);
    }
}
