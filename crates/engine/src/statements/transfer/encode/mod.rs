//! Records as text: CSV and JSON, such that a reader gets the values back that were written. NULL and the empty text differ, floats
//! have as many digits as tell them apart, and dates are ISO 8601.
//!
//! | file | what |
//! |---|---|
//! | `options` | how text is written |
//! | `csv`, `json` | batches as bytes |
//! | `texts` | values as texts |

mod csv;
mod json;
mod options;
mod texts;

pub(super) use csv::put_quoted;
pub(super) use options::WriteOptions;
pub(super) use texts::texts;

use crate::Result;
use crate::files::FileFormat;
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use parquet::file::properties::WriterProperties;

/// Writes batches of one schema.
#[derive(Debug)]
pub(super) enum Encoder {
    /// Delimited text.
    Csv(csv::CsvEncoder),
    /// Objects.
    Json(json::JsonEncoder),
    /// Parquet, which encodes while it writes.
    Parquet(SchemaRef, Box<WriterProperties>),
    /// Arrow IPC.
    Arrow(SchemaRef),
}

/// Records as a file takes them.
#[derive(Debug)]
pub(super) enum EncodedRows {
    /// Text of the records.
    Text(Vec<u8>),
    /// The records themselves.
    Columns(RecordBatch),
}

impl Encoder {
    /// For text of rows of a schema.
    pub(super) fn new(format: FileFormat, options: &WriteOptions, schema: &Schema) -> Result<Self> {
        Ok(match format {
            FileFormat::Json => Self::Json(json::JsonEncoder::new(options)),
            _ => Self::Csv(csv::CsvEncoder::new(options, schema)?),
        })
    }

    /// What stands before the first record.
    pub(super) fn start(&self) -> &[u8] {
        match self {
            Self::Csv(csv) => csv.header(),
            Self::Json(json) => json.start(),
            Self::Parquet(..) | Self::Arrow(_) => b"",
        }
    }

    /// What stands between two batches.
    pub(super) fn between(&self) -> &[u8] {
        match self {
            Self::Json(json) => json.between(),
            Self::Csv(_) | Self::Parquet(..) | Self::Arrow(_) => b"",
        }
    }

    /// What stands behind the last record.
    pub(super) fn end(&self) -> &[u8] {
        match self {
            Self::Json(json) => json.end(),
            Self::Csv(_) | Self::Parquet(..) | Self::Arrow(_) => b"",
        }
    }

    /// The records of a batch.
    pub(super) fn encode(&self, batch: RecordBatch) -> Result<EncodedRows> {
        match self {
            Self::Csv(csv) => csv.encode(&batch).map(EncodedRows::Text),
            Self::Json(json) => json.encode(&batch).map(EncodedRows::Text),
            Self::Parquet(..) | Self::Arrow(_) => Ok(EncodedRows::Columns(batch)),
        }
    }
}
