//! The fields of records of text and CSV, with escapes and quotes undone.

use crate::statements::transfer::streams::cut::{Chunk, RecordLine, bad, not_utf8};
use crate::statements::transfer::streams::options::{StreamFormat, StreamOptions};
use gingham_storage::Problem;
use memchr::memchr2;

/// Where the text of a field lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldPlace {
    /// The field is NULL.
    Null,
    /// In the chunk.
    Chunk,
    /// Among the texts that had to be built.
    Built,
}

/// A field.
#[derive(Debug, Clone, Copy)]
struct Field {
    place: FieldPlace,
    start: u32,
    end: u32,
}

const NULL: Field = Field { place: FieldPlace::Null, start: 0, end: 0 };

/// What is wrong with the record behind those that were split.
#[derive(Debug)]
pub(super) struct BadRecord {
    pub(super) problem: Problem,
    /// The fields before what is wrong are there, and the others NULL.
    pub(super) is_partial: bool,
}

/// The fields of records, each with as many.
#[derive(Debug)]
pub(super) struct RecordFields {
    bytes: Vec<u8>,
    built: Vec<u8>,
    fields: Vec<Field>,
    width: usize,
    /// The number of records.
    pub(super) rows: usize,
}

impl RecordFields {
    /// No fields yet, of `width` a record, with room for `capacity`, that lie in `bytes`.
    pub(super) fn new(bytes: Vec<u8>, width: usize, capacity: usize) -> Self {
        Self { bytes, built: Vec::new(), fields: Vec::with_capacity(capacity), width, rows: 0 }
    }

    /// The bytes that fields lie in.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the field between two places of the bytes, or NULL.
    pub(super) fn push(&mut self, place: Option<(usize, usize)>) {
        self.fields.push(match place {
            Some((start, end)) => Field { place: FieldPlace::Chunk, start: start as u32, end: end as u32 },
            None => NULL,
        });
    }

    /// Those of the first `rows` records.
    pub(super) fn first(self, rows: usize) -> Self {
        Self { rows: rows.min(self.rows), ..self }
    }

    /// The texts of a column; `None` is NULL.
    pub(super) fn column(&self, column: usize) -> impl Iterator<Item = Option<&[u8]>> + Clone {
        let own = self.fields.get(column..).unwrap_or_default().iter().step_by(self.width.max(1));
        own.take(self.rows).map(|field| {
            let (start, end) = (field.start as usize, field.end as usize);
            match field.place {
                FieldPlace::Null => None,
                FieldPlace::Chunk => Some(&self.bytes[start..end]),
                FieldPlace::Built => Some(&self.built[start..end]),
            }
        })
    }
}

/// Splits records into fields.
#[derive(Debug)]
pub(super) struct Splitter {
    options: StreamOptions,
    names: Vec<String>,
    force_not_null: Vec<bool>,
    force_null: Vec<bool>,
}

impl Splitter {
    /// For records with the columns of these names, of a table that has `all`.
    pub(super) fn new(options: &StreamOptions, names: &[String], all: &[String]) -> crate::Result<Self> {
        let columns = names.iter().map(String::as_str);
        Ok(Self {
            force_not_null: options.force_not_null.among(columns.clone(), all, "FORCE_NOT_NULL")?,
            force_null: options.force_null.among(columns, all, "FORCE_NULL")?,
            options: options.clone(),
            names: names.to_vec(),
        })
    }

    /// The fields of a chunk's records, up to the first with something wrong.
    pub(super) fn split(&self, chunk: Chunk) -> (RecordFields, Option<BadRecord>) {
        let Chunk { bytes, records } = chunk;
        let width = self.names.len();
        let mut all = RecordFields::new(bytes, width, records.len() * width);
        let broken = records.last().and_then(|last| not_utf8(&all.bytes[..last.end]));
        for record in &records {
            if let Some((place, problem)) = &broken
                && *place < record.end
            {
                return (all, Some(BadRecord { problem: problem.clone(), is_partial: false }));
            }
            match self.record(*record, &mut all) {
                Ok(()) => all.rows += 1,
                Err(found) => {
                    all.fields.truncate((all.rows + usize::from(found.is_partial)) * width);
                    all.rows += usize::from(found.is_partial);
                    return (all, Some(found));
                }
            }
        }
        (all, None)
    }

    /// The fields of one record alone; `None` is NULL.
    pub(super) fn header(&self, bytes: &[u8]) -> Result<Vec<Option<Vec<u8>>>, Problem> {
        let mut all = RecordFields::new(bytes.to_vec(), self.names.len(), self.names.len());
        if let Some((_, problem)) = not_utf8(bytes) {
            return Err(problem);
        }
        self.fields(RecordLine { start: 0, end: bytes.len(), line: 1 }, &mut all)?;
        (all.width, all.rows) = (1, all.fields.len());
        let fields = all.column(0).map(|field| field.map(<[u8]>::to_vec));
        Ok(fields.collect())
    }

    fn record(&self, record: RecordLine, all: &mut RecordFields) -> Result<(), BadRecord> {
        let (before, width) = (all.fields.len(), self.names.len());
        let whole = |problem| BadRecord { problem, is_partial: false };
        if width == 0 {
            return if record.start == record.end { Ok(()) } else { Err(whole(bad(EXTRA))) };
        }
        self.fields(record, all).map_err(whole)?;
        let found = all.fields.len() - before;
        if found > width {
            return Err(whole(bad(EXTRA)));
        }
        if self.options.format == StreamFormat::Csv {
            self.force(before, all);
        }
        if found == width {
            return Ok(());
        }
        all.fields.resize(before + width, NULL);
        let problem = bad(format!("missing data for column \"{}\"", self.names[found]));
        Err(BadRecord { problem, is_partial: true })
    }

    /// Makes NULL a text, and a text NULL, in the columns of which that is asked.
    fn force(&self, first: usize, all: &mut RecordFields) {
        for (column, at) in (first..all.fields.len()).enumerate() {
            let field = all.fields[at];
            let (start, end) = (field.start as usize, field.end as usize);
            let null = self.options.null.as_bytes();
            all.fields[at].place = match field.place {
                // What stood for it is its text.
                FieldPlace::Null if self.force_not_null[column] => FieldPlace::Chunk,
                FieldPlace::Chunk if self.force_null[column] && all.bytes[start..end] == *null => FieldPlace::Null,
                FieldPlace::Built if self.force_null[column] && all.built[start..end] == *null => FieldPlace::Null,
                other => other,
            };
        }
    }

    fn fields(&self, record: RecordLine, all: &mut RecordFields) -> Result<(), Problem> {
        let mut at = record.start;
        loop {
            let end = match self.options.format {
                StreamFormat::Csv => self.csv_field(at, record.end, all)?,
                StreamFormat::Text | StreamFormat::Binary => self.text_field(at, record.end, all)?,
            };
            if end >= record.end {
                return Ok(());
            }
            at = end + 1;
            if at >= record.end {
                // Behind the last delimiter there is an empty field.
                self.plain(at, at, all);
                return Ok(());
            }
        }
    }

    /// Adds a field that is as it stands there.
    fn plain(&self, start: usize, end: usize, all: &mut RecordFields) {
        let is_null = all.bytes[start..end] == *self.options.null.as_bytes();
        let place = if is_null { FieldPlace::Null } else { FieldPlace::Chunk };
        all.fields.push(Field { place, start: start as u32, end: end as u32 });
    }

    /// Adds the field of a line of text that begins at `start`; gives where it ends.
    fn text_field(&self, start: usize, line_end: usize, all: &mut RecordFields) -> Result<usize, Problem> {
        let delimiter = self.options.delimiter;
        let place = memchr2(delimiter, b'\\', &all.bytes[start..line_end]).map(|place| start + place);
        match place {
            Some(place) if all.bytes[place] == b'\\' => self.escaped_field(start, place, line_end, all),
            place => {
                let end = place.unwrap_or(line_end);
                self.plain(start, end, all);
                Ok(end)
            }
        }
    }

    /// As [`Self::text_field`], for one whose first backslash is at `escape`.
    fn escaped_field(
        &self,
        start: usize,
        escape: usize,
        line_end: usize,
        all: &mut RecordFields,
    ) -> Result<usize, Problem> {
        let RecordFields { bytes, built, fields, .. } = all;
        let (first, mut at) = (built.len(), escape);
        built.extend_from_slice(&bytes[start..escape]);
        let mut is_checked = false;
        while at < line_end && bytes[at] != self.options.delimiter {
            if bytes[at] != b'\\' {
                built.push(bytes[at]);
                at += 1;
                continue;
            }
            // One behind which the line ends is dropped.
            let Some(byte) = bytes[..line_end].get(at + 1) else {
                at = line_end;
                break;
            };
            let (value, length) = unescaped(*byte, &bytes[at + 2..line_end]);
            is_checked |= value == 0 || !value.is_ascii();
            built.push(value);
            at += 1 + length;
        }
        if bytes[start..at] == *self.options.null.as_bytes() {
            built.truncate(first);
            fields.push(Field { place: FieldPlace::Null, start: start as u32, end: at as u32 });
            return Ok(at);
        }
        if is_checked && let Some((_, problem)) = not_utf8(&built[first..]) {
            return Err(problem);
        }
        fields.push(Field { place: FieldPlace::Built, start: first as u32, end: built.len() as u32 });
        Ok(at)
    }

    /// Adds the field of a line of CSV that begins at `start`; gives where it ends.
    fn csv_field(&self, start: usize, line_end: usize, all: &mut RecordFields) -> Result<usize, Problem> {
        let (delimiter, quote, escape) = (self.options.delimiter, self.options.quote, self.options.escape);
        let place = memchr2(delimiter, quote, &all.bytes[start..line_end]).map(|place| start + place);
        let Some(first_quote) = place.filter(|place| all.bytes[*place] == quote) else {
            let end = place.unwrap_or(line_end);
            self.plain(start, end, all);
            return Ok(end);
        };
        if first_quote == start {
            // Most are a text between two quotes.
            let close = memchr2(quote, escape, &all.bytes[start + 1..line_end]).map(|place| start + 1 + place);
            if let Some(close) = close.filter(|close| all.bytes[*close] == quote)
                && (close + 1 == line_end || all.bytes[close + 1] == delimiter)
            {
                all.fields.push(Field { place: FieldPlace::Chunk, start: start as u32 + 1, end: close as u32 });
                return Ok(close + 1);
            }
        }
        let RecordFields { bytes, built, fields, .. } = all;
        let (first, mut at, mut in_quote) = (built.len(), first_quote, false);
        built.extend_from_slice(&bytes[start..first_quote]);
        while at < line_end && (in_quote || bytes[at] != delimiter) {
            let byte = bytes[at];
            at += 1;
            if !in_quote && byte == quote {
                in_quote = true;
            } else if in_quote
                && byte == escape
                && bytes[..line_end].get(at).is_some_and(|next| *next == escape || *next == quote)
            {
                built.push(bytes[at]);
                at += 1;
            } else if in_quote && byte == quote {
                in_quote = false;
            } else {
                built.push(byte);
            }
        }
        if in_quote {
            return Err(bad("unterminated CSV quoted field"));
        }
        fields.push(Field { place: FieldPlace::Built, start: first as u32, end: built.len() as u32 });
        Ok(at)
    }
}

const EXTRA: &str = "extra data after last expected column";

/// What a backslash and the byte behind it mean, with the bytes behind that; and how many of them that takes, the first among them.
fn unescaped(byte: u8, rest: &[u8]) -> (u8, usize) {
    let digits = |base: u32, most: usize| {
        let own = rest.iter().take(most).map_while(|byte| char::from(*byte).to_digit(base));
        own.fold((0_u32, 0), |(value, length), digit| (value * base + digit, length + 1))
    };
    match byte {
        b'0'..=b'7' => {
            let (value, length) = digits(8, 2);
            let first = u32::from(byte - b'0') << (3 * length);
            ((first + value) as u8, 1 + length)
        }
        b'x' => match digits(16, 2) {
            (_, 0) => (b'x', 1),
            (value, length) => (value as u8, 1 + length),
        },
        b'b' => (8, 1),
        b'f' => (12, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (11, 1),
        other => (other, 1),
    }
}
