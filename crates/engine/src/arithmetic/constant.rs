//! Constants as they are before anything is folded: literals, casts of literals, and what `TIME '…'` is.

use crate::casts::{Failing, convert};
use crate::temporal::TIME_OF;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

/// The value of an expression that is a literal, or one read as a type.
pub(super) fn constant(expression: &Expr) -> Option<ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Cast(cast) => read(&constant(&cast.expr)?, cast.field.data_type()),
        Expr::ScalarFunction(call) if call.name() == TIME_OF => match call.args.as_slice() {
            [text] => read(&constant(text)?, &DataType::Time64(TimeUnit::Microsecond)),
            _ => None,
        },
        _ => None,
    }
}

/// A constant as another type; `None` where it is none of that type, which is an error that a cast words better.
pub(super) fn read(value: &ScalarValue, target: &DataType) -> Option<ScalarValue> {
    let read = convert(&value.to_array().ok()?, target, Failing::Error).ok()?;
    ScalarValue::try_from_array(&read, 0).ok()
}

/// A constant as another type, when it loses nothing by it.
pub(super) fn exact(value: &ScalarValue, target: &DataType) -> Option<ScalarValue> {
    let there = read(value, target)?;
    let back = read(&there, &value.data_type())?;
    (back == *value).then_some(there)
}
