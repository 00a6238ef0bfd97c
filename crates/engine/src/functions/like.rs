//! Patterns of LIKE that end in an escape that escapes nothing. DataFusion takes the backslash for itself there.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Whether a pattern's last backslash escapes nothing.
pub(crate) fn ends_in_escape(pattern: &str) -> bool {
    pattern.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// `like_pattern(pattern, text)`: the pattern, if it is one or there is no text.
pub(crate) fn like_pattern() -> Arc<ScalarUDF> {
    let compute = |arguments: &[ArrayRef], _: &DataType| {
        let patterns = cast(&arguments[0], &DataType::Utf8View)?;
        let wrong = patterns.as_string_view().iter().enumerate();
        let mut wrong = wrong.filter_map(|(row, pattern)| Some((row, pattern.filter(|text| ends_in_escape(text))?)));
        match wrong.find(|(row, _)| !arguments[1].is_null(*row) && !arguments[1].data_type().is_null()) {
            Some((_, pattern)) => invalid!(
                InvalidEscapeSequence,
                "LIKE '{pattern}': the backslash at its end escapes nothing; two of them are one backslash"
            ),
            None => Ok(patterns),
        }
    };
    let types = |types: &[DataType]| match types {
        [pattern, _] if !pattern.is_string() && !pattern.is_null() => {
            invalid!(UndefinedFunction, "a pattern of LIKE is a text, not {}", type_name(pattern))
        }
        [_, text] => Ok(vec![DataType::Utf8View, text.clone()]),
        _ => invalid!(UndefinedFunction, "LIKE takes a text and a pattern"),
    };
    PureFunction::new("like_pattern", types, |_| Ok(DataType::Utf8View), compute).with_nulls().build()
}
