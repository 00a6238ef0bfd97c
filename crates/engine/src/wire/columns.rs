//! Columns from the bytes of their values, as COPY reads tuples: the types of a table's columns, and no others.

use crate::wire::numeric;
use crate::wire::values::{date, text, time, timestamp};
use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanBuilder, Decimal128Builder, PrimitiveBuilder, StringViewBuilder,
};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, DecimalType, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use gingham_storage::{Problem, SqlState};
use std::sync::Arc;

/// The type whose bytes the values of an Arrow type have in the protocol.
pub(crate) fn form_of(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => DataType::Int16,
        DataType::UInt16 | DataType::Int32 => DataType::Int32,
        DataType::UInt32 | DataType::Int64 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        other => other.clone(),
    }
}

/// The values of a column of a type that [`form_of`] gives; `None` is NULL. What is no value of it is an error with its row.
pub(crate) fn column_of_bytes<'f>(
    values: impl Iterator<Item = Option<&'f [u8]>>,
    rows: usize,
    data_type: &DataType,
) -> Result<ArrayRef, (usize, Problem)> {
    match data_type {
        DataType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(rows);
            each(values, |value| {
                builder.append_option(value.map(exact::<1>).transpose()?.map(|[truth]| truth != 0));
                Ok(())
            })?;
            Ok(Arc::new(builder.finish()))
        }
        DataType::Int16 => primitives::<Int16Type>(values, rows, |value| exact(value).map(i16::from_be_bytes)),
        DataType::Int32 => primitives::<Int32Type>(values, rows, |value| exact(value).map(i32::from_be_bytes)),
        DataType::Int64 => primitives::<Int64Type>(values, rows, |value| exact(value).map(i64::from_be_bytes)),
        DataType::Float32 => primitives::<Float32Type>(values, rows, |value| exact(value).map(f32::from_be_bytes)),
        DataType::Float64 => primitives::<Float64Type>(values, rows, |value| exact(value).map(f64::from_be_bytes)),
        DataType::Date32 => primitives::<Date32Type>(values, rows, |value| date(i32::from_be_bytes(exact(value)?))),
        DataType::Time64(TimeUnit::Microsecond) => {
            primitives::<Time64MicrosecondType>(values, rows, |value| time(i64::from_be_bytes(exact(value)?)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let mut builder =
                PrimitiveBuilder::<TimestampMicrosecondType>::with_capacity(rows).with_timezone_opt(zone.clone());
            each(values, |value| {
                let read = |value| timestamp(i64::from_be_bytes(exact(value)?));
                builder.append_option(value.map(read).transpose()?);
                Ok(())
            })?;
            Ok(Arc::new(builder.finish()))
        }
        DataType::Decimal128(precision, scale) => decimals(values, rows, *precision, *scale),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let mut builder = BinaryViewBuilder::with_capacity(rows);
            each(values, |value| {
                builder.append_option(value);
                Ok(())
            })?;
            Ok(Arc::new(builder.finish()))
        }
        data_type if data_type.is_string() => {
            let mut builder = StringViewBuilder::with_capacity(rows);
            each(values, |value| {
                builder.append_option(value.map(text).transpose()?);
                Ok(())
            })?;
            Ok(Arc::new(builder.finish()))
        }
        other => {
            let text = format!("{other} has no form in bytes");
            Err((0, Problem::new(SqlState::InvalidBinaryRepresentation, text)))
        }
    }
}

/// Takes each value; the error of one is that of its row.
fn each<'f>(
    values: impl Iterator<Item = Option<&'f [u8]>>,
    mut take: impl FnMut(Option<&'f [u8]>) -> Result<(), Problem>,
) -> Result<(), (usize, Problem)> {
    values.enumerate().try_for_each(|(row, value)| take(value).map_err(|problem| (row, problem)))
}

fn primitives<'f, T: ArrowPrimitiveType>(
    values: impl Iterator<Item = Option<&'f [u8]>>,
    rows: usize,
    read: impl Fn(&[u8]) -> Result<T::Native, Problem>,
) -> Result<ArrayRef, (usize, Problem)> {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(rows);
    each(values, |value| {
        builder.append_option(value.map(&read).transpose()?);
        Ok(())
    })?;
    Ok(Arc::new(builder.finish()))
}

fn decimals<'f>(
    values: impl Iterator<Item = Option<&'f [u8]>>,
    rows: usize,
    precision: u8,
    scale: i8,
) -> Result<ArrayRef, (usize, Problem)> {
    let mut builder = Decimal128Builder::with_capacity(rows);
    each(values, |value| {
        let read = |value| -> Result<i128, Problem> {
            let (unscaled, own) = numeric::read(value)?;
            let rounded = at_scale(unscaled, i32::from(scale) - i32::from(own));
            rounded
                .filter(|unscaled| Decimal128Type::validate_decimal_precision(*unscaled, precision, scale).is_ok())
                .ok_or_else(|| {
                    let text = format!("the value does not fit DECIMAL({precision},{scale})");
                    Problem::new(SqlState::NumericValueOutOfRange, text)
                })
        };
        builder.append_option(value.map(read).transpose()?);
        Ok(())
    })?;
    let typed = builder.finish().with_precision_and_scale(precision, scale);
    typed
        .map(|values| Arc::new(values) as ArrayRef)
        .map_err(|error| (0, Problem::new(SqlState::InvalidBinaryRepresentation, error.to_string())))
}

/// `unscaled` with so many more digits behind the point, or fewer, and rounded then.
fn at_scale(unscaled: i128, more: i32) -> Option<i128> {
    let Some(power) = 10_i128.checked_pow(more.unsigned_abs()) else { return (unscaled == 0 || more < 0).then_some(0) };
    if more >= 0 {
        return unscaled.checked_mul(power);
    }
    let (quotient, rest) = (unscaled / power, unscaled % power);
    let away = i128::from(rest.unsigned_abs() >= power.unsigned_abs().div_ceil(2));
    Some(quotient + away * unscaled.signum())
}

/// As many bytes as a type has.
fn exact<const N: usize>(value: &[u8]) -> Result<[u8; N], Problem> {
    value.try_into().map_err(|_| match value.len() < N {
        true => {
            Problem::new(SqlState::ProtocolViolation, format!("the value has {} bytes instead of {N}", value.len()))
        }
        false => {
            let text = format!("incorrect binary data format: the value has {} bytes instead of {N}", value.len());
            Problem::new(SqlState::InvalidBinaryRepresentation, text)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_to_their_scale() {
        assert_eq!(at_scale(125, -1), Some(13));
        assert_eq!(at_scale(-125, -1), Some(-13));
        assert_eq!(at_scale(124, -1), Some(12));
        assert_eq!(at_scale(7, 2), Some(700));
        assert_eq!(at_scale(7, -60), Some(0));
        assert_eq!(at_scale(7, 60), None);
        assert_eq!(at_scale(i128::MAX, 1), None);
    }

    #[test]
    fn values_of_a_wrong_length_are_errors() {
        let read = |value: &[u8], data_type: &DataType| column_of_bytes([Some(value)].into_iter(), 1, data_type);
        assert_eq!(read(&[0; 3], &DataType::Int32).unwrap_err().1.state, SqlState::ProtocolViolation);
        assert_eq!(read(&[0; 5], &DataType::Int32).unwrap_err().1.state, SqlState::InvalidBinaryRepresentation);
        assert_eq!(read(&[0xff], &DataType::Utf8View).unwrap_err().1.state, SqlState::CharacterNotInRepertoire);
        assert!(read(&[0, 0, 0, 0], &DataType::Date32).is_ok());
        assert!(read(&i64::MIN.to_be_bytes(), &DataType::Time64(TimeUnit::Microsecond)).is_err());
    }
}
