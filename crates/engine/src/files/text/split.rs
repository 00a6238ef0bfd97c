//! Delimited text cut into records and fields.
//!
//! One pass over the bytes, no copies: a field is a range of the buffer. Follows RFC 4180 where a file does, and real
//! files where they don't: a quoted field may stand after blanks, a quote inside an unquoted field is text, lines may
//! end with LF or CRLF, and blank lines are not records unless records have one field.

use memchr::{memchr, memchr2};

/// How the text of a file is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// What separates fields.
    pub(crate) delimiter: u8,
    /// What quotes a field (nothing does in TPC-H's format).
    pub(crate) quote: Option<u8>,
    /// What stands before a quote that is meant inside of a quoted field: the quote itself, or another character, which then
    /// stands before itself too.
    pub(crate) escape: u8,
    /// What begins a line that is no record.
    pub(crate) comment: Option<u8>,
    /// Blanks round an unquoted field are not part of it.
    pub(crate) trim: bool,
    /// A delimiter ends the last field of a record (TPC-H's format).
    pub(crate) terminated: bool,
    /// A blank line is a record of one empty field, as it must be where records have one field.
    pub(crate) blank: bool,
}

/// How a field was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldForm {
    /// As it is.
    Bare,
    /// Between quotes, which are not part of the range.
    Quoted,
    /// Between quotes, with escapes inside.
    Escaped,
}

/// A field: a range of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CsvField {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) form: FieldForm,
}

impl CsvField {
    /// The bytes of the field.
    #[inline]
    pub(crate) fn of<'a>(&self, buffer: &'a [u8]) -> &'a [u8] {
        &buffer[self.start as usize..self.end as usize]
    }

    fn new(start: usize, end: usize, form: FieldForm) -> Self {
        Self { start: start as u32, end: end as u32, form }
    }
}

/// What [`Dialect::record`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SplitOutcome {
    /// A record; the next one begins at `next`.
    Record {
        next: usize,
        /// The record can't be read, and why. Its fields mean nothing.
        problem: Option<&'static str>,
    },
    /// The record goes on behind the buffer.
    More,
    /// Nothing but blank lines was left.
    End,
}

const UNCLOSED: &str = "a quoted field is not closed";
const TEXT_AFTER_QUOTE: &str = "text follows a closing quote; a quote inside a quoted field is written twice";

/// Most bytes of a buffer, so that a field's place fits 32 bits.
pub(crate) const MAX_BUFFER: usize = 1 << 30;

impl Dialect {
    /// Fields between delimiters, as RFC 4180 has them.
    pub(crate) const fn of(delimiter: u8, quote: Option<u8>) -> Self {
        let escape = if let Some(quote) = quote { quote } else { b'"' };
        Self { delimiter, quote, escape, comment: None, trim: false, terminated: false, blank: false }
    }

    /// Cuts the record that begins at `start` of `buffer`, appending its fields to `fields` (which get nothing unless a
    /// record is found). `last` says that the file ends with the buffer.
    pub(crate) fn record(&self, buffer: &[u8], start: usize, last: bool, fields: &mut Vec<CsvField>) -> SplitOutcome {
        let at = self.record_start(buffer, start);
        if at >= buffer.len() || self.is_comment(buffer, at) {
            return if last { SplitOutcome::End } else { SplitOutcome::More };
        }
        let first = fields.len();
        match self.fields(buffer, at, last, fields) {
            Some(Ok(next)) => {
                if self.terminated {
                    drop_terminator(fields, first);
                }
                SplitOutcome::Record { next, problem: None }
            }
            Some(Err((problem, from))) => {
                fields.truncate(first);
                match memchr(b'\n', &buffer[from..]) {
                    Some(end) => SplitOutcome::Record { next: from + end + 1, problem: Some(problem) },
                    None if last => SplitOutcome::Record { next: buffer.len(), problem: Some(problem) },
                    None => SplitOutcome::More,
                }
            }
            None => {
                fields.truncate(first);
                SplitOutcome::More
            }
        }
    }

    /// Where the record begins that is found from `start` on: behind comments, and blank lines that are no records. A comment
    /// that goes on behind the buffer is not skipped.
    pub(crate) fn record_start(&self, buffer: &[u8], start: usize) -> usize {
        let mut at = start;
        loop {
            match buffer.get(at) {
                Some(b'\r') if !self.blank && buffer.get(at + 1).is_none_or(|next| *next == b'\n') => at += 1,
                Some(b'\n') if !self.blank => at += 1,
                Some(byte) if self.comment == Some(*byte) => match memchr(b'\n', &buffer[at..]) {
                    Some(end) => at += end + 1,
                    None => return at,
                },
                _ => return at,
            }
        }
    }

    fn is_comment(&self, buffer: &[u8], at: usize) -> bool {
        self.comment.is_some_and(|comment| buffer.get(at) == Some(&comment))
    }

    /// Where the next record begins; `None` when the buffer ends first; or what is wrong, and where to look for the
    /// line's end.
    fn fields(
        &self,
        buffer: &[u8],
        mut at: usize,
        last: bool,
        fields: &mut Vec<CsvField>,
    ) -> Option<Result<usize, (&'static str, usize)>> {
        loop {
            let quote = self.quote.and_then(|quote| Some((quote, self.opening_quote(quote, buffer, at)?)));
            let end = match quote {
                Some((quote, open)) => match self.quoted(quote, buffer, open + 1, last, fields) {
                    Ok(end) => end,
                    Err(None) => return None,
                    Err(Some(problem)) => return Some(Err(problem)),
                },
                None => {
                    let end = self.end_of_bare(buffer, at);
                    self.bare(buffer, at, end, fields);
                    end
                }
            };
            match buffer.get(end) {
                Some(byte) if *byte == self.delimiter => at = end + 1,
                Some(_) => return Some(Ok(end + 1)),
                None if last => return Some(Ok(end)),
                None => return None,
            }
        }
    }

    /// The place of the delimiter or line break behind a field without quotes, or the buffer's end. Fields are short, so that eight bytes
    /// at a time, in a register, are faster than the setting up of a search with wide ones.
    fn end_of_bare(&self, buffer: &[u8], start: usize) -> usize {
        const ONES: u64 = u64::MAX / 255;
        const HIGHS: u64 = ONES << 7;
        // The lowest byte that is zero has its high bit set in this.
        let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes & HIGHS;
        let (delimiters, breaks) = (ONES * u64::from(self.delimiter), ONES * u64::from(b'\n'));
        let mut at = start;
        while let Some(eight) = buffer[at..].first_chunk::<8>() {
            let bytes = u64::from_le_bytes(*eight);
            let found = zeros(bytes ^ delimiters) | zeros(bytes ^ breaks);
            if found != 0 {
                return at + (found.trailing_zeros() / 8) as usize;
            }
            at += 8;
        }
        let rest = buffer[at..].iter().position(|byte| *byte == self.delimiter || *byte == b'\n');
        rest.map_or(buffer.len(), |found| at + found)
    }

    /// The place of a quote that opens the field at `at`, blanks before it skipped.
    fn opening_quote(&self, quote: u8, buffer: &[u8], at: usize) -> Option<usize> {
        let mut at = at;
        while buffer.get(at).is_some_and(|byte| *byte == b' ' && *byte != self.delimiter) {
            at += 1;
        }
        (buffer.get(at) == Some(&quote)).then_some(at)
    }

    /// Reads a quoted field whose content begins at `start`; gives the place of the delimiter or line break behind it.
    fn quoted(
        &self,
        quote: u8,
        buffer: &[u8],
        start: usize,
        last: bool,
        fields: &mut Vec<CsvField>,
    ) -> Result<usize, Option<(&'static str, usize)>> {
        let mut form = FieldForm::Quoted;
        let mut at = start;
        let close = loop {
            let Some(found) = memchr2(quote, self.escape, &buffer[at..]).map(|found| at + found) else {
                return Err(last.then_some((UNCLOSED, start)));
            };
            let next = buffer.get(found + 1);
            let escapes = match buffer[found] == self.escape {
                true if self.escape == quote => next == Some(&quote),
                is_escape => is_escape && next.is_some(),
            };
            match next {
                _ if escapes => {
                    form = FieldForm::Escaped;
                    at = found + 2;
                }
                None if !last => return Err(None),
                _ if buffer[found] == quote => break found,
                _ => return Err(Some((UNCLOSED, start))),
            }
        };
        fields.push(CsvField::new(start, close, form));
        let mut end = close + 1;
        while buffer.get(end).is_some_and(|byte| matches!(byte, b' ' | b'\r') && *byte != self.delimiter) {
            end += 1;
        }
        match buffer.get(end) {
            Some(byte) if *byte == self.delimiter || *byte == b'\n' => Ok(end),
            None if last => Ok(end),
            None => Err(None),
            Some(_) => Err(Some((TEXT_AFTER_QUOTE, end))),
        }
    }

    /// The text of a field between quotes with its escapes taken out.
    pub(crate) fn unescaped(&self, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(at) = memchr(self.escape, rest) {
            let end = (at + 2).min(rest.len());
            plain.extend_from_slice(&rest[..at]);
            plain.extend_from_slice(&rest[at + 1..end]);
            rest = &rest[end..];
        }
        plain.extend_from_slice(rest);
        plain
    }

    fn bare(&self, buffer: &[u8], start: usize, end: usize, fields: &mut Vec<CsvField>) {
        let (mut start, mut end) = (start, end);
        if end > start && buffer[end - 1] == b'\r' && buffer.get(end).is_none_or(|byte| *byte == b'\n') {
            end -= 1;
        }
        if self.trim {
            while start < end && buffer[start] == b' ' {
                start += 1;
            }
            while start < end && buffer[end - 1] == b' ' {
                end -= 1;
            }
        }
        fields.push(CsvField::new(start, end, FieldForm::Bare));
    }
}

/// Removes the empty field behind a terminating delimiter.
fn drop_terminator(fields: &mut Vec<CsvField>, first: usize) {
    if fields.len() > first + 1 && fields.last().is_some_and(|field| field.start == field.end) {
        fields.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CSV: Dialect = Dialect::of(b',', Some(b'"'));

    /// All records as text, `!` before the problem of a bad one.
    fn cut(dialect: Dialect, text: &[u8]) -> Vec<Vec<String>> {
        let (mut at, mut all) = (0, Vec::new());
        loop {
            let mut fields = Vec::new();
            match dialect.record(text, at, true, &mut fields) {
                SplitOutcome::Record { next, problem } => {
                    let shown = |field: &CsvField| {
                        let bytes = field.of(text).to_vec();
                        let plain = if field.form == FieldForm::Escaped { dialect.unescaped(&bytes) } else { bytes };
                        String::from_utf8_lossy(&plain).into_owned()
                    };
                    all.push(match problem {
                        Some(problem) => vec![format!("!{problem}")],
                        None => fields.iter().map(shown).collect(),
                    });
                    at = next;
                }
                SplitOutcome::End => return all,
                SplitOutcome::More => panic!("the last buffer has no more"),
            }
        }
    }

    #[test]
    fn records_of_real_files() {
        assert_eq!(cut(CSV, b"a,b\n1,2\r\n\r\n3,"), [["a", "b"], ["1", "2"], ["3", ""]]);
        assert_eq!(cut(CSV, b"\"a,\nb\", \"say \"\"x\"\"\" ,c\n"), [["a,\nb", "say \"x\"", "c"]]);
        assert_eq!(cut(CSV, b"5\" disk, x\n"), [["5\" disk", " x"]]);
        assert_eq!(cut(Dialect { trim: true, ..CSV }, b"39, State-gov , \n"), [["39", "State-gov", ""]]);
        assert_eq!(cut(CSV, b"\n\n"), Vec::<Vec<String>>::new());
        let tbl = Dialect { terminated: true, ..Dialect::of(b'|', None) };
        assert_eq!(cut(tbl, b"1|\"x|\n2|y|\n"), [["1", "\"x"], ["2", "y"]]);
    }

    #[test]
    fn quotes_escapes_and_comments_are_other_characters() {
        let escaped = Dialect { quote: Some(b'\''), escape: b'\\', comment: Some(b'#'), ..CSV };
        let text = b"# a comment, with a comma\n'it\\'s \\\\ \"here\"',1\n\n#x\n2,'a'";
        assert_eq!(cut(escaped, text), [["it's \\ \"here\"", "1"], ["2", "a"]]);
        assert_eq!(cut(escaped, b"1,2\n# the last line"), [["1", "2"]]);
        assert_eq!(cut(escaped, b"'open \\'"), [[format!("!{UNCLOSED}")]]);
        assert_eq!(cut(Dialect::of(b',', None), b"\"a,b\"\n"), [["\"a", "b\""]]);
        let mut fields = Vec::new();
        assert_eq!(escaped.record(b"# cut", 0, false, &mut fields), SplitOutcome::More);
        assert_eq!(escaped.record(b"'a\\", 0, false, &mut fields), SplitOutcome::More);
    }

    #[test]
    fn a_bad_record_ends_with_its_line() {
        let all = cut(CSV, b"\"a\"b,c\n1,2\n\"open\n3,4\n");
        assert_eq!(all[0], [format!("!{TEXT_AFTER_QUOTE}")]);
        assert_eq!(all[1], ["1", "2"]);
        assert_eq!(all[2], [format!("!{UNCLOSED}")]);
        assert_eq!(all[3], ["3", "4"]);
    }

    proptest! {
        /// However a file is cut into buffers, the records are those of the whole.
        #[test]
        fn a_buffer_that_ends_early_asks_for_more(text in "[ab,\"\n\r ]{0,40}", cut_at in 0_usize..40) {
            let text = text.as_bytes();
            let cut_at = cut_at.min(text.len());
            let mut early = Vec::new();
            let found = CSV.record(&text[..cut_at], 0, false, &mut early);
            if let SplitOutcome::Record { problem, next } = found {
                let mut whole = Vec::new();
                prop_assert_eq!(CSV.record(text, 0, true, &mut whole), SplitOutcome::Record { next, problem });
                prop_assert_eq!(early, whole);
            }
        }

        /// What is written with quotes is read back.
        #[test]
        fn quoted_fields_round_trip(rows in prop::collection::vec(prop::collection::vec("[a,\"\n\r ]{0,6}", 1..4), 1..6)) {
            let line = |row: &Vec<String>| {
                row.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect::<Vec<_>>().join(",") + "\n"
            };
            let text: String = rows.iter().map(line).collect();
            prop_assert_eq!(cut(CSV, text.as_bytes()), rows);
        }
    }
}
