//! Reading intervals: `1 day 02:00`, `1-2`, `P1Y2M3DT4H`, `-1.5 months ago`.

use crate::temporal::text::misread::Misread;
use arrow::datatypes::IntervalMonthDayNano;

/// The fields of `INTERVAL '…' DAY TO HOUR`: what a number without a unit counts, and the last field that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fields {
    first: Option<Unit>,
    last: Option<Unit>,
}

impl Fields {
    /// `DAY`, `DAY TO HOUR`, or nothing.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let mut names = text.split(" TO ").map(Unit::named);
        let (first, last) = (names.next()??, names.next());
        let last = match last {
            Some(last) => last?,
            None => first,
        };
        Some(Self { first: Some(first), last: Some(last) })
    }
}

/// The unit that a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Months(i32),
    Days(i32),
    Nanoseconds(i64),
}

const HOUR: i64 = 3_600_000_000_000;
const MINUTE: i64 = 60_000_000_000;
const SECOND: i64 = 1_000_000_000;

impl Unit {
    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "millennium" | "millennia" | "mil" | "mils" => Self::Months(12_000),
            "century" | "centuries" | "cent" | "c" => Self::Months(1200),
            "decade" | "decades" | "dec" | "decs" => Self::Months(120),
            "year" | "years" | "y" | "yr" | "yrs" => Self::Months(12),
            "quarter" | "quarters" | "qtr" => Self::Months(3),
            "month" | "months" | "mon" | "mons" => Self::Months(1),
            "week" | "weeks" | "w" => Self::Days(7),
            "day" | "days" | "d" => Self::Days(1),
            "hour" | "hours" | "h" | "hr" | "hrs" => Self::Nanoseconds(HOUR),
            "minute" | "minutes" | "m" | "min" | "mins" => Self::Nanoseconds(MINUTE),
            "second" | "seconds" | "s" | "sec" | "secs" => Self::Nanoseconds(SECOND),
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "msecond" | "mseconds" => {
                Self::Nanoseconds(1_000_000)
            }
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "usecond" | "useconds" => {
                Self::Nanoseconds(1000)
            }
            "nanosecond" | "nanoseconds" | "ns" | "nsec" | "nsecs" => Self::Nanoseconds(1),
            _ => return None,
        })
    }
}

/// The interval that a text is.
pub(crate) fn read_interval(text: &str, fields: Fields) -> Result<IntervalMonthDayNano, Misread> {
    let text = text.trim_ascii();
    let mut sum = Sum::default();
    match text.strip_prefix(['P', 'p']) {
        Some(designated) => sum.designated(designated)?,
        None => Words { rest: text, fields }.all(&mut sum)?,
    }
    sum.finish(fields)
}

/// The parts so far.
#[derive(Debug, Default)]
struct Sum {
    months: i64,
    days: i64,
    nanoseconds: i128,
}

impl Sum {
    fn add(&mut self, number: IntervalNumber, unit: Unit) -> Result<(), Misread> {
        let IntervalNumber { whole, fraction } = number;
        let times = |unit: i64| whole.checked_mul(unit).ok_or(Misread::Range);
        match unit {
            Unit::Months(1) => {
                self.months = self.months.checked_add(times(1)?).ok_or(Misread::Range)?;
                self.add_days(fraction * 30.0);
            }
            Unit::Months(months) => {
                let part = (fraction * f64::from(months)).round_ties_even() as i64;
                let months = times(months.into())?.checked_add(part).ok_or(Misread::Range)?;
                self.months = self.months.checked_add(months).ok_or(Misread::Range)?;
            }
            Unit::Days(days) => {
                self.days = self.days.checked_add(times(days.into())?).ok_or(Misread::Range)?;
                self.add_days(fraction * f64::from(days));
            }
            Unit::Nanoseconds(unit) => {
                let part = (fraction * unit as f64 / 1000.0).round_ties_even() as i128 * 1000;
                let part = if unit < 1000 { 0 } else { part };
                self.nanoseconds += i128::from(whole) * i128::from(unit) + part;
            }
        }
        Ok(())
    }

    /// Days with a fraction, which becomes time. Days past 64 bits are past an interval's too.
    fn add_days(&mut self, days: f64) {
        self.days = self.days.saturating_add(days.trunc() as i64);
        let micros = ((days - days.trunc()) * 86_400e6).round_ties_even();
        self.nanoseconds += micros as i128 * 1000;
    }

    fn negate(&mut self) {
        let Self { months, days, nanoseconds } = *self;
        *self = Self { months: months.saturating_neg(), days: days.saturating_neg(), nanoseconds: -nanoseconds };
    }

    /// The interval, without what lies below the last field.
    fn finish(mut self, fields: Fields) -> Result<IntervalMonthDayNano, Misread> {
        match fields.last {
            Some(Unit::Months(12)) => {
                self.months -= self.months % 12;
                (self.days, self.nanoseconds) = (0, 0);
            }
            Some(Unit::Months(_)) => (self.days, self.nanoseconds) = (0, 0),
            Some(Unit::Days(_)) => self.nanoseconds = 0,
            Some(Unit::Nanoseconds(unit)) if unit > SECOND => self.nanoseconds -= self.nanoseconds % i128::from(unit),
            _ => {}
        }
        let months = i32::try_from(self.months).map_err(|_| Misread::Range)?;
        let days = i32::try_from(self.days).map_err(|_| Misread::Range)?;
        let nanoseconds = i64::try_from(self.nanoseconds).map_err(|_| Misread::Range)?;
        Ok(IntervalMonthDayNano::new(months, days, nanoseconds))
    }

    /// `1Y2M3DT4H5M6S`, or `0001-02-03T04:05:06`.
    fn designated(&mut self, text: &str) -> Result<(), Misread> {
        let (date, time) = match text.split_once(['T', 't']) {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        if date.is_empty() && time.is_none_or(str::is_empty) {
            return Err(Misread::Form);
        }
        let is_plain = |text: &str| text.bytes().skip(1).all(|byte| byte.is_ascii_digit() || b"-:.".contains(&byte));
        if !date.is_empty() && is_plain(date) && date.contains('-') {
            let parts: Vec<&str> = date.split('-').collect();
            let units = [Unit::Months(12), Unit::Months(1), Unit::Days(1)];
            if parts.len() > 3 {
                return Err(Misread::Form);
            }
            for (part, unit) in parts.iter().zip(units) {
                self.add(IntervalNumber::read(part)?, unit)?;
            }
        } else {
            self.designated_parts(date, |letter| match letter {
                'Y' => Some(Unit::Months(12)),
                'M' => Some(Unit::Months(1)),
                'W' => Some(Unit::Days(7)),
                'D' => Some(Unit::Days(1)),
                _ => None,
            })?;
        }
        match time {
            Some(time) if time.contains(':') => {
                self.nanoseconds += clock(time, false)?;
                Ok(())
            }
            Some(time) => self.designated_parts(time, |letter| match letter {
                'H' => Some(Unit::Nanoseconds(HOUR)),
                'M' => Some(Unit::Nanoseconds(MINUTE)),
                'S' => Some(Unit::Nanoseconds(SECOND)),
                _ => None,
            }),
            None => Ok(()),
        }
    }

    fn designated_parts(&mut self, text: &str, unit: impl Fn(char) -> Option<Unit>) -> Result<(), Misread> {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).ok_or(Misread::Form)?;
            let letter = rest[end..].chars().next().ok_or(Misread::Form)?;
            let unit = unit(letter.to_ascii_uppercase()).ok_or(Misread::Form)?;
            self.add(IntervalNumber::read(&rest[..end])?, unit)?;
            rest = &rest[end + 1..];
        }
        Ok(())
    }
}

/// A number with its fraction, both of one sign.
#[derive(Debug, Clone, Copy)]
struct IntervalNumber {
    whole: i64,
    fraction: f64,
}

impl IntervalNumber {
    fn read(text: &str) -> Result<Self, Misread> {
        let (sign, digits) = match text.as_bytes().first() {
            Some(b'-') => (-1, &text[1..]),
            Some(b'+') => (1, &text[1..]),
            _ => (1, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return Err(Misread::Form);
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Misread::Range)? };
        let fraction: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().unwrap_or(0.0) };
        Ok(Self { whole: sign * whole, fraction: sign as f64 * fraction })
    }
}

/// `04:05:06.5` or `04:05` in nanoseconds; the latter as minutes and seconds where these are the fields.
fn clock(text: &str, is_minutes: bool) -> Result<i128, Misread> {
    let (sign, text) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let parts: Vec<&str> = text.split(':').collect();
    let last = parts.len() - 1;
    if !(2..=3).contains(&parts.len()) {
        return Err(Misread::Form);
    }
    let mut numbers = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let number = IntervalNumber::read(part)?;
        let signed = part.starts_with(['+', '-']);
        let has_fraction = part.contains('.');
        if signed || (has_fraction && at != last) || (at > 0 && number.whole >= 60) {
            return Err(if at > 0 && number.whole >= 60 { Misread::Range } else { Misread::Form });
        }
        numbers.push(number);
    }
    // A fraction of the last of two parts makes it seconds.
    let is_minutes = parts.len() == 2 && (is_minutes || parts[last].contains('.'));
    let units: &[i64] = if is_minutes { &[MINUTE, SECOND] } else { &[HOUR, MINUTE, SECOND] };
    let mut sum = 0;
    for (number, unit) in numbers.iter().zip(units) {
        let fraction = (number.fraction * *unit as f64 / 1000.0).round_ties_even() as i128 * 1000;
        sum += i128::from(number.whole) * i128::from(*unit) + fraction;
    }
    Ok(sign * sum)
}

/// The words of an interval.
struct Words<'t> {
    rest: &'t str,
    fields: Fields,
}

impl<'t> Words<'t> {
    fn next(&mut self) -> Option<&'t str> {
        self.rest = self.rest.trim_ascii_start();
        let first = self.rest.chars().next()?;
        let is_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ':' | '-' | '+');
        let end = if is_number(first) {
            // `1 - 2` is no form; `1-2` and `-1` are.
            self.rest.find(|letter: char| !is_number(letter))
        } else if first.is_ascii_alphabetic() {
            self.rest.find(|letter: char| !letter.is_ascii_alphabetic())
        } else {
            Some(first.len_utf8())
        };
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        Some(word)
    }

    fn all(mut self, sum: &mut Sum) -> Result<(), Misread> {
        let mut waiting: Option<IntervalNumber> = None;
        let mut found = false;
        let is_clock_of_minutes =
            self.fields.first == Some(Unit::Nanoseconds(MINUTE)) && self.fields.last == Some(Unit::Nanoseconds(SECOND));
        while let Some(word) = self.next() {
            let is_name = word.starts_with(|letter: char| letter.is_ascii_alphabetic());
            if word == "@" && !found && waiting.is_none() {
                continue;
            }
            if is_name && word.eq_ignore_ascii_case("ago") {
                self.close(waiting.take(), sum)?;
                if self.next().is_some() || !found {
                    return Err(Misread::Form);
                }
                sum.negate();
                return Ok(());
            }
            if is_name {
                let unit = Unit::named(word).ok_or(Misread::Form)?;
                sum.add(waiting.take().ok_or(Misread::Form)?, unit)?;
                continue;
            }
            // A number that has no unit before a clock counts days; otherwise it had to have one.
            if let Some(number) = waiting.take() {
                if !word.contains(':') && self.fields.first.is_none() {
                    return Err(Misread::Form);
                }
                sum.add(number, Unit::Days(1))?;
            }
            found = true;
            if word.contains(':') {
                sum.nanoseconds += clock(word, is_clock_of_minutes)?;
            } else if let Some((years, months)) = years_and_months(word) {
                let (years, months) = (IntervalNumber::read(years)?, IntervalNumber::read(months)?);
                let sign = if word.starts_with('-') { -1 } else { 1 };
                if !(0..12).contains(&months.whole) {
                    return Err(Misread::Range);
                }
                sum.add(years, Unit::Months(12))?;
                sum.months = sum.months.saturating_add(sign * months.whole);
            } else {
                waiting = Some(IntervalNumber::read(word)?);
            }
        }
        self.close(waiting, sum)?;
        if found { Ok(()) } else { Err(Misread::Form) }
    }

    /// A number at the end without a unit: of the last field, or seconds.
    fn close(&self, waiting: Option<IntervalNumber>, sum: &mut Sum) -> Result<(), Misread> {
        match waiting {
            Some(number) => sum.add(number, self.fields.last.unwrap_or(Unit::Nanoseconds(SECOND))),
            None => Ok(()),
        }
    }
}

/// `1-2`: years and months.
fn years_and_months(word: &str) -> Option<(&str, &str)> {
    let at = word[1..].find('-')? + 1;
    Some((&word[..at], &word[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(i32, i32, i64), Misread> {
        read_fields(text, "")
    }

    fn read_fields(text: &str, fields: &str) -> Result<(i32, i32, i64), Misread> {
        let interval = read_interval(text, Fields::read(fields).unwrap())?;
        Ok((interval.months, interval.days, interval.nanoseconds / 1_000_000))
    }

    /// As PostgreSQL reads them: months, days, milliseconds.
    #[test]
    fn forms_of_intervals() {
        for (text, expected) in [
            ("1 day 2 hours", (0, 1, 7_200_000)),
            ("1.5 hours", (0, 0, 5_400_000)),
            ("-1 day +02:03:04", (0, -1, 7_384_000)),
            ("1:30", (0, 0, 5_400_000)),
            ("10", (0, 0, 10_000)),
            ("1-2", (14, 0, 0)),
            ("-1-2", (-14, 0, 0)),
            ("3 4:05:06", (0, 3, 14_706_000)),
            ("P1Y2M3DT4H5M6S", (14, 3, 14_706_000)),
            ("P0001-02-03T04:05:06", (14, 3, 14_706_000)),
            ("1 day ago", (0, -1, 0)),
            ("@ 1 minute", (0, 0, 60_000)),
            ("1.5 months", (1, 15, 0)),
            ("1.75 months", (1, 22, 43_200_000)),
            ("1.5 years", (18, 0, 0)),
            ("1.5 weeks", (0, 10, 43_200_000)),
            ("1 decade 2 mons", (122, 0, 0)),
            ("1day", (0, 1, 0)),
            ("-00:00:01.5", (0, 0, -1500)),
            ("2 days -1 hours", (0, 2, -3_600_000)),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1 x", "day", "1 2 3", "1:2:3:4", "--1", "P", "1 day day"] {
            assert_eq!(read(text), Err(Misread::Form), "{text}");
        }
        for text in ["1:60", "999999999999 years", "1-13"] {
            assert_eq!(read(text), Err(Misread::Range), "{text}");
        }
    }

    #[test]
    fn fields_say_units_and_what_is_cut() {
        for (text, fields, expected) in [
            ("5", "MINUTE", (0, 0, 300_000)),
            ("1-2", "YEAR TO MONTH", (14, 0, 0)),
            ("1 2", "DAY TO HOUR", (0, 1, 7_200_000)),
            ("10:20", "MINUTE TO SECOND", (0, 0, 620_000)),
            ("1 day 2:03:04", "HOUR", (0, 1, 7_200_000)),
            ("1 day 2:03:04", "DAY", (0, 1, 0)),
            ("14 months", "YEAR", (12, 0, 0)),
            ("1", "YEAR", (12, 0, 0)),
        ] {
            assert_eq!(read_fields(text, fields), Ok(expected), "{text} {fields}");
        }
    }
}
