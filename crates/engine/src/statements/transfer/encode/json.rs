//! JSON objects: one a line, or elements of an array. Numbers have all their digits; what JSON has no word for, such as NaN, dates and
//! bytes, is a text as a cast to VARCHAR writes it.

use crate::statements::transfer::encode::options::WriteOptions;
use crate::statements::transfer::encode::texts::texts;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch, StringViewArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;

/// Writes batches as objects.
#[derive(Debug)]
pub(crate) struct JsonEncoder {
    array: bool,
    dates: Option<String>,
    timestamps: Option<String>,
}

/// The values of a column.
enum JsonValues {
    /// Numbers and truths, which are written as they are; `word` says that a value is one, and not NaN or an infinity.
    Words {
        texts: StringViewArray,
        word: fn(&str) -> bool,
    },
    Texts(StringViewArray),
    /// Lists: for each the first and the last of its elements.
    Lists {
        ranges: Vec<(usize, usize)>,
        nulls: Option<NullBuffer>,
        elements: Box<JsonValues>,
    },
    Records {
        fields: Vec<(Vec<u8>, JsonValues)>,
        nulls: Option<NullBuffer>,
    },
}

impl JsonEncoder {
    pub(super) fn new(options: &WriteOptions) -> Self {
        Self { array: options.array, dates: options.dates.clone(), timestamps: options.timestamps.clone() }
    }

    pub(super) fn start(&self) -> &[u8] {
        if self.array { b"[\n" } else { b"" }
    }

    pub(super) fn between(&self) -> &[u8] {
        if self.array { b",\n" } else { b"" }
    }

    pub(super) fn end(&self) -> &[u8] {
        if self.array { b"\n]\n" } else { b"" }
    }

    pub(super) fn encode(&self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let schema = batch.schema();
        let named = schema.fields().iter().zip(batch.columns());
        let columns = named.map(|(field, values)| Ok((name(field.name())?, self.values(values)?)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut bytes = Vec::with_capacity(batch.num_rows() * columns.len() * 16);
        for row in 0..batch.num_rows() {
            if row > 0 {
                bytes.extend_from_slice(if self.array { b",\n" } else { b"" });
            }
            record(&columns, row, &mut bytes)?;
            if !self.array {
                bytes.push(b'\n');
            }
        }
        Ok(bytes)
    }

    fn values(&self, values: &ArrayRef) -> Result<JsonValues> {
        let as_texts = || texts(values, self.dates.as_deref(), self.timestamps.as_deref());
        Ok(match values.data_type() {
            data_type if data_type.is_floating() => {
                JsonValues::Words { texts: as_texts()?, word: |text| text.bytes().any(|byte| byte.is_ascii_digit()) }
            }
            data_type if data_type.is_numeric() || *data_type == DataType::Boolean => {
                JsonValues::Words { texts: as_texts()?, word: |_| true }
            }
            DataType::List(_) => self.lists::<i32>(values)?,
            DataType::LargeList(_) => self.lists::<i64>(values)?,
            DataType::Struct(fields) => {
                let records = values.as_struct();
                let named = fields.iter().zip(records.columns());
                let own = named.map(|(field, values)| Ok((name(field.name())?, self.values(values)?)));
                JsonValues::Records { fields: own.collect::<Result<_>>()?, nulls: records.nulls().cloned() }
            }
            _ => JsonValues::Texts(as_texts()?),
        })
    }

    fn lists<O: OffsetSizeTrait>(&self, values: &ArrayRef) -> Result<JsonValues> {
        let lists = values.as_list::<O>();
        let ranges = lists.offsets().windows(2).map(|pair| (pair[0].as_usize(), pair[1].as_usize()));
        let elements = Box::new(self.values(lists.values())?);
        Ok(JsonValues::Lists { ranges: ranges.collect(), nulls: lists.nulls().cloned(), elements })
    }
}

/// A name between quotes.
fn name(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    quoted(text, &mut bytes)?;
    Ok(bytes)
}

fn quoted(text: &str, bytes: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(bytes, text).map_err(|error| Error::Internal(format!("a text as JSON: {error}")))
}

fn record(fields: &[(Vec<u8>, JsonValues)], row: usize, bytes: &mut Vec<u8>) -> Result<()> {
    bytes.push(b'{');
    for (number, (name, values)) in fields.iter().enumerate() {
        if number > 0 {
            bytes.push(b',');
        }
        bytes.extend_from_slice(name);
        bytes.push(b':');
        value(values, row, bytes)?;
    }
    bytes.push(b'}');
    Ok(())
}

fn value(values: &JsonValues, row: usize, bytes: &mut Vec<u8>) -> Result<()> {
    const NULL: &[u8] = b"null";
    match values {
        JsonValues::Words { texts, .. } | JsonValues::Texts(texts) if texts.is_null(row) => {
            bytes.extend_from_slice(NULL);
        }
        JsonValues::Words { texts, word } if word(texts.value(row)) => {
            bytes.extend_from_slice(texts.value(row).as_bytes());
        }
        JsonValues::Words { texts, .. } | JsonValues::Texts(texts) => quoted(texts.value(row), bytes)?,
        JsonValues::Lists { nulls, .. } | JsonValues::Records { nulls, .. }
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) =>
        {
            bytes.extend_from_slice(NULL);
        }
        JsonValues::Lists { ranges, elements, .. } => {
            bytes.push(b'[');
            let (first, last) = ranges[row];
            for element in first..last {
                if element > first {
                    bytes.push(b',');
                }
                value(elements, element, bytes)?;
            }
            bytes.push(b']');
        }
        JsonValues::Records { fields, .. } => record(fields, row, bytes)?,
    }
    Ok(())
}
