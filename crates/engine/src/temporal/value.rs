//! Single values as integers of their types: read from text, written as text, changed to another type.

use crate::temporal::interval::DAY;
use crate::temporal::moment::{is_infinite, units_of_day};
use crate::temporal::text::{
    Fields, Misread, Moment, Zone, read_date, read_interval, read_moment, read_time, utc_of, write_date,
    write_interval, write_time, write_timestamp,
};
use arrow::datatypes::{IntervalMonthDayNano, TimeUnit};
use gingham_storage::{Problem, SqlState};

/// The meaning of an integer: the units that it counts, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// Days since 1970-01-01.
    Day,
    /// Units since midnight.
    Time(TimeUnit),
    /// Units since 1970-01-01, of a clock on the wall.
    Local(TimeUnit),
    /// Units since 1970-01-01 in UTC.
    Instant(TimeUnit),
}

/// Nanoseconds of a unit.
pub(crate) fn nanoseconds_of(unit: TimeUnit) -> i64 {
    DAY / units_of_day(unit)
}

/// Nanoseconds as units, the nearest.
fn in_units(nanoseconds: i128, unit: TimeUnit) -> i128 {
    let size = i128::from(nanoseconds_of(unit));
    (nanoseconds + size / 2).div_euclid(size)
}

/// The integer that a text means, or what is wrong with the text; `name` is the type's.
pub(crate) fn at_of(text: &str, at: At, name: &str) -> Result<i64, Problem> {
    let read = match at {
        At::Day => read_date(text).map(i64::from),
        At::Time(unit) => read_time(text).map(|time| in_units(time.into(), unit) as i64),
        At::Local(unit) => read_moment(text).and_then(|moment| timestamp(moment, unit, false)),
        At::Instant(unit) => read_moment(text).and_then(|moment| timestamp(moment, unit, true)),
    };
    read.map_err(|misread| misread.problem(text, name))
}

fn timestamp(moment: Moment, unit: TimeUnit, is_instant: bool) -> Result<i64, Misread> {
    let (days, time, zone) = match moment {
        Moment::Infinite { later } => return Ok(if later { i64::MAX } else { i64::MIN }),
        Moment::At { days, time, zone } => (days.ok_or(Misread::Form)?, time.unwrap_or(0), zone),
    };
    let local = i128::from(days) * i128::from(DAY) + i128::from(time);
    let nanoseconds = match zone.filter(|_| is_instant) {
        None => local,
        Some(Zone::Offset(seconds)) => local - i128::from(seconds) * 1_000_000_000,
        Some(zone) => {
            let micros = i64::try_from(local.div_euclid(1000)).map_err(|_| Misread::Range)?;
            local + (i128::from(utc_of(micros, zone)) - i128::from(micros)) * 1000
        }
    };
    match i64::try_from(in_units(nanoseconds, unit)) {
        Ok(timestamp) if !is_infinite(timestamp) => Ok(timestamp),
        _ => Err(Misread::Range),
    }
}

/// The interval that a text is, with the fields of `INTERVAL '…' DAY TO HOUR`.
pub(crate) fn interval_of(text: &str, fields: &str) -> Result<IntervalMonthDayNano, Problem> {
    let known = Fields::read(fields)
        .ok_or_else(|| Problem::new(SqlState::SyntaxError, format!("INTERVAL has no field {fields}")))?;
    read_interval(text, known).map_err(|misread| misread.problem(text, "INTERVAL"))
}

/// Puts a value behind `text`.
pub(crate) fn text_of(value: i64, at: At, text: &mut String) {
    // Writing to a String does not fail.
    let _ = match at {
        At::Day => write_date(value as i32, text),
        At::Time(unit) => write_time(value, unit, text),
        At::Local(unit) => write_timestamp(value, unit, false, text),
        At::Instant(unit) => write_timestamp(value, unit, true, text),
    };
}

/// An interval as text.
pub(crate) fn interval_text(interval: IntervalMonthDayNano) -> String {
    let mut text = String::new();
    let _ = write_interval(interval, &mut text);
    text
}

/// The time of day that an interval's time is, round the clock.
pub(crate) fn time_of_interval(interval: IntervalMonthDayNano, at: At) -> i64 {
    let time = interval.nanoseconds.rem_euclid(DAY);
    match at {
        At::Time(unit) => time / nanoseconds_of(unit),
        _ => time,
    }
}

/// A value as another type, `name`; an infinite timestamp has no time of day.
pub(crate) fn changed(value: i64, from: At, to: At, name: &str) -> Result<Option<i64>, Problem> {
    let outside = || {
        let mut text = String::new();
        text_of(value, from, &mut text);
        Problem::new(SqlState::DatetimeFieldOverflow, format!("value '{text}' is out of range for {name}"))
    };
    let (nanoseconds, infinite) = match from {
        At::Day => {
            let infinite = value == i64::from(i32::MAX) || value == i64::from(i32::MIN);
            (i128::from(value) * i128::from(DAY), infinite)
        }
        At::Time(unit) => (i128::from(value) * i128::from(nanoseconds_of(unit)), false),
        At::Local(unit) | At::Instant(unit) => {
            (i128::from(value) * i128::from(nanoseconds_of(unit)), is_infinite(value))
        }
    };
    let whole = |value: i128| i64::try_from(value).ok().filter(|value| !is_infinite(*value)).ok_or_else(outside);
    let changed = match to {
        At::Day if infinite => Ok(if value > 0 { i32::MAX.into() } else { i32::MIN.into() }),
        At::Local(_) | At::Instant(_) if infinite => Ok(if value > 0 { i64::MAX } else { i64::MIN }),
        At::Time(_) if infinite => return Ok(None),
        At::Day => whole(nanoseconds.div_euclid(DAY.into())),
        At::Time(unit) => {
            let is_time = matches!(from, At::Time(_));
            let time = if is_time { nanoseconds } else { nanoseconds.rem_euclid(DAY.into()) };
            whole(in_units(time, unit))
        }
        At::Local(unit) | At::Instant(unit) => whole(in_units(nanoseconds, unit)),
    };
    changed.map(Some)
}
