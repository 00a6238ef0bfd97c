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

pub(super) use options::WriteOptions;

use crate::Result;
use crate::files::FileFormat;
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

/// Writes batches of one schema.
#[derive(Debug)]
pub(super) enum Encoder {
    /// Delimited text.
    Csv(csv::CsvEncoder),
    /// Objects.
    Json(json::JsonEncoder),
}

impl Encoder {
    /// For rows of a schema.
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
        }
    }

    /// What stands between two batches.
    pub(super) fn between(&self) -> &[u8] {
        match self {
            Self::Csv(_) => b"",
            Self::Json(json) => json.between(),
        }
    }

    /// What stands behind the last record.
    pub(super) fn end(&self) -> &[u8] {
        match self {
            Self::Csv(_) => b"",
            Self::Json(json) => json.end(),
        }
    }

    /// The records of a batch.
    pub(super) fn encode(&self, batch: &RecordBatch) -> Result<Vec<u8>> {
        match self {
            Self::Csv(csv) => csv.encode(batch),
            Self::Json(json) => json.encode(batch),
        }
    }
}
