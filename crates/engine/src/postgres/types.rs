//! PostgreSQL's types: their numbers and names, and which of ours they are.

use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use gingham_storage::LogicalType;

/// Where a field's metadata has the number of the type that clients are told, in the place of the one that its values have anyhow.
pub(crate) const TYPE_KEY: &str = "gingham.postgres_type";

/// A type as PostgreSQL's catalog has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PostgresType {
    pub(crate) oid: i64,
    /// `pg_type.typname`.
    pub(crate) name: &'static str,
    /// Bytes of a value; −1 where they differ.
    pub(crate) length: i64,
    /// `pg_type.typcategory`.
    pub(crate) category: &'static str,
    /// The type of its arrays; 0 where there is none.
    pub(crate) array: i64,
    /// What `format_type` says.
    pub(crate) shown: &'static str,
}

const fn own(
    oid: i64,
    name: &'static str,
    length: i64,
    category: &'static str,
    array: i64,
    shown: &'static str,
) -> PostgresType {
    PostgresType { oid, name, length, category, array, shown }
}

/// The types that there are here, and those that PostgreSQL's catalog and functions speak of. Their arrays are types, too.
pub(crate) const TYPES: &[PostgresType] = &[
    own(16, "bool", 1, "B", 1000, "boolean"),
    own(17, "bytea", -1, "U", 1001, "bytea"),
    own(18, "char", 1, "Z", 1002, "\"char\""),
    own(19, "name", 64, "S", 1003, "name"),
    own(20, "int8", 8, "N", 1016, "bigint"),
    own(21, "int2", 2, "N", 1005, "smallint"),
    own(22, "int2vector", -1, "A", 1006, "int2vector"),
    own(23, "int4", 4, "N", 1007, "integer"),
    own(24, "regproc", 4, "N", 1008, "regproc"),
    own(25, "text", -1, "S", 1009, "text"),
    own(26, "oid", 4, "N", 1028, "oid"),
    own(28, "xid", 4, "U", 1011, "xid"),
    own(30, "oidvector", -1, "A", 1013, "oidvector"),
    own(700, "float4", 4, "N", 1021, "real"),
    own(701, "float8", 8, "N", 1022, "double precision"),
    own(705, "unknown", -2, "X", 0, "unknown"),
    own(1042, "bpchar", -1, "S", 1014, "character"),
    own(1043, "varchar", -1, "S", 1015, "character varying"),
    own(1082, "date", 4, "D", 1182, "date"),
    own(1083, "time", 8, "D", 1183, "time without time zone"),
    own(1114, "timestamp", 8, "D", 1115, "timestamp without time zone"),
    own(1184, "timestamptz", 8, "D", 1185, "timestamp with time zone"),
    own(1186, "interval", 16, "T", 1187, "interval"),
    own(1700, "numeric", -1, "N", 1231, "numeric"),
    own(2202, "regprocedure", 4, "N", 2207, "regprocedure"),
    own(2205, "regclass", 4, "N", 2210, "regclass"),
    own(2206, "regtype", 4, "N", 2211, "regtype"),
    own(2249, "record", -1, "P", 2287, "record"),
    own(2275, "cstring", -2, "P", 1263, "cstring"),
    own(2277, "anyarray", -1, "P", 0, "anyarray"),
    own(2278, "void", 4, "P", 0, "void"),
    own(4089, "regnamespace", 4, "N", 4090, "regnamespace"),
    own(4096, "regrole", 4, "N", 4097, "regrole"),
];

/// The type of a number, and whether it is that of arrays of it.
pub(crate) fn type_of_oid(oid: i64) -> Option<(&'static PostgresType, bool)> {
    if oid == 0 {
        return None;
    }
    let found = TYPES.iter().find(|known| known.oid == oid || known.array == oid)?;
    Some((found, found.oid != oid))
}

/// The number of the type that a text names, as `regtype` reads it: `int4`, `integer`, `_int4`, `text[]`, `timestamp with time
/// zone`, `varchar(3)`.
pub(crate) fn type_of_name(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let text = text.strip_prefix("pg_catalog.").unwrap_or(&text);
    if let Some(inner) = text.strip_suffix("[]") {
        let (known, is_array) = type_of_oid(type_of_name(inner)?)?;
        return Some(if is_array { known.array.max(known.oid) } else { known.array }).filter(|oid| *oid != 0);
    }
    if let Some(inner) = text.strip_prefix('_') {
        return TYPES.iter().find(|known| known.name == inner && known.array != 0).map(|known| known.array);
    }
    if text == "\"char\"" {
        return Some(18);
    }
    let plain = match (text.find('('), text.find(')')) {
        (Some(open), Some(close)) if open < close => format!("{}{}", text[..open].trim_end(), &text[close + 1..]),
        _ => text.to_owned(),
    };
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = match plain.as_str() {
        "char" => "bpchar",
        "int" => "int4",
        "decimal" | "dec" => "numeric",
        "float" => "float8",
        "time" => "time",
        "timestamp" => "timestamp",
        "string" => "text",
        other => other,
    };
    let found = TYPES.iter().find(|known| known.name == name && name != "char" || known.shown == name);
    found.map(|known| known.oid)
}

/// What PostgreSQL's `format_type` gives for a type and its modifier.
pub(crate) fn format_type(oid: i64, modifier: Option<i64>) -> String {
    let Some((known, is_array)) = type_of_oid(oid) else {
        return if oid == 0 { "-" } else { "???" }.to_owned();
    };
    let modifier = modifier.filter(|modifier| *modifier >= 0);
    let own = match (known.name, modifier) {
        ("bpchar", None) => "character".to_owned(),
        // Without its length a CHAR would be one of one character.
        ("bpchar", Some(own)) if own < 4 => "bpchar".to_owned(),
        ("bpchar" | "varchar", Some(own)) if own >= 4 => format!("{}({})", known.shown, own - 4),
        ("numeric", Some(own)) if own >= 4 => {
            let own = own - 4;
            format!("numeric({},{})", own >> 16 & 0xffff, own & 0x7ff)
        }
        ("time" | "timestamp" | "timestamptz", Some(digits)) => match known.shown.split_once(' ') {
            Some((first, rest)) => format!("{first}({digits}) {rest}"),
            None => known.shown.to_owned(),
        },
        _ => known.shown.to_owned(),
    };
    if is_array { format!("{own}[]") } else { own }
}

/// The number of the type that values of Arrow's type have in PostgreSQL.
pub(crate) fn of_arrow(data_type: &DataType) -> i64 {
    match data_type {
        DataType::Boolean => 16,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => 17,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => 21,
        DataType::UInt16 | DataType::Int32 => 23,
        DataType::UInt32 | DataType::Int64 => 20,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => 1700,
        DataType::Float16 | DataType::Float32 => 700,
        DataType::Float64 => 701,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 25,
        DataType::Date32 | DataType::Date64 => 1082,
        DataType::Time32(_) | DataType::Time64(_) => 1083,
        DataType::Timestamp(_, None) => 1114,
        DataType::Timestamp(_, Some(_)) => 1184,
        DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano)
        | DataType::Duration(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond) => {
            1186
        }
        DataType::Dictionary(_, values) => of_arrow(values),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field) => {
            let inner = of_arrow(field.data_type());
            match type_of_oid(inner) {
                // Arrays of arrays are of one type in PostgreSQL.
                Some((known, true)) => known.array,
                Some((known, false)) if known.array != 0 => known.array,
                _ => 2277,
            }
        }
        DataType::Null => 705,
        _ => 2249,
    }
}

/// The number of the type of a table's column, and its modifier.
pub(crate) fn of_column(logical_type: &LogicalType) -> (i64, i64) {
    let modifier = match logical_type {
        LogicalType::Decimal { precision, scale } => (i64::from(*precision) << 16 | i64::from(*scale) & 0x7ff) + 4,
        other => other.character_limit().map_or(-1, |limit| i64::from(limit) + 4),
    };
    let oid = if logical_type.fixed_length().is_some() {
        1042
    } else if logical_type.is_string() {
        1043
    } else {
        of_arrow(&logical_type.to_arrow())
    };
    (oid, modifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_as_postgresql_does() {
        let cases = [
            ("int4", Some(23)),
            ("INTEGER", Some(23)),
            ("pg_catalog.text", Some(25)),
            ("_text", Some(1009)),
            ("text[]", Some(1009)),
            ("timestamp with time zone", Some(1184)),
            ("timestamp(3) with time zone", Some(1184)),
            ("varchar(20)", Some(1043)),
            ("numeric(10, 2)", Some(1700)),
            ("char", Some(1042)),
            ("\"char\"", Some(18)),
            ("hstore", None),
        ];
        for (text, expected) in cases {
            assert_eq!(type_of_name(text), expected, "{text}");
        }
        let shown = [
            (23, None, "integer"),
            (1043, Some(24), "character varying(20)"),
            (1042, Some(7), "character(3)"),
            (1700, Some((10 << 16 | 2) + 4), "numeric(10,2)"),
            (1184, Some(3), "timestamp(3) with time zone"),
            (1009, Some(-1), "text[]"),
            (0, None, "-"),
            (99_999, None, "???"),
        ];
        for (oid, modifier, expected) in shown {
            assert_eq!(format_type(oid, modifier), expected);
        }
    }

    #[test]
    fn numbers_are_those_of_one_type() {
        for (at, known) in TYPES.iter().enumerate() {
            let same = |other: &PostgresType| other.oid == known.oid || known.array != 0 && other.array == known.array;
            assert!(!TYPES[at + 1..].iter().any(same), "{}", known.name);
        }
        assert_eq!(of_arrow(&DataType::new_list(DataType::new_list(DataType::Int64, true), true)), 1016);
        assert_eq!(of_column(&LogicalType::Varchar(Some(20))), (1043, 24));
    }
}
