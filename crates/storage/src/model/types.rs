//! Column types: what SQL calls them and all of Arrow's, the Arrow type they are handed over as, and the integers they are ordered by.

use crate::model::quoted::quoted_name;
use crate::{Error, Result};
use arrow::datatypes::{DataType, Field, TimeUnit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a column's values.
///
/// Every type but the floats and the byte strings is stored as an integer that orders as its values do: booleans as
/// 0 and 1, decimals unscaled, dates as days and times as units since midnight or 1970.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LogicalType {
    /// BOOLEAN.
    Boolean,
    /// TINYINT, SMALLINT, INTEGER, BIGINT: signed, of 8, 16, 32 or 64 bits.
    Int(u8),
    /// The unsigned ones, of 8, 16, 32 or 64 bits.
    UInt(u8),
    /// DECIMAL(precision, scale), precision at most 38.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point (may be negative).
        scale: i8,
    },
    /// REAL.
    Float32,
    /// DOUBLE.
    Float64,
    /// DATE, days since 1970-01-01.
    Date,
    /// TIME of day, in the unit.
    Time(Unit),
    /// TIMESTAMP, since 1970-01-01 in the unit; with a zone when one is named.
    Timestamp(Unit, Option<String>),
    /// CHAR(n) of formats before 10: at most n characters, with the blanks at the end that it was given.
    #[serde(rename = "Char")]
    UntrimmedChar(u32),
    /// VARCHAR or TEXT; with a limit, at most that many characters.
    Varchar(Option<u32>),
    /// BINARY.
    Binary,
    /// CHAR(n): at most n characters, without blanks at the end.
    #[serde(rename = "Character")]
    Char(u32),
}

/// Resolution of a time or a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Whole seconds.
    Second,
    /// Thousandths.
    Millisecond,
    /// Millionths.
    Microsecond,
    /// Billionths.
    Nanosecond,
}

impl From<TimeUnit> for Unit {
    fn from(unit: TimeUnit) -> Self {
        match unit {
            TimeUnit::Second => Self::Second,
            TimeUnit::Millisecond => Self::Millisecond,
            TimeUnit::Microsecond => Self::Microsecond,
            TimeUnit::Nanosecond => Self::Nanosecond,
        }
    }
}

impl From<Unit> for TimeUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Second => Self::Second,
            Unit::Millisecond => Self::Millisecond,
            Unit::Microsecond => Self::Microsecond,
            Unit::Nanosecond => Self::Nanosecond,
        }
    }
}

/// How a type's values are kept before encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueClass {
    /// An integer that orders as the values do.
    Integer,
    /// A float, ordered by IEEE 754's total order as Arrow compares.
    Float,
    /// A byte string, ordered bytewise.
    Bytes,
}

impl LogicalType {
    /// The type for an Arrow type. Errors name `column` and the type.
    pub fn from_arrow(column: &str, data_type: &DataType) -> Result<Self> {
        Ok(match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Int8 => Self::Int(8),
            DataType::Int16 => Self::Int(16),
            DataType::Int32 => Self::Int(32),
            DataType::Int64 => Self::Int(64),
            DataType::UInt8 => Self::UInt(8),
            DataType::UInt16 => Self::UInt(16),
            DataType::UInt32 => Self::UInt(32),
            DataType::UInt64 => Self::UInt(64),
            DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Date32 => Self::Date,
            DataType::Time32(unit) | DataType::Time64(unit) => Self::Time((*unit).into()),
            DataType::Timestamp(unit, zone) => {
                Self::Timestamp((*unit).into(), zone.as_ref().map(|zone| zone.to_string()))
            }
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => Self::Decimal { precision: *precision, scale: *scale },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Varchar(None),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Binary
            }
            DataType::Dictionary(_, values) => return Self::from_arrow(column, values),
            other => {
                return Err(Error::Unsupported(format!(
                    "column '{column}' has type {}, which a table can't store; \
                     cast it to a number, a date, a string or BINARY",
                    type_name(other)
                )));
            }
        })
    }

    /// The Arrow type that scans deliver and writes take.
    pub fn to_arrow(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int(8) => DataType::Int8,
            Self::Int(16) => DataType::Int16,
            Self::Int(32) => DataType::Int32,
            Self::Int(_) => DataType::Int64,
            Self::UInt(8) => DataType::UInt8,
            Self::UInt(16) => DataType::UInt16,
            Self::UInt(32) => DataType::UInt32,
            Self::UInt(_) => DataType::UInt64,
            Self::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Date => DataType::Date32,
            Self::Time(unit @ (Unit::Second | Unit::Millisecond)) => DataType::Time32((*unit).into()),
            Self::Time(unit) => DataType::Time64((*unit).into()),
            Self::Timestamp(unit, zone) => DataType::Timestamp((*unit).into(), zone.as_deref().map(Into::into)),
            Self::Char(_) | Self::UntrimmedChar(_) | Self::Varchar(_) => DataType::Utf8View,
            Self::Binary => DataType::BinaryView,
        }
    }

    /// How the type's values are kept before encoding.
    pub fn class(&self) -> ValueClass {
        match self {
            Self::Float32 | Self::Float64 => ValueClass::Float,
            Self::Char(_) | Self::UntrimmedChar(_) | Self::Varchar(_) | Self::Binary => ValueClass::Bytes,
            _ => ValueClass::Integer,
        }
    }

    /// How many characters a CHAR has with the blanks at its end.
    pub fn fixed_length(&self) -> Option<u32> {
        match self {
            Self::Char(length) | Self::UntrimmedChar(length) => Some(*length),
            _ => None,
        }
    }

    /// Whether values are strings.
    pub fn is_string(&self) -> bool {
        matches!(self, Self::Char(_) | Self::UntrimmedChar(_) | Self::Varchar(_))
    }

    /// Most characters a value may have, where the type limits it.
    pub fn character_limit(&self) -> Option<u32> {
        match self {
            Self::Char(limit) | Self::UntrimmedChar(limit) => Some(*limit),
            Self::Varchar(limit) => *limit,
            _ => None,
        }
    }
}

/// As SQL writes it.
impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => write!(f, "BOOLEAN"),
            Self::Int(8) => write!(f, "TINYINT"),
            Self::Int(16) => write!(f, "SMALLINT"),
            Self::Int(32) => write!(f, "INTEGER"),
            Self::Int(_) => write!(f, "BIGINT"),
            Self::UInt(8) => write!(f, "TINYINT UNSIGNED"),
            Self::UInt(16) => write!(f, "SMALLINT UNSIGNED"),
            Self::UInt(32) => write!(f, "INTEGER UNSIGNED"),
            Self::UInt(_) => write!(f, "BIGINT UNSIGNED"),
            Self::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            Self::Float32 => write!(f, "REAL"),
            Self::Float64 => write!(f, "DOUBLE"),
            Self::Date => write!(f, "DATE"),
            Self::Time(unit) => write!(f, "TIME({})", unit.digits()),
            Self::Timestamp(unit, None) => write!(f, "TIMESTAMP({})", unit.digits()),
            Self::Timestamp(unit, Some(zone)) => write!(f, "TIMESTAMP({}) WITH TIME ZONE '{zone}'", unit.digits()),
            Self::Char(limit) | Self::UntrimmedChar(limit) => write!(f, "CHAR({limit})"),
            Self::Varchar(None) => write!(f, "VARCHAR"),
            Self::Varchar(Some(limit)) => write!(f, "VARCHAR({limit})"),
            Self::Binary => write!(f, "BINARY"),
        }
    }
}

impl Unit {
    /// Digits behind the second.
    pub fn digits(self) -> u8 {
        match self {
            Self::Second => 0,
            Self::Millisecond => 3,
            Self::Microsecond => 6,
            Self::Nanosecond => 9,
        }
    }
}

/// An Arrow type as SQL writes it. What no table can store has a name all the same, since queries give it: an array's is that of
/// its elements with brackets, a structure's names its fields.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "NULL".to_owned(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL".to_owned(),
        DataType::Float16 => "HALF".to_owned(),
        DataType::Date64 => "DATE".to_owned(),
        DataType::Decimal256(digits, scale) => format!("DECIMAL({digits},{scale})"),
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner) => format!("{}[]", type_name(inner.data_type())),
        DataType::FixedSizeList(inner, length) => format!("{}[{length}]", type_name(inner.data_type())),
        DataType::Struct(fields) => format!("STRUCT({})", named(fields.iter().map(AsRef::as_ref))),
        DataType::Union(fields, _) => format!("UNION({})", named(fields.iter().map(|(_, field)| field.as_ref()))),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let types: Vec<String> = fields.iter().map(|field| type_name(field.data_type())).collect();
                format!("MAP({})", types.join(", "))
            }
            other => type_name(other),
        },
        DataType::Dictionary(_, values) => type_name(values),
        DataType::RunEndEncoded(_, values) => type_name(values.data_type()),
        other => LogicalType::from_arrow("", other).map_or_else(|_| other.to_string(), |known| known.to_string()),
    }
}

fn named<'f>(fields: impl Iterator<Item = &'f Field>) -> String {
    let fields = fields.map(|field| format!("{} {}", quoted_name(field.name()), type_name(field.data_type())));
    fields.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Fields, IntervalUnit, UnionFields, UnionMode};
    use std::sync::Arc;

    #[test]
    fn no_type_is_called_as_arrow_does() {
        let list = || Arc::new(Field::new_list_field(DataType::Int64, true));
        let pair =
            || Fields::from(vec![Field::new("a", DataType::Utf8View, true), Field::new("B", DataType::Null, true)]);
        let entries = Arc::new(Field::new("entries", DataType::Struct(pair()), false));
        let union = UnionFields::try_new([0], [Field::new("n", DataType::Int32, true)]).expect("a union");
        let cases = [
            (DataType::Null, "NULL"),
            (DataType::Boolean, "BOOLEAN"),
            (DataType::Int8, "TINYINT"),
            (DataType::UInt64, "BIGINT UNSIGNED"),
            (DataType::Float16, "HALF"),
            (DataType::Float32, "REAL"),
            (DataType::Float64, "DOUBLE"),
            (DataType::Decimal32(5, 2), "DECIMAL(5,2)"),
            (DataType::Decimal128(38, 0), "DECIMAL(38,0)"),
            (DataType::Decimal256(50, 3), "DECIMAL(50,3)"),
            (DataType::Date32, "DATE"),
            (DataType::Date64, "DATE"),
            (DataType::Time32(TimeUnit::Second), "TIME(0)"),
            (DataType::Time64(TimeUnit::Nanosecond), "TIME(9)"),
            (DataType::Timestamp(TimeUnit::Microsecond, None), "TIMESTAMP(6)"),
            (DataType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into())), "TIMESTAMP(3) WITH TIME ZONE '+00:00'"),
            (DataType::Interval(IntervalUnit::YearMonth), "INTERVAL"),
            (DataType::Interval(IntervalUnit::MonthDayNano), "INTERVAL"),
            (DataType::Duration(TimeUnit::Second), "INTERVAL"),
            (DataType::Utf8, "VARCHAR"),
            (DataType::LargeUtf8, "VARCHAR"),
            (DataType::Utf8View, "VARCHAR"),
            (DataType::BinaryView, "BINARY"),
            (DataType::FixedSizeBinary(16), "BINARY"),
            (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), "VARCHAR"),
            (DataType::List(list()), "BIGINT[]"),
            (DataType::LargeListView(list()), "BIGINT[]"),
            (DataType::FixedSizeList(list(), 3), "BIGINT[3]"),
            (DataType::new_list(DataType::new_list(DataType::Utf8, true), true), "VARCHAR[][]"),
            (DataType::Struct(pair()), "STRUCT(a VARCHAR, \"B\" NULL)"),
            (DataType::Map(entries, false), "MAP(VARCHAR, NULL)"),
            (DataType::Union(union, UnionMode::Sparse), "UNION(n INTEGER)"),
            (
                DataType::RunEndEncoded(
                    Arc::new(Field::new("run_ends", DataType::Int32, false)),
                    Arc::new(Field::new("values", DataType::Float64, true)),
                ),
                "DOUBLE",
            ),
        ];
        for (data_type, expected) in cases {
            assert_eq!(type_name(&data_type), expected, "{data_type}");
        }
    }
}
