//! A value of a column's statistics as text.

use crate::failure::Failure;
use arrow::array::{ArrayRef, Decimal128Array, Int64Array, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use gingham::storage::{Datum, LogicalType};
use std::sync::Arc;

/// The value as SQL shows it, cut to about `width` characters; NULL is `-`.
pub fn shortened(logical_type: &LogicalType, datum: &Datum, width: usize) -> Result<String, Failure> {
    let text = match datum {
        Datum::Null => return Ok("-".to_owned()),
        Datum::Float(value) => value.get().to_string(),
        Datum::Bytes(bytes) if matches!(logical_type, LogicalType::Binary) => {
            format!("\\x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Datum::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Datum::Integer(value) => integer(logical_type, *value)?,
    };
    Ok(cut(&text, width))
}

/// Cuts a text, and makes its control characters visible.
pub fn cut(text: &str, width: usize) -> String {
    let shown: String = text
        .chars()
        .take(width)
        .flat_map(|c| match c.is_control() {
            true => c.escape_default().collect::<Vec<_>>(),
            false => vec![c],
        })
        .collect();
    if text.chars().nth(width).is_some() { format!("{shown}…") } else { shown }
}

fn integer(logical_type: &LogicalType, value: i128) -> Result<String, Failure> {
    let target = logical_type.to_arrow();
    let array: ArrayRef = match (&target, i64::try_from(value), u64::try_from(value)) {
        (DataType::Decimal128(precision, scale), ..) => {
            Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(*precision, *scale)?)
        }
        (DataType::UInt64, _, Ok(value)) => Arc::new(UInt64Array::from(vec![value])),
        (DataType::Date32 | DataType::Time32(_), Ok(value), _) => {
            cast(&cast(&Int64Array::from(vec![value]), &DataType::Int32)?, &target)?
        }
        (_, Ok(value), _) => cast(&Int64Array::from(vec![value]), &target)?,
        _ => return Ok(value.to_string()),
    };
    Ok(array_value_to_string(&array, 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::storage::{FloatBits, Unit};

    #[test]
    fn values_of_every_class_are_shown() {
        let shown = |logical_type, datum| shortened(&logical_type, &datum, 12).expect("a value");
        assert_eq!(shown(LogicalType::Decimal { precision: 15, scale: 2 }, Datum::Integer(-105)), "-1.05");
        assert_eq!(shown(LogicalType::Date, Datum::Integer(8035)), "1992-01-01");
        assert_eq!(shown(LogicalType::UInt(64), Datum::Integer(u64::MAX.into())), "184467440737…");
        assert_eq!(shown(LogicalType::Boolean, Datum::Integer(1)), "true");
        assert_eq!(shown(LogicalType::Time(Unit::Second), Datum::Integer(3661)), "01:01:01");
        assert_eq!(shown(LogicalType::Float64, Datum::Float(FloatBits::new(0.5))), "0.5");
        assert_eq!(shown(LogicalType::Binary, Datum::Bytes(Box::from(*b"\x01\xff"))), "\\x01ff");
        assert_eq!(shown(LogicalType::Varchar(None), Datum::Bytes(Box::from(*b"a\nb"))), "a\\nb");
        assert_eq!(shown(LogicalType::Int(8), Datum::Null), "-");
    }
}
