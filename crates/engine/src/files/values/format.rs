//! How values are written: NULL, numbers, dates and timestamps.

use crate::files::options::ReadOptions;
use crate::{Error, Result};
use chrono::format::{Item, StrftimeItems};
use gingham_storage::SqlState;
use std::borrow::Cow;

/// How the text of fields is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextFormat {
    /// Texts that stand for NULL, besides an empty field.
    pub(crate) nulls: Vec<Vec<u8>>,
    /// Format of dates; otherwise ISO.
    pub(crate) dates: Option<DateFormat>,
    /// Format of timestamps; otherwise ISO.
    pub(crate) timestamps: Option<DateFormat>,
    pub(crate) numbers: NumberFormat,
}

impl TextFormat {
    /// What the options say.
    pub(crate) fn new(options: &ReadOptions) -> Result<Self> {
        let format = |text: &Option<String>| text.as_deref().map(DateFormat::new).transpose();
        let (dates, mut timestamps) = (format(&options.date_format)?, format(&options.timestamp_format)?);
        // One with hours is of timestamps, whatever it was given for.
        if timestamps.is_none() {
            timestamps = dates.clone();
        }
        let numbers = NumberFormat { decimal: options.decimal_separator.unwrap_or(b'.'), thousands: options.thousands };
        Ok(Self {
            nulls: options.nulls.iter().map(|text| text.as_bytes().to_vec()).collect(),
            dates,
            timestamps,
            numbers,
        })
    }

    /// Whether a field is NULL for a column that takes text, or for another one.
    #[inline]
    pub(crate) fn is_null(&self, bytes: &[u8], is_quoted: bool, text_column: bool) -> bool {
        let blank = if text_column { bytes.is_empty() } else { bytes.trim_ascii().is_empty() };
        // For text, quotes say that the value is meant as it stands.
        (!is_quoted || !text_column) && (blank || !self.nulls.is_empty() && self.is_null_text(bytes))
    }

    fn is_null_text(&self, bytes: &[u8]) -> bool {
        self.nulls.iter().any(|null| null == bytes)
    }
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberFormat {
    /// What stands before the fraction.
    pub(crate) decimal: u8,
    /// What stands between thousands.
    pub(crate) thousands: Option<u8>,
}

impl Default for NumberFormat {
    fn default() -> Self {
        Self { decimal: b'.', thousands: None }
    }
}

impl NumberFormat {
    /// `7,5` and `1.234,5`.
    pub(crate) const COMMA: Self = Self { decimal: b',', thousands: Some(b'.') };

    /// A number as SQL writes it; `None` for what is none in this format.
    #[inline]
    pub(crate) fn plain(self, text: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self == Self::default() {
            true => Some(Cow::Borrowed(text)),
            false => self.rewritten(text),
        }
    }

    fn rewritten(self, text: &[u8]) -> Option<Cow<'_, [u8]>> {
        let whole = text.iter().position(|byte| *byte == self.decimal).unwrap_or(text.len());
        let mut plain = Vec::with_capacity(text.len());
        match self.thousands {
            Some(thousands) if text[..whole].contains(&thousands) => {
                let signed = text.first().is_some_and(|sign| matches!(sign, b'-' | b'+'));
                plain.extend_from_slice(&text[..usize::from(signed)]);
                for (number, group) in text[usize::from(signed)..whole].split(|byte| *byte == thousands).enumerate() {
                    let is_group = group.iter().all(u8::is_ascii_digit)
                        && if number == 0 { (1..=3).contains(&group.len()) } else { group.len() == 3 };
                    if !is_group {
                        return None;
                    }
                    plain.extend_from_slice(group);
                }
            }
            _ => plain.extend_from_slice(&text[..whole]),
        }
        if whole < text.len() {
            plain.push(b'.');
            plain.extend_from_slice(&text[whole + 1..]);
        }
        // A point that stands for neither is in no number.
        let points = memchr::memchr_iter(b'.', &plain).count();
        (points <= usize::from(whole < text.len())).then_some(Cow::Owned(plain))
    }
}

/// A strftime format of dates or timestamps.
#[derive(Debug, Clone)]
pub(crate) struct DateFormat {
    text: String,
    /// It has hours, so that it is one of timestamps.
    pub(crate) has_time: bool,
}

impl DateFormat {
    /// Checks the format.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let items: Vec<Item<'_>> = StrftimeItems::new(text).collect();
        if items.contains(&Item::Error) || !text.contains('%') {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "'{text}' is not a date format; write it as strftime does, such as %d.%m.%Y or %Y-%m-%d %H:%M:%S"
                ),
            ));
        }
        let has_time =
            ["%H", "%I", "%k", "%l", "%T", "%R", "%s", "%c", "%r", "%X", "%+"].iter().any(|item| text.contains(item));
        let format = Self { text: text.to_owned(), has_time };
        // A format that can't read what it writes would find no value of any file valid.
        let written = chrono::DateTime::UNIX_EPOCH.format(text).to_string();
        if format.timestamp(&written).is_none() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "the date format '{text}' does not say a whole date; it needs year, month and day, such as %d.%m.%Y, and \
                 with a time of day hour and minute, such as %Y-%m-%d %H:%M"
                ),
            ));
        }
        Ok(format)
    }

    /// Days since 1970.
    pub(crate) fn date(&self, text: &str) -> Option<i32> {
        let date = match self.has_time {
            true => chrono::NaiveDateTime::parse_from_str(text, &self.text).ok()?.date(),
            false => chrono::NaiveDate::parse_from_str(text, &self.text).ok()?,
        };
        i32::try_from(date.signed_duration_since(chrono::NaiveDate::default()).num_days()).ok()
    }

    /// Microseconds since 1970.
    pub(crate) fn timestamp(&self, text: &str) -> Option<i64> {
        match self.has_time {
            true => Some(chrono::NaiveDateTime::parse_from_str(text, &self.text).ok()?.and_utc().timestamp_micros()),
            false => i64::from(self.date(text)?).checked_mul(86_400_000_000),
        }
    }

    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok_and(|text| self.timestamp(text).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_other_countries() {
        let plain = |format: NumberFormat, text: &str| {
            format.plain(text.as_bytes()).map(|plain| String::from_utf8_lossy(&plain).into_owned())
        };
        let english = NumberFormat { decimal: b'.', thousands: Some(b',') };
        for (format, text, expected) in [
            (NumberFormat::COMMA, "7,5", Some("7.5")),
            (NumberFormat::COMMA, "-1.234.567,89", Some("-1234567.89")),
            (NumberFormat::COMMA, "12", Some("12")),
            (NumberFormat::COMMA, "1.5", None),
            (NumberFormat::COMMA, "1.234", Some("1234")),
            (NumberFormat::COMMA, "1234.567", None),
            (english, "1,234.5", Some("1234.5")),
            (english, "12,34.5", None),
            (english, "1,2345", None),
            (english, "+1,234", Some("+1234")),
            (NumberFormat { decimal: b',', thousands: None }, "1.5", None),
            (NumberFormat { decimal: b',', thousands: Some(b' ') }, "1 234,5", Some("1234.5")),
            (NumberFormat::default(), "1.5", Some("1.5")),
        ] {
            assert_eq!(plain(format, text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn formats_say_whole_dates() {
        let format = DateFormat::new("%d/%m/%Y %H:%M").expect("a format");
        assert_eq!(format.timestamp("01/01/1970 00:01"), Some(60_000_000));
        for whole in ["%Y-%m-%d %H:%M:%S", "%Y-%j", "%d %b %y", "%s", "%Y-%m-%dT%H:%M:%S%z", "%m/%d/%Y %I:%M %p"] {
            assert!(DateFormat::new(whole).is_ok(), "{whole}");
        }
        for wrong in ["DD.MM.YYYY", "%d.%m", "%Y-%m", "%H:%M", "%Y-%m-%d %I:%M"] {
            assert!(DateFormat::new(wrong).is_err(), "{wrong}");
        }
    }
}
