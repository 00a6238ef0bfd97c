//! Single values: which types convert to which, and how values are shown in messages.

use crate::casts::{Failing, convert};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use gingham_storage::LogicalType;

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

/// What a value is, as far as conversion goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Null,
    Boolean,
    Number,
    Text,
    Binary,
    Date,
    Time,
    Timestamp,
}

/// The kind of a type's values; `None` for what no column keeps.
pub(super) fn kind(data_type: &DataType) -> Option<ValueKind> {
    Some(match data_type {
        DataType::Null => ValueKind::Null,
        DataType::Boolean => ValueKind::Boolean,
        numeric if numeric.is_numeric() => ValueKind::Number,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ValueKind::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            ValueKind::Binary
        }
        DataType::Date32 | DataType::Date64 => ValueKind::Date,
        DataType::Time32(_) | DataType::Time64(_) => ValueKind::Time,
        DataType::Timestamp(..) => ValueKind::Timestamp,
        DataType::Dictionary(_, values) => return kind(values),
        _ => return None,
    })
}

/// Whether values of type `source` may be written to a column of type `target` without a cast in the statement. Each
/// value must still fit.
pub(crate) fn assignable(source: &DataType, target: &LogicalType) -> bool {
    let (Some(source), Some(target)) = (kind(source), kind(&target.to_arrow())) else { return false };
    match source {
        ValueKind::Null | ValueKind::Text => true,
        ValueKind::Boolean | ValueKind::Number => {
            matches!(target, ValueKind::Boolean | ValueKind::Number | ValueKind::Text)
        }
        ValueKind::Binary => matches!(target, ValueKind::Binary | ValueKind::Text),
        ValueKind::Date => matches!(target, ValueKind::Date | ValueKind::Timestamp | ValueKind::Text),
        ValueKind::Timestamp => matches!(target, ValueKind::Timestamp | ValueKind::Date | ValueKind::Text),
        ValueKind::Time => matches!(target, ValueKind::Time | ValueKind::Text),
    }
}

/// Whether ALTER COLUMN … TYPE converts values of one type to another by itself, as PostgreSQL's assignments do.
pub(crate) fn is_automatic(from: &LogicalType, to: &LogicalType) -> bool {
    let (Some(from), Some(to)) = (kind(&from.to_arrow()), kind(&to.to_arrow())) else { return false };
    from == to
        || to == ValueKind::Text
        || matches!(
            (from, to),
            (ValueKind::Date, ValueKind::Timestamp) | (ValueKind::Timestamp, ValueKind::Date | ValueKind::Time)
        )
}

/// A value as text; empty for NULL.
pub(super) fn show(values: &ArrayRef, row: usize) -> String {
    if values.is_null(row) {
        return String::new();
    }
    if values.data_type().is_temporal()
        && let Ok(texts) = convert(&values.slice(row, 1), &DataType::Utf8View, Failing::Null)
    {
        return texts.as_string_view().value(0).to_owned();
    }
    let options = FormatOptions::default();
    match ArrayFormatter::try_new(values.as_ref(), &options) {
        Ok(formatter) => formatter.value(row).to_string(),
        Err(_) => format!("of type {}", type_name(values.data_type())),
    }
}

/// A value between quotes, cut when it is long.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => format!("'{text}'"),
        Some((end, _)) => format!("'{}…'", &text[..end]),
    }
}

/// The values of a row, by column.
pub(super) fn row(batch: &RecordBatch, row: usize) -> String {
    let shown: Vec<String> = batch
        .schema_ref()
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, values)| {
            let value = if values.is_null(row) {
                "NULL".to_owned()
            } else if values.as_string_view_opt().is_some() {
                quote(&show(values, row))
            } else {
                show(values, row)
            };
            format!("{} = {value}", field.name())
        })
        .collect();
    format!("({})", shown.join(", "))
}

/// "1 column", "2 columns".
pub(super) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// "1 value is", "2 values are".
pub(super) fn count_are(number: usize, noun: &str) -> String {
    format!("{} {}", count(number, noun), if number == 1 { "is" } else { "are" })
}
