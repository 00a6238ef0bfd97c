//! A stream of text cut into records as PostgreSQL cuts it. The first line's end says how lines end, a backslash in the text
//! format keeps what follows it, quotes in CSV keep lines together, and `\.` ends the records.

use crate::statements::transfer::streams::options::{StreamFormat, StreamOptions};
use gingham_storage::{Problem, SqlState};
use memchr::{memchr, memchr3};

/// Most bytes of a record, which is what PostgreSQL has room for.
pub(super) const RECORD_BYTES: usize = (1 << 30) - 1;

/// Where a record lies in its chunk's bytes, and its line's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordLine {
    pub(super) start: usize,
    /// Behind its last byte, before the line's end.
    pub(super) end: usize,
    /// The number of its last line, from 1.
    pub(super) line: u64,
}

/// Whole records.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<RecordLine>,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineProblem {
    /// Its number; 0 for what stands before the first.
    pub(super) line: u64,
    /// The column at fault, where it is one.
    pub(super) column: Option<usize>,
    pub(super) problem: Problem,
}

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Unknown,
    Newline,
    Return,
    ReturnNewline,
}

/// What the next bytes are.
enum Next {
    /// Nothing that ends a record or the stream; go on behind so many bytes.
    Skip(usize),
    /// The end of a line, of so many bytes.
    End(usize),
    /// The mark that ends the records.
    Marker,
    /// More bytes have to come before it is known.
    Wait,
}

/// Cuts one stream.
#[derive(Debug)]
pub(super) struct Cutter {
    is_csv: bool,
    quote: u8,
    /// What quotes a quote, where that is another character.
    escape: Option<u8>,
    buffer: Vec<u8>,
    /// Where the record begins that is not whole yet.
    start: usize,
    /// Up to where the bytes are known.
    at: usize,
    /// The number of the line there.
    line: u64,
    line_end: LineEnd,
    in_quote: bool,
    was_escape: bool,
    is_ended: bool,
    records: Vec<RecordLine>,
}

impl Cutter {
    pub(super) fn new(options: &StreamOptions) -> Self {
        Self {
            is_csv: options.format == StreamFormat::Csv,
            quote: options.quote,
            escape: Some(options.escape).filter(|escape| *escape != options.quote),
            buffer: Vec::new(),
            start: 0,
            at: 0,
            line: 1,
            line_end: LineEnd::Unknown,
            in_quote: false,
            was_escape: false,
            is_ended: false,
            records: Vec::new(),
        }
    }

    /// Where the next bytes are to be added before [`Cutter::cut`].
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Bytes that wait for the end of their record.
    pub(super) fn waiting(&self) -> usize {
        self.buffer.len()
    }

    /// The number of the line that is being read.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The records that are whole, and what is wrong with the line behind them. `is_last` says that no more bytes come.
    pub(super) fn cut(&mut self, is_last: bool) -> (Chunk, Option<LineProblem>) {
        if self.is_ended {
            self.buffer.clear();
            return (Chunk::default(), None);
        }
        let problem = self.scan(is_last).err().map(|problem| LineProblem { line: self.line, column: None, problem });
        if problem.is_none() && is_last && !self.is_ended && self.start < self.buffer.len() {
            self.add(self.buffer.len(), 0);
        }
        let rest = self.buffer.split_off(self.start.min(self.buffer.len()));
        let bytes = std::mem::replace(&mut self.buffer, rest);
        self.at = self.at.saturating_sub(self.start);
        self.start = 0;
        (Chunk { bytes, records: std::mem::take(&mut self.records) }, problem)
    }

    /// Looks for the ends of records up to the end of the buffer.
    fn scan(&mut self, is_last: bool) -> Result<(), Problem> {
        while self.at < self.buffer.len() && !self.is_ended {
            match self.next(is_last)? {
                Next::Skip(bytes) => self.at += bytes,
                Next::End(bytes) => self.add(self.at, bytes),
                Next::Marker => {
                    // What stands before it in its line is a record.
                    if self.at > self.start {
                        self.add(self.at, 0);
                    }
                    self.is_ended = true;
                }
                Next::Wait => break,
            }
        }
        if self.buffer.len() - self.start > RECORD_BYTES {
            let text = format!("the record has more than {RECORD_BYTES} bytes, which is the most; is a quote missing?");
            return Err(Problem::new(SqlState::ProgramLimitExceeded, text));
        }
        Ok(())
    }

    fn add(&mut self, end: usize, line_end: usize) {
        self.records.push(RecordLine { start: self.start, end, line: self.line });
        self.start = end + line_end;
        self.at = self.start;
        self.line += 1;
        (self.in_quote, self.was_escape) = (false, false);
    }

    fn next(&mut self, is_last: bool) -> Result<Next, Problem> {
        let rest = &self.buffer[self.at..];
        if !self.is_csv {
            let Some(place) = memchr3(b'\\', b'\n', b'\r', rest) else { return Ok(Next::Skip(rest.len())) };
            if place > 0 {
                return Ok(Next::Skip(place));
            }
            return match rest[0] {
                b'\\' => self.backslash(is_last),
                byte => self.line_end(byte, is_last),
            };
        }
        if rest[0] == b'\\' && self.at == self.start {
            return match self.backslash(is_last)? {
                // It may be the quote, too.
                Next::Skip(_) => self.csv_byte(b'\\', is_last),
                other => Ok(other),
            };
        }
        if self.escape.is_some() {
            return self.csv_byte(rest[0], is_last);
        }
        match memchr3(self.quote, b'\n', b'\r', rest) {
            None => Ok(Next::Skip(rest.len())),
            Some(0) => self.csv_byte(rest[0], is_last),
            Some(place) => Ok(Next::Skip(place)),
        }
    }

    fn csv_byte(&mut self, byte: u8, is_last: bool) -> Result<Next, Problem> {
        if self.in_quote && Some(byte) == self.escape {
            self.was_escape = !self.was_escape;
        }
        if byte == self.quote && !self.was_escape {
            self.in_quote = !self.in_quote;
        }
        if Some(byte) != self.escape {
            self.was_escape = false;
        }
        if self.in_quote {
            // Others count newlines even where lines end otherwise; errors are to name the lines that they name.
            let counted = if self.line_end == LineEnd::Newline { b'\n' } else { b'\r' };
            self.line += u64::from(byte == counted);
            return Ok(Next::Skip(1));
        }
        match byte {
            b'\n' | b'\r' => self.line_end(byte, is_last),
            _ => Ok(Next::Skip(1)),
        }
    }

    /// A line's end at `at`.
    fn line_end(&mut self, byte: u8, is_last: bool) -> Result<Next, Problem> {
        if byte == b'\n' {
            return match self.line_end {
                LineEnd::Return | LineEnd::ReturnNewline => Err(self.other_end("newline", "\\n")),
                LineEnd::Unknown | LineEnd::Newline => {
                    self.line_end = LineEnd::Newline;
                    Ok(Next::End(1))
                }
            };
        }
        match (self.line_end, self.buffer.get(self.at + 1)) {
            (LineEnd::Newline, _) => Err(self.other_end("carriage return", "\\r")),
            (LineEnd::Return, _) => Ok(Next::End(1)),
            (_, None) if !is_last => Ok(Next::Wait),
            (_, Some(b'\n')) => {
                self.line_end = LineEnd::ReturnNewline;
                Ok(Next::End(2))
            }
            (LineEnd::ReturnNewline, _) => Err(self.other_end("carriage return", "\\r")),
            (LineEnd::Unknown, _) => {
                self.line_end = LineEnd::Return;
                Ok(Next::End(1))
            }
        }
    }

    fn other_end(&self, what: &str, escape: &str) -> Problem {
        bad(match self.is_csv {
            true => format!("unquoted {what} found in data; lines end otherwise before: put the field between quotes"),
            false => format!("literal {what} found in data; lines end otherwise before: write it as {escape}"),
        })
    }

    /// A backslash at `at`, which may begin the mark that ends the records.
    fn backslash(&self, is_last: bool) -> Result<Next, Problem> {
        let byte = |place: usize| match self.buffer.get(self.at + place) {
            Some(byte) => Some(*byte),
            None if is_last => Some(0),
            None => None,
        };
        let no_marker = |why: &str| match self.is_csv {
            true => Ok(Next::Skip(1)),
            false => Err(bad(format!("end-of-copy marker {why}; `\\.` stands alone in the last line"))),
        };
        const OTHER_END: &str = "does not match previous newline style";
        match byte(1) {
            None => return Ok(Next::Wait),
            Some(b'.') => {}
            // The text format keeps the character behind it, whatever it is.
            Some(_) => return Ok(Next::Skip((self.buffer.len() - self.at).min(2))),
        }
        let mut place = 2;
        if self.line_end == LineEnd::ReturnNewline {
            match byte(place) {
                None => return Ok(Next::Wait),
                Some(b'\r') => place += 1,
                Some(b'\n') => return no_marker(OTHER_END),
                Some(_) => return no_marker("corrupt"),
            }
        }
        match (byte(place), self.line_end) {
            (None, _) => Ok(Next::Wait),
            (Some(b'\n'), LineEnd::Return) | (Some(b'\r'), LineEnd::Newline | LineEnd::ReturnNewline) => {
                Err(bad(format!("end-of-copy marker {OTHER_END}")))
            }
            (Some(b'\n' | b'\r'), _) => Ok(Next::Marker),
            (Some(_), _) => no_marker("corrupt"),
        }
    }
}

pub(super) fn bad(text: impl Into<String>) -> Problem {
    Problem::new(SqlState::BadCopyFileFormat, text)
}

/// The first place at which bytes are no UTF-8, with the bytes there as PostgreSQL shows them.
pub(super) fn not_utf8(bytes: &[u8]) -> Option<(usize, Problem)> {
    let broken = std::str::from_utf8(bytes).err().map(|error| error.valid_up_to());
    // PostgreSQL's texts have no zeros.
    let place = match (broken, memchr(0, bytes)) {
        (Some(broken), Some(zero)) => broken.min(zero),
        (broken, zero) => broken.or(zero)?,
    };
    // As many bytes as the first one asks for.
    let length = match bytes[place] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes[place..].iter().take(length).map(|byte| format!("0x{byte:02x}")).collect();
    let text = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    Some((place, Problem::new(SqlState::CharacterNotInRepertoire, text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::copy_options::{CopyOption, CopyValue};
    use crate::statements::transfer::streams::options::Direction;
    use proptest::prelude::*;

    fn options(format: &str, more: &[(&str, &str)]) -> StreamOptions {
        let all = [&[("format", format)], more].concat();
        let given = all.iter().map(|(name, value)| CopyOption::new(name, CopyValue::Text((*value).to_owned())));
        StreamOptions::of(&given.collect::<Vec<_>>(), Direction::From).unwrap()
    }

    /// The lines with their numbers, and the text of the error, of pieces.
    fn cut(options: &StreamOptions, pieces: &[&[u8]]) -> (Vec<(u64, String)>, Option<String>) {
        let (mut cutter, mut lines) = (Cutter::new(options), Vec::new());
        for (number, piece) in pieces.iter().chain([&&b""[..]]).enumerate() {
            cutter.buffer().extend_from_slice(piece);
            let (chunk, problem) = cutter.cut(number == pieces.len());
            let text =
                |record: &RecordLine| String::from_utf8_lossy(&chunk.bytes[record.start..record.end]).into_owned();
            lines.extend(chunk.records.iter().map(|record| (record.line, text(record))));
            if let Some(problem) = problem {
                return (lines, Some(format!("{}: {}", problem.line, problem.problem.text)));
            }
        }
        (lines, None)
    }

    fn lines(found: &[(u64, String)]) -> Vec<&str> {
        found.iter().map(|(_, line)| line.as_str()).collect()
    }

    #[test]
    fn text_is_cut_at_ends_of_lines() {
        let text = options("text", &[]);
        assert_eq!(lines(&cut(&text, &[b"a\nb\\\nc\n\nd"]).0), ["a", "b\\\nc", "", "d"]);
        assert_eq!(lines(&cut(&text, &[b"a\r\nb\r\n"]).0), ["a", "b"]);
        assert_eq!(lines(&cut(&text, &[b"a\rb\r"]).0), ["a", "b"]);
        assert_eq!(lines(&cut(&text, &[b"a\nb\\.\nc\n"]).0), ["a", "b"]);
        assert_eq!(lines(&cut(&text, &[b"a\\"]).0), ["a\\"]);
        for (bytes, error) in [
            (&b"a\nb\rc\n"[..], "2: literal carriage return found in data"),
            (b"a\r\nb\nc\n", "2: literal newline found in data"),
            (b"a\n\\.b\n", "2: end-of-copy marker corrupt"),
            (b"a\r\n\\.\n", "2: end-of-copy marker does not match previous newline style"),
            (b"a\n\\.", "2: end-of-copy marker corrupt"),
        ] {
            let (found, problem) = cut(&text, &[bytes]);
            assert_eq!(lines(&found), ["a"]);
            assert!(problem.as_ref().is_some_and(|problem| problem.starts_with(error)), "{problem:?}");
        }
    }

    #[test]
    fn csv_is_cut_outside_quotes() {
        let csv = options("csv", &[]);
        let (found, _) = cut(&csv, &[b"a\n\"b\nc\"\"\n\",x\nd\n\\.x\n\\.\ne\n"]);
        assert_eq!(lines(&found), ["a", "\"b\nc\"\"\n\",x", "d", "\\.x"]);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 4, 5, 6]);
        let escaped = options("csv", &[("escape", "\\")]);
        assert_eq!(lines(&cut(&escaped, &[b"\"a\\\"\nb\"\nc\n"]).0), ["\"a\\\"\nb\"", "c"]);
        assert_eq!(lines(&cut(&csv, &[b"\"a\nb"]).0), ["\"a\nb"]);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_are_cut_alike(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'\\'), Just(b'.'), Just(b'"'), Just(b'a'), Just(b',')], 0..60),
            places in proptest::collection::vec(0_usize..60, 0..8),
            format in prop_oneof![Just(("text", "\"")), Just(("csv", "\"")), Just(("csv", "\\"))],
        ) {
            let more = [("escape", format.1)];
            let options = options(format.0, if format.0 == "csv" { &more } else { &[] });
            let mut places: Vec<usize> = places.into_iter().map(|place| place.min(bytes.len())).collect();
            places.sort_unstable();
            let mut pieces = Vec::new();
            let mut before = 0;
            for place in places {
                pieces.push(&bytes[before..place]);
                before = place;
            }
            pieces.push(&bytes[before..]);
            prop_assert_eq!(cut(&options, &pieces), cut(&options, &[&bytes]));
        }
    }
}
