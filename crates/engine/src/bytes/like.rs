//! LIKE over bytes: `_` is one byte, `%` any number of them.

use crate::bytes::arguments::bytes;
use crate::error::invalid;
use crate::functions::PureFunction;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// `bytes_like(bytes, pattern, escape)`.
pub(super) fn like() -> Arc<ScalarUDF> {
    let types = |types: &[DataType]| match types {
        [value, pattern, _]
            if value.is_binary() && (pattern.is_binary() || pattern.is_string() || pattern.is_null()) =>
        {
            Ok(vec![DataType::BinaryView, DataType::BinaryView, DataType::Utf8View])
        }
        _ => invalid!(UndefinedFunction, "LIKE takes two texts or two values of BINARY; cast one of them"),
    };
    PureFunction::new("bytes_like", types, |_| Ok(DataType::Boolean), likes).build()
}

fn likes(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (values, patterns) = (bytes(&arguments[0])?, bytes(&arguments[1])?);
    let escapes = cast(&arguments[2], &DataType::Utf8View)?;
    let mut all = Vec::with_capacity(values.len());
    for ((value, pattern), escape) in values.iter().zip(patterns.iter()).zip(escapes.as_string_view()) {
        let (Some(value), Some(pattern), Some(escape)) = (value, pattern, escape) else {
            all.push(None);
            continue;
        };
        all.push(Some(matches(value, &parsed(pattern, escape.as_bytes().first().copied())?)));
    }
    Ok(Arc::new(BooleanArray::from(all)))
}

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternByte {
    Byte(u8),
    One,
    Any,
}

fn parsed(pattern: &[u8], escape: Option<u8>) -> Result<Vec<PatternByte>> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut left = pattern.iter().copied();
    while let Some(byte) = left.next() {
        parts.push(match byte {
            byte if Some(byte) == escape => match left.next() {
                Some(meant) => PatternByte::Byte(meant),
                None => {
                    return invalid!(
                        InvalidEscapeSequence,
                        "LIKE: the escape character at the pattern's end escapes nothing"
                    );
                }
            },
            b'%' => PatternByte::Any,
            b'_' => PatternByte::One,
            byte => PatternByte::Byte(byte),
        });
    }
    Ok(parts)
}

/// Whether a whole value is like a pattern. Where it is not, only the last `%` before takes one byte more: those before it may
/// keep the fewest that they can.
fn matches(value: &[u8], pattern: &[PatternByte]) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut retry = None;
    while at < value.len() {
        match pattern.get(part) {
            Some(PatternByte::Any) => {
                part += 1;
                retry = Some((at, part));
            }
            Some(PatternByte::One) => (at, part) = (at + 1, part + 1),
            Some(PatternByte::Byte(byte)) if *byte == value[at] => (at, part) = (at + 1, part + 1),
            _ => {
                let Some((from, behind)) = retry else { return false };
                retry = Some((from + 1, behind));
                (at, part) = (from + 1, behind);
            }
        }
    }
    pattern[part..].iter().all(|part| *part == PatternByte::Any)
}

#[cfg(test)]
mod tests {
    use super::{PatternByte, matches, parsed};
    use proptest::prelude::*;

    fn slow(value: &[u8], pattern: &[PatternByte]) -> bool {
        match (pattern.split_first(), value.split_first()) {
            (None, None) => true,
            (Some((PatternByte::Any, rest)), _) => (0..=value.len()).any(|at| slow(&value[at..], rest)),
            (Some((PatternByte::One, rest)), Some((_, behind))) => slow(behind, rest),
            (Some((PatternByte::Byte(own), rest)), Some((byte, behind))) => own == byte && slow(behind, rest),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_they_are_defined(value in "[ab]{0,8}", pattern in "[ab%_]{0,6}") {
            let pattern = parsed(pattern.as_bytes(), Some(b'\\')).unwrap();
            prop_assert_eq!(matches(value.as_bytes(), &pattern), slow(value.as_bytes(), &pattern));
        }
    }

    #[test]
    fn an_escape_takes_the_meaning() {
        assert!(matches(b"%", &parsed(b"\\%", Some(b'\\')).unwrap()));
        assert!(!matches(b"a", &parsed(b"\\%", Some(b'\\')).unwrap()));
        assert!(parsed(b"a\\", Some(b'\\')).is_err());
        assert!(matches(b"a\\", &parsed(b"a\\", None).unwrap()));
    }
}
