//! Reading dates, times of day and timestamps. The form of ISO 8601 is read at once; others by what comes next.

use crate::temporal::civil::{Civil, days_of};
use crate::temporal::interval::DAY;
use crate::temporal::text::misread::Misread;
use crate::temporal::text::zone::Zone;

/// A point in time as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Moment {
    /// Later than all others, or earlier.
    Infinite { later: bool },
    /// A day, a time of that day, and a zone where one was written.
    At {
        /// Days since 1970-01-01; `None` where there was a time alone.
        days: Option<i64>,
        /// Nanoseconds since midnight; 24:00 is the end of the day. `None` where there was a date alone.
        time: Option<i64>,
        zone: Option<Zone>,
    },
}

/// Days since 1970-01-01; the largest and smallest integer for the infinities.
pub(crate) fn read_date(text: &str) -> Result<i32, Misread> {
    match read_moment(text)? {
        Moment::Infinite { later } => Ok(if later { i32::MAX } else { i32::MIN }),
        Moment::At { days, .. } => {
            let days = i32::try_from(days.ok_or(Misread::Form)?).map_err(|_| Misread::Range)?;
            if days == i32::MAX || days == i32::MIN { Err(Misread::Range) } else { Ok(days) }
        }
    }
}

/// Nanoseconds since midnight.
pub(crate) fn read_time(text: &str) -> Result<i64, Misread> {
    let bytes = text.trim_ascii().as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    // Six digits are a time here, where a timestamp takes them for a date.
    let is_packed = (0..6).all(is_digit) && !is_digit(6) && !bytes.get(6).is_some_and(|next| b"-/".contains(next));
    let moment = match is_packed {
        true => MomentReader { text: text.trim_ascii(), expects_time: true, ..MomentReader::default() }.whole()?,
        false => read_moment(text)?,
    };
    match moment {
        Moment::Infinite { .. } => Err(Misread::Form),
        Moment::At { time, .. } => time.ok_or(Misread::Form),
    }
}

/// A date, a time, or both.
pub(crate) fn read_moment(text: &str) -> Result<Moment, Misread> {
    let text = text.trim_ascii();
    if let Some(moment) = iso(text.as_bytes()) {
        return moment;
    }
    MomentReader { text, at: 0, ..MomentReader::default() }.whole()
}

/// `2024-01-31`, and behind a blank or a T `10:20` with seconds and a fraction if any.
fn iso(bytes: &[u8]) -> Option<Result<Moment, Misread>> {
    let number = |from: usize, to: usize| {
        let digits = bytes.get(from..to)?;
        let all = digits.iter().all(u8::is_ascii_digit);
        all.then(|| digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    };
    let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    if !is(4, b"-") || !is(7, b"-") {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let time = match bytes.len() {
        10 => None,
        16.. if is(10, b" T") && is(13, b":") => {
            let (hour, minute) = (number(11, 13)?, number(14, 16)?);
            let (second, fraction) = match bytes.len() {
                16 => (0, 0),
                19 if is(16, b":") => (number(17, 19)?, 0),
                21..=29 if is(16, b":") && is(19, b".") => {
                    (number(17, 19)?, number(20, bytes.len())? * 10i64.pow(29 - bytes.len() as u32))
                }
                _ => return None,
            };
            Some(time_of(hour, minute, second, fraction))
        }
        _ => return None,
    };
    let days = if year == 0 { Err(Misread::Range) } else { day_of(year, month, day) };
    Some(days.and_then(|days| Ok(Moment::At { days: Some(days), time: time.transpose()?, zone: None })))
}

fn day_of(year: i64, month: i64, day: i64) -> Result<i64, Misread> {
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) || !(-4713..=5_874_897).contains(&year) {
        return Err(Misread::Range);
    }
    let days = Civil { year, month, day }.days();
    if days < FIRST_DAY { Err(Misread::Range) } else { Ok(days) }
}

/// 4714-11-24 BC, the day 0 of Julian days, as PostgreSQL has it.
const FIRST_DAY: i64 = -2_440_588;

fn time_of(hour: i64, minute: i64, second: i64, nanoseconds: i64) -> Result<i64, Misread> {
    let time = (hour * 3600 + minute * 60 + second) * 1_000_000_000 + nanoseconds;
    // A leap second is the first of the next minute.
    let fits = minute < 60 && second <= 60 && hour <= 24 && time <= DAY;
    if fits { Ok(time) } else { Err(Misread::Range) }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The number of a name, from 1, that may be cut after three letters.
fn named(names: &[&str], word: &str) -> Option<i64> {
    let is = |name: &&str| *name == word || (word.len() >= 3 && word.len() <= 4 && name.starts_with(word));
    names.iter().position(is).map(|at| at as i64 + 1)
}

/// The parts that have been read of a text so far.
#[derive(Debug, Default)]
struct MomentReader<'t> {
    text: &'t str,
    at: usize,
    year: Option<i64>,
    /// The year has two digits, and is one of this century or the last unless it is before Christ.
    short_year: bool,
    month: Option<i64>,
    day: Option<i64>,
    time: Option<i64>,
    zone: Option<Zone>,
    before_christ: bool,
    /// AM or PM, which comes behind the hour.
    half: Option<bool>,
    /// A T was read, behind which a time comes.
    expects_time: bool,
}

impl<'t> MomentReader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes what `takes` says.
    fn run(&mut self, takes: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !takes(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn whole(mut self) -> Result<Moment, Misread> {
        if !self.text.is_ascii() {
            return Err(Misread::Form);
        }
        while let Some(byte) = self.next() {
            match byte {
                byte if byte.is_ascii_whitespace() || b",()".contains(&byte) => self.at += 1,
                byte if byte.is_ascii_digit() => self.number()?,
                b'+' | b'-' if self.rest()[1..].eq_ignore_ascii_case("infinity") => {
                    return if self.at == 0 {
                        Ok(Moment::Infinite { later: byte == b'+' })
                    } else {
                        Err(Misread::Form)
                    };
                }
                b'+' | b'-' if self.time.is_some() && self.zone.is_none() => {
                    self.at += 1;
                    let start = self.at;
                    self.run(|byte| byte.is_ascii_digit() || byte == b':');
                    self.zone = Some(Zone::read(&self.text[start - 1..self.at])?);
                }
                byte if byte.is_ascii_alphabetic() => {
                    if let Some(moment) = self.word()? {
                        return Ok(moment);
                    }
                }
                _ => return Err(Misread::Form),
            }
        }
        self.finish()
    }

    fn finish(self) -> Result<Moment, Misread> {
        let time = match (self.time, self.half) {
            (Some(time), Some(afternoon)) => {
                const HOUR: i64 = 3_600_000_000_000;
                if time >= 13 * HOUR {
                    return Err(Misread::Range);
                }
                let time = if time >= 12 * HOUR { time - 12 * HOUR } else { time };
                Some(if afternoon { time + 12 * HOUR } else { time })
            }
            (None, Some(_)) => return Err(Misread::Form),
            (time, None) => time,
        };
        let days = match (self.year, self.month, self.day) {
            (Some(year), Some(month), Some(day)) => {
                if year == 0 && !self.short_year {
                    return Err(Misread::Range);
                }
                let year = match year {
                    year if self.before_christ => 1 - year,
                    year if !self.short_year => year,
                    year if year < 70 => 2000 + year,
                    year => 1900 + year,
                };
                Some(day_of(year, month, day)?)
            }
            (None, None, None) if time.is_some() && !self.before_christ => None,
            _ => return Err(Misread::Form),
        };
        Ok(Moment::At { days, time, zone: self.zone })
    }

    /// A word; the moment that it is by itself.
    fn word(&mut self) -> Result<Option<Moment>, Misread> {
        let start = self.at;
        let word = self.run(|byte| byte.is_ascii_alphabetic()).to_ascii_lowercase();
        let alone = start == 0 && self.at == self.text.len();
        match word.as_str() {
            "infinity" | "inf" if alone => return Ok(Some(Moment::Infinite { later: true })),
            "epoch" if alone => {
                return Ok(Some(Moment::At { days: Some(0), time: Some(0), zone: Some(Zone::Offset(0)) }));
            }
            "now" | "today" | "tomorrow" | "yesterday" => return Err(Misread::Now),
            "allballs" if self.time.is_none() => self.time = Some(0),
            "bc" if !self.before_christ => self.before_christ = true,
            "ad" => {}
            "am" | "pm" if self.time.is_some() && self.half.is_none() => self.half = Some(word == "pm"),
            "t" if !self.expects_time => self.expects_time = true,
            "j" if self.year.is_none() && self.month.is_none() && self.day.is_none() => self.julian()?,
            word => {
                if let Some(month) = named(&MONTHS, word).filter(|_| self.month.is_none()) {
                    self.named_month(month);
                } else if named(&WEEKDAYS, word).is_some() {
                    self.run(|byte| byte == b'.');
                } else if self.time.is_some() && self.zone.is_none() {
                    self.run(|byte| byte.is_ascii_alphanumeric() || b"/_+-:".contains(&byte));
                    self.zone = Some(Zone::read(&self.text[start..self.at])?);
                } else {
                    return Err(Misread::Form);
                }
            }
        }
        Ok(None)
    }

    /// A month by its name. A number before it was its day, unless that can only be a year.
    fn named_month(&mut self, month: i64) {
        self.month = Some(month);
        self.run(|byte| byte == b'-' || byte == b'.');
    }

    fn number(&mut self) -> Result<(), Misread> {
        let start = self.at;
        let digits = self.run(|byte| byte.is_ascii_digit());
        let next = self.next();
        let follows = self.text.as_bytes().get(self.at + 1).copied().unwrap_or(b' ');
        match next {
            Some(b':') if self.time.is_none() => self.clock(digits),
            Some(separator @ (b'-' | b'/' | b'.'))
                if self.month.is_none()
                    && self.year.is_none()
                    && self.day.is_none()
                    && follows.is_ascii_alphanumeric() =>
            {
                self.joined(digits, separator)
            }
            _ if self.expects_time || (self.day.is_some() && self.year.is_some() && self.time.is_none()) => {
                self.packed_time(digits)
            }
            _ if [6, 8].contains(&digits.len()) && self.month.is_none() && self.day.is_none() => {
                let (year, rest) = digits.split_at(digits.len() - 4);
                self.set_year(year)?;
                (self.month, self.day) = (Some(parsed(&rest[..2])?), Some(parsed(&rest[2..])?));
                Ok(())
            }
            _ => self.part(digits, start),
        }
    }

    /// `10:20`, `10:20:30`, `10:20:30.5`.
    fn clock(&mut self, hour: &str) -> Result<(), Misread> {
        self.at += 1;
        let minute = self.run(|byte| byte.is_ascii_digit());
        if hour.len() > 2 || minute.is_empty() || minute.len() > 2 {
            return Err(Misread::Form);
        }
        let mut second = "0";
        if self.next() == Some(b':') {
            self.at += 1;
            second = self.run(|byte| byte.is_ascii_digit());
            if second.is_empty() || second.len() > 2 {
                return Err(Misread::Form);
            }
        }
        let fraction = self.fraction()?;
        self.time = Some(time_of(parsed(hour)?, parsed(minute)?, parsed(second)?, fraction)?);
        Ok(())
    }

    /// The nanoseconds behind a point; digits past them are rounded.
    fn fraction(&mut self) -> Result<i64, Misread> {
        if self.next() != Some(b'.') {
            return Ok(0);
        }
        self.at += 1;
        let digits = self.run(|byte| byte.is_ascii_digit());
        let mut nanoseconds = 0;
        for at in 0..9 {
            nanoseconds = nanoseconds * 10 + digits.as_bytes().get(at).map_or(0, |digit| i64::from(digit - b'0'));
        }
        Ok(nanoseconds + i64::from(digits.as_bytes().get(9).is_some_and(|digit| *digit >= b'5')))
    }

    /// `102030`, `1020`.
    fn packed_time(&mut self, digits: &str) -> Result<(), Misread> {
        let (hour, minute, second) = match digits.len() {
            6 => (&digits[..2], &digits[2..4], &digits[4..]),
            4 => (&digits[..2], &digits[2..], "0"),
            2 if self.expects_time => (digits, "0", "0"),
            _ => return Err(Misread::Form),
        };
        let fraction = self.fraction()?;
        self.time = Some(time_of(parsed(hour)?, parsed(minute)?, parsed(second)?, fraction)?);
        Ok(())
    }

    /// `2024-1-31`, `1/31/2024`, `31-Jan-2024`: three parts that a sign joins.
    fn joined(&mut self, first: &str, separator: u8) -> Result<(), Misread> {
        self.at += 1;
        let second = self.run(|byte| byte.is_ascii_alphanumeric());
        if self.next() != Some(separator) {
            let is_day_of_year = separator == b'.' && first.len() >= 4 && second.len() == 3;
            return if is_day_of_year { self.day_of_year(first, second) } else { Err(Misread::Form) };
        }
        self.at += 1;
        let third = self.run(|byte| byte.is_ascii_digit());
        if third.is_empty() {
            return Err(Misread::Form);
        }
        let (year, month, day) = match named(&MONTHS, &second.to_ascii_lowercase()) {
            Some(month) if first.len() > 2 => (first, month, third),
            Some(month) => (third, month, first),
            None if first.len() > 2 => (first, parsed(second)?, third),
            None => (third, parsed(first)?, second),
        };
        self.set_year(year)?;
        (self.month, self.day) = (Some(month), Some(parsed(day)?));
        Ok(())
    }

    fn set_year(&mut self, digits: &str) -> Result<(), Misread> {
        (self.year, self.short_year) = (Some(parsed(digits)?), digits.len() <= 2);
        Ok(())
    }

    /// `J2451187`: a day by its number, which is 2440588 of 1970-01-01.
    fn julian(&mut self) -> Result<(), Misread> {
        let digits = self.run(|byte| byte.is_ascii_digit());
        self.set_day(parsed(digits)? + FIRST_DAY);
        Ok(())
    }

    /// `1999.008`: a year and the number of a day in it.
    fn day_of_year(&mut self, year: &str, day: &str) -> Result<(), Misread> {
        let (year, day) = (parsed(year)?, parsed(day)?);
        let days = Civil { year, month: 1, day: 1 }.days();
        let length = Civil { year: year + 1, month: 1, day: 1 }.days() - days;
        if !(1..=length).contains(&day) {
            return Err(Misread::Range);
        }
        self.set_day(days + day - 1);
        Ok(())
    }

    /// Takes a day since 1970-01-01 as its year, month and day.
    fn set_day(&mut self, days: i64) {
        let Civil { year, month, day } = Civil::of(days);
        self.before_christ = year <= 0;
        self.year = Some(if year <= 0 { 1 - year } else { year });
        (self.month, self.day) = (Some(month), Some(day));
    }

    /// A day or a year that stands alone, beside the name of a month.
    fn part(&mut self, digits: &str, start: usize) -> Result<(), Misread> {
        let is_short = digits.len() <= 2;
        let is_day = is_short && self.day.is_none();
        let ends = self.run(|byte| byte.is_ascii_alphabetic());
        let is_ordinal = matches!(ends.to_ascii_lowercase().as_str(), "st" | "nd" | "rd" | "th");
        if !ends.is_empty() && !is_ordinal {
            self.at = start + digits.len();
        }
        self.run(|byte| byte == b'-');
        match is_day {
            // Behind a year comes a month, as in `1999 01 08`; elsewhere it comes first, as in `01 08 1999`.
            true if self.month.is_none() && self.year.is_some() => self.month = Some(parsed(digits)?),
            true => self.day = Some(parsed(digits)?),
            false if is_short && self.month.is_none() && self.year.is_none() => {
                (self.month, self.day) = (self.day, Some(parsed(digits)?));
            }
            false if self.year.is_none() => self.set_year(digits)?,
            false => return Err(Misread::Form),
        }
        Ok(())
    }
}

fn parsed(digits: &str) -> Result<i64, Misread> {
    if digits.len() > 15 {
        return Err(Misread::Range);
    }
    digits.parse().map_err(|_| Misread::Form)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers are PostgreSQL's, as days and seconds.
    #[test]
    fn many_forms_are_read() {
        let day = |year, month, day| Some(Civil { year, month, day }.days());
        let seconds = |hour: i64, minute: i64, second: i64| Some((hour * 3600 + minute * 60 + second) * 1_000_000_000);
        for (text, days, time) in [
            ("2024-01-31", day(2024, 1, 31), None),
            (" 2024-1-5 ", day(2024, 1, 5), None),
            ("20240131", day(2024, 1, 31), None),
            ("1/8/1999", day(1999, 1, 8), None),
            ("January 8, 1999", day(1999, 1, 8), None),
            ("8 Jan 1999", day(1999, 1, 8), None),
            ("08-Jan-1999", day(1999, 1, 8), None),
            ("1999-Jan-08", day(1999, 1, 8), None),
            ("Mon, 8 Jan 99 10:20 PM", day(1999, 1, 8), seconds(22, 20, 0)),
            ("0044-03-15 BC", day(-43, 3, 15), None),
            ("10000-01-01", day(10_000, 1, 1), None),
            ("January 8, 99 BC", day(-98, 1, 8), None),
            ("0044-03-15 (BC)", day(-43, 3, 15), None),
            ("990108", day(1999, 1, 8), None),
            ("1999 01 08", day(1999, 1, 8), None),
            ("01 08 1999", day(1999, 1, 8), None),
            ("1999 Jan 08", day(1999, 1, 8), None),
            ("1999.008", day(1999, 1, 8), None),
            ("J2451187", day(1999, 1, 8), None),
            ("J0", day(-4713, 11, 24), None),
            ("1/8/00", day(2000, 1, 8), None),
            ("2024-01-31 10:20", day(2024, 1, 31), seconds(10, 20, 0)),
            ("2024-01-31T10:20:30", day(2024, 1, 31), seconds(10, 20, 30)),
            ("20240131T102030", day(2024, 1, 31), seconds(10, 20, 30)),
            ("2024-01-31 24:00", day(2024, 1, 31), seconds(24, 0, 0)),
            ("12:30", None, seconds(12, 30, 0)),
            ("04:05 PM", None, seconds(16, 5, 0)),
            ("12:00 am", None, seconds(0, 0, 0)),
            ("9:05:59", None, seconds(9, 5, 59)),
        ] {
            assert_eq!(read_moment(text), Ok(Moment::At { days, time, zone: None }), "{text}");
        }
        let fraction = Moment::At { days: day(2024, 1, 31), time: Some(1_500_000_000), zone: None };
        assert_eq!(read_moment("2024-01-31 00:00:01.5"), Ok(fraction));
        let Ok(Moment::At { zone: Some(zone), .. }) = read_moment("2024-01-31 12:55+02") else { panic!("no zone") };
        assert_eq!(zone, Zone::Offset(7200));
        assert!(matches!(
            read_moment("2024-01-31 12:55 Europe/Berlin"),
            Ok(Moment::At { zone: Some(Zone::Named(_)), .. })
        ));
        assert_eq!(read_moment("-infinity"), Ok(Moment::Infinite { later: false }));
    }

    #[test]
    fn what_is_no_moment_is_told_apart() {
        for (text, misread) in [
            ("", Misread::Form),
            ("abc", Misread::Form),
            ("2024-13-01", Misread::Range),
            ("2023-02-29", Misread::Range),
            ("0000-01-01", Misread::Range),
            ("4714-11-23 BC", Misread::Range),
            ("2024-01-31 25:00", Misread::Range),
            ("2024-01-31 24:01", Misread::Range),
            ("12:60", Misread::Range),
            ("13:00 PM", Misread::Range),
            ("2024-01", Misread::Form),
            ("2024-01-31 x", Misread::Form),
            ("now", Misread::Now),
            ("12", Misread::Form),
            ("\u{662}024-01-01", Misread::Form),
        ] {
            assert_eq!(read_moment(text), Err(misread), "{text}");
        }
    }
}
