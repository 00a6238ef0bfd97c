//! Which types the texts of a column allow.
//!
//! Each text allows a set of types; a column allows the intersection. The first of the remaining types, in the order of
//! [`Types::chosen`], is the column's: BOOLEAN, BIGINT, DECIMAL(38,0) for whole numbers beyond BIGINT, DOUBLE, DATE,
//! TIMESTAMP, TIMESTAMP WITH TIME ZONE, else VARCHAR. Numbers written with leading zeros are identifiers and stay text.

use gingham_storage::{LogicalType, SqlState, Unit};

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    const BOOLEAN: Self = Self(1);
    const BIGINT: Self = Self(1 << 1);
    const WIDE: Self = Self(1 << 2);
    const DOUBLE: Self = Self(1 << 3);
    const DATE: Self = Self(1 << 4);
    const TIMESTAMP: Self = Self(1 << 5);
    const ZONED: Self = Self(1 << 6);
    const TEXT: Self = Self(1 << 7);
    /// Every type: what a column of NULLs allows.
    pub(super) const ANY: Self = Self(0xff);

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Types that both allow.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// True when nothing but text is left, so that no further value changes anything.
    pub(super) fn is_text(self) -> bool {
        self == Self::TEXT
    }

    /// True when the column would be VARCHAR.
    pub(super) fn is_text_column(self) -> bool {
        self.is_text() || self == Self::ANY
    }

    /// The type of a column.
    pub(super) fn chosen(self) -> LogicalType {
        if self == Self::ANY {
            return LogicalType::Varchar(None);
        }
        let order = [
            (Self::BOOLEAN, LogicalType::Boolean),
            (Self::BIGINT, LogicalType::Int(64)),
            (Self::WIDE, LogicalType::Decimal { precision: 38, scale: 0 }),
            (Self::DOUBLE, LogicalType::Float64),
            (Self::DATE, LogicalType::Date),
            (Self::TIMESTAMP, LogicalType::Timestamp(Unit::Microsecond, None)),
            (Self::ZONED, LogicalType::Timestamp(Unit::Microsecond, Some("+00:00".to_owned()))),
        ];
        let found = order.into_iter().find(|(types, _)| self.has(*types));
        found.map_or(LogicalType::Varchar(None), |(_, logical_type)| logical_type)
    }

    /// Types that a text (not empty, blanks trimmed) allows. Dates are those of `dates` when it is given, otherwise ISO.
    pub(super) fn of(text: &[u8], dates: Option<&DateFormat>) -> Self {
        let types = match (text.first(), dates) {
            (_, Some(format)) if format.matches(text) => {
                return Self::TEXT.or(if format.has_time { Self::TIMESTAMP } else { Self::DATE.or(Self::TIMESTAMP) });
            }
            (Some(b'0'..=b'9' | b'+' | b'-' | b'.'), None) if !is_infinity(text) => {
                let number = number(text);
                if number == Self::TEXT { date(text) } else { number }
            }
            (Some(b'0'..=b'9' | b'+' | b'-' | b'.'), Some(_)) => number(text),
            (Some(b't' | b'T' | b'f' | b'F'), _)
                if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") =>
            {
                Self::BOOLEAN
            }
            (Some(b'i' | b'I' | b'-'), None) if is_infinity(text) => {
                Self::DOUBLE.or(Self::DATE).or(Self::TIMESTAMP).or(Self::ZONED)
            }
            (Some(b'N' | b'n' | b'i'), _) if matches!(text, b"NaN" | b"nan" | b"inf") => Self::DOUBLE,
            _ => Self::TEXT,
        };
        types.or(Self::TEXT)
    }
}

/// A strftime format of dates or timestamps.
#[derive(Debug, Clone)]
pub(super) struct DateFormat {
    text: String,
    /// It has hours, so that it is one of timestamps.
    pub(super) has_time: bool,
}

impl DateFormat {
    /// Checks the format.
    pub(super) fn new(text: &str) -> crate::Result<Self> {
        use chrono::format::{Item, StrftimeItems};
        let items: Vec<Item<'_>> = StrftimeItems::new(text).collect();
        if items.contains(&Item::Error) || !text.contains('%') {
            return Err(crate::Error::invalid(
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
            return Err(crate::Error::invalid(
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
    pub(super) fn date(&self, text: &str) -> Option<i32> {
        let date = match self.has_time {
            true => chrono::NaiveDateTime::parse_from_str(text, &self.text).ok()?.date(),
            false => chrono::NaiveDate::parse_from_str(text, &self.text).ok()?,
        };
        i32::try_from(date.signed_duration_since(chrono::NaiveDate::default()).num_days()).ok()
    }

    /// Microseconds since 1970.
    pub(super) fn timestamp(&self, text: &str) -> Option<i64> {
        match self.has_time {
            true => Some(chrono::NaiveDateTime::parse_from_str(text, &self.text).ok()?.and_utc().timestamp_micros()),
            false => i64::from(self.date(text)?).checked_mul(86_400_000_000),
        }
    }

    fn matches(&self, text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok_and(|text| self.timestamp(text).is_some())
    }
}

/// Types of a text that may be a number.
fn number(text: &[u8]) -> Types {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let leading_zero = whole > 1 && digits[0] == b'0';
    if leading_zero {
        return Types::TEXT;
    }
    if whole == digits.len() {
        let fits = whole <= 18 || std::str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok());
        return match (whole, fits) {
            (0, _) => Types::TEXT,
            (_, true) => Types::BIGINT.or(Types::WIDE).or(Types::DOUBLE),
            (..=38, false) => Types::WIDE.or(Types::DOUBLE),
            _ if is_double(text) => Types::DOUBLE,
            _ => Types::TEXT,
        };
    }
    let rest = &digits[whole..];
    let shaped = rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if shaped && is_double(text) { Types::DOUBLE } else { Types::TEXT }
}

/// Whether digits are a number that a DOUBLE can hold.
fn is_double(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok_and(f64::is_finite))
}

/// An infinite number, date or timestamp.
fn is_infinity(text: &[u8]) -> bool {
    text.strip_prefix(b"-").unwrap_or(text).eq_ignore_ascii_case(b"infinity")
}

/// Types of a text that may be `2024-02-29`, `2024-02-29 13:45:01.5` or the same with `T` and a zone.
fn date(text: &[u8]) -> Types {
    let text = text.strip_suffix(b" BC").unwrap_or(text);
    if text.len() < 10 || crate::load::parse::iso_date(&text[..10]).is_none() {
        return Types::TEXT;
    }
    if text.len() == 10 {
        return Types::DATE.or(Types::TIMESTAMP);
    }
    let Some((b' ' | b'T', time)) = text[10..].split_first() else { return Types::TEXT };
    let zone = time.iter().position(|byte| matches!(byte, b'Z' | b'+' | b'-'));
    let clock = zone.map_or(time, |zone| &time[..zone]);
    let is_clock = clock.len() >= 5
        && clock.iter().enumerate().all(|(place, byte)| match place {
            2 | 5 => *byte == b':',
            8 => *byte == b'.',
            _ => byte.is_ascii_digit(),
        })
        && !clock.ends_with(b":")
        && !clock.ends_with(b".")
        && clock.len() != 7;
    match (is_clock, zone) {
        (true, None) => Types::TIMESTAMP,
        (true, Some(_)) => Types::ZONED,
        _ => Types::TEXT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(texts: &[&str]) -> String {
        let types = texts.iter().fold(Types::ANY, |types, text| types.and(Types::of(text.as_bytes(), None)));
        types.chosen().to_string()
    }

    #[test]
    fn a_column_has_the_narrowest_type_of_all_its_values() {
        assert_eq!(inferred(&[]), "VARCHAR");
        assert_eq!(inferred(&["true", "FALSE"]), "BOOLEAN");
        assert_eq!(inferred(&["1", "-2", "+3", "0"]), "BIGINT");
        assert_eq!(inferred(&["1", "9223372036854775808"]), "DECIMAL(38,0)");
        assert_eq!(inferred(&["1", "2.50", "-1e-3", ".5"]), "DOUBLE");
        assert_eq!(inferred(&["1", "2.50", "x"]), "VARCHAR");
        assert_eq!(inferred(&["2024-02-29"]), "DATE");
        assert_eq!(inferred(&["2024-02-29", "infinity", "0044-03-15 BC"]), "DATE");
        assert_eq!(inferred(&["2024-02-29 24:00", "-Infinity"]), "TIMESTAMP(6)");
        assert_eq!(inferred(&["2024-02-29 12:55+02", "infinity"]), "TIMESTAMP(6) WITH TIME ZONE '+00:00'");
        assert_eq!(inferred(&["1.5", "-infinity"]), "DOUBLE");
        assert_eq!(inferred(&["2024-02-29", "2024-02-29 13:45", "2024-02-29T13:45:01.25"]), "TIMESTAMP(6)");
        assert_eq!(
            inferred(&["2024-02-29T13:45:01Z", "2024-02-29 13:45:01+02:00"]),
            "TIMESTAMP(6) WITH TIME ZONE '+00:00'"
        );
        assert_eq!(inferred(&["2024-02-29", "1"]), "VARCHAR");
    }

    #[test]
    fn what_only_looks_like_a_number_or_a_date_is_text() {
        for text in [
            "007",
            "-",
            ".",
            "1e",
            "1 2",
            "0x10",
            "12a",
            "2023-02-29",
            "2024-2-1",
            "24-02-01",
            "Nancy",
            "inform",
            "--1",
            "1e400",
            &"9".repeat(400),
        ] {
            assert_eq!(inferred(&[text]), "VARCHAR", "{text}");
        }
    }

    #[test]
    fn a_date_format_replaces_iso() {
        let format = DateFormat::new("%d.%m.%Y").expect("a format");
        assert_eq!(Types::of(b"29.02.2024", Some(&format)).chosen(), LogicalType::Date);
        assert_eq!(Types::of(b"2024-02-29", Some(&format)).chosen(), LogicalType::Varchar(None));
        assert_eq!(Types::of(b"1", Some(&format)).chosen(), LogicalType::Int(64));
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
