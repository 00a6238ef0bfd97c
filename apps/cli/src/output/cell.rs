//! One value as text.

use crate::failure::Failure;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write;

/// How a value of a column is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Digits; to the right in tables, bare in JSON.
    Number,
    /// A float: a number, unless it is none (NaN, infinity).
    Float,
    /// TRUE or FALSE.
    Boolean,
    /// Binary, written in hexadecimal after `\x`.
    Binary,
    /// Anything else.
    Text,
}

impl Kind {
    /// The kind of a type's values.
    pub fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Boolean => Self::Boolean,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Binary
            }
            other if other.is_numeric() => Self::Number,
            DataType::Dictionary(_, values) => Self::of(values),
            _ => Self::Text,
        }
    }

    /// True for what stands to the right in a column.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Number | Self::Float)
    }
}

/// The letter between the day and the time of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// A T, as ISO 8601 has it, for other programs.
    Iso,
    /// A blank, as SQL has it, for people.
    Sql,
}

/// How Arrow writes what it writes; a NULL is within a list or a record.
static OPTIONS: FormatOptions<'static> = FormatOptions::new().with_display_error(false).with_null("NULL");

/// The values of one batch.
pub struct Cells<'a> {
    columns: Vec<Column<'a>>,
    /// The value that was read last.
    text: String,
}

struct Column<'a> {
    kind: Kind,
    /// Also those of arrays without validity bits of their own: the type NULL, dictionaries.
    nulls: Option<NullBuffer>,
    values: Values<'a>,
}

/// Where the texts of a column come from.
enum Values<'a> {
    Formatted(ArrayFormatter<'a>),
    /// Dates, times and intervals, as SQL writes them, and lists and records of them.
    Written {
        texts: ArrayRef,
        has_t: bool,
    },
}

impl<'a> Cells<'a> {
    /// Prepares the columns of `batch`.
    pub fn new(batch: &'a RecordBatch, times: Times) -> Result<Self, Failure> {
        let column = |array: &'a ArrayRef| {
            let values = if array.data_type().is_temporal() {
                let has_t = times == Times::Iso && matches!(array.data_type(), DataType::Timestamp(..));
                Values::Written { texts: gingham::as_text(array)?, has_t }
            } else if array.data_type().is_nested()
                && let Ok(texts) = gingham::as_text(array)
            {
                Values::Written { texts, has_t: false }
            } else {
                Values::Formatted(ArrayFormatter::try_new(array.as_ref(), &OPTIONS)?)
            };
            Ok(Column { kind: Kind::of(array.data_type()), nulls: array.logical_nulls(), values })
        };
        let columns = batch.columns().iter().map(column).collect::<Result<_, Failure>>()?;
        Ok(Self { columns, text: String::new() })
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// How a column's values are written.
    pub fn kind(&self, column: usize) -> Kind {
        self.columns[column].kind
    }

    /// The text of a value; none for NULL.
    pub fn read(&mut self, column: usize, row: usize) -> Result<Option<&str>, Failure> {
        let Self { columns, text } = self;
        let Column { kind, nulls, values } = &columns[column];
        text.clear();
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        if *kind == Kind::Binary {
            text.push_str("\\x");
        }
        match values {
            Values::Written { texts, has_t: false } => text.push_str(texts.as_string_view().value(row)),
            Values::Written { texts, has_t: true } => {
                text.push_str(&texts.as_string_view().value(row).replacen(' ', "T", 1));
            }
            Values::Formatted(formatter) => write!(text, "{}", formatter.value(row))
                .map_err(|_| Failure::failed("a value can't be shown as text"))?,
        }
        Ok(Some(text))
    }
}
