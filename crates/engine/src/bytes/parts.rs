//! Lengths of bytes, parts of them, and single ones.

use crate::bytes::arguments::{bytes, integers};
use crate::bytes::either::Either;
use crate::error::invalid;
use crate::functions::PureFunction;
use arrow::array::{Array, ArrayRef, BinaryViewArray, BinaryViewBuilder, Int32Array};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::functions::{core, string, unicode};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    vec![
        Either::of(unicode::character_length(), length("character_length")),
        Either::of(string::octet_length(), length("octet_length")),
        Either::of(string::bit_length(), bit_length()),
        substring(),
        position(),
        overlay(),
        get_byte(),
        set_byte(),
    ]
}

/// The types of arguments: bytes first, then integers; `least` of them at least.
pub(super) fn typed(name: &str, types: &[DataType], least: usize, all: &[DataType]) -> Result<Vec<DataType>> {
    if types.len() < least || types.len() > all.len() {
        return invalid!(UndefinedFunction, "{name} of BINARY does not take {} arguments", types.len());
    }
    for (own, wanted) in types.iter().zip(all) {
        let fits =
            own.is_null() || own.is_string() || if wanted.is_binary() { own.is_binary() } else { own.is_integer() };
        if !fits {
            return invalid!(UndefinedFunction, "{name} of BINARY does not take {own} there; cast it");
        }
    }
    Ok(all[..types.len()].to_vec())
}

pub(super) const BYTES: DataType = DataType::BinaryView;
pub(super) const NUMBER: DataType = DataType::Int64;

fn length(name: &'static str) -> PureFunction {
    let lengths = |arguments: &[ArrayRef], _: &DataType| {
        let lengths = bytes(&arguments[0])?.iter().map(|own| own.map(|own| own.len() as i32)).collect::<Int32Array>();
        Ok(Arc::new(lengths) as ArrayRef)
    };
    PureFunction::new(name, |types| typed("length", types, 1, &[BYTES]), |_| Ok(DataType::Int32), lengths)
}

fn bit_length() -> PureFunction {
    let lengths = |arguments: &[ArrayRef], _: &DataType| {
        let lengths = bytes(&arguments[0])?;
        let lengths = lengths.iter().map(|own| own.map(|own| own.len() as i32 * 8)).collect::<Int32Array>();
        Ok(Arc::new(lengths) as ArrayRef)
    };
    PureFunction::new("bit_length", |types| typed("bit_length", types, 1, &[BYTES]), |_| Ok(DataType::Int32), lengths)
}

/// The bytes from number `start`, counted from 1, as many as `length` says, or all. What lies before the first is counted too.
fn part(bytes: &[u8], start: i64, length: Option<i64>) -> &[u8] {
    let end = length.map_or(i64::MAX, |length| start.saturating_add(length));
    let place =
        |number: i64| usize::try_from(number.saturating_sub(1).max(0)).map_or(bytes.len(), |at| at.min(bytes.len()));
    let (from, to) = (place(start), place(end));
    &bytes[from..to.max(from)]
}

/// An optional argument of integers: `None` is one that is not written.
fn optional(arguments: &[ArrayRef], at: usize) -> Result<Option<arrow::array::Int64Array>> {
    arguments.get(at).map(integers).transpose()
}

/// The results of `result` for the rows in which no argument is NULL.
pub(super) fn each(
    arguments: &[ArrayRef],
    mut result: impl FnMut(usize, &mut BinaryViewBuilder) -> Result<()>,
) -> Result<ArrayRef> {
    let rows = arguments[0].len();
    let mut all = BinaryViewBuilder::with_capacity(rows);
    for row in 0..rows {
        if arguments.iter().any(|argument| argument.is_null(row)) {
            all.append_null();
        } else {
            result(row, &mut all)?;
        }
    }
    Ok(Arc::new(all.finish()))
}

/// `substr(bytes, start, length)` and SUBSTRING.
pub(super) fn substring() -> Arc<ScalarUDF> {
    let parts = |arguments: &[ArrayRef], _: &DataType| {
        let (values, starts, lengths) = (bytes(&arguments[0])?, integers(&arguments[1])?, optional(arguments, 2)?);
        each(arguments, |row, all| {
            let length = lengths.as_ref().map(|lengths| lengths.value(row));
            if let Some(length) = length.filter(|length| *length < 0) {
                return invalid!(SubstringError, "substr: a length can't be negative, and {length} is");
            }
            all.append_value(part(values.value(row), starts.value(row), length));
            Ok(())
        })
    };
    let types = |types: &[DataType]| typed("substr", types, 2, &[BYTES, NUMBER, NUMBER]);
    Either::of(unicode::substr(), PureFunction::new("substr", types, |_| Ok(BYTES), parts))
}

/// `strpos(bytes, part)` and POSITION: where a part begins, counted from 1, or 0.
pub(super) fn position() -> Arc<ScalarUDF> {
    let places = |arguments: &[ArrayRef], _: &DataType| {
        let (values, parts) = (bytes(&arguments[0])?, bytes(&arguments[1])?);
        let place = |value: &[u8], part: &[u8]| memchr::memmem::find(value, part).map_or(0, |at| at as i32 + 1);
        let pairs = values.iter().zip(parts.iter());
        let places = pairs.map(|(value, part)| value.zip(part).map(|(value, part)| place(value, part)));
        Ok(Arc::new(places.collect::<Int32Array>()) as ArrayRef)
    };
    let types = |types: &[DataType]| typed("position", types, 2, &[BYTES, BYTES]);
    Either::of(unicode::strpos(), PureFunction::new("strpos", types, |_| Ok(DataType::Int32), places))
}

/// OVERLAY: bytes with others in the place of some.
pub(super) fn overlay() -> Arc<ScalarUDF> {
    let overlaid = |arguments: &[ArrayRef], _: &DataType| {
        let (values, others) = (bytes(&arguments[0])?, bytes(&arguments[1])?);
        let (starts, lengths) = (integers(&arguments[2])?, optional(arguments, 3)?);
        each(arguments, |row, all| {
            let (value, other, start) = (values.value(row), others.value(row), starts.value(row));
            if start <= 0 {
                return invalid!(SubstringError, "overlay: bytes are counted from 1, and {start} is none");
            }
            let length = lengths.as_ref().map_or(other.len() as i64, |lengths| lengths.value(row));
            let behind = part(value, start.saturating_add(length), None);
            all.append_value([part(value, 1, Some(start - 1)), other, behind].concat());
            Ok(())
        })
    };
    let types = |types: &[DataType]| typed("overlay", types, 3, &[BYTES, BYTES, NUMBER, NUMBER]);
    Either::of(core::overlay(), PureFunction::new("overlay", types, |_| Ok(BYTES), overlaid))
}

/// The place of a byte, counted from 0.
pub(super) fn place(name: &str, bytes: &[u8], number: i64) -> Result<usize> {
    match usize::try_from(number).ok().filter(|at| *at < bytes.len()) {
        Some(at) => Ok(at),
        None => {
            invalid!(ArraySubscriptError, "{name}: there is no byte {number}, they are 0 to {}", bytes.len() as i64 - 1)
        }
    }
}

fn get_byte() -> Arc<ScalarUDF> {
    let one = |arguments: &[ArrayRef], _: &DataType| {
        let (values, numbers) = (bytes(&arguments[0])?, integers(&arguments[1])?);
        let byte = |(value, number): (Option<&[u8]>, Option<i64>)| {
            let Some((value, number)) = value.zip(number) else { return Ok(None) };
            Ok(Some(i32::from(value[place("get_byte", value, number)?])))
        };
        Ok(Arc::new(values.iter().zip(&numbers).map(byte).collect::<Result<Int32Array>>()?) as ArrayRef)
    };
    let types = |types: &[DataType]| typed("get_byte", types, 2, &[BYTES, NUMBER]);
    PureFunction::new("get_byte", types, |_| Ok(DataType::Int32), one).build()
}

fn set_byte() -> Arc<ScalarUDF> {
    let changed = |arguments: &[ArrayRef], _: &DataType| {
        let (values, numbers, new) = (bytes(&arguments[0])?, integers(&arguments[1])?, integers(&arguments[2])?);
        each(arguments, |row, all| {
            let mut value = values.value(row).to_vec();
            let at = place("set_byte", &value, numbers.value(row))?;
            // The lowest eight bits, as PostgreSQL takes them.
            value[at] = new.value(row) as u8;
            all.append_value(value);
            Ok(())
        })
    };
    let types = |types: &[DataType]| typed("set_byte", types, 3, &[BYTES, NUMBER, NUMBER]);
    PureFunction::new("set_byte", types, |_| Ok(BYTES), changed).build()
}

/// `bytes || bytes`.
pub(super) fn joined() -> Arc<ScalarUDF> {
    let both = |arguments: &[ArrayRef], _: &DataType| {
        let sides: [BinaryViewArray; 2] = [bytes(&arguments[0])?, bytes(&arguments[1])?];
        each(arguments, |row, all| {
            all.append_value([sides[0].value(row), sides[1].value(row)].concat());
            Ok(())
        })
    };
    let types = |types: &[DataType]| typed("||", types, 2, &[BYTES, BYTES]);
    PureFunction::new("bytes_joined", types, |_| Ok(BYTES), both).operator("||").build()
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_are_counted_from_one() {
        for (start, length, expected) in [
            (2, None, &b"bc"[..]),
            (2, Some(1), b"b"),
            (0, Some(2), b"a"),
            (-5, Some(7), b"a"),
            (-5, Some(2), b""),
            (4, None, b""),
            (9, Some(1), b""),
            (1, Some(i64::MAX), b"abc"),
            (i64::MIN, None, b"abc"),
            (i64::MAX, Some(i64::MAX), b""),
        ] {
            assert_eq!(part(b"abc", start, length), expected, "{start} {length:?}");
        }
    }
}
