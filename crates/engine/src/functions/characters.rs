//! chr, with PostgreSQL's limits: no text of it has the character of number 0.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// chr(n): the character of that number.
pub(super) fn chr() -> Arc<ScalarUDF> {
    let types = |types: &[DataType]| match types {
        [own] if own.is_integer() || own.is_null() || own.is_string() => Ok(vec![DataType::Int64]),
        [own] => invalid!(UndefinedFunction, "chr takes an integer, not {}", crate::type_name::type_name(own)),
        more => invalid!(UndefinedFunction, "chr takes one number, not {}", more.len()),
    };
    PureFunction::new("chr", types, |_| Ok(DataType::Utf8View), |arguments, _| characters(&arguments[0])).build()
}

fn characters(numbers: &ArrayRef) -> Result<ArrayRef> {
    let mut texts = Vec::with_capacity(numbers.len());
    for number in numbers.as_primitive::<Int64Type>() {
        texts.push(number.map(character).transpose()?.map(String::from));
    }
    Ok(Arc::new(texts.into_iter().collect::<StringViewArray>()))
}

fn character(number: i64) -> Result<char> {
    if number == 0 {
        return invalid!(ProgramLimitExceeded, "chr(0): no text has the character of number 0");
    }
    if number < 0 {
        return invalid!(InvalidParameterValue, "chr({number}): the number of a character is above 0");
    }
    match u32::try_from(number).ok().and_then(char::from_u32) {
        Some(character) => Ok(character),
        None => invalid!(ProgramLimitExceeded, "chr({number}): there is no character of this number"),
    }
}
