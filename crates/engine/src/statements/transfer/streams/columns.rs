//! Fields to a column of the type that the table has: usual forms of numbers and dates at once, everything else by the casts of
//! text, which read what PostgreSQL reads.

use crate::casts::{Failing, convert};
use crate::files::{iso_date, iso_timestamp};
use crate::statements::dml::ingest::{MisfitValue, assign};
use crate::statements::transfer::streams::fields::RecordFields;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, Decimal128Builder, PrimitiveBuilder, StringViewArray, StringViewBuilder};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use gingham_storage::LogicalType;
use std::sync::Arc;

/// The values of a column of the records, or the first that is none of its type.
pub(super) fn column(
    fields: &RecordFields,
    column: usize,
    target: &LogicalType,
) -> Result<Result<ArrayRef, MisfitValue>> {
    if let Some(values) = usual(fields, column, target) {
        return Ok(Ok(values));
    }
    let texts: ArrayRef = Arc::new(texts(fields, column));
    let read = match target {
        // A time of day behind a date is dropped, as PostgreSQL's input of dates does.
        LogicalType::Date => {
            let dates = convert(&texts, &DataType::Date32, Failing::Null)?;
            let lost = (0..dates.len()).find(|row| dates.is_null(*row) && texts.is_valid(*row));
            match lost.map(|row| (row, assign(&texts.slice(row, 1), target))) {
                Some((row, misfit)) => misfit?.map_err(|misfit| MisfitValue { row, ..misfit }),
                None => Ok(dates),
            }
        }
        _ => assign(&texts, target)?,
    };
    Ok(read.map_err(|misfit| {
        // The cast tells apart what no value is and what is out of range.
        match convert(&texts.slice(misfit.row, 1), &target.to_arrow(), Failing::Error).map_err(Error::from) {
            Err(Error::InvalidInput(problem)) => MisfitValue { problem, ..misfit },
            _ => misfit,
        }
    }))
}

fn texts(fields: &RecordFields, column: usize) -> StringViewArray {
    let mut builder = StringViewBuilder::with_capacity(fields.rows);
    for field in fields.column(column) {
        // The fields were found to be text.
        builder.append_option(field.and_then(|field| std::str::from_utf8(field).ok()));
    }
    builder.finish()
}

/// The values of a column all of which stand in the usual form of their type.
fn usual(fields: &RecordFields, column: usize, target: &LogicalType) -> Option<ArrayRef> {
    let own = || fields.column(column);
    match target {
        LogicalType::Int(8) => integers::<Int8Type>(own(), fields.rows),
        LogicalType::Int(16) => integers::<Int16Type>(own(), fields.rows),
        LogicalType::Int(32) => integers::<Int32Type>(own(), fields.rows),
        LogicalType::Int(64) => integers::<Int64Type>(own(), fields.rows),
        LogicalType::UInt(8) => integers::<UInt8Type>(own(), fields.rows),
        LogicalType::UInt(16) => integers::<UInt16Type>(own(), fields.rows),
        LogicalType::UInt(32) => integers::<UInt32Type>(own(), fields.rows),
        LogicalType::UInt(64) => integers::<UInt64Type>(own(), fields.rows),
        LogicalType::Float64 => primitives::<Float64Type>(own(), fields.rows, |text| {
            float::<f64>(text).filter(|value| value.is_finite() && *value != 0.0)
        }),
        LogicalType::Float32 => primitives::<Float32Type>(own(), fields.rows, |text| {
            float::<f32>(text).filter(|value| value.is_finite() && *value != 0.0)
        }),
        LogicalType::Date => primitives::<Date32Type>(own(), fields.rows, iso_date),
        LogicalType::Timestamp(gingham_storage::Unit::Microsecond, None) => {
            primitives::<TimestampMicrosecondType>(own(), fields.rows, iso_timestamp)
        }
        LogicalType::Decimal { precision, scale } if *scale >= 0 => {
            let builder = Decimal128Builder::with_capacity(fields.rows).with_precision_and_scale(*precision, *scale);
            let mut builder = builder.ok()?;
            for field in own() {
                match field {
                    Some(field) => builder.append_value(decimal(field, *precision, *scale)?),
                    None => builder.append_null(),
                }
            }
            Some(Arc::new(builder.finish()))
        }
        _ => None,
    }
}

fn primitives<'f, T: ArrowPrimitiveType>(
    fields: impl Iterator<Item = Option<&'f [u8]>>,
    rows: usize,
    parse: impl Fn(&[u8]) -> Option<T::Native>,
) -> Option<ArrayRef> {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(rows);
    for field in fields {
        match field {
            Some(field) => builder.append_value(parse(field)?),
            None => builder.append_null(),
        }
    }
    Some(Arc::new(builder.finish()))
}

fn integers<'f, T: ArrowPrimitiveType<Native: TryFrom<i64>>>(
    fields: impl Iterator<Item = Option<&'f [u8]>>,
    rows: usize,
) -> Option<ArrayRef> {
    primitives::<T>(fields, rows, |text| T::Native::try_from(integer(text)?).ok())
}

/// A number of up to 18 digits, with a minus perhaps.
fn integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let value = number(digits)?;
    Some(if is_negative { -value } else { value })
}

/// The number of 1 to 18 digits.
fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0_i64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + i64::from(digit))
    })
}

/// Digits with a point perhaps, such that none is to be rounded.
fn decimal(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let (is_negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        text => (false, text),
    };
    let scale = usize::try_from(scale).ok()?;
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    if fraction.len() > scale || whole.len() + scale > usize::from(precision) || whole.len() + scale > 18 {
        return None;
    }
    let part = if fraction.is_empty() { 0 } else { number(fraction)? };
    let missing = 10_i64.pow((scale - fraction.len()) as u32);
    let value = i128::from(number(whole)? * 10_i64.pow(scale as u32) + part * missing);
    Some(if is_negative { -value } else { value })
}

/// A float of digits; words such as NaN are left to the casts.
fn float<F: std::str::FromStr>(text: &[u8]) -> Option<F> {
    let is_digits = text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'e' | b'+'));
    is_digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_forms_are_read_and_others_left() {
        assert_eq!(integer(b"-0042"), Some(-42));
        for text in [&b""[..], b"-", b"+1", b" 1", b"1.0", b"1234567890123456789"] {
            assert_eq!(integer(text), None);
        }
        assert_eq!(decimal(b"-1.5", 10, 2), Some(-150));
        assert_eq!(decimal(b"12345678.90", 10, 2), Some(1_234_567_890));
        assert_eq!(decimal(b"7", 5, 0), Some(7));
        assert_eq!(decimal(b"7.", 5, 1), Some(70));
        for text in [&b"1.234"[..], b"123456789", b".5", b"1e2", b"", b"-", b"1.-5", b"NaN"] {
            assert_eq!(decimal(text, 10, 2), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(float::<f64>(b"1.5e3"), Some(1500.0));
        assert_eq!(float::<f64>(b"inf"), None);
    }
}
