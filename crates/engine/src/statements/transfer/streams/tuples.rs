//! PostgreSQL's binary format: a head, tuples that each begin with the number of their fields, fields that each begin with their
//! length, and a mark of the end. It may end without the mark, too.

use crate::Result;
use crate::statements::dml::ingest::{MisfitValue, assign};
use crate::statements::transfer::streams::cut::{Chunk, LineProblem, RECORD_BYTES, RecordLine, bad};
use crate::statements::transfer::streams::fields::RecordFields;
use crate::wire::{column_of_bytes, form_of};
use arrow::array::ArrayRef;
use gingham_storage::{LogicalType, Problem, SqlState};

/// What it begins with.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// What stands in the place of a tuple's number of fields at the end.
pub(super) const END: i16 = -1;
/// The length of NULL.
const NULL: i32 = -1;
/// The flags of the head that a reader has to know.
const CRITICAL: u32 = 0xffff_0000;
/// The one of them that is known, and means what is not there any more.
const WITH_OIDS: u32 = 1 << 16;

/// Where the stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TuplePlace {
    Head,
    Tuples,
    End,
}

/// Cuts a stream into tuples.
#[derive(Debug)]
pub(super) struct TupleCutter {
    width: usize,
    buffer: Vec<u8>,
    at: TuplePlace,
    /// The number of the next tuple, from 1.
    tuple: u64,
}

/// A part of a tuple.
enum TuplePart {
    /// It is whole, and ends there.
    Whole(usize),
    /// The mark of the end, which ends there.
    End(usize),
    /// It is not whole, up to this field.
    Open(Option<usize>),
}

/// What is wrong, and with which field.
type Wrong = (Option<usize>, Problem);

impl TupleCutter {
    /// For tuples of so many fields.
    pub(super) fn new(width: usize) -> Self {
        Self { width, buffer: Vec::new(), at: TuplePlace::Head, tuple: 1 }
    }

    /// Where the next bytes are to be added before [`TupleCutter::cut`].
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Bytes that wait for the end of their tuple.
    pub(super) fn waiting(&self) -> usize {
        self.buffer.len()
    }

    /// The tuples that are whole, and what is wrong behind them. `is_last` says that no more bytes come.
    pub(super) fn cut(&mut self, is_last: bool) -> (Chunk, Option<LineProblem>) {
        let mut start = 0;
        if self.at == TuplePlace::Head {
            match self.head(is_last) {
                Ok(Some(end)) => (start, self.at) = (end, TuplePlace::Tuples),
                Ok(None) => return (Chunk::default(), None),
                Err(problem) => return (Chunk::default(), Some(LineProblem { line: 0, column: None, problem })),
            }
        }
        let mut records = Vec::new();
        let found = self.tuples(&mut start, &mut records, is_last);
        let problem = found.err().map(|(column, problem)| LineProblem { line: self.tuple, column, problem });
        let rest = self.buffer.split_off(start);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        (Chunk { bytes, records }, problem)
    }

    /// The end of the head; `None` while it is not there.
    fn head(&self, is_last: bool) -> Result<Option<usize>, Problem> {
        let (bytes, length) = (&self.buffer, SIGNATURE.len());
        let known = bytes.len().min(length);
        if bytes[..known] != SIGNATURE[..known] || is_last && known < length {
            return Err(bad("COPY file signature not recognized; is the format not binary?"));
        }
        let missing = |what: &str| match is_last {
            true => Err(bad(format!("invalid COPY file header ({what})"))),
            false => Ok(None),
        };
        let number = |place: usize| -> Option<u32> { Some(u32::from_be_bytes(*bytes.get(place..)?.first_chunk()?)) };
        let Some(flags) = number(length) else { return missing("missing flags") };
        if flags & WITH_OIDS != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let Some(extension) = number(length + 4) else { return missing("missing length") };
        if i32::try_from(extension).is_err() {
            return Err(bad("invalid COPY file header (missing length)"));
        }
        let end = length + 8 + extension as usize;
        if end > bytes.len() { missing("wrong length") } else { Ok(Some(end)) }
    }

    fn tuples(&mut self, start: &mut usize, records: &mut Vec<RecordLine>, is_last: bool) -> Result<(), Wrong> {
        loop {
            if self.at == TuplePlace::End {
                let is_more = *start < self.buffer.len();
                return if is_more { Err((None, bad("received copy data after EOF marker"))) } else { Ok(()) };
            }
            match self.part(*start)? {
                TuplePart::Whole(end) => {
                    records.push(RecordLine { start: *start, end, line: self.tuple });
                    self.tuple += 1;
                    *start = end;
                }
                TuplePart::End(end) => (*start, self.at) = (end, TuplePlace::End),
                TuplePart::Open(field) => {
                    return match field {
                        Some(_) if is_last => Err((field, bad("unexpected EOF in COPY data"))),
                        _ => Ok(()),
                    };
                }
            }
        }
    }

    /// What begins at `start`.
    fn part(&self, start: usize) -> Result<TuplePart, Wrong> {
        let bytes = &self.buffer[start..];
        let Some(count) = bytes.first_chunk().map(|count| i16::from_be_bytes(*count)) else {
            return Ok(TuplePart::Open(None));
        };
        if count == END {
            return Ok(TuplePart::End(start + 2));
        }
        if usize::try_from(count) != Ok(self.width) {
            return Err((None, bad(format!("row field count is {count}, expected {}", self.width))));
        }
        let mut at = 2;
        for field in 0..self.width {
            let Some(length) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
                return Ok(TuplePart::Open(Some(field)));
            };
            at += 4;
            match i32::from_be_bytes(*length) {
                NULL => {}
                length => {
                    let length = usize::try_from(length).map_err(|_| (Some(field), bad("invalid field size")))?;
                    if length > RECORD_BYTES {
                        let text = format!("the field has {length} bytes; {RECORD_BYTES} are the most");
                        return Err((Some(field), Problem::new(SqlState::ProgramLimitExceeded, text)));
                    }
                    at += length;
                }
            }
            if at > bytes.len() {
                return Ok(TuplePart::Open(Some(field)));
            }
        }
        Ok(TuplePart::Whole(start + at))
    }
}

/// The fields of tuples that were cut.
pub(super) fn split(chunk: Chunk, width: usize) -> RecordFields {
    let mut fields = RecordFields::new(chunk.bytes, width, chunk.records.len() * width);
    for record in &chunk.records {
        let mut at = record.start + 2;
        for _ in 0..width {
            let length =
                fields.bytes().get(at..).and_then(<[u8]>::first_chunk).map_or(NULL, |own| i32::from_be_bytes(*own));
            at += 4;
            match usize::try_from(length) {
                Ok(length) => {
                    fields.push(Some((at, at + length)));
                    at += length;
                }
                Err(_) => fields.push(None),
            }
        }
        fields.rows += 1;
    }
    fields
}

/// The values of a column of the tuples, or the first that is none of its type.
pub(super) fn column(
    fields: &RecordFields,
    column: usize,
    target: &LogicalType,
) -> Result<Result<ArrayRef, MisfitValue>> {
    match column_of_bytes(fields.column(column), fields.rows, &form_of(&target.to_arrow())) {
        Ok(values) => assign(&values, target),
        Err((row, problem)) => Ok(Err(MisfitValue { row, problem })),
    }
}
