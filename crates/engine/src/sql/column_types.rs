//! Column types as SQL writes them, to the types that a table stores; anything else is refused by column and type.

use crate::sql::dialect::Gingham;
use crate::sql::lengths::characters;
use crate::sql::postgres::mend_type;
use crate::temporal::zones::ZONE;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{BinaryLength, DataType, ExactNumberInfo, TimezoneInfo};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::{LogicalType, SqlState, Unit};

/// Precision and scale of DECIMAL without any, as DataFusion's casts have it.
const PLAIN_DECIMAL: (u8, i8) = (38, 10);
/// Most digits of a DECIMAL.
const MAX_PRECISION: u64 = 38;

/// The type that column `column` has by the name of a type.
pub(crate) fn type_of_text(column: &str, name: &str) -> Result<LogicalType> {
    let wrong = |error: ParserError| {
        let text = format!("'{name}' is not the type of a column ('{column}'): {error}");
        Error::invalid(SqlState::UndefinedObject, text)
    };
    let mut parser = Parser::new(&Gingham).try_with_sql(name).map_err(wrong)?;
    let data_type = parser.parse_data_type().map_err(wrong)?;
    parser.expect_token(&Token::EOF).map_err(wrong)?;
    logical_type(column, &data_type)
}

/// The type that column `column` declared as `data_type` is stored as.
pub(crate) fn logical_type(column: &str, data_type: &DataType) -> Result<LogicalType> {
    use DataType as Sql;
    Ok(match data_type {
        Sql::Bool | Sql::Boolean => LogicalType::Boolean,
        Sql::TinyInt(None) => LogicalType::Int(8),
        Sql::SmallInt(None) | Sql::Int2(None) | Sql::Int16 => LogicalType::Int(16),
        Sql::Int(None) | Sql::Integer(None) | Sql::Int4(None) | Sql::Int32 => LogicalType::Int(32),
        Sql::BigInt(None) | Sql::Int8(None) | Sql::Int64 => LogicalType::Int(64),
        Sql::TinyIntUnsigned(None) | Sql::UTinyInt | Sql::UInt8 => LogicalType::UInt(8),
        Sql::SmallIntUnsigned(None) | Sql::Int2Unsigned(None) | Sql::USmallInt | Sql::UInt16 => LogicalType::UInt(16),
        Sql::IntUnsigned(None) | Sql::IntegerUnsigned(None) | Sql::Int4Unsigned(None) | Sql::UInt32 => {
            LogicalType::UInt(32)
        }
        Sql::BigIntUnsigned(None) | Sql::Int8Unsigned(None) | Sql::UBigInt | Sql::UInt64 => LogicalType::UInt(64),
        Sql::Numeric(info) | Sql::Decimal(info) | Sql::Dec(info) => decimal(column, data_type, info)?,
        Sql::Real | Sql::Float4 | Sql::Float32 => LogicalType::Float32,
        Sql::Double(ExactNumberInfo::None) | Sql::DoublePrecision | Sql::Float8 | Sql::Float64 => LogicalType::Float64,
        Sql::Float(ExactNumberInfo::None) => LogicalType::Float64,
        Sql::Float(ExactNumberInfo::Precision(bits @ 1..=53)) => {
            if *bits <= 24 {
                LogicalType::Float32
            } else {
                LogicalType::Float64
            }
        }
        Sql::Date | Sql::Date32 => LogicalType::Date,
        Sql::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            LogicalType::Time(unit(column, data_type, *digits)?)
        }
        Sql::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            LogicalType::Timestamp(unit(column, data_type, *digits)?, None)
        }
        Sql::Datetime(digits) | Sql::TimestampNtz(digits) => {
            LogicalType::Timestamp(unit(column, data_type, *digits)?, None)
        }
        Sql::Timestamp(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            LogicalType::Timestamp(unit(column, data_type, *digits)?, Some(ZONE.into()))
        }
        Sql::Char(length) | Sql::Character(length) => match length {
            None => LogicalType::Char(1),
            Some(length) => match characters(&format!("column '{column}'"), data_type, length)? {
                Some(limit) => LogicalType::Char(limit),
                None => return Err(refused(column, data_type)),
            },
        },
        Sql::Varchar(length) | Sql::CharVarying(length) | Sql::CharacterVarying(length) | Sql::Nvarchar(length) => {
            match length {
                None => LogicalType::Varchar(None),
                Some(length) => LogicalType::Varchar(characters(&format!("column '{column}'"), data_type, length)?),
            }
        }
        Sql::Text | Sql::String(None) => LogicalType::Varchar(None),
        Sql::Binary(None) | Sql::Blob(None) | Sql::Bytes(None) | Sql::Bytea => LogicalType::Binary,
        Sql::Varbinary(None | Some(BinaryLength::Max)) => LogicalType::Binary,
        Sql::Unspecified => {
            return Err(Error::invalid(SqlState::SyntaxError, format!("column '{column}' has no type")));
        }
        Sql::Custom(..) => {
            let mut own = data_type.clone();
            mend_type(&mut own)?;
            if own == *data_type {
                return Err(refused(column, data_type));
            }
            logical_type(column, &own)?
        }
        _ => return Err(refused(column, data_type)),
    })
}

fn refused(column: &str, data_type: &DataType) -> Error {
    let advice = match data_type {
        DataType::Uuid => "; keep it as VARCHAR or BINARY",
        DataType::JSON | DataType::JSONB => "; keep it as VARCHAR",
        DataType::Interval { .. } => "; keep it as a number of days, seconds or the like",
        DataType::Array(_) | DataType::Struct(..) | DataType::Map(..) | DataType::Tuple(_) | DataType::Nested(_) => {
            "; keep its parts in columns or rows of their own"
        }
        DataType::Binary(Some(_))
        | DataType::Varbinary(Some(_))
        | DataType::Blob(Some(_))
        | DataType::Bytes(Some(_)) => "; BINARY takes no length",
        DataType::TinyInt(Some(_))
        | DataType::SmallInt(Some(_))
        | DataType::Int(Some(_))
        | DataType::Integer(Some(_))
        | DataType::BigInt(Some(_)) => "; integers take no display width",
        DataType::HugeInt | DataType::Int128 => "; use DECIMAL(38,0)",
        _ => {
            "; a table stores BOOLEAN, TINYINT to BIGINT (and UNSIGNED), DECIMAL, REAL, DOUBLE, DATE, TIME, TIMESTAMP, \
             CHAR, VARCHAR and BINARY"
        }
    };
    Error::Unsupported(format!("column '{column}' has type {data_type}, which a table can't store{advice}"))
}

fn decimal(column: &str, data_type: &DataType, info: &ExactNumberInfo) -> Result<LogicalType> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => {
            return Ok(LogicalType::Decimal { precision: PLAIN_DECIMAL.0, scale: PLAIN_DECIMAL.1 });
        }
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    if precision == 0 || precision > MAX_PRECISION {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("column '{column}' has type {data_type}, but the precision must be from 1 to {MAX_PRECISION}"),
        ));
    }
    if scale < 0 || scale > precision as i64 {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("column '{column}' has type {data_type}, but the scale must be from 0 to the precision"),
        ));
    }
    Ok(LogicalType::Decimal { precision: precision as u8, scale: scale as i8 })
}

/// Digits behind the second to a unit; microseconds when none are given.
fn unit(column: &str, data_type: &DataType, digits: Option<u64>) -> Result<Unit> {
    Ok(match digits {
        Some(0) => Unit::Second,
        Some(3) => Unit::Millisecond,
        None | Some(6) => Unit::Microsecond,
        Some(9) => Unit::Nanosecond,
        Some(_) => {
            return Err(Error::Unsupported(format!(
                "column '{column}' has type {data_type}, but the digits behind the second must be 0, 3, 6 or 9"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LogicalType> {
        type_of_text("c", text)
    }

    #[test]
    fn every_type_of_a_table() {
        let cases = [
            ("BOOLEAN", LogicalType::Boolean),
            ("TINYINT", LogicalType::Int(8)),
            ("SMALLINT", LogicalType::Int(16)),
            ("INT", LogicalType::Int(32)),
            ("INTEGER", LogicalType::Int(32)),
            ("BIGINT", LogicalType::Int(64)),
            ("TINYINT UNSIGNED", LogicalType::UInt(8)),
            ("SMALLINT UNSIGNED", LogicalType::UInt(16)),
            ("INT UNSIGNED", LogicalType::UInt(32)),
            ("BIGINT UNSIGNED", LogicalType::UInt(64)),
            ("DECIMAL(15,2)", LogicalType::Decimal { precision: 15, scale: 2 }),
            ("NUMERIC(38)", LogicalType::Decimal { precision: 38, scale: 0 }),
            ("DECIMAL", LogicalType::Decimal { precision: 38, scale: 10 }),
            ("REAL", LogicalType::Float32),
            ("FLOAT", LogicalType::Float64),
            ("FLOAT(24)", LogicalType::Float32),
            ("FLOAT8", LogicalType::Float64),
            ("DOUBLE", LogicalType::Float64),
            ("DOUBLE PRECISION", LogicalType::Float64),
            ("DATE", LogicalType::Date),
            ("TIME", LogicalType::Time(Unit::Microsecond)),
            ("TIMESTAMP", LogicalType::Timestamp(Unit::Microsecond, None)),
            ("TIMESTAMP(0)", LogicalType::Timestamp(Unit::Second, None)),
            ("TIMESTAMP(9)", LogicalType::Timestamp(Unit::Nanosecond, None)),
            ("TIMESTAMP WITH TIME ZONE", LogicalType::Timestamp(Unit::Microsecond, Some(ZONE.into()))),
            ("TIMESTAMPTZ", LogicalType::Timestamp(Unit::Microsecond, Some(ZONE.into()))),
            ("CHAR", LogicalType::Char(1)),
            ("CHAR(10)", LogicalType::Char(10)),
            ("VARCHAR", LogicalType::Varchar(None)),
            ("VARCHAR(20)", LogicalType::Varchar(Some(20))),
            ("TEXT", LogicalType::Varchar(None)),
            ("STRING", LogicalType::Varchar(None)),
            ("BINARY", LogicalType::Binary),
            ("BYTEA", LogicalType::Binary),
            ("BLOB", LogicalType::Binary),
            ("VARBINARY", LogicalType::Binary),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn others_are_refused_by_column_and_type() {
        for text in [
            "UUID",
            "INTERVAL",
            "INT[]",
            "STRUCT<a INT>",
            "JSON",
            "JSONB",
            "HUGEINT",
            "BINARY(3)",
            "INT(11)",
            "TIME WITH TIME ZONE",
            "TIMESTAMP(4)",
            "DECIMAL(39,0)",
            "DECIMAL(5,6)",
            "VARCHAR(0)",
            "VARCHAR(3 OCTETS)",
            "ENUM('a','b')",
            "BIT(3)",
            "POINT",
            "MONEY",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains("column 'c'"), "{text}: {error}");
        }
    }
}
