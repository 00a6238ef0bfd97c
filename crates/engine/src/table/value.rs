//! Values between DataFusion (`ScalarValue`) and the storage (`Datum`).

use datafusion::common::ScalarValue;
use gingham_storage::{Datum, FloatBits, LogicalType, Unit};

/// The datum of a constant that has the type of a column; `None` when it has another type.
pub(crate) fn datum(value: &ScalarValue, column: &LogicalType) -> Option<Datum> {
    if value.is_null() {
        return Some(Datum::Null);
    }
    match (column, value) {
        (own, _) if own.is_string() => {
            let text = value.try_as_str()??;
            Some(Datum::Bytes(text.as_bytes().into()))
        }
        (
            LogicalType::Binary,
            ScalarValue::Binary(Some(bytes))
            | ScalarValue::LargeBinary(Some(bytes))
            | ScalarValue::BinaryView(Some(bytes)),
        ) => Some(Datum::Bytes(bytes.as_slice().into())),
        (LogicalType::Float32, ScalarValue::Float32(Some(value))) => {
            Some(Datum::Float(FloatBits::new((*value).into())))
        }
        (LogicalType::Float64, ScalarValue::Float64(Some(value))) => Some(Datum::Float(FloatBits::new(*value))),
        _ => integer(value, column).map(Datum::Integer),
    }
}

fn integer(value: &ScalarValue, column: &LogicalType) -> Option<i128> {
    Some(match (column, value) {
        (LogicalType::Boolean, ScalarValue::Boolean(Some(value))) => i128::from(*value),
        (LogicalType::Int(8), ScalarValue::Int8(Some(value))) => i128::from(*value),
        (LogicalType::Int(16), ScalarValue::Int16(Some(value))) => i128::from(*value),
        (LogicalType::Int(32), ScalarValue::Int32(Some(value))) => i128::from(*value),
        (LogicalType::Int(64), ScalarValue::Int64(Some(value))) => i128::from(*value),
        (LogicalType::UInt(8), ScalarValue::UInt8(Some(value))) => i128::from(*value),
        (LogicalType::UInt(16), ScalarValue::UInt16(Some(value))) => i128::from(*value),
        (LogicalType::UInt(32), ScalarValue::UInt32(Some(value))) => i128::from(*value),
        (LogicalType::UInt(64), ScalarValue::UInt64(Some(value))) => i128::from(*value),
        (LogicalType::Decimal { scale, .. }, ScalarValue::Decimal128(Some(value), _, given)) if scale == given => {
            *value
        }
        (LogicalType::Date, ScalarValue::Date32(Some(value))) => i128::from(*value),
        (LogicalType::Time(Unit::Second), ScalarValue::Time32Second(Some(value)))
        | (LogicalType::Time(Unit::Millisecond), ScalarValue::Time32Millisecond(Some(value))) => i128::from(*value),
        (LogicalType::Time(Unit::Microsecond), ScalarValue::Time64Microsecond(Some(value)))
        | (LogicalType::Time(Unit::Nanosecond), ScalarValue::Time64Nanosecond(Some(value)))
        | (LogicalType::Timestamp(Unit::Second, _), ScalarValue::TimestampSecond(Some(value), _))
        | (LogicalType::Timestamp(Unit::Millisecond, _), ScalarValue::TimestampMillisecond(Some(value), _))
        | (LogicalType::Timestamp(Unit::Microsecond, _), ScalarValue::TimestampMicrosecond(Some(value), _))
        | (LogicalType::Timestamp(Unit::Nanosecond, _), ScalarValue::TimestampNanosecond(Some(value), _)) => {
            i128::from(*value)
        }
        _ => return None,
    })
}

/// The constant of a datum of a column, in the Arrow type that scans deliver; `None` when it can't be one (bytes that a
/// bound was cut to need not be text).
pub(crate) fn scalar(value: &Datum, column: &LogicalType) -> Option<ScalarValue> {
    let value = match value {
        Datum::Null => return ScalarValue::try_from(&column.to_arrow()).ok(),
        Datum::Bytes(bytes) if *column == LogicalType::Binary => {
            return Some(ScalarValue::BinaryView(Some(bytes.to_vec())));
        }
        Datum::Bytes(bytes) => return Some(ScalarValue::Utf8View(Some(std::str::from_utf8(bytes).ok()?.to_string()))),
        Datum::Float(float) if *column == LogicalType::Float32 => {
            return Some(ScalarValue::Float32(Some(float.get() as f32)));
        }
        Datum::Float(float) => return Some(ScalarValue::Float64(Some(float.get()))),
        Datum::Integer(value) => *value,
    };
    Some(match column {
        LogicalType::Boolean => ScalarValue::Boolean(Some(value != 0)),
        LogicalType::Int(8) => ScalarValue::Int8(Some(value.try_into().ok()?)),
        LogicalType::Int(16) => ScalarValue::Int16(Some(value.try_into().ok()?)),
        LogicalType::Int(32) => ScalarValue::Int32(Some(value.try_into().ok()?)),
        LogicalType::Int(_) => ScalarValue::Int64(Some(value.try_into().ok()?)),
        LogicalType::UInt(8) => ScalarValue::UInt8(Some(value.try_into().ok()?)),
        LogicalType::UInt(16) => ScalarValue::UInt16(Some(value.try_into().ok()?)),
        LogicalType::UInt(32) => ScalarValue::UInt32(Some(value.try_into().ok()?)),
        LogicalType::UInt(_) => ScalarValue::UInt64(Some(value.try_into().ok()?)),
        LogicalType::Decimal { precision, scale } => ScalarValue::Decimal128(Some(value), *precision, *scale),
        LogicalType::Date => ScalarValue::Date32(Some(value.try_into().ok()?)),
        LogicalType::Time(Unit::Second) => ScalarValue::Time32Second(Some(value.try_into().ok()?)),
        LogicalType::Time(Unit::Millisecond) => ScalarValue::Time32Millisecond(Some(value.try_into().ok()?)),
        LogicalType::Time(Unit::Microsecond) => ScalarValue::Time64Microsecond(Some(value.try_into().ok()?)),
        LogicalType::Time(Unit::Nanosecond) => ScalarValue::Time64Nanosecond(Some(value.try_into().ok()?)),
        LogicalType::Timestamp(unit, zone) => {
            let value = Some(value.try_into().ok()?);
            let zone = zone.as_deref().map(Into::into);
            match unit {
                Unit::Second => ScalarValue::TimestampSecond(value, zone),
                Unit::Millisecond => ScalarValue::TimestampMillisecond(value, zone),
                Unit::Microsecond => ScalarValue::TimestampMicrosecond(value, zone),
                Unit::Nanosecond => ScalarValue::TimestampNanosecond(value, zone),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let zone = Some("UTC".to_string());
        let cases = [
            (LogicalType::Boolean, Datum::Integer(1)),
            (LogicalType::Int(8), Datum::Integer(-128)),
            (LogicalType::UInt(64), Datum::Integer(u64::MAX.into())),
            (LogicalType::Decimal { precision: 38, scale: 2 }, Datum::Integer(-(10i128.pow(37)))),
            (LogicalType::Float32, Datum::Float(FloatBits::new(-0.0))),
            (LogicalType::Float64, Datum::Float(FloatBits::new(1.5))),
            (LogicalType::Date, Datum::Integer(-1)),
            (LogicalType::Time(Unit::Second), Datum::Integer(86_399)),
            (LogicalType::Time(Unit::Nanosecond), Datum::Integer(1)),
            (LogicalType::Timestamp(Unit::Microsecond, None), Datum::Integer(-5)),
            (LogicalType::Timestamp(Unit::Second, zone), Datum::Integer(7)),
            (LogicalType::Varchar(None), Datum::Bytes(b"text".as_slice().into())),
            (LogicalType::Binary, Datum::Bytes([0xff, 0].as_slice().into())),
            (LogicalType::Int(32), Datum::Null),
        ];
        for (column, value) in cases {
            let constant = scalar(&value, &column).unwrap();
            assert_eq!(constant.data_type(), column.to_arrow());
            assert_eq!(datum(&constant, &column), Some(value), "{column}");
        }
    }

    #[test]
    fn another_type_or_scale_is_no_datum() {
        assert_eq!(datum(&ScalarValue::Int64(Some(1)), &LogicalType::Int(32)), None);
        let hundredths = LogicalType::Decimal { precision: 10, scale: 2 };
        assert_eq!(datum(&ScalarValue::Decimal128(Some(1), 10, 3), &hundredths), None);
        assert_eq!(scalar(&Datum::Bytes([0xff].as_slice().into()), &LogicalType::Varchar(None)), None);
    }
}
