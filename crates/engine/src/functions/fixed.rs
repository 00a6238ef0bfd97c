//! Casts to CHAR(n) and VARCHAR(n), and CHAR(n) with the blanks that it does not keep.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The function that a cast to CHAR(n) is.
pub(crate) const TO_CHAR: &str = "cast_to_char";

/// The function that a cast to VARCHAR(n) is.
pub(crate) const TO_VARCHAR: &str = "cast_to_varchar";

/// `cast_to_char(text, n)`: the first n characters, without the blanks at their end.
pub(super) fn to_char() -> Arc<ScalarUDF> {
    PureFunction::new(
        TO_CHAR,
        text_and_length,
        |_| Ok(DataType::Utf8View),
        |arguments, _| of_each(arguments, |text, length| Some(first(text, length).trim_end_matches(' ').into())),
    )
    .build()
}

/// `cast_to_varchar(text, n)`: the first n characters.
pub(super) fn to_varchar() -> Arc<ScalarUDF> {
    PureFunction::new(
        TO_VARCHAR,
        text_and_length,
        |_| Ok(DataType::Utf8View),
        |arguments, _| of_each(arguments, |text, length| Some(first(text, length).into())),
    )
    .build()
}

/// `padded(text, n)`: the text with as many blanks behind it as it takes to have n characters.
pub(crate) fn padded() -> Arc<ScalarUDF> {
    PureFunction::new(
        "padded",
        text_and_length,
        |_| Ok(DataType::Utf8View),
        |arguments, _| {
            of_each(arguments, |text, length| {
                let mut text = text.to_owned();
                text.extend(std::iter::repeat_n(' ', length.saturating_sub(text.chars().count())));
                Some(text)
            })
        },
    )
    .build()
}

fn text_and_length(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [own, _] if own.is_string() || own.is_null() => Ok(vec![DataType::Utf8View, DataType::Int64]),
        _ => invalid!(UndefinedFunction, "a text and its length are wanted"),
    }
}

/// The results of a function for the texts, NULL for NULL.
fn of_each(arguments: &[ArrayRef], function: impl Fn(&str, usize) -> Option<String>) -> Result<ArrayRef> {
    let texts = cast(&arguments[0], &DataType::Utf8View)?;
    let lengths = arguments[1].as_primitive::<Int64Type>();
    let length = if lengths.is_empty() { 0 } else { usize::try_from(lengths.value(0)).unwrap_or(usize::MAX) };
    let results = texts.as_string_view().iter().map(|text| text.and_then(|text| function(text, length)));
    Ok(Arc::new(results.collect::<StringViewArray>()))
}

/// The first characters of a text.
fn first(text: &str, length: usize) -> &str {
    text.char_indices().nth(length).map_or(text, |(at, _)| &text[..at])
}
