//! Ages as people write them.

use crate::{Error, Result};
use gingham_storage::SqlState;
use std::time::Duration;

/// The time that a text says: `90s`, `15m`, `24h`, `7d`; a number alone is seconds.
///
/// # Errors
///
/// It says none.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(gingham::age("24h")?, Duration::from_secs(86_400));
/// assert_eq!(gingham::age("90")?, Duration::from_secs(90));
/// assert!(gingham::age("soon").is_err());
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn age(text: &str) -> Result<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit: Option<u64> = match text[digits..].trim() {
        "" | "s" => Some(1),
        "m" | "min" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        _ => None,
    };
    let seconds = text[..digits].parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Error::invalid(SqlState::InvalidParameterValue, format!("'{text}' is no time; write 90s, 15m, 24h or 7d"))
    })
}
