//! Bytes of tables and of the database, and bytes as people write them.

use crate::functions::catalog::function::{CatalogFunction, CatalogValue, Gives};
use crate::functions::catalog::objects::relation_of;
use crate::postgres::{DATABASE, MeasuredSize};
use crate::{Error, Result};
use gingham_storage::SqlState;

pub(super) fn all() -> Vec<CatalogFunction> {
    vec![
        CatalogFunction::new("pg_table_size", 1..=1, Gives::Integer, |own, names| {
            let found = relation_of(&own[0], names)?;
            Ok(found.and_then(|relation| names.bytes(Some(relation.oid), MeasuredSize::Table)).into())
        }),
        CatalogFunction::new("pg_relation_size", 1..=2, Gives::Integer, |own, names| {
            let found = relation_of(&own[0], names)?;
            let is_main = own.get(1).is_none_or(|fork| fork.text() == "main");
            let bytes = found.and_then(|relation| names.bytes(Some(relation.oid), MeasuredSize::Table));
            Ok(bytes.map(|bytes| if is_main { bytes } else { 0 }).into())
        }),
        CatalogFunction::new("pg_indexes_size", 1..=1, Gives::Integer, |own, names| {
            let found = relation_of(&own[0], names)?;
            Ok(found.and_then(|relation| names.bytes(Some(relation.oid), MeasuredSize::Indexes)).into())
        }),
        CatalogFunction::new("pg_total_relation_size", 1..=1, Gives::Integer, |own, names| {
            let found = relation_of(&own[0], names)?;
            Ok(found.and_then(|relation| names.bytes(Some(relation.oid), MeasuredSize::All)).into())
        }),
        CatalogFunction::new("pg_database_size", 1..=1, Gives::Integer, |own, names| match own[0].integer() {
            Some(DATABASE) => Ok(names.bytes(None, MeasuredSize::All).into()),
            Some(_) => Ok(CatalogValue::Null),
            None if own[0].text() == names.database() => Ok(names.bytes(None, MeasuredSize::All).into()),
            None => {
                let text = format!("database '{}' does not exist; this one is '{}'", own[0].text(), names.database());
                Err(Error::invalid(SqlState::InvalidCatalogName, text))
            }
        }),
        CatalogFunction::new("pg_size_pretty", 1..=1, Gives::Text, |own, _| pretty(&own[0])),
    ]
}

/// A unit: its name, the least number that is written in the next, whether it is rounded, and its power of two.
const UNITS: [(&str, i64, bool, u32); 6] = [
    ("bytes", 10 * 1024, false, 0),
    ("kB", 20 * 1024 - 1, true, 10),
    ("MB", 20 * 1024 - 1, true, 20),
    ("GB", 20 * 1024 - 1, true, 30),
    ("TB", 20 * 1024 - 1, true, 40),
    ("PB", 20 * 1024 - 1, true, 50),
];

fn pretty(value: &CatalogValue) -> Result<CatalogValue> {
    let text = value.text();
    let whole = text.split('.').next().unwrap_or_default().trim();
    let mut size: i64 = whole.parse().map_err(|_| {
        Error::invalid(SqlState::InvalidParameterValue, format!("pg_size_pretty takes a number of bytes, not '{text}'"))
    })?;
    for (at, (name, limit, is_rounded, bits)) in UNITS.iter().enumerate() {
        let next = UNITS.get(at + 1);
        if next.is_none() || size.unsigned_abs() < limit.unsigned_abs() {
            // One bit more is kept than shown, to round half away from zero.
            let shown = if *is_rounded { (size + if size < 0 { 0 } else { 1 }) / 2 } else { size };
            return Ok(CatalogValue::Text(format!("{shown} {name}")));
        }
        if let Some((.., next_rounded, next_bits)) = next {
            let shift = next_bits - bits - u32::from(*next_rounded) + u32::from(*is_rounded);
            size /= 1 << shift;
        }
    }
    Ok(CatalogValue::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_postgresql_does() {
        let cases = [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (1_048_576, "1024 kB"),
            (20_970_000, "20 MB"),
            (123_456_789_012, "115 GB"),
            (-10_240, "-10 kB"),
            (i64::MAX, "8192 PB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(pretty(&CatalogValue::Integer(bytes)).unwrap(), CatalogValue::Text(expected.into()), "{bytes}");
        }
    }
}
