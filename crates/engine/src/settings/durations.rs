//! Lengths of time in settings: '500 ms', '10 s', '5 min', '1 h', and 0 for no limit.

use crate::{Error, Result};
use gingham_storage::SqlState;
use std::time::Duration;

/// The units, the longest first, with their milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

/// The value of setting `name`; a number without a unit counts milliseconds.
pub(super) fn parse(name: &str, value: &str) -> Result<Option<Duration>> {
    let text = value.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "" => Some(1),
        unit => UNITS.iter().find(|(known, _)| *known == unit).map(|(_, scale)| *scale),
    };
    let milliseconds = number.parse::<u64>().ok().zip(scale).and_then(|(number, scale)| number.checked_mul(scale));
    match milliseconds {
        Some(0) => Ok(None),
        Some(milliseconds) => Ok(Some(Duration::from_millis(milliseconds))),
        None => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "gingham.{name} is a length of time such as '500 ms', '10 s' or '5 min', or 0 for no limit, not '{value}'"
            ),
        )),
    }
}

/// A limit of time as SHOW prints it.
pub(super) fn show(limit: Option<Duration>) -> String {
    let Some(limit) = limit else { return "0".to_owned() };
    let milliseconds = limit.as_millis() as u64;
    let whole = UNITS.iter().find(|(_, scale)| milliseconds.is_multiple_of(*scale));
    whole.map_or_else(|| format!("{milliseconds} ms"), |(unit, scale)| format!("{} {unit}", milliseconds / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_they_are_shown() {
        for (text, milliseconds, shown) in [
            ("250", 250, "250 ms"),
            ("10s", 10_000, "10 s"),
            (" 5 MIN ", 300_000, "5 min"),
            ("120 s", 120_000, "2 min"),
        ] {
            let limit = parse("lock_timeout", text).unwrap();
            assert_eq!(limit, Some(Duration::from_millis(milliseconds)), "{text}");
            assert_eq!(show(limit), shown);
            assert_eq!(parse("lock_timeout", &show(limit)).unwrap(), limit);
        }
        assert_eq!(parse("lock_timeout", "0").unwrap(), None);
        assert_eq!(show(None), "0");
        for text in ["", "soon", "-1 s", "1.5 s", "3 days", "99999999999999999999 h"] {
            let error = parse("lock_timeout", text).unwrap_err().to_string();
            assert!(error.starts_with("gingham.lock_timeout is a length of time"), "{error}");
        }
    }
}
