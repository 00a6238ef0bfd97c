//! Dates and timestamps of digits: `2024-02-29`, `29/02/2024` and the same with a time behind.

use crate::temporal::{Civil, days_of};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Which of the two numbers before a year is the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DayOrder {
    /// `29/02/2024`.
    DayFirst,
    /// `02/29/2024`.
    MonthFirst,
}

/// A number of so many digits at most, and what stands behind it.
#[inline]
fn digits(text: &[u8], most: usize) -> Option<(i64, &[u8])> {
    let length = text.iter().take(most + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..length].iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
    (1..=most).contains(&length).then_some((value, &text[length..]))
}

#[inline]
fn days(year: i64, month: i64, day: i64) -> Option<i32> {
    if year == 0 || !(1..=12).contains(&month) || day == 0 || day > days_of(year, month) {
        return None;
    }
    i32::try_from(Civil { year, month, day }.days()).ok()
}

/// Days since 1970 of `YYYY-MM-DD` at the beginning of a text, and what stands behind it; month and day may have one digit.
fn iso_start(text: &[u8]) -> Option<(i32, &[u8])> {
    let (year, rest) = digits(text, 4).filter(|(_, rest)| rest.len() + 4 == text.len())?;
    let (month, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    let (day, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    Some((days(year, month, day)?, rest))
}

/// Days since 1970 of a text that begins with ten characters `YYYY-MM-DD`, and what stands behind them.
#[inline]
fn plain_start(text: &[u8]) -> Option<(i32, &[u8])> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let digit = |place: usize| i64::from(date[place].wrapping_sub(b'0'));
    let are_digits = [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(|place| digit(place) < 10);
    if !are_digits || date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
    Some((days(year, digit(5) * 10 + digit(6), digit(8) * 10 + digit(9))?, rest))
}

/// Days since 1970 of `YYYY-MM-DD`; month and day may have one digit.
pub(crate) fn iso_date(text: &[u8]) -> Option<i32> {
    let start = plain_start(text).or_else(|| iso_start(text));
    start.filter(|(_, rest)| rest.is_empty()).map(|(days, _)| days)
}

/// Microseconds since 1970 of `YYYY-MM-DD HH:MM:SS.ffffff` without a zone, also with a T in the middle; what is not so, or has more
/// digits, is left to the cast.
pub(crate) fn iso_timestamp(text: &[u8]) -> Option<i64> {
    let (days, rest) = plain_start(text).or_else(|| iso_start(text))?;
    at_time(days, rest)
}

/// A day and the time behind it.
fn at_time(days: i32, rest: &[u8]) -> Option<i64> {
    let time = match rest.split_first() {
        None => 0,
        Some((b' ' | b'T', clock)) => clock_time(clock)?,
        Some(_) => return None,
    };
    Some(i64::from(days) * DAY + time)
}

/// Microseconds since midnight of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`.
fn clock_time(clock: &[u8]) -> Option<i64> {
    if let [a, b, b':', c, d, b':', e, f] = clock {
        let number = |tens: &u8, ones: &u8| (i64::from(tens.wrapping_sub(b'0')), i64::from(ones.wrapping_sub(b'0')));
        let [hours, minutes, seconds] = [number(a, b), number(c, d), number(e, f)];
        let fits = [hours, minutes, seconds].iter().all(|(tens, ones)| *tens < 10 && *ones < 10);
        let whole = |(tens, ones): (i64, i64)| tens * 10 + ones;
        let (hours, minutes, seconds) = (whole(hours), whole(minutes), whole(seconds));
        let fits = fits && hours < 24 && minutes < 60 && seconds < 60;
        return fits.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000);
    }
    let (hours, rest) = digits(clock, 2)?;
    let (minutes, rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (seconds, rest) = match rest.strip_prefix(b":") {
        Some(rest) => digits(rest, 2)?,
        None => (0, rest),
    };
    let fraction = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let (value, end) = digits(fraction, 6)?;
            let missing = 6 - (fraction.len() - end.len());
            end.is_empty().then(|| value * 10_i64.pow(missing as u32))?
        }
        None if rest.is_empty() => 0,
        None => return None,
    };
    let fits = hours < 24 && minutes < 60 && seconds < 60;
    fits.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction)
}

/// Whether a text is `HH:MM:SS`, with a fraction or without.
pub(crate) fn is_time(text: &[u8]) -> bool {
    let seconds = text.iter().filter(|byte| **byte == b':').count() == 2;
    seconds && text.get(2) == Some(&b':') && clock_time(text).is_some()
}

/// `a/b/YYYY` as days since 1970, and what stands behind it; with `/`, `.` or `-` between the numbers.
fn ordered_start(text: &[u8], order: DayOrder) -> Option<(i32, &[u8])> {
    let (first, rest) = digits(text, 2)?;
    let (separator, rest) = rest.split_first().filter(|(byte, _)| matches!(byte, b'/' | b'.' | b'-'))?;
    let (second, rest) = digits(rest, 2)?;
    let rest = rest.strip_prefix(std::slice::from_ref(separator))?;
    let (year, behind) = digits(rest, 4).filter(|(_, behind)| behind.len() + 4 == rest.len())?;
    let days = match order {
        DayOrder::DayFirst => days(year, second, first)?,
        // Nobody writes months first before points.
        DayOrder::MonthFirst if *separator == b'.' => return None,
        DayOrder::MonthFirst => days(year, first, second)?,
    };
    Some((days, behind))
}

/// Days since 1970 of `29/02/2024` or `02/29/2024`.
pub(crate) fn ordered_date(text: &[u8], order: DayOrder) -> Option<i32> {
    ordered_start(text, order).filter(|(_, rest)| rest.is_empty()).map(|(days, _)| days)
}

/// Microseconds since 1970 of such a date with a time behind it, or without.
pub(crate) fn ordered_timestamp(text: &[u8], order: DayOrder) -> Option<i64> {
    let (days, rest) = ordered_start(text, order)?;
    at_time(days, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn dates_are_those_of_the_calendar(offset in -719_162_i32..2_932_896) {
            let date = chrono::NaiveDate::default() + chrono::TimeDelta::days(offset.into());
            prop_assert_eq!(iso_date(date.to_string().as_bytes()), Some(offset));
            let turned = date.format("%d.%m.%Y").to_string();
            prop_assert_eq!(ordered_date(turned.as_bytes(), DayOrder::DayFirst), Some(offset));
            let american = date.format("%-m/%-d/%Y").to_string();
            prop_assert_eq!(ordered_date(american.as_bytes(), DayOrder::MonthFirst), Some(offset));
        }

        #[test]
        fn dates_are_refused_as_the_calendar_does(year in 1_u32..9999, month in 0_u32..14, day in 0_u32..33) {
            let expected = chrono::NaiveDate::from_ymd_opt(year as i32, month, day).is_some();
            prop_assert_eq!(iso_date(format!("{year:04}-{month:02}-{day:02}").as_bytes()).is_some(), expected);
        }

        #[test]
        fn timestamps_are_those_of_the_calendar(micros in -62_135_596_800_000_000_i64..253_402_300_799_999_999) {
            let moment = chrono::DateTime::from_timestamp_micros(micros).expect("a moment").naive_utc();
            prop_assert_eq!(iso_timestamp(moment.format("%Y-%m-%d %H:%M:%S%.6f").to_string().as_bytes()), Some(micros));
            prop_assert_eq!(iso_timestamp(moment.format("%Y-%m-%dT%H:%M:%S%.f").to_string().as_bytes()), Some(micros));
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in ["2024-02-30", "24-02-01", "2024-2", "2024-02-01x", "02024-01-01", ""] {
            assert_eq!(iso_date(text.as_bytes()), None, "{text}");
        }
        for text in
            ["2024-02-01 24:00", "2024-02-01 1:2:3.1234567", "2024-02-01 12", "2024-02-01 12:00Z", "2024-02-01 12:00:"]
        {
            assert_eq!(iso_timestamp(text.as_bytes()), None, "{text}");
        }
        assert_eq!(ordered_date(b"05.06.2024", DayOrder::MonthFirst), None);
        assert_eq!(ordered_date(b"05/06-2024", DayOrder::DayFirst), None);
        assert_eq!(ordered_timestamp(b"01/02/1970 00:00:01", DayOrder::MonthFirst), Some(DAY + 1_000_000));
        assert!(is_time(b"13:45:00.5") && !is_time(b"13:45") && !is_time(b"1:45:00") && !is_time(b"25:00:00"));
    }
}
