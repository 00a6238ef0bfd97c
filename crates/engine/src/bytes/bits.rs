//! Single bits of bytes, their number, bytes without others at their ends, and bytes as text in an encoding.

use crate::bytes::arguments::{bytes, integers};
use crate::bytes::either::Either;
use crate::bytes::parts::{BYTES, NUMBER, each, place, typed};
use crate::error::invalid;
use crate::functions::PureFunction;
use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::functions::string;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    vec![
        get_bit(),
        set_bit(),
        bit_count(),
        Either::of(string::ltrim(), trimmed("ltrim", |own, _| trim(own, true, false))),
        Either::of(string::rtrim(), trimmed("rtrim", |own, _| trim(own, false, true))),
        Either::of(string::btrim(), trimmed("btrim", |own, _| trim(own, true, true))),
        convert_from(),
        convert_to(),
    ]
}

/// The byte in which a bit lies, and the bit of it, the lowest one first.
fn bit_place(name: &str, bytes: &[u8], number: i64) -> Result<(usize, u8)> {
    let bits = bytes.len() as i64 * 8;
    match (0..bits).contains(&number) {
        true => Ok((place(name, bytes, number / 8)?, (number % 8) as u8)),
        false => invalid!(ArraySubscriptError, "{name}: there is no bit {number}, they are 0 to {}", bits - 1),
    }
}

fn get_bit() -> Arc<ScalarUDF> {
    let one = |arguments: &[ArrayRef], _: &DataType| {
        let (values, numbers) = (bytes(&arguments[0])?, integers(&arguments[1])?);
        let bit = |(value, number): (Option<&[u8]>, Option<i64>)| {
            let Some((value, number)) = value.zip(number) else { return Ok(None) };
            let (at, bit) = bit_place("get_bit", value, number)?;
            Ok(Some(i32::from(value[at] >> bit & 1)))
        };
        Ok(Arc::new(values.iter().zip(&numbers).map(bit).collect::<Result<Int32Array>>()?) as ArrayRef)
    };
    let types = |types: &[DataType]| typed("get_bit", types, 2, &[BYTES, NUMBER]);
    PureFunction::new("get_bit", types, |_| Ok(DataType::Int32), one).build()
}

fn set_bit() -> Arc<ScalarUDF> {
    let changed = |arguments: &[ArrayRef], _: &DataType| {
        let (values, numbers, new) = (bytes(&arguments[0])?, integers(&arguments[1])?, integers(&arguments[2])?);
        each(arguments, |row, all| {
            let mut value = values.value(row).to_vec();
            let (at, bit) = bit_place("set_bit", &value, numbers.value(row))?;
            match new.value(row) {
                0 => value[at] &= !(1 << bit),
                1 => value[at] |= 1 << bit,
                other => return invalid!(InvalidParameterValue, "set_bit: a bit is 0 or 1, not {other}"),
            }
            all.append_value(value);
            Ok(())
        })
    };
    let types = |types: &[DataType]| typed("set_bit", types, 3, &[BYTES, NUMBER, NUMBER]);
    PureFunction::new("set_bit", types, |_| Ok(BYTES), changed).build()
}

fn bit_count() -> Arc<ScalarUDF> {
    let counted = |arguments: &[ArrayRef], _: &DataType| {
        let count = |own: &[u8]| own.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>();
        Ok(Arc::new(bytes(&arguments[0])?.iter().map(|own| own.map(count)).collect::<Int64Array>()) as ArrayRef)
    };
    PureFunction::new("bit_count", |types| typed("bit_count", types, 1, &[BYTES]), |_| Ok(NUMBER), counted).build()
}

/// A function that takes bytes away from the ends of others.
fn trimmed(name: &'static str, compute: fn(&[ArrayRef], &DataType) -> Result<ArrayRef>) -> PureFunction {
    PureFunction::new(name, |types| typed("trim", types, 2, &[BYTES, BYTES]), |_| Ok(BYTES), compute)
}

fn trim(arguments: &[ArrayRef], at_start: bool, at_end: bool) -> Result<ArrayRef> {
    let (values, sets) = (bytes(&arguments[0])?, bytes(&arguments[1])?);
    each(arguments, |row, all| {
        let (mut value, set) = (values.value(row), sets.value(row));
        while let Some((_, rest)) = value.split_first().filter(|(first, _)| at_start && set.contains(first)) {
            value = rest;
        }
        while let Some((_, rest)) = value.split_last().filter(|(last, _)| at_end && set.contains(last)) {
            value = rest;
        }
        all.append_value(value);
        Ok(())
    })
}

/// An encoding of texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteEncoding {
    Utf8,
    Latin1,
}

impl ByteEncoding {
    fn called(name: &str) -> Result<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        match plain.to_ascii_lowercase().as_str() {
            "utf8" | "unicode" | "sqlascii" => Ok(Self::Utf8),
            "latin1" | "iso88591" => Ok(Self::Latin1),
            _ => invalid!(InvalidParameterValue, "encoding '{name}' is not known; UTF8 and LATIN1 are"),
        }
    }
}

fn convert_from() -> Arc<ScalarUDF> {
    let texts = |arguments: &[ArrayRef], _: &DataType| {
        let (values, encodings) = (bytes(&arguments[0])?, cast(&arguments[1], &DataType::Utf8View)?);
        let of = |(value, encoding): (Option<&[u8]>, Option<&str>)| {
            let Some((value, encoding)) = value.zip(encoding) else { return Ok(None) };
            match ByteEncoding::called(encoding)? {
                ByteEncoding::Latin1 => Ok(Some(value.iter().map(|byte| char::from(*byte)).collect::<String>())),
                ByteEncoding::Utf8 => match std::str::from_utf8(value) {
                    Ok(text) => Ok(Some(text.to_owned())),
                    Err(error) => {
                        let at = error.valid_up_to();
                        invalid!(CharacterNotInRepertoire, "the bytes are no text in UTF8: look at byte {at}")
                    }
                },
            }
        };
        let pairs = values.iter().zip(encodings.as_string_view());
        Ok(Arc::new(pairs.map(of).collect::<Result<StringViewArray>>()?) as ArrayRef)
    };
    let types = |types: &[DataType]| match types {
        [value, name] if is_given(value) && (name.is_string() || name.is_null()) => Ok(vec![BYTES, DataType::Utf8View]),
        _ => invalid!(UndefinedFunction, "convert_from takes bytes and the name of their encoding"),
    };
    PureFunction::new("convert_from", types, |_| Ok(DataType::Utf8View), texts).build()
}

fn is_given(value: &DataType) -> bool {
    value.is_binary() || value.is_string() || value.is_null()
}

fn convert_to() -> Arc<ScalarUDF> {
    let encoded = |arguments: &[ArrayRef], _: &DataType| {
        let [texts, encodings] = [0, 1].map(|at| cast(&arguments[at], &DataType::Utf8View));
        let (texts, encodings) = (texts?, encodings?);
        each(arguments, |row, all| {
            let text = texts.as_string_view().value(row);
            match ByteEncoding::called(encodings.as_string_view().value(row))? {
                ByteEncoding::Utf8 => all.append_value(text),
                ByteEncoding::Latin1 => match text.chars().map(|own| u8::try_from(own).map_err(|_| own)).collect() {
                    Ok::<Vec<u8>, char>(own) => all.append_value(own),
                    Err(other) => return invalid!(CharacterNotInRepertoire, "'{other}' is no character of LATIN1"),
                },
            }
            Ok(())
        })
    };
    let types = |types: &[DataType]| match types {
        [value, name] if [value, name].iter().all(|own| own.is_string() || own.is_null()) => {
            Ok(vec![DataType::Utf8View; 2])
        }
        _ => invalid!(UndefinedFunction, "convert_to takes a text and the name of an encoding"),
    };
    PureFunction::new("convert_to", types, |_| Ok(BYTES), encoded).build()
}
