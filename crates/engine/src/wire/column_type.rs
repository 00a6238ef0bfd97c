//! The type that a column has for a client of PostgreSQL.

use crate::postgres::{TYPE_KEY, of_arrow, type_of_oid};
use arrow::datatypes::{DataType, Field};

/// The number of `int2vector`.
pub(super) const INT2VECTOR: u32 = 22;
/// The number of `oidvector`.
pub(super) const OIDVECTOR: u32 = 30;
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

/// The type that a column has for a client: that of its values, unless its field tells another, as those of PostgreSQL's catalog do.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let schema = connection.query("SELECT oid, relname FROM pg_class")?.schema();
/// let oids: Vec<u32> = schema.fields().iter().map(|field| gingham::wire::field_type(field).oid).collect();
/// assert_eq!(oids, [26, 25]);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn field_type(field: &Field) -> WireType {
    let own = wire_type(field.data_type());
    let Some(oid) = told(field) else { return own };
    let length = match type_of_oid(oid.into()) {
        Some((known, false)) => i16::try_from(known.length).unwrap_or(VARYING),
        _ => VARYING,
    };
    WireType { oid, length, modifier: -1 }
}

/// The number of the type that a field tells, where its values can be given as such.
pub(super) fn told(field: &Field) -> Option<u32> {
    let oid = field.metadata().get(TYPE_KEY)?.parse().ok()?;
    let fits = match element_of(oid) {
        Some(element) => {
            matches!(field.data_type(), DataType::List(own) if is_told_as(own.data_type(), element))
        }
        None => is_told_as(field.data_type(), oid),
    };
    fits.then_some(oid)
}

/// Whether values of Arrow's type can be given as those of a type of PostgreSQL.
fn is_told_as(data_type: &DataType, oid: u32) -> bool {
    match oid {
        21 | 23 | 26 | 28 => *data_type == DataType::Int64,
        700 => *data_type == DataType::Float64,
        _ => false,
    }
}

/// The number of the type of the elements of arrays, and of vectors.
pub(super) fn element_of(oid: u32) -> Option<u32> {
    match oid {
        INT2VECTOR => Some(21),
        OIDVECTOR => Some(26),
        _ => type_of_oid(oid.into()).filter(|(_, is_array)| *is_array).and_then(|(own, _)| u32::try_from(own.oid).ok()),
    }
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
    use arrow::datatypes::TimeUnit;

    /// What clients are told of the columns of a query.
    fn told_of(sql: &str) -> Vec<u32> {
        let connection = crate::Database::in_memory().unwrap().connect();
        let rows = connection.query(sql).unwrap();
        let told: Vec<u32> = rows.schema().fields().iter().map(|field| field_type(field).oid).collect();
        let kept = connection.prepare(sql).unwrap().schema().unwrap();
        assert_eq!(told, kept.fields().iter().map(|field| field_type(field).oid).collect::<Vec<_>>(), "{sql}");
        rows.collect_batches().unwrap();
        told
    }

    #[test]
    fn types_of_the_catalog_outlast_what_is_made_of_its_columns() {
        let cases: &[(&str, &[u32])] = &[
            ("SELECT oid, typlen, typname FROM pg_type", &[26, 21, 25]),
            ("SELECT array_agg(oid), max(oid), count(oid), array_agg(typlen) FROM pg_type", &[1028, 26, 20, 1005]),
            (
                "SELECT CASE WHEN typlen > 0 THEN oid ELSE NULL END, CASE WHEN typlen > 0 THEN oid ELSE oid + 1 END FROM pg_type",
                &[26, 20],
            ),
            ("SELECT CASE WHEN true THEN (SELECT array_agg(t.oid ORDER BY t.oid) FROM pg_type t) END AS a", &[1028]),
            (
                "WITH RECURSIVE r(o, d) AS (SELECT oid, 1 FROM pg_type WHERE oid = 23 UNION ALL
              SELECT t.oid, r.d + 1 FROM pg_type t, r WHERE r.d < 3 AND t.oid = r.o) SELECT DISTINCT * FROM r",
                &[26, 20],
            ),
            (
                "WITH RECURSIVE r(l) AS (SELECT array_agg(oid) FROM pg_type UNION ALL SELECT l FROM r WHERE false)
                 SELECT * FROM r",
                &[1028],
            ),
            ("SELECT oid FROM pg_type UNION SELECT oid FROM pg_class", &[26]),
            ("SELECT a.l[1], oid + 1 FROM (SELECT array_agg(oid) AS l FROM pg_type) a, pg_class", &[26, 20]),
            (
                "SELECT ARRAY(SELECT oid FROM pg_type), coalesce(oid, NULL), lag(oid) OVER () FROM pg_class",
                &[1028, 26, 26],
            ),
        ];
        for (sql, expected) in cases {
            assert_eq!(told_of(sql), *expected, "{sql}");
        }
    }

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
