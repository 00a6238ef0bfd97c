//! The type that a column has for a client of PostgreSQL.

use crate::postgres::{of_arrow, type_of_oid};
use arrow::datatypes::DataType;

/// The number of `text`.
const TEXT: u32 = 25;
/// `pg_type.typlen` of a type whose values differ in length.
const VARYING: i16 = -1;

/// A type as a row description has it.
///
/// ```
/// use arrow::datatypes::DataType;
/// use gingham::wire::{WireType, wire_type};
///
/// assert_eq!(wire_type(&DataType::Int32), WireType { oid: 23, length: 4, modifier: -1 });
/// assert_eq!(wire_type(&DataType::Decimal128(10, 2)).modifier, (10 << 16 | 2) + 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireType {
    /// `pg_type.oid`.
    pub oid: u32,
    /// Bytes of a value; −1 where they differ.
    pub length: i16,
    /// What `atttypmod` says: precision and scale of a decimal; −1 where there is nothing to say.
    pub modifier: i32,
}

/// The type that values of Arrow's type have for a client. Records, and what else PostgreSQL has not, are texts.
///
/// ```
/// use arrow::datatypes::DataType;
/// use gingham::wire::wire_type;
///
/// assert_eq!(wire_type(&DataType::new_list(DataType::Int64, true)).oid, 1016);
/// assert_eq!(wire_type(&DataType::UInt64).oid, 1700);
/// ```
pub fn wire_type(data_type: &DataType) -> WireType {
    let oid = if has_records(data_type) { TEXT } else { u32::try_from(of_arrow(data_type)).unwrap_or(TEXT) };
    // A NULL without a type is a text to PostgreSQL too.
    let oid = match type_of_oid(i64::from(oid)) {
        Some((known, _)) if !matches!(known.name, "unknown" | "record" | "anyarray") => oid,
        _ => TEXT,
    };
    let length = match type_of_oid(i64::from(oid)) {
        Some((known, false)) => i16::try_from(known.length).unwrap_or(VARYING),
        _ => VARYING,
    };
    let modifier = match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => (i32::from(*precision) << 16 | i32::from(*scale) & 0x7ff) + 4,
        _ => -1,
    };
    WireType { oid, length, modifier }
}

/// Whether values are records, or have some within.
pub(super) fn has_records(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => has_records(field.data_type()),
        DataType::Dictionary(_, values) => has_records(values),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field, TimeUnit};

    #[test]
    fn types_are_those_that_clients_know() {
        let records = DataType::Struct(vec![Field::new("a", DataType::Int32, true)].into());
        let cases = [
            (DataType::Boolean, 16, 1),
            (DataType::Int8, 21, 2),
            (DataType::UInt16, 23, 4),
            (DataType::UInt32, 20, 8),
            (DataType::Utf8View, 25, -1),
            (DataType::Null, 25, -1),
            (records.clone(), 25, -1),
            (DataType::new_list(records, true), 25, -1),
            (DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), 1184, 8),
            (DataType::new_list(DataType::new_list(DataType::Utf8View, true), true), 1009, -1),
        ];
        for (data_type, oid, length) in cases {
            assert_eq!(wire_type(&data_type), WireType { oid, length, modifier: -1 }, "{data_type}");
        }
    }
}
