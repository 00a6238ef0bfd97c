//! Values from texts and from bytes, by the number of the type that a client gives for a parameter.

use crate::casts::{Failing, convert};
use crate::postgres::type_of_oid;
use crate::wire::format::WireFormat;
use crate::wire::{numeric, values};
use crate::{Error, Result};
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use bytes::Buf;
use datafusion::common::ScalarValue;
use gingham_storage::SqlState;
use std::sync::Arc;

/// The types of texts that have none of their own here: `json`, `xml`, `uuid`, `jsonb`.
const AS_TEXTS: [u32; 4] = [114, 142, 2950, 3802];
/// `uuid`, which is 16 bytes in binary form.
const UUID: u32 = 2950;
/// `jsonb`, which has a version before it in binary form.
const JSONB: u32 = 3802;

/// The type that a parameter has whose type a client numbers so; `None` for one whose type is open (`unknown` and 0).
///
/// # Errors
///
/// There is no such type here.
///
/// ```
/// use arrow::datatypes::DataType;
/// use gingham::wire::parameter_type;
///
/// assert_eq!(parameter_type(23)?, Some(DataType::Int32));
/// assert_eq!(parameter_type(0)?, None);
/// assert!(parameter_type(600).is_err(), "points are none");
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn parameter_type(oid: u32) -> Result<Option<DataType>> {
    if oid == 0 {
        return Ok(None);
    }
    if AS_TEXTS.contains(&oid) {
        return Ok(Some(DataType::Utf8));
    }
    let unknown = || {
        let text = format!("a parameter has the type with the number {oid}, which there is not");
        Error::invalid(SqlState::UndefinedObject, text)
    };
    let (known, is_array) = type_of_oid(oid.into()).ok_or_else(unknown)?;
    let own = match known.name {
        "unknown" => return Ok(None),
        "bool" => DataType::Boolean,
        "bytea" => DataType::Binary,
        "int2" => DataType::Int16,
        "int4" => DataType::Int32,
        "int8" | "oid" | "xid" => DataType::Int64,
        "float4" => DataType::Float32,
        "float8" => DataType::Float64,
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "interval" => DataType::Interval(IntervalUnit::MonthDayNano),
        // Each value has its own.
        "numeric" => DataType::Decimal128(38, 10),
        "text" | "varchar" | "bpchar" | "name" | "char" | "cstring" => DataType::Utf8,
        // They are looked up by their text.
        "regclass" | "regtype" | "regproc" | "regprocedure" | "regnamespace" | "regrole" => DataType::Utf8,
        _ => return Err(unknown()),
    };
    Ok(Some(if is_array { DataType::new_list(own, true) } else { own }))
}

/// The value of a parameter of a type, from what a client sends: NULL for nothing.
///
/// # Errors
///
/// There is no such type here, or the text or the bytes are no value of it.
///
/// ```
/// use gingham::ScalarValue;
/// use gingham::wire::{WireFormat, parameter};
///
/// assert_eq!(parameter(23, WireFormat::Text, Some(b"-42"))?, ScalarValue::from(-42_i32));
/// assert_eq!(parameter(23, WireFormat::Binary, Some(&[0, 0, 1, 0]))?, ScalarValue::from(256_i32));
/// assert!(parameter(23, WireFormat::Text, None)?.is_null());
/// assert!(parameter(23, WireFormat::Binary, Some(&[1])).is_err());
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn parameter(oid: u32, format: WireFormat, bytes: Option<&[u8]>) -> Result<ScalarValue> {
    let data_type = parameter_type(oid)?;
    let Some(bytes) = bytes else {
        return Ok(match data_type {
            None => ScalarValue::Null,
            Some(data_type) => ScalarValue::try_from(&data_type)?,
        });
    };
    match format {
        WireFormat::Text => of_text(text(bytes)?, data_type.as_ref()),
        WireFormat::Binary => of_bytes(oid, bytes),
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    values::text(bytes).map_err(Error::InvalidInput)
}

/// A value from its text, by the rules of casts.
fn of_text(text: &str, data_type: Option<&DataType>) -> Result<ScalarValue> {
    let data_type = match data_type {
        None | Some(DataType::Utf8) => return Ok(ScalarValue::Utf8(Some(text.to_owned()))),
        Some(DataType::Decimal128(..)) => return decimal(text),
        Some(data_type) => data_type,
    };
    let values: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let value = convert(&values, data_type, Failing::Error)?;
    Ok(ScalarValue::try_from_array(&value, 0)?)
}

/// A decimal with the digits behind the point that its text has.
fn decimal(text: &str) -> Result<ScalarValue> {
    let trimmed = text.trim();
    let (digits, exponent) = match trimmed.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse().unwrap_or(i32::MAX)),
        None => (trimmed, 0),
    };
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    let scale = i64::try_from(behind).unwrap_or(i64::MAX).saturating_sub(exponent.into()).clamp(0, 38);
    let data_type = DataType::Decimal128(38, i8::try_from(scale).unwrap_or(38));
    let values: ArrayRef = Arc::new(StringArray::from(vec![trimmed]));
    Ok(ScalarValue::try_from_array(&convert(&values, &data_type, Failing::Error)?, 0)?)
}

/// A value from its bytes.
fn of_bytes(oid: u32, bytes: &[u8]) -> Result<ScalarValue> {
    match oid {
        UUID => return Ok(ScalarValue::Utf8(Some(uuid(&exact(bytes, "uuid")?)))),
        JSONB => {
            let own = bytes.strip_prefix(&[1]).ok_or_else(|| malformed("jsonb"))?;
            return Ok(ScalarValue::Utf8(Some(text(own)?.to_owned())));
        }
        0 => return Ok(ScalarValue::Utf8(Some(text(bytes)?.to_owned()))),
        _ => {}
    }
    let (name, is_array) = type_of_oid(oid.into()).map_or(("text", false), |(known, is_array)| (known.name, is_array));
    if is_array {
        return array(oid, bytes);
    }
    Ok(match name {
        "bool" => ScalarValue::Boolean(Some(exact::<1>(bytes, name)?[0] != 0)),
        "bytea" => ScalarValue::Binary(Some(bytes.to_vec())),
        "int2" => ScalarValue::Int16(Some(i16::from_be_bytes(exact(bytes, name)?))),
        "int4" => ScalarValue::Int32(Some(i32::from_be_bytes(exact(bytes, name)?))),
        "int8" => ScalarValue::Int64(Some(i64::from_be_bytes(exact(bytes, name)?))),
        "oid" | "xid" => ScalarValue::Int64(Some(u32::from_be_bytes(exact(bytes, name)?).into())),
        "float4" => ScalarValue::Float32(Some(f32::from_be_bytes(exact(bytes, name)?))),
        "float8" => ScalarValue::Float64(Some(f64::from_be_bytes(exact(bytes, name)?))),
        "date" => ScalarValue::Date32(Some(
            values::date(i32::from_be_bytes(exact(bytes, name)?)).map_err(Error::InvalidInput)?,
        )),
        "time" => {
            let time = values::time(i64::from_be_bytes(exact(bytes, name)?)).map_err(Error::InvalidInput)?;
            ScalarValue::Time64Microsecond(Some(time))
        }
        "timestamp" => ScalarValue::TimestampMicrosecond(Some(timestamp(bytes)?), None),
        "timestamptz" => ScalarValue::TimestampMicrosecond(Some(timestamp(bytes)?), Some("UTC".into())),
        "interval" => ScalarValue::IntervalMonthDayNano(Some(interval(bytes)?)),
        "numeric" => {
            let (value, scale) = numeric::read(bytes).map_err(Error::InvalidInput)?;
            ScalarValue::Decimal128(Some(value), 38, scale)
        }
        "regclass" | "regtype" | "regproc" | "regprocedure" | "regnamespace" | "regrole" => {
            ScalarValue::Utf8(Some(u32::from_be_bytes(exact(bytes, name)?).to_string()))
        }
        _ => ScalarValue::Utf8(Some(text(bytes)?.to_owned())),
    })
}

fn malformed(name: &str) -> Error {
    Error::invalid(SqlState::InvalidBinaryRepresentation, format!("the bytes of a parameter are no {name}"))
}

/// As many bytes as a type has.
fn exact<const N: usize>(bytes: &[u8], name: &str) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| malformed(name))
}

fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn timestamp(bytes: &[u8]) -> Result<i64> {
    values::timestamp(i64::from_be_bytes(exact(bytes, "timestamp")?)).map_err(Error::InvalidInput)
}

fn interval(bytes: &[u8]) -> Result<IntervalMonthDayNano> {
    let mut bytes: &[u8] = &exact::<16>(bytes, "interval")?;
    let (microseconds, days, months) = (bytes.get_i64(), bytes.get_i32(), bytes.get_i32());
    let nanoseconds = microseconds.checked_mul(1000);
    let nanoseconds = nanoseconds.ok_or_else(|| Error::InvalidInput(values::out_of_range("interval")))?;
    Ok(IntervalMonthDayNano { months, days, nanoseconds })
}

/// An array; those of several dimensions are arrays of arrays.
fn array(oid: u32, mut bytes: &[u8]) -> Result<ScalarValue> {
    let wrong = || malformed("array");
    if bytes.len() < 12 {
        return Err(wrong());
    }
    let (dimensions, _, element) = (bytes.get_i32(), bytes.get_i32(), bytes.get_u32());
    let expected = type_of_oid(oid.into()).map(|(known, _)| known.oid);
    if expected != Some(element.into()) || !(0..=6).contains(&dimensions) || bytes.len() < 8 * dimensions as usize {
        return Err(wrong());
    }
    let mut lengths = Vec::with_capacity(dimensions as usize);
    for _ in 0..dimensions {
        lengths.push(usize::try_from(bytes.get_i32()).map_err(|_| wrong())?);
        bytes.get_i32();
    }
    let null = parameter(element, WireFormat::Binary, None)?;
    let mut values = Vec::new();
    while bytes.len() >= 4 {
        let length = bytes.get_i32();
        match usize::try_from(length) {
            Err(_) if length == -1 => values.push(null.clone()),
            Ok(length) if length <= bytes.len() => {
                let (own, rest) = bytes.split_at(length);
                values.push(of_bytes(element, own)?);
                bytes = rest;
            }
            _ => return Err(wrong()),
        }
    }
    let count = lengths.iter().try_fold(usize::from(dimensions > 0), |all, own| all.checked_mul(*own));
    if !bytes.is_empty() || count != Some(values.len()) {
        return Err(wrong());
    }
    same_scale(&mut values)?;
    let data_type = values.first().map_or_else(|| null.data_type(), ScalarValue::data_type);
    if lengths.len() < 2 || values.is_empty() {
        return Ok(ScalarValue::List(ScalarValue::new_list_nullable(&values, &data_type)));
    }
    let mut list = values;
    for length in lengths.iter().skip(1).rev() {
        let data_type = list[0].data_type();
        let parts =
            list.chunks(*length).map(|part| ScalarValue::List(ScalarValue::new_list_nullable(part, &data_type)));
        list = parts.collect();
    }
    let data_type = list[0].data_type();
    Ok(ScalarValue::List(ScalarValue::new_list_nullable(&list, &data_type)))
}

/// Gives decimals that differ in scale the widest.
fn same_scale(values: &mut [ScalarValue]) -> Result<()> {
    let scales = values.iter().filter_map(|value| match value {
        ScalarValue::Decimal128(Some(_), _, scale) => Some(*scale),
        _ => None,
    });
    let Some(widest) = scales.max() else { return Ok(()) };
    for value in values {
        if let ScalarValue::Decimal128(own, _, scale) = value {
            let power = 10_i128.pow(u32::from((widest - if own.is_some() { *scale } else { widest }).unsigned_abs()));
            let moved = own.map(|own| own.checked_mul(power).ok_or_else(numeric::too_long)).transpose();
            *value = ScalarValue::Decimal128(moved.map_err(Error::InvalidInput)?, 38, widest);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::binary::BinaryColumn;
    use arrow::array::Array;
    use bytes::BytesMut;

    /// What is written as bytes is read as it was.
    #[test]
    fn values_come_back() {
        let list =
            |values: &[ScalarValue]| ScalarValue::List(ScalarValue::new_list_nullable(values, &values[0].data_type()));
        let numbers = list(&[ScalarValue::from(1_i32), ScalarValue::Int32(None), ScalarValue::from(3_i32)]);
        let cases = [
            (16, ScalarValue::from(true)),
            (17, ScalarValue::Binary(Some(vec![0, 255]))),
            (21, ScalarValue::from(-7_i16)),
            (20, ScalarValue::from(i64::MIN)),
            (701, ScalarValue::from(-0.0)),
            (25, ScalarValue::from("häuser")),
            (1082, ScalarValue::Date32(Some(-100_000))),
            (1082, ScalarValue::Date32(Some(i32::MAX))),
            (1083, ScalarValue::Time64Microsecond(Some(86_399_999_999))),
            (1114, ScalarValue::TimestampMicrosecond(Some(-1), None)),
            (1184, ScalarValue::TimestampMicrosecond(Some(i64::MAX), Some("UTC".into()))),
            (1186, ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(1, -2, 3_000)))),
            (1700, ScalarValue::Decimal128(Some(-12_345), 38, 3)),
            (1007, numbers.clone()),
            (1007, list(&[numbers.clone(), numbers])),
        ];
        for (oid, value) in cases {
            let column = BinaryColumn::of(&value.to_array().unwrap()).unwrap();
            let mut bytes = BytesMut::new();
            column.put(0, &mut bytes).unwrap();
            let read = parameter(oid, WireFormat::Binary, Some(&bytes[4..])).unwrap();
            assert_eq!(read, value);
            for end in 4..bytes.len() {
                // Bytes of any length are some text.
                if !matches!(oid, 17 | 25) {
                    assert!(parameter(oid, WireFormat::Binary, Some(&bytes[4..end])).is_err(), "{value} up to {end}");
                }
            }
        }
    }

    #[test]
    fn arrays_without_elements_are_empty_whatever_their_lengths() {
        for lengths in [&[][..], &[0], &[0, 0], &[1, 0], &[0, 3]] {
            let mut bytes = [lengths.len() as i32, 0, 23].map(i32::to_be_bytes).concat();
            lengths.iter().for_each(|length: &i32| bytes.extend([*length, 1].map(i32::to_be_bytes).concat()));
            let read = parameter(1007, WireFormat::Binary, Some(&bytes)).unwrap();
            let ScalarValue::List(list) = read else { panic!("{lengths:?}") };
            assert_eq!(list.value_length(0), 0, "{lengths:?}");
        }
        let midnight = 86_400_000_000_i64.to_be_bytes();
        assert_eq!(parameter(1083, WireFormat::Binary, Some(&midnight)).unwrap_err().sqlstate(), "22008");
    }

    #[test]
    fn texts_are_read_as_casts_do() {
        let read = |oid, text: &str| parameter(oid, WireFormat::Text, Some(text.as_bytes()));
        assert_eq!(read(16, "off").unwrap(), ScalarValue::from(false));
        assert_eq!(read(1700, "-12.50").unwrap(), ScalarValue::Decimal128(Some(-1250), 38, 2));
        assert_eq!(read(1700, "1.5e3").unwrap(), ScalarValue::Decimal128(Some(1500), 38, 0));
        assert_eq!(read(1700, "1.5e-3").unwrap(), ScalarValue::Decimal128(Some(15), 38, 4));
        assert_eq!(read(1082, "infinity").unwrap(), ScalarValue::Date32(Some(i32::MAX)));
        assert_eq!(read(1016, "{1,NULL}").unwrap().to_array().unwrap().len(), 1);
        assert_eq!(read(0, "x").unwrap(), ScalarValue::from("x"));
        let state = |oid, text: &str| read(oid, text).unwrap_err().sqlstate();
        assert_eq!(state(23, "x"), "22P02");
        assert_eq!(state(21, "40000"), "22003");
        assert_eq!(state(1700, "NaN"), "22P02");
        assert_eq!(parameter(25, WireFormat::Text, Some(&[b'a', 0xff])).unwrap_err().sqlstate(), "22021");
    }
}
