//! Values of settings as they are written, and what they mean. An error names the setting, the value and the choices.

use crate::settings::choices::{ColumnNames, Execution, Machine};
use crate::{Error, Result};
use gingham_execution::Mode;
use gingham_kernels::Isa;
use gingham_storage::SqlState;

pub(super) fn parse_threads(value: &str) -> Result<usize> {
    match value.trim().parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.threads is a number from 1 to 1024, not '{value}'"),
        )),
    }
}

pub(super) fn parse_execution(value: &str) -> Result<Execution> {
    match value.trim().to_ascii_lowercase().as_str() {
        "auto" => Ok(Execution::Compiled(Mode::Auto)),
        "fused" => Ok(Execution::Compiled(Mode::Fused)),
        "staged" => Ok(Execution::Compiled(Mode::Staged)),
        "vectorized" => Ok(Execution::Compiled(Mode::Vectorized)),
        "interpreted" => Ok(Execution::Compiled(Mode::Interpreted)),
        "datafusion" => Ok(Execution::DataFusion),
        _ => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.execution is auto, fused, staged, vectorized, interpreted or datafusion, not '{value}'"),
        )),
    }
}

/// Whether a text is true or false: a word, as much of it as tells which, or a number, as PostgreSQL reads it.
pub(crate) fn switch(value: &str) -> Option<bool> {
    let value = value.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    match () {
        () if value == "1" || begins("true", 1) || begins("yes", 1) || begins("on", 2) => Some(true),
        () if value == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        () => None,
    }
}

pub(super) fn parse_column_names(value: &str) -> Result<ColumnNames> {
    match value.trim().to_ascii_lowercase().as_str() {
        "text" => Ok(ColumnNames::Text),
        "postgres" => Ok(ColumnNames::Postgres),
        _ => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.column_names is text or postgres, not '{value}'"),
        )),
    }
}

pub(super) fn parse_switch(name: &str, value: &str) -> Result<bool> {
    match switch(value) {
        Some(on) => Ok(on),
        None => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.{name} is true or false, not '{value}'"),
        )),
    }
}

pub(super) fn parse_machine(value: &str) -> Result<Machine> {
    match value.trim().to_ascii_lowercase().as_str() {
        "here" => Ok(Machine::Here),
        "reference" => Ok(Machine::Reference),
        _ => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.machine is here or reference, not '{value}'"),
        )),
    }
}

pub(super) fn parse_durability(value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "full" => Ok(false),
        "relaxed" => Ok(true),
        _ => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.durability is full or relaxed, not '{value}'"),
        )),
    }
}

pub(super) fn parse_explain_width(value: &str) -> Result<usize> {
    let wrong = || {
        let text = format!("gingham.explain_width is a number of columns from 40 to 1000, not '{value}'");
        Error::invalid(SqlState::InvalidParameterValue, text)
    };
    let width = value.trim().parse().map_err(|_| wrong())?;
    if (40..=1000).contains(&width) { Ok(width) } else { Err(wrong()) }
}

pub(super) fn parse_show_code(value: &str) -> Result<Option<usize>> {
    match value.trim() {
        off if off.eq_ignore_ascii_case("off") => Ok(None),
        number => number.parse().map(Some).map_err(|_| {
            Error::invalid(
                SqlState::InvalidParameterValue,
                format!("gingham.show_code is the number of a pipeline, or off, not '{value}'"),
            )
        }),
    }
}

/// Bytes of a read past the caches, at least and at most.
const IO_UNITS: std::ops::RangeInclusive<usize> = 4096..=16 << 20;
/// Reads past the caches ahead, at most.
const MOST_READS: usize = 1024;

/// Whether scans read past the caches.
pub(super) fn parse_io(value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "cached" => Ok(false),
        "direct" => Ok(true),
        _ => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.io is cached or direct, not '{value}'"),
        )),
    }
}

/// Bytes of a read past the caches.
pub(super) fn parse_io_unit(value: &str) -> Result<usize> {
    let unit = bytes_of(value).filter(|bytes| IO_UNITS.contains(bytes));
    unit.ok_or_else(|| {
        Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.io_unit is 4096 bytes to 16 MiB, such as '128KiB', not '{value}'"),
        )
    })
}

/// Reads past the caches ahead.
pub(super) fn parse_io_depth(value: &str) -> Result<usize> {
    let depth = value.trim().parse().ok().filter(|depth| (1..=MOST_READS).contains(depth));
    depth.ok_or_else(|| {
        Error::invalid(SqlState::InvalidParameterValue, format!("gingham.io_depth is 1 to {MOST_READS}, not '{value}'"))
    })
}

pub(super) fn parse_isa(value: &str) -> Result<Option<Isa>> {
    let isa = match value.trim().to_ascii_lowercase().as_str() {
        "auto" => return Ok(None),
        "scalar" => Isa::Scalar,
        "avx2" => Isa::Avx2,
        "avx512" => Isa::Avx512,
        _ => {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("gingham.isa is auto, scalar, avx2 or avx512, not '{value}'"),
            ));
        }
    };
    if isa > Isa::best() {
        let available: Vec<_> = Isa::available().map(Isa::name).collect();
        let list = available.join(", ");
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("this machine has no {}; gingham.isa may be auto, {list}", isa.name()),
        ));
    }
    Ok(Some(isa))
}

/// A number of bytes with an optional unit: `65536`, `128KiB`, `1.5 GB`.
fn bytes_of(value: &str) -> Option<usize> {
    let text = value.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    match number.parse::<usize>() {
        Ok(whole) => whole.checked_mul(1 << shift),
        Err(_) => Some((number.parse::<f64>().ok()? * (1u64 << shift) as f64) as usize),
    }
}

/// Records of a delta: a number, or as many as suit.
pub(crate) fn parse_delta_rows(value: &str) -> Result<Option<u64>> {
    if value.eq_ignore_ascii_case("default") {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|_| {
        Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.lab_delta_rows is a number of records, or default, not '{value}'"),
        )
    })
}

/// Bytes of '2GB', '512 MiB', '1.5g' or '1000000'. KB, MB, GB and TB count in 1024s, as do KiB and the others.
pub(crate) fn parse_bytes(value: &str) -> Result<usize> {
    let wrong = || {
        Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "gingham.memory_limit is a number of bytes with an optional unit KB, MB, GB or TB, such as '2GB', not '{value}'"
            ),
        )
    };
    let bytes = bytes_of(value).ok_or_else(wrong)?;
    if bytes < 1 << 20 {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("gingham.memory_limit must be at least 1MB, not '{value}'"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_and_without_units() {
        for (text, bytes) in [("2GB", 2 << 30), ("512 MiB", 512 << 20), ("1.5g", 3 << 29), ("2000000", 2_000_000)] {
            assert_eq!(parse_bytes(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "many", "12 parsecs", "-1GB", "17", "99999999999TB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bad_value_names_the_choices() {
        let error = parse_isa("neon").unwrap_err().to_string();
        assert_eq!(error, "gingham.isa is auto, scalar, avx2 or avx512, not 'neon'");
        assert!(parse_threads("0").unwrap_err().to_string().contains("from 1 to 1024"));
    }
}
