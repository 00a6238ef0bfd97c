//! Arithmetic of dates, timestamps and times of day. Timestamps are microseconds, or nanoseconds where they were stored so;
//! the largest and the smallest integer are the two infinities.

use crate::error::invalid;
use crate::temporal::civil::{Civil, days_of};
use crate::temporal::interval::{DAY, of_nanoseconds};
use arrow::datatypes::{IntervalMonthDayNano, TimeUnit};
use datafusion::error::Result;

/// A timestamp that is later or earlier than all others.
pub(super) fn is_infinite(timestamp: i64) -> bool {
    timestamp == i64::MAX || timestamp == i64::MIN
}

/// Units of a day.
pub(super) fn units_of_day(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 86_400,
        TimeUnit::Millisecond => 86_400_000,
        TimeUnit::Microsecond => 86_400_000_000,
        TimeUnit::Nanosecond => DAY,
    }
}

/// The direction in which an interval is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    Later,
    Earlier,
}

/// A timestamp moved by an interval: first its months, then its days, then its time.
pub(super) fn moved(timestamp: i64, unit: TimeUnit, by: IntervalMonthDayNano, toward: Toward) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let sign = if toward == Toward::Later { 1 } else { -1 };
    let day = units_of_day(unit);
    let (mut days, time) = (timestamp.div_euclid(day), timestamp.rem_euclid(day));
    if by.months != 0 {
        days = Civil::of(days).plus_months(sign * i64::from(by.months)).days();
    }
    days += sign * i64::from(by.days);
    let span = i128::from(sign) * i128::from(by.nanoseconds / (DAY / day));
    let moved = i128::from(days) * i128::from(day) + i128::from(time) + span;
    match i64::try_from(moved) {
        Ok(moved) if !is_infinite(moved) => Ok(moved),
        _ => invalid!(DatetimeFieldOverflow, "timestamp overflow: the result is out of range for TIMESTAMP"),
    }
}

/// `a - b` of timestamps of one unit: days and time.
pub(super) fn difference(a: i64, b: i64, unit: TimeUnit) -> Result<IntervalMonthDayNano> {
    if is_infinite(a) || is_infinite(b) {
        return invalid!(DatetimeFieldOverflow, "infinite timestamps can't be subtracted");
    }
    of_nanoseconds((i128::from(a) - i128::from(b)) * i128::from(DAY / units_of_day(unit)))
}

/// The span from `b` to `a` in years, months, days and time, as a calendar counts them.
pub(super) fn age(a: i64, b: i64, unit: TimeUnit) -> Result<IntervalMonthDayNano> {
    if is_infinite(a) || is_infinite(b) {
        return invalid!(DatetimeFieldOverflow, "infinite timestamps have no age");
    }
    let (later, earlier, sign) = if a >= b { (a, b, 1) } else { (b, a, -1) };
    let day = units_of_day(unit);
    let split = |timestamp: i64| (Civil::of(timestamp.div_euclid(day)), timestamp.rem_euclid(day));
    let ((last, last_time), (first, first_time)) = (split(later), split(earlier));
    let mut months = (last.year - first.year) * 12 + last.month - first.month;
    let mut days = last.day - first.day;
    let mut time = last_time - first_time;
    if time < 0 {
        time += day;
        days -= 1;
    }
    // The month of the earlier one lends its days.
    if days < 0 {
        days += days_of(first.year, first.month);
        months -= 1;
    }
    let Ok(months) = i32::try_from(months) else {
        return invalid!(DatetimeFieldOverflow, "interval overflow: an age out of range");
    };
    let nanoseconds = time * (DAY / day);
    Ok(IntervalMonthDayNano::new(sign * months, sign * days as i32, i64::from(sign) * nanoseconds))
}

/// A time of day moved by the time of an interval, round the clock.
pub(super) fn time_moved(time: i64, unit: TimeUnit, by: IntervalMonthDayNano, toward: Toward) -> i64 {
    let day = units_of_day(unit);
    let span = by.nanoseconds / (DAY / day) % day;
    (time + if toward == Toward::Later { span } else { -span }).rem_euclid(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(year: i64, month: i64, day: i64, seconds: i64) -> i64 {
        Civil { year, month, day }.days() * units_of_day(TimeUnit::Microsecond) + seconds * 1_000_000
    }

    fn interval(months: i32, days: i32, seconds: i64) -> IntervalMonthDayNano {
        IntervalMonthDayNano::new(months, days, seconds * 1_000_000_000)
    }

    #[test]
    fn months_come_before_days() {
        let micro = TimeUnit::Microsecond;
        let from = timestamp(2024, 1, 31, 10);
        assert_eq!(moved(from, micro, interval(1, 1, 5), Toward::Later).unwrap(), timestamp(2024, 3, 1, 15));
        assert_eq!(moved(from, micro, interval(2, 0, 20), Toward::Earlier).unwrap(), timestamp(2023, 11, 29, 86_390));
        assert_eq!(moved(i64::MAX, micro, interval(2, 0, 20), Toward::Earlier).unwrap(), i64::MAX);
        assert!(moved(i64::MAX - 1, micro, interval(1, 0, 0), Toward::Later).is_err());
    }

    #[test]
    fn spans_are_days_or_as_a_calendar_counts() {
        let micro = TimeUnit::Microsecond;
        let (a, b) = (timestamp(2024, 3, 1, 43_200), timestamp(2024, 1, 31, 37_230));
        assert_eq!(difference(a, b, micro).unwrap(), interval(0, 30, 5970));
        assert_eq!(age(a, b, micro).unwrap(), interval(1, 1, 5970));
        assert_eq!(age(b, a, micro).unwrap(), interval(-1, -1, -5970));
        assert!(difference(i64::MAX, b, micro).is_err());
    }

    #[test]
    fn a_clock_goes_round() {
        let hour = 3_600_000_000;
        assert_eq!(time_moved(23 * hour, TimeUnit::Microsecond, interval(0, 3, 7200), Toward::Later), hour);
        assert_eq!(time_moved(hour, TimeUnit::Microsecond, interval(0, 0, 7200), Toward::Earlier), 23 * hour);
    }
}
