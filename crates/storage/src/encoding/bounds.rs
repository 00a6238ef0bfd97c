//! Limits of types, values that lie too far apart for codes, and shortened bounds of byte strings.

use crate::model::design::{ColumnChoice, plain_bits};
use crate::{ColumnDefinition, Datum, Error, LogicalType, ValueClass};
use arrow::datatypes::{Decimal128Type, DecimalType};

/// Most bytes of a byte string that statistics keep.
pub(crate) const BOUND_BYTES: usize = 64;

/// Smallest and largest integer that a value of an integer-class type can have.
pub(crate) fn integer_limits(logical_type: &LogicalType) -> (i128, i128) {
    match logical_type {
        LogicalType::Boolean => (0, 1),
        LogicalType::Int(bits) => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        LogicalType::UInt(bits) => (0, (1 << bits) - 1),
        LogicalType::Date => (i32::MIN.into(), i32::MAX.into()),
        LogicalType::Time(crate::Unit::Second | crate::Unit::Millisecond) => (i32::MIN.into(), i32::MAX.into()),
        LogicalType::Time(_) | LogicalType::Timestamp(..) => (i64::MIN.into(), i64::MAX.into()),
        _ => (i128::MIN, i128::MAX),
    }
}

/// Whether values of a type may lie further apart than 64 bits tell.
pub(crate) fn may_be_wide(logical_type: &LogicalType) -> bool {
    logical_type.class() == ValueClass::Integer && plain_bits(logical_type).is_none()
}

/// Why values from `low` to `high` can't be stored in a column.
pub(crate) fn too_wide(column: &ColumnDefinition, choice: ColumnChoice, low: i128, high: i128) -> Error {
    let ColumnDefinition { name, logical_type, .. } = column;
    let text = |value: i128| match logical_type {
        LogicalType::Decimal { precision, scale } => Decimal128Type::format_decimal(value, *precision, *scale),
        _ => value.to_string(),
    };
    let (what, instead) = if choice.by_name {
        let (packing, any) = choice.asked_packing();
        (format!("packing {packing}"), format!("packing = '{any}'"))
    } else {
        ("encoding frame_of_reference".to_owned(), "encoding = 'auto'".to_owned())
    };
    Error::Unsupported(format!(
        "column '{name}' of type {logical_type} can't have values from {} to {}: {what} makes codes of at most 64 bits \
         of them; ALTER TABLE … ALTER COLUMN {name} SET ({instead}) takes any values",
        text(low),
        text(high)
    ))
}

/// A lower bound of `value`, and whether it is the value itself.
pub(crate) fn lower_bound(value: &[u8]) -> (Datum, bool) {
    let kept = &value[..value.len().min(BOUND_BYTES)];
    (Datum::Bytes(kept.into()), kept.len() == value.len())
}

/// An upper bound of `value`, and whether it is the value itself. A value that starts with 64 bytes of 255 has no
/// shorter bound and is kept whole.
pub(crate) fn upper_bound(value: &[u8]) -> (Datum, bool) {
    if value.len() > BOUND_BYTES
        && let Some(last) = value[..BOUND_BYTES].iter().rposition(|byte| *byte < u8::MAX)
    {
        let mut kept = value[..=last].to_vec();
        kept[last] += 1;
        return (Datum::Bytes(kept.into()), false);
    }
    (Datum::Bytes(value.into()), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(datum: Datum) -> Vec<u8> {
        match datum {
            Datum::Bytes(bytes) => bytes.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn long_strings_are_bounded() {
        let mut long = vec![b'a'; 100];
        let (low, exact) = lower_bound(&long);
        assert!(!exact && bytes(low) < long);
        let (high, exact) = upper_bound(&long);
        assert!(!exact && bytes(high) > long);
        long[..63].fill(255);
        assert!(bytes(upper_bound(&long).0) > long);
        long[..64].fill(255);
        assert_eq!(upper_bound(&long), (Datum::Bytes(long.clone().into()), true));
        assert_eq!(upper_bound(b"short"), (Datum::Bytes(b"short".as_slice().into()), true));
    }

    #[test]
    fn limits_follow_the_type() {
        assert_eq!(integer_limits(&LogicalType::Int(64)), (i64::MIN.into(), i64::MAX.into()));
        assert_eq!(integer_limits(&LogicalType::UInt(64)), (0, u64::MAX.into()));
        assert_eq!(integer_limits(&LogicalType::Int(8)), (-128, 127));
    }
}
