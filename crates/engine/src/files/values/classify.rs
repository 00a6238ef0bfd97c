//! Which types the texts of a column allow.
//!
//! Each text allows a set of types; a column allows the intersection. The first of the remaining types, in the order of
//! [`Types::chosen`], is the column's: BOOLEAN, BIGINT, DECIMAL(38,0) for whole numbers beyond BIGINT, DOUBLE, DATE,
//! TIMESTAMP, TIMESTAMP WITH TIME ZONE, TIME, else VARCHAR. Numbers written with leading zeros are identifiers and stay text. Dates
//! whose day and month stand before the year are such once a value settles which is the day.

use crate::files::values::dates::{DayOrder, is_time, iso_date, ordered_date, ordered_timestamp};
use crate::files::values::format::{NumberFormat, TextFormat};
use gingham_storage::{LogicalType, Unit};

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(u16);

/// The type of a column, and how its dates are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldType {
    pub(crate) logical_type: LogicalType,
    /// Where its dates are not ISO and no format says how they are written.
    pub(crate) order: Option<DayOrder>,
}

impl Types {
    const BOOLEAN: Self = Self(1);
    const BIGINT: Self = Self(1 << 1);
    const WIDE: Self = Self(1 << 2);
    const DOUBLE: Self = Self(1 << 3);
    const DATE: Self = Self(1 << 4);
    const TIMESTAMP: Self = Self(1 << 5);
    const ZONED: Self = Self(1 << 6);
    const TIME: Self = Self(1 << 7);
    const DAY_FIRST: Self = Self(1 << 8);
    const MONTH_FIRST: Self = Self(1 << 9);
    const DAY_FIRST_TIMESTAMP: Self = Self(1 << 10);
    const MONTH_FIRST_TIMESTAMP: Self = Self(1 << 11);
    /// Nothing but text.
    pub(crate) const TEXT: Self = Self(1 << 12);
    /// Every type: what a column of NULLs allows.
    pub(crate) const ANY: Self = Self((1 << 13) - 1);
    const NONE: Self = Self(0);
    /// DOUBLE and text.
    pub(crate) const DOUBLES: Self = Self::DOUBLE.or(Self::TEXT);
    /// Dates and times as ISO 8601 writes them, and text.
    pub(crate) const TIMES: Self = Self::DATE.or(Self::TIMESTAMP).or(Self::ZONED).or(Self::TIME).or(Self::TEXT);

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Types that both allow.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// True when nothing but text is left, so that no further value changes anything.
    pub(crate) fn is_text(self) -> bool {
        self == Self::TEXT
    }

    /// True when the column would be VARCHAR.
    pub(crate) fn is_text_column(self) -> bool {
        self.chosen().logical_type == LogicalType::Varchar(None)
    }

    /// True when the column would be DOUBLE.
    pub(crate) fn is_double(self) -> bool {
        self != Self::ANY && self.has(Self::DOUBLE) && !self.has(Self::BIGINT.or(Self::WIDE))
    }

    /// The type of a column.
    pub(crate) fn chosen(self) -> FieldType {
        let found = |logical_type| FieldType { logical_type, order: None };
        if self == Self::ANY {
            return found(LogicalType::Varchar(None));
        }
        let timestamp = LogicalType::Timestamp(Unit::Microsecond, None);
        let order = [
            (Self::BOOLEAN, LogicalType::Boolean),
            (Self::BIGINT, LogicalType::Int(64)),
            (Self::WIDE, LogicalType::Decimal { precision: 38, scale: 0 }),
            (Self::DOUBLE, LogicalType::Float64),
            (Self::DATE, LogicalType::Date),
            (Self::TIMESTAMP, timestamp.clone()),
            (Self::ZONED, LogicalType::Timestamp(Unit::Microsecond, Some("+00:00".to_owned()))),
            (Self::TIME, LogicalType::Time(Unit::Microsecond)),
        ];
        if let Some((_, logical_type)) = order.into_iter().find(|(types, _)| self.has(*types)) {
            return found(logical_type);
        }
        let ordered = [
            (LogicalType::Date, Self::DAY_FIRST, Self::MONTH_FIRST),
            (timestamp, Self::DAY_FIRST_TIMESTAMP, Self::MONTH_FIRST_TIMESTAMP),
        ];
        for (logical_type, day_first, month_first) in ordered {
            let order = match (self.has(day_first), self.has(month_first)) {
                (true, false) => DayOrder::DayFirst,
                (false, true) => DayOrder::MonthFirst,
                // No value says which is the day.
                (true, true) => break,
                (false, false) => continue,
            };
            return FieldType { logical_type, order: Some(order) };
        }
        found(LogicalType::Varchar(None))
    }

    /// Types that a text (not empty, blanks trimmed) allows. Dates are those of a format when it is given.
    pub(crate) fn of(text: &[u8], format: &TextFormat) -> Self {
        let dates = format.dates.as_ref();
        if let Some(dates) = dates.filter(|dates| dates.matches(text)) {
            return Self::TEXT.or(if dates.has_time { Self::TIMESTAMP } else { Self::DATE.or(Self::TIMESTAMP) });
        }
        if format.timestamps.as_ref().is_some_and(|timestamps| timestamps.matches(text)) {
            return Self::TEXT.or(Self::TIMESTAMP);
        }
        let types = match text.first() {
            Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b',') if !is_infinity(text) => {
                let number = number(text, format.numbers);
                match number == Self::NONE {
                    true if dates.is_none() => date(text),
                    _ => number,
                }
            }
            Some(b't' | b'T' | b'f' | b'F')
                if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") =>
            {
                Self::BOOLEAN
            }
            Some(b'i' | b'I' | b'-') if dates.is_none() && is_infinity(text) => {
                Self::DOUBLE.or(Self::DATE).or(Self::TIMESTAMP).or(Self::ZONED)
            }
            Some(b'N' | b'n' | b'i') if matches!(text, b"NaN" | b"nan" | b"inf") => Self::DOUBLE,
            _ => Self::NONE,
        };
        types.or(Self::TEXT)
    }
}

/// Types of a text that may be a number.
fn number(text: &[u8], format: NumberFormat) -> Types {
    let Some(plain) = format.plain(text) else { return Types::NONE };
    let text = &*plain;
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let leading_zero = whole > 1 && digits[0] == b'0';
    if leading_zero {
        return Types::NONE;
    }
    if whole == digits.len() {
        let fits = whole <= 18 || std::str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok());
        return match (whole, fits) {
            (0, _) => Types::NONE,
            (_, true) => Types::BIGINT.or(Types::WIDE).or(Types::DOUBLE),
            (..=38, false) => Types::WIDE.or(Types::DOUBLE),
            _ if is_double(text) => Types::DOUBLE,
            _ => Types::NONE,
        };
    }
    let rest = &digits[whole..];
    let shaped = rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if shaped && is_double(text) { Types::DOUBLE } else { Types::NONE }
}

/// Whether digits are a number that a DOUBLE can hold.
fn is_double(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok_and(f64::is_finite))
}

/// An infinite number, date or timestamp.
fn is_infinity(text: &[u8]) -> bool {
    text.strip_prefix(b"-").unwrap_or(text).eq_ignore_ascii_case(b"infinity")
}

/// Types of a text that may be `2024-02-29`, `2024-02-29 13:45:01.5` or the same with `T` and a zone, a time, or a date whose day and
/// month come first.
fn date(text: &[u8]) -> Types {
    if is_time(text) {
        return Types::TIME;
    }
    if text.len() > 4 && !text[..4].iter().all(u8::is_ascii_digit) {
        return ordered(text);
    }
    let text = text.strip_suffix(b" BC").unwrap_or(text);
    if text.len() < 10 || iso_date(&text[..10]).is_none() {
        return Types::NONE;
    }
    if text.len() == 10 {
        return Types::DATE.or(Types::TIMESTAMP);
    }
    let Some((b' ' | b'T', time)) = text[10..].split_first() else { return Types::NONE };
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
        _ => Types::NONE,
    }
}

/// Types of a text that may be `29/02/2024`, with a time or without.
fn ordered(text: &[u8]) -> Types {
    let mut types = Types::NONE;
    for (order, date, timestamp) in [
        (DayOrder::DayFirst, Types::DAY_FIRST, Types::DAY_FIRST_TIMESTAMP),
        (DayOrder::MonthFirst, Types::MONTH_FIRST, Types::MONTH_FIRST_TIMESTAMP),
    ] {
        if ordered_timestamp(text, order).is_some() {
            types = types.or(timestamp);
        }
        if ordered_date(text, order).is_some() {
            types = types.or(date);
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::options::ReadOptions;

    fn inferred(texts: &[&str]) -> String {
        let types =
            texts.iter().fold(Types::ANY, |types, text| types.and(Types::of(text.as_bytes(), &TextFormat::default())));
        types.chosen().logical_type.to_string()
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
        let options = ReadOptions { date_format: Some("%d.%m.%Y".into()), ..ReadOptions::default() };
        let format = TextFormat::new(&options).expect("a format");
        let chosen = |text: &[u8]| Types::of(text, &format).chosen().logical_type;
        assert_eq!(chosen(b"29.02.2024"), LogicalType::Date);
        assert_eq!(chosen(b"2024-02-29"), LogicalType::Varchar(None));
        assert_eq!(chosen(b"1"), LogicalType::Int(64));
    }

    #[test]
    fn a_value_settles_which_number_is_the_day() {
        let order = |texts: &[&str]| {
            let types = texts
                .iter()
                .fold(Types::ANY, |types, text| types.and(Types::of(text.as_bytes(), &TextFormat::default())));
            let FieldType { logical_type, order } = types.chosen();
            (logical_type.to_string(), order)
        };
        assert_eq!(order(&["05/06/2024", "31/12/2024"]), ("DATE".into(), Some(DayOrder::DayFirst)));
        assert_eq!(order(&["05/06/2024", "12/31/2024"]), ("DATE".into(), Some(DayOrder::MonthFirst)));
        assert_eq!(order(&["05.06.2024"]), ("DATE".into(), Some(DayOrder::DayFirst)));
        assert_eq!(order(&["05.06.2024", "31.1.2024 13:45"]), ("TIMESTAMP(6)".into(), Some(DayOrder::DayFirst)));
        assert_eq!(order(&["05/06/2024"]), ("VARCHAR".into(), None));
        assert_eq!(order(&["31/12/2024", "12/31/2024"]), ("VARCHAR".into(), None));
        assert_eq!(order(&["31/12/2024", "2024-12-31"]), ("VARCHAR".into(), None));
        assert_eq!(order(&["13:45:00", "23:59:59.5"]), ("TIME(6)".into(), None));
    }

    #[test]
    fn numbers_have_decimal_commas_where_they_are_said() {
        let format = TextFormat { numbers: NumberFormat::COMMA, ..TextFormat::default() };
        assert!(Types::of(b"7,5", &format).is_double());
        assert!(Types::of(b"-1.234,5", &format).is_double());
        assert!(Types::of(b"7.5", &format).is_text());
        assert_eq!(Types::of(b"1.234", &format).chosen().logical_type, LogicalType::Int(64));
    }
}
