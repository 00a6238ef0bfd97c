//! The integer class: frame of reference, or plain 128-bit values when the range exceeds 64 bits.
//!
//! Codes are computed in wrapping 64-bit arithmetic: value and base may need 128 bits, their difference does not.

use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::*;

/// Runs `$body` with `$values` bound to the integer-class array as its primitive type.
macro_rules! with_integers {
    ($array:expr, $values:ident => $body:expr, $booleans:ident => $boolean_body:expr) => {
        match $array.data_type() {
            DataType::Boolean => {
                let $booleans = $array.as_boolean();
                $boolean_body
            }
            DataType::Int8 => with_integers!(@ $array, $values, Int8Type, $body),
            DataType::Int16 => with_integers!(@ $array, $values, Int16Type, $body),
            DataType::Int32 => with_integers!(@ $array, $values, Int32Type, $body),
            DataType::Int64 => with_integers!(@ $array, $values, Int64Type, $body),
            DataType::UInt8 => with_integers!(@ $array, $values, UInt8Type, $body),
            DataType::UInt16 => with_integers!(@ $array, $values, UInt16Type, $body),
            DataType::UInt32 => with_integers!(@ $array, $values, UInt32Type, $body),
            DataType::UInt64 => with_integers!(@ $array, $values, UInt64Type, $body),
            DataType::Date32 => with_integers!(@ $array, $values, Date32Type, $body),
            DataType::Time32(TimeUnit::Second) => with_integers!(@ $array, $values, Time32SecondType, $body),
            DataType::Time32(_) => with_integers!(@ $array, $values, Time32MillisecondType, $body),
            DataType::Time64(TimeUnit::Microsecond) => with_integers!(@ $array, $values, Time64MicrosecondType, $body),
            DataType::Time64(_) => with_integers!(@ $array, $values, Time64NanosecondType, $body),
            DataType::Timestamp(TimeUnit::Second, _) => with_integers!(@ $array, $values, TimestampSecondType, $body),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                with_integers!(@ $array, $values, TimestampMillisecondType, $body)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                with_integers!(@ $array, $values, TimestampMicrosecondType, $body)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                with_integers!(@ $array, $values, TimestampNanosecondType, $body)
            }
            DataType::Decimal128(..) => with_integers!(@ $array, $values, Decimal128Type, $body),
            other => Err(unexpected(other)),
        }
    };
    (@ $array:expr, $values:ident, $type:ty, $body:expr) => {{
        let $values: &PrimitiveArray<$type> = $array.as_primitive();
        $body
    }};
}

fn unexpected(data_type: &DataType) -> Error {
    Error::Internal(format!("an array of {data_type} holds no values of an integer class"))
}

/// Calls `visit` with the number and value of each record; that of a NULL is any.
#[expect(clippy::unnecessary_cast, reason = "the macro's arms differ in their type")]
pub(crate) fn for_each_integer(array: &ArrayRef, mut visit: impl FnMut(usize, i128)) -> Result<()> {
    with_integers!(
        array,
        values => {
            values.values().iter().enumerate().for_each(|(row, value)| visit(row, *value as i128));
            Ok(())
        },
        values => {
            values.values().iter().enumerate().for_each(|(row, value)| visit(row, value.into()));
            Ok(())
        }
    )
}

/// Smallest and largest value of the arrays; `None` when all are NULL.
pub(crate) fn range(chunks: &[ArrayRef]) -> Result<Option<(i128, i128)>> {
    let mut range = None;
    for chunk in chunks {
        if let Some((low, high)) = chunk_range(chunk)? {
            let (min, max) = range.unwrap_or((low, high));
            range = Some((low.min(min), high.max(max)));
        }
    }
    Ok(range)
}

#[expect(clippy::unnecessary_cast, reason = "the macro's arms differ in their type")]
fn chunk_range(chunk: &ArrayRef) -> Result<Option<(i128, i128)>> {
    use arrow::compute::{max, max_boolean, min, min_boolean};
    if let Some(values) = chunk.as_primitive_opt::<Decimal128Type>().filter(|values| values.null_count() == 0) {
        return Ok(short_ends(values.values()).or_else(|| ends(values.values())));
    }
    with_integers!(
        chunk,
        values => {
            let ends = if values.null_count() == 0 { ends(values.values()) } else { min(values).zip(max(values)) };
            Ok(ends.map(|(min, max)| (min as i128, max as i128)))
        },
        values => Ok(min_boolean(values).zip(max_boolean(values)).map(|(min, max)| (min.into(), max.into())))
    )
}

/// Smallest and largest of some values, in one pass.
fn ends<T: Ord + Copy>(values: &[T]) -> Option<(T, T)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(min, max), value| (min.min(*value), max.max(*value))))
}

/// Smallest and largest of values that fit into 64 bits, in which they are compared; `None` when one does not, or there are none.
fn short_ends(values: &[i128]) -> Option<(i128, i128)> {
    let (mut low, mut high, mut all_fit) = (i64::MAX, i64::MIN, true);
    for value in values {
        let short = *value as i64;
        all_fit &= i128::from(short) == *value;
        (low, high) = (low.min(short), high.max(short));
    }
    (all_fit && !values.is_empty()).then(|| (low.into(), high.into()))
}

/// Appends value - base of each value; what stands in the slot of a NULL is arbitrary.
#[expect(clippy::unnecessary_cast, reason = "the macro's arms differ in their type")]
pub(crate) fn append_codes(chunk: &ArrayRef, base: i128, codes: &mut Vec<u64>) -> Result<()> {
    let base = base as u64;
    with_integers!(
        chunk,
        values => {
            codes.extend(values.values().iter().map(|value| (*value as u64).wrapping_sub(base)));
            Ok(())
        },
        values => {
            append_booleans(values, base, codes);
            Ok(())
        }
    )
}

fn append_booleans(values: &BooleanArray, base: u64, codes: &mut Vec<u64>) {
    codes.extend(values.values().iter().map(|value| u64::from(value).wrapping_sub(base)));
}

/// The values of an array of the integer class; `None` is NULL.
#[expect(clippy::useless_conversion, reason = "the macro's arms differ in their type")]
pub fn integers_of_array(array: &ArrayRef) -> Result<Vec<Option<i128>>> {
    with_integers!(
        array,
        values => Ok(values.iter().map(|value| value.map(i128::from)).collect()),
        values => Ok(values.iter().map(|value| value.map(i128::from)).collect())
    )
}

/// Appends the values themselves, NULL as `filler`.
pub(crate) fn append_wide(chunk: &ArrayRef, filler: i128, wide: &mut Vec<i128>) -> Result<()> {
    with_integers!(
        chunk,
        values => {
            wide.extend(values.iter().map(|value| value.map_or(filler, i128::from)));
            Ok(())
        },
        values => {
            wide.extend(values.iter().map(|value| value.map_or(filler, i128::from)));
            Ok(())
        }
    )
}
