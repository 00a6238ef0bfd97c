//! TIMESTAMPs beside texts and dates. DataFusion compares them in nanoseconds, which end in the year 2262, and so fails for
//! values that a column may well have; here the column's own unit counts, and a text beside it is read as that type has it.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::logical_expr::{Expr, cast};

/// Makes the dates and literal texts among `operands` TIMESTAMPs of the one type that the others have; false when there
/// is nothing to do.
pub(super) fn align(operands: Vec<&mut Expr>, types: &[DataType]) -> bool {
    let mut timestamps = types.iter().filter(|data_type| matches!(data_type, DataType::Timestamp(..)));
    let Some(target) = timestamps.next() else { return false };
    if matches!(target, DataType::Timestamp(TimeUnit::Nanosecond, _)) || timestamps.any(|other| other != target) {
        return false;
    }
    let mut changed = false;
    for (operand, data_type) in operands.into_iter().zip(types) {
        let converted = match (&*operand, data_type) {
            (Expr::Literal(value, _), DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8) => {
                value.cast_to(target).ok().map(|value| Expr::Literal(value, None))
            }
            (_, DataType::Date32) => Some(cast(operand.clone(), target.clone())),
            _ => None,
        };
        if let Some(converted) = converted {
            *operand = converted;
            changed = true;
        }
    }
    changed
}
