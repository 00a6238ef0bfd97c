//! Writing dates, times, timestamps and intervals, as PostgreSQL shows them.

use crate::temporal::civil::Civil;
use crate::temporal::moment::units_of_day;
use arrow::datatypes::{IntervalMonthDayNano, TimeUnit};
use std::fmt::{Result, Write};

/// Units of a second.
fn units_of_second(unit: TimeUnit) -> i64 {
    units_of_day(unit) / 86_400
}

/// A date; the largest and the smallest integer are the infinities.
pub(crate) fn write_date(days: i32, text: &mut impl Write) -> Result {
    match days {
        i32::MAX => text.write_str("infinity"),
        i32::MIN => text.write_str("-infinity"),
        _ => {
            let date = Civil::of(days.into());
            calendar(date, text)?;
            era(date, text)
        }
    }
}

/// A time of day in a unit.
pub(crate) fn write_time(time: i64, unit: TimeUnit, text: &mut impl Write) -> Result {
    let second = units_of_second(unit);
    let seconds = time / second;
    write!(text, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    fraction(time % second, second, text)
}

/// A timestamp in a unit; with a zone, the offset of UTC stands behind it.
pub(crate) fn write_timestamp(timestamp: i64, unit: TimeUnit, has_zone: bool, text: &mut impl Write) -> Result {
    match timestamp {
        i64::MAX => return text.write_str("infinity"),
        i64::MIN => return text.write_str("-infinity"),
        _ => {}
    }
    let day = units_of_day(unit);
    let date = Civil::of(timestamp.div_euclid(day));
    calendar(date, text)?;
    text.write_char(' ')?;
    write_time(timestamp.rem_euclid(day), unit, text)?;
    if has_zone {
        text.write_str("+00")?;
    }
    era(date, text)
}

fn calendar(date: Civil, text: &mut impl Write) -> Result {
    let year = if date.year > 0 { date.year } else { 1 - date.year };
    write!(text, "{year:04}-{:02}-{:02}", date.month, date.day)
}

fn era(date: Civil, text: &mut impl Write) -> Result {
    if date.year > 0 { Ok(()) } else { text.write_str(" BC") }
}

/// The digits behind a point, without zeros at their end.
fn fraction(part: i64, of: i64, text: &mut impl Write) -> Result {
    if part == 0 {
        return Ok(());
    }
    let mut digits = of.ilog10() as usize;
    let mut part = part.unsigned_abs();
    while part.is_multiple_of(10) {
        part /= 10;
        digits -= 1;
    }
    write!(text, ".{part:0digits$}")
}

/// An interval: years, months, days and a time, each with its sign where it is negative or stands behind a negative one.
pub(crate) fn write_interval(interval: IntervalMonthDayNano, text: &mut impl Write) -> Result {
    let (years, months) = (interval.months / 12, interval.months % 12);
    let mut is_first = true;
    let mut after_negative = false;
    for (number, unit) in [(years, "year"), (months, "mon"), (interval.days, "day")] {
        if number == 0 {
            continue;
        }
        let blank = if is_first { "" } else { " " };
        let sign = if after_negative && number > 0 { "+" } else { "" };
        let plural = if number == 1 { "" } else { "s" };
        write!(text, "{blank}{sign}{number} {unit}{plural}")?;
        (is_first, after_negative) = (false, number < 0);
    }
    if interval.nanoseconds == 0 && !is_first {
        return Ok(());
    }
    let blank = if is_first { "" } else { " " };
    let sign = match interval.nanoseconds {
        time if time < 0 => "-",
        _ if after_negative => "+",
        _ => "",
    };
    let time = interval.nanoseconds.unsigned_abs();
    let seconds = time / 1_000_000_000;
    write!(text, "{blank}{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    fraction((time % 1_000_000_000) as i64, 1_000_000_000, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(months: i32, days: i32, micros: i64) -> String {
        let mut text = String::new();
        write_interval(IntervalMonthDayNano::new(months, days, micros * 1000), &mut text).unwrap();
        text
    }

    #[test]
    fn intervals_have_their_signs() {
        assert_eq!(interval(14, 3, 14_706_500_000), "1 year 2 mons 3 days 04:05:06.5");
        assert_eq!(interval(0, -1, -7_200_000_000), "-1 days -02:00:00");
        assert_eq!(interval(1, -1, 7_384_000_000), "1 mon -1 days +02:03:04");
        assert_eq!(interval(-1, 1, 0), "-1 mons +1 day");
        assert_eq!(interval(0, 0, 0), "00:00:00");
        assert_eq!(interval(0, 1, -90_000_000_000), "1 day -25:00:00");
        assert_eq!(interval(-14, 0, 0), "-1 years -2 mons");
    }

    #[test]
    fn timestamps_have_the_digits_that_they_need() {
        let written = |timestamp, unit, has_zone| {
            let mut text = String::new();
            write_timestamp(timestamp, unit, has_zone, &mut text).unwrap();
            text
        };
        assert_eq!(written(0, TimeUnit::Second, false), "1970-01-01 00:00:00");
        assert_eq!(written(-1, TimeUnit::Microsecond, true), "1969-12-31 23:59:59.999999+00");
        assert_eq!(written(1_500, TimeUnit::Millisecond, false), "1970-01-01 00:00:01.5");
        assert_eq!(written(10, TimeUnit::Nanosecond, false), "1970-01-01 00:00:00.00000001");
        assert_eq!(written(i64::MAX, TimeUnit::Microsecond, true), "infinity");
        let mut text = String::new();
        write_date(Civil { year: -43, month: 3, day: 15 }.days() as i32, &mut text).unwrap();
        assert_eq!(text, "0044-03-15 BC");
    }
}
