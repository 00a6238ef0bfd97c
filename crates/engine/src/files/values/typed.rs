//! Arrays as the type that a column is to have.

use crate::Result;
use crate::casts::{Failing, convert};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use gingham_storage::{LogicalType, SqlState};
use std::sync::Arc;

/// A field that can't be parsed: row among those given, and why, with the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnparsedField {
    pub(crate) row: usize,
    pub(crate) state: SqlState,
    pub(crate) problem: String,
}

/// Values as a type: what has no place in it is a misfit.
pub(crate) fn typed(
    values: ArrayRef,
    logical_type: &LogicalType,
    misfits: &mut Vec<UnparsedField>,
) -> Result<ArrayRef> {
    let wanted = logical_type.to_arrow();
    let converted = match *values.data_type() == wanted {
        true => Arc::clone(&values),
        false => convert(&values, &wanted, Failing::Null)?,
    };
    let shown_at = |row: usize| {
        let text = convert(&values.slice(row, 1), &DataType::Utf8View, Failing::Null);
        text.ok().and_then(|text| text.as_string_view_opt().map(|text| shown(text.value(0)))).unwrap_or_default()
    };
    if converted.null_count() > values.null_count() {
        for row in (0..values.len()).filter(|row| converted.is_null(*row) && values.is_valid(*row)) {
            let (state, what) = match values.data_type().is_numeric() {
                true => (SqlState::NumericValueOutOfRange, "does not fit"),
                false => (SqlState::InvalidTextRepresentation, "is not a valid"),
            };
            misfits.push(UnparsedField {
                row,
                state,
                problem: format!("value {} {what} {logical_type}", shown_at(row)),
            });
        }
    }
    if let (LogicalType::Varchar(Some(most)) | LogicalType::Char(most), Some(texts)) =
        (logical_type, converted.as_string_view_opt())
    {
        let is_fixed = matches!(logical_type, LogicalType::Char(_));
        for (row, text) in texts.iter().enumerate() {
            let text = text.map(|text| if is_fixed { text.trim_end_matches(' ') } else { text });
            if text.is_some_and(|text| text.chars().count() > *most as usize) {
                let problem = format!("value {} is too long for {logical_type}", shown_at(row));
                misfits.push(UnparsedField { row, state: SqlState::StringDataRightTruncation, problem });
            }
        }
    }
    Ok(converted)
}

/// A value between quotes, cut when it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => format!("'{text}'"),
        Some((end, _)) => format!("'{}…'", &text[..end]),
    }
}
