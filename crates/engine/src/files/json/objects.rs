//! The objects of a JSON file, one by one: one a line, elements of an array, or one behind the other.

use crate::Result;
use crate::files::source::{FileSource, SourceReader, io_error};
use memchr::memchr3;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::PathBuf;

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 18;
/// The mark that opens a UTF-8 file of some programs.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How the objects of a file are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectLayout {
    /// One a line.
    Lines,
    /// Told apart by their braces: elements of an array, or objects of several lines.
    Braces,
}

/// Reads the objects of a file.
pub(super) struct Objects {
    reader: BufReader<SourceReader>,
    path: PathBuf,
    layout: ObjectLayout,
    object: Vec<u8>,
    /// Bytes of the text before the next object.
    offset: u64,
    /// A line that begins there or behind it is another part's.
    end: u64,
}

impl Objects {
    /// Opens a file whose layout is known.
    pub(super) fn open(source: &FileSource, layout: ObjectLayout) -> Result<Self> {
        Self::within(source, layout, 0..u64::MAX)
    }

    /// The objects that begin within a range of a file's text, in bytes; one that is not the whole text needs lines.
    pub(super) fn within(source: &FileSource, layout: ObjectLayout, range: Range<u64>) -> Result<Self> {
        let offset = range.start.saturating_sub(1);
        let reader = BufReader::with_capacity(READ_BYTES, source.reader(offset)?);
        let (path, object) = (source.path().to_owned(), Vec::new());
        let mut objects = Self { reader, path, layout, object, offset, end: range.end };
        if range.start > 0 {
            // The line of the byte before the range is the part's before it.
            objects.read_line()?;
        } else if objects.peeked()?.starts_with(BYTE_ORDER_MARK) {
            objects.pass(BYTE_ORDER_MARK.len());
            // The first line begins with the mark.
            let after = objects.offset + 1;
            objects.end = if range.end == 0 { 0 } else { range.end.max(after) };
        }
        Ok(objects)
    }

    /// The layout of a file, by its beginning.
    pub(super) fn layout(source: &FileSource) -> Result<ObjectLayout> {
        let mut objects = Self::open(source, ObjectLayout::Braces)?;
        if objects.skip_blanks(b"")? == Some(b'[') {
            return Ok(ObjectLayout::Braces);
        }
        // An object that is whole, and goes on behind its first line.
        let first = objects.next()?.is_some_and(|(_, object)| {
            object.contains(&b'\n') && serde_json::from_slice::<serde_json::Value>(object).is_ok()
        });
        Ok(if first { ObjectLayout::Braces } else { ObjectLayout::Lines })
    }

    /// Bytes of the text that were read, or of the packed file.
    pub(super) fn position(&self, source: &FileSource) -> u64 {
        if source.length().is_some() { self.offset } else { self.reader.get_ref().consumed() }
    }

    /// The next object, or what stands in the place of one, and where it begins; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        let start = match self.layout {
            ObjectLayout::Lines => self.next_line()?,
            ObjectLayout::Braces => self.next_braces()?,
        };
        Ok(start.map(|start| (start, self.object.as_slice())))
    }

    fn next_line(&mut self) -> Result<Option<u64>> {
        while self.offset < self.end {
            let start = self.offset;
            if self.read_line()? == 0 {
                break;
            }
            if !self.object.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(start));
            }
        }
        Ok(None)
    }

    /// Reads up to the end of a line. Gives the number of bytes.
    fn read_line(&mut self) -> Result<usize> {
        self.object.clear();
        let read = self.reader.read_until(b'\n', &mut self.object).map_err(|error| io_error(&self.path, &error))?;
        self.offset += read as u64;
        Ok(read)
    }

    fn next_braces(&mut self) -> Result<Option<u64>> {
        self.object.clear();
        let Some(first) = self.skip_blanks(b"[,]")? else { return Ok(None) };
        let start = self.offset;
        if first != b'{' {
            // No object: what stands there up to the next element or line.
            let ends = |byte: u8| matches!(byte, b',' | b'\n' | b']');
            while let Some(at) = Some(self.peeked()?)
                .filter(|bytes| !bytes.is_empty())
                .map(|bytes| bytes.iter().position(|byte| ends(*byte)).map_or((bytes.len(), false), |end| (end, true)))
            {
                self.take(at.0);
                if at.1 {
                    break;
                }
            }
            return Ok(Some(start));
        }
        let (mut depth, mut in_text) = (0_usize, false);
        loop {
            let bytes = self.peeked()?;
            if bytes.is_empty() {
                return Ok(Some(start));
            }
            let found = if in_text { memchr3(b'"', b'\\', b'"', bytes) } else { memchr3(b'"', b'{', b'}', bytes) };
            let Some(at) = found else {
                let all = bytes.len();
                self.take(all);
                continue;
            };
            let byte = bytes[at];
            self.take(at + 1);
            match byte {
                b'"' => in_text = !in_text,
                b'\\' => {
                    let escaped = self.peeked()?.len().min(1);
                    self.take(escaped);
                }
                b'{' => depth += 1,
                _ => depth -= 1,
            }
            if depth == 0 && !in_text {
                return Ok(Some(start));
            }
        }
    }

    /// The next byte that is neither blank nor one of `others`, which is not passed over.
    fn skip_blanks(&mut self, others: &[u8]) -> Result<Option<u8>> {
        loop {
            let bytes = self.peeked()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let found = bytes.iter().position(|byte| !byte.is_ascii_whitespace() && !others.contains(byte));
            let (passed, byte) = (found.unwrap_or(bytes.len()), found.map(|at| bytes[at]));
            self.pass(passed);
            if byte.is_some() {
                return Ok(byte);
            }
        }
    }

    /// Bytes that are ready; empty at the end.
    fn peeked(&mut self) -> Result<&[u8]> {
        self.reader.fill_buf().map_err(|error| io_error(&self.path, &error))
    }

    /// Takes bytes that are ready into the object.
    fn take(&mut self, bytes: usize) {
        let ready = &self.reader.buffer()[..bytes];
        self.object.extend_from_slice(ready);
        self.pass(bytes);
    }

    fn pass(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.offset += bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::options::Compression;

    fn objects(text: &str) -> (ObjectLayout, Vec<String>) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("text");
        let source = FileSource::open(file.path(), Compression::Auto, None).expect("a file");
        let layout = Objects::layout(&source).expect("a layout");
        let mut objects = Objects::open(&source, layout).expect("objects");
        let mut all = Vec::new();
        while let Some((_, object)) = objects.next().expect("an object") {
            all.push(String::from_utf8_lossy(object).trim().to_owned());
        }
        (layout, all)
    }

    #[test]
    fn objects_are_told_apart() {
        use ObjectLayout::{Braces, Lines};
        let of = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let two = of(&[r#"{"a":1}"#, r#"{"a":2}"#]);
        assert_eq!(objects("\u{feff}{\"a\":1}\n\n{\"a\":2}\n"), (Lines, two.clone()));
        assert_eq!(objects(" [ {\"a\":1} ,\n{\"a\":2} ]\n"), (Braces, two));
        let nested = r#"{"a": {"b": "}\"{"}, "c": [1, {"d": "\\"}]}"#;
        assert_eq!(objects(&format!("[{nested},{nested}]")), (Braces, of(&[nested, nested])));
        assert_eq!(objects("{\n \"a\": 1\n}\n{\n \"a\": 2\n}"), (Braces, of(&["{\n \"a\": 1\n}", "{\n \"a\": 2\n}"])));
        assert_eq!(objects("{\"a\":\n"), (Lines, of(&["{\"a\":"])));
        assert_eq!(objects("[1, {\"a\":1}]"), (Braces, of(&["1", r#"{"a":1}"#])));
        assert_eq!(objects(""), (Lines, Vec::new()));
        assert_eq!(objects("[]"), (Braces, Vec::new()));
    }

    #[test]
    fn parts_hold_each_line_once() {
        let text = "\u{feff}{\"a\":1}\n\n{\"a\":2}\r\n{\"a\":3}\nno object\n{\"a\":4}";
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("text");
        let source = FileSource::open(file.path(), Compression::Auto, None).expect("a file");
        let within = |range| {
            let mut objects = Objects::within(&source, ObjectLayout::Lines, range).expect("objects");
            let mut all = Vec::new();
            while let Some((start, object)) = objects.next().expect("an object") {
                all.push((start, String::from_utf8_lossy(object).trim().to_owned()));
            }
            all
        };
        let (all, end) = (within(0..u64::MAX), text.len() as u64);
        assert_eq!(all.len(), 5);
        for cut in 0..=end {
            assert_eq!([within(0..cut), within(cut..end)].concat(), all, "cut at {cut}");
        }
    }
}
