//! Delimited text, as RFC 4180 has it. The empty text stands between quotes, so that it differs from NULL.

use crate::statements::transfer::encode::options::WriteOptions;
use crate::statements::transfer::encode::texts::texts;
use crate::{Error, Result};
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use gingham_storage::SqlState;

/// Writes batches as delimited text.
#[derive(Debug)]
pub(crate) struct CsvEncoder {
    options: WriteOptions,
    header: Vec<u8>,
    /// How the values of each column are quoted.
    quoting: Vec<Quoting>,
}

/// When a value stands between quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// Values have no character that would ask for quotes.
    Never,
    /// Where it would be read as something else without them.
    Needed,
    Always,
}

impl CsvEncoder {
    pub(super) fn new(options: &WriteOptions, schema: &Schema) -> Result<Self> {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let forced = &options.force_quote;
        let is_known = |name: &&String| *name == "*" || names.iter().any(|own| own.eq_ignore_ascii_case(name));
        if let Some(unknown) = forced.iter().find(|name| !is_known(name)) {
            let suggestion = crate::suggest::did_you_mean(unknown, names);
            let text = format!("COPY TO: force_quote: column '{unknown}' does not exist{suggestion}");
            return Err(Error::invalid(SqlState::UndefinedColumn, text));
        }
        // Numbers, dates and truths have none of the characters that are usual for other things.
        let is_usual = matches!(options.delimiter, b',' | b';' | b'\t' | b'|') && matches!(options.quote, b'"' | b'\'');
        let quoting = schema.fields().iter().map(|field| {
            let is_forced = forced.iter().any(|name| name == "*" || name.eq_ignore_ascii_case(field.name()));
            let is_plain = field.data_type().is_numeric() || *field.data_type() == DataType::Boolean;
            match (is_forced, is_plain && is_usual && options.null.is_empty()) {
                (true, _) => Quoting::Always,
                (false, true) => Quoting::Never,
                (false, false) => Quoting::Needed,
            }
        });
        let quoting = quoting.collect();
        let mut encoder = Self { options: options.clone(), header: Vec::new(), quoting };
        if options.header {
            let mut header = Vec::new();
            for (number, name) in names.iter().enumerate() {
                if number > 0 {
                    header.push(options.delimiter);
                }
                encoder.field(name, Quoting::Needed, &mut header);
            }
            header.push(b'\n');
            encoder.header = header;
        }
        Ok(encoder)
    }

    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }

    pub(super) fn encode(&self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let (dates, timestamps) = (self.options.dates.as_deref(), self.options.timestamps.as_deref());
        let columns = batch.columns().iter().map(|values| texts(values, dates, timestamps));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut bytes = Vec::with_capacity(batch.num_rows() * columns.len() * 8);
        for row in 0..batch.num_rows() {
            for (number, (texts, quoting)) in columns.iter().zip(&self.quoting).enumerate() {
                if number > 0 {
                    bytes.push(self.options.delimiter);
                }
                match texts.is_valid(row) {
                    true => self.field(texts.value(row), *quoting, &mut bytes),
                    false => bytes.extend_from_slice(self.options.null.as_bytes()),
                }
            }
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    fn field(&self, text: &str, quoting: Quoting, bytes: &mut Vec<u8>) {
        let is_quoted = match quoting {
            Quoting::Never => false,
            Quoting::Always => true,
            Quoting::Needed => self.needs_quotes(text),
        };
        if !is_quoted {
            bytes.extend_from_slice(text.as_bytes());
            return;
        }
        put_quoted(text, self.options.quote, self.options.escape, bytes);
    }

    /// Whether a text would be cut, trimmed or taken for NULL without quotes.
    fn needs_quotes(&self, text: &str) -> bool {
        let (delimiter, quote) = (self.options.delimiter, self.options.quote);
        let is_special = |byte: u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
        text.is_empty()
            || text == self.options.null
            || text.starts_with(' ')
            || text.ends_with(' ')
            || text.bytes().any(is_special)
    }
}

/// Writes a text between quotes.
pub(in crate::statements::transfer) fn put_quoted(text: &str, quote: u8, escape: u8, bytes: &mut Vec<u8>) {
    bytes.push(quote);
    for byte in text.bytes() {
        if byte == quote || byte == escape {
            bytes.push(escape);
        }
        bytes.push(byte);
    }
    bytes.push(quote);
}
