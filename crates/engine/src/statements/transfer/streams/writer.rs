//! Batches to pieces of a stream: whole records, as PostgreSQL writes them.

use crate::statements::transfer::encode::put_quoted;
use crate::statements::transfer::streams::encoding::StreamEncoding;
use crate::statements::transfer::streams::options::{HeaderLine, StreamFormat, StreamOptions};
use crate::statements::transfer::streams::piece::CopyPiece;
use crate::statements::transfer::streams::tuples::{END, SIGNATURE};
use crate::wire::{RowEncoder, WireFormat, texts};
use crate::{Error, Result};
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use bytes::{BufMut, BytesMut};
use gingham_storage::SqlState;

/// Writes batches of one schema.
#[derive(Debug)]
pub(crate) struct StreamWriter {
    options: StreamOptions,
    names: Vec<String>,
    /// For each column whether its values stand between quotes always.
    is_quoted: Vec<bool>,
    /// For each column whether its values have none of the characters that mean something else.
    is_plain: Vec<bool>,
    /// For each byte what stands behind a backslash in its place in the text format; 0 for those that stay.
    escapes: [u8; 256],
}

/// Control characters that have a letter in the text format.
const LETTERS: [(u8, u8); 6] = [(8, b'b'), (b'\t', b't'), (b'\n', b'n'), (11, b'v'), (12, b'f'), (b'\r', b'r')];

impl StreamWriter {
    /// For rows of a schema.
    pub(crate) fn new(options: StreamOptions, schema: &Schema) -> Result<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let is_quoted = options.force_quote.among(names.iter().map(String::as_str), &[], "FORCE_QUOTE")?;
        // Numbers, dates and truths have none of the characters that are usual for other things.
        let is_usual = matches!(options.delimiter, b',' | b';' | b'\t' | b'|')
            && (options.format == StreamFormat::Text || matches!(options.quote, b'"' | b'\''))
            && matches!(options.null.as_str(), "" | "\\N");
        let is_plain = |data_type: &DataType| {
            data_type.is_numeric()
                || matches!(
                    data_type,
                    DataType::Boolean | DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(..)
                )
        };
        let is_plain = schema.fields().iter().map(|field| is_usual && is_plain(field.data_type())).collect();
        let mut escapes = [0; 256];
        for own in [options.delimiter, b'\\'] {
            escapes[usize::from(own)] = own;
        }
        for (byte, letter) in LETTERS {
            escapes[usize::from(byte)] = letter;
        }
        Ok(Self { options, names, is_quoted, is_plain, escapes })
    }

    /// What stands before the first record.
    pub(crate) fn start(&self) -> Result<Vec<u8>> {
        if self.options.format == StreamFormat::Binary {
            // There are neither flags nor an extension.
            return Ok([&SIGNATURE[..], &[0; 8]].concat());
        }
        let mut bytes = Vec::new();
        if self.options.header == HeaderLine::Present {
            for (number, name) in self.names.iter().enumerate() {
                if number > 0 {
                    bytes.push(self.options.delimiter);
                }
                match self.options.format {
                    StreamFormat::Csv => self.csv_field(name, false, &mut bytes),
                    StreamFormat::Text | StreamFormat::Binary => self.text_field(name, &mut bytes),
                }
            }
            bytes.push(b'\n');
        }
        self.options.encoding.encoded(bytes)
    }

    /// The records of a batch.
    pub(crate) fn records(&self, batch: &RecordBatch) -> Result<CopyPiece> {
        if self.options.format == StreamFormat::Binary {
            return self.tuples(batch);
        }
        let columns = batch.columns().iter().map(|values| Ok(texts(values)?)).collect::<Result<Vec<_>>>()?;
        let mut bytes = Vec::with_capacity(batch.num_rows() * (columns.len() * 10 + 1));
        let mut ends = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            for (number, texts) in columns.iter().enumerate() {
                if number > 0 {
                    bytes.push(self.options.delimiter);
                }
                match texts.is_valid(row) {
                    false => bytes.extend_from_slice(self.options.null.as_bytes()),
                    true => self.field(number, texts.value(row), &mut bytes),
                }
            }
            bytes.push(b'\n');
            ends.push(bytes.len());
        }
        self.encoded(bytes, ends)
    }

    /// Records in the encoding of the stream.
    fn encoded(&self, bytes: Vec<u8>, ends: Vec<usize>) -> Result<CopyPiece> {
        if self.options.encoding == StreamEncoding::UTF8 {
            return Ok(CopyPiece::of(bytes, ends));
        }
        let (mut all, mut places, mut start) = (Vec::with_capacity(bytes.len()), Vec::with_capacity(ends.len()), 0);
        for end in ends {
            all.extend(self.options.encoding.encoded(bytes[start..end].to_vec())?);
            places.push(all.len());
            start = end;
        }
        Ok(CopyPiece::of(all, places))
    }

    fn tuples(&self, batch: &RecordBatch) -> Result<CopyPiece> {
        let width = i16::try_from(self.names.len()).map_err(|_| {
            let text = format!("a tuple of the format binary has {} fields at most", i16::MAX);
            Error::invalid(SqlState::ProgramLimitExceeded, text)
        })?;
        let rows = RowEncoder::new(vec![WireFormat::Binary; self.names.len()]).encode(batch)?;
        let mut bytes = BytesMut::with_capacity(batch.num_rows() * (self.names.len() * 12 + 2));
        let mut ends = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            bytes.put_i16(width);
            rows.put(row, &mut bytes)?;
            ends.push(bytes.len());
        }
        Ok(CopyPiece::of(bytes, ends))
    }

    /// What stands behind the last record.
    pub(crate) fn end(&self) -> Vec<u8> {
        if self.options.format == StreamFormat::Binary { END.to_be_bytes().to_vec() } else { Vec::new() }
    }

    fn field(&self, column: usize, text: &str, bytes: &mut Vec<u8>) {
        let is_quoted = self.is_quoted[column];
        match self.options.format {
            _ if self.is_plain[column] && !is_quoted => bytes.extend_from_slice(text.as_bytes()),
            StreamFormat::Csv => self.csv_field(text, is_quoted, bytes),
            StreamFormat::Text | StreamFormat::Binary => self.text_field(text, bytes),
        }
    }

    fn text_field(&self, text: &str, bytes: &mut Vec<u8>) {
        let mut rest = text.as_bytes();
        while let Some(place) = rest.iter().position(|byte| self.escapes[usize::from(*byte)] != 0) {
            bytes.extend_from_slice(&rest[..place]);
            bytes.extend_from_slice(&[b'\\', self.escapes[usize::from(rest[place])]]);
            rest = &rest[place + 1..];
        }
        bytes.extend_from_slice(rest);
    }

    fn csv_field(&self, text: &str, is_quoted: bool, bytes: &mut Vec<u8>) {
        let (delimiter, quote, escape) = (self.options.delimiter, self.options.quote, self.options.escape);
        let is_special = |byte: u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
        // Alone in a line `\.` would end the records.
        let is_marker = self.names.len() == 1 && text == "\\.";
        if !is_quoted && !is_marker && text != self.options.null && !text.bytes().any(is_special) {
            bytes.extend_from_slice(text.as_bytes());
            return;
        }
        put_quoted(text, quote, escape, bytes);
    }
}
