//! Arithmetic of intervals, which are months, days and nanoseconds: a month has 30 days and a day 24 hours where intervals
//! are compared or a fraction is carried from one to the next, as in PostgreSQL.

use crate::error::invalid;
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit};
use datafusion::error::Result;

/// The type of intervals.
pub(super) const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
/// Nanoseconds of a day of 24 hours.
pub(super) const DAY: i64 = 86_400_000_000_000;
/// Days of a month where intervals are compared.
const MONTH: i128 = 30;

/// The length of an interval in nanoseconds: two are equal when these are.
pub(crate) fn length(interval: IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * MONTH + i128::from(interval.days);
    days * i128::from(DAY) + i128::from(interval.nanoseconds)
}

/// The one of all equal intervals that has less than 30 days and 24 hours beside its months, none of them negative: of
/// two such, the larger is the one with more months, or days, or nanoseconds.
pub(super) fn canonical(interval: IntervalMonthDayNano) -> IntervalMonthDayNano {
    let month = MONTH * i128::from(DAY);
    let length = length(interval);
    let (months, rest) = (length.div_euclid(month), length.rem_euclid(month));
    let days = rest / i128::from(DAY);
    // Days and nanoseconds are under their limits; months may be past theirs only where the days of all months were.
    let months = i32::try_from(months).unwrap_or(if months < 0 { i32::MIN } else { i32::MAX });
    IntervalMonthDayNano::new(months, days as i32, (rest % i128::from(DAY)) as i64)
}

/// An interval of these parts, which may be too large.
fn checked(months: Option<i32>, days: Option<i32>, nanoseconds: Option<i64>) -> Result<IntervalMonthDayNano> {
    match (months, days, nanoseconds) {
        (Some(months), Some(days), Some(nanoseconds)) => Ok(IntervalMonthDayNano::new(months, days, nanoseconds)),
        _ => invalid!(DatetimeFieldOverflow, "interval overflow: the result is out of range for INTERVAL"),
    }
}

/// The sum of two.
pub(super) fn add(a: IntervalMonthDayNano, b: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    checked(a.months.checked_add(b.months), a.days.checked_add(b.days), a.nanoseconds.checked_add(b.nanoseconds))
}

/// The difference of two.
pub(super) fn subtract(a: IntervalMonthDayNano, b: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    checked(a.months.checked_sub(b.months), a.days.checked_sub(b.days), a.nanoseconds.checked_sub(b.nanoseconds))
}

/// What lies so far on the way from one to another: 0 is the first, 1 the second.
pub(crate) fn between(
    first: IntervalMonthDayNano,
    second: IntervalMonthDayNano,
    share: f64,
) -> Result<IntervalMonthDayNano> {
    add(first, multiply(subtract(second, first)?, share)?)
}

/// The interval with the other sign.
pub(super) fn negate(a: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    checked(a.months.checked_neg(), a.days.checked_neg(), a.nanoseconds.checked_neg())
}

/// An interval times a number: fractions of months become days, those of days become time.
pub(super) fn multiply(a: IntervalMonthDayNano, factor: f64) -> Result<IntervalMonthDayNano> {
    scaled(a, |part| part * factor)
}

/// An interval by a number.
pub(super) fn divide(a: IntervalMonthDayNano, divisor: f64) -> Result<IntervalMonthDayNano> {
    if divisor == 0.0 {
        return invalid!(DivisionByZero, "division by zero");
    }
    scaled(a, |part| part / divisor)
}

fn scaled(a: IntervalMonthDayNano, scale: impl Fn(f64) -> f64) -> Result<IntervalMonthDayNano> {
    // Micros: fractions that are noise of floats are rounded away.
    let tidy = |value: f64| (value * 1e6).round_ties_even() / 1e6;
    let (months, days) = (scale(a.months.into()), scale(a.days.into()));
    let spilled_days = tidy((months - months.trunc()) * 30.0);
    let mut seconds = tidy((days - days.trunc() + spilled_days - spilled_days.trunc()) * 86_400.0);
    let mut whole_days = days.trunc() + spilled_days.trunc();
    if seconds.abs() >= 86_400.0 {
        whole_days += (seconds / 86_400.0).trunc();
        seconds -= (seconds / 86_400.0).trunc() * 86_400.0;
    }
    let micros = (scale(a.nanoseconds as f64 / 1e3) + seconds * 1e6).round_ties_even();
    let whole = |value: f64| (value.abs() <= f64::from(i32::MAX)).then_some(value as i32);
    let nanoseconds = (micros.abs() < 9.2e15).then_some(micros as i64).and_then(|micros| micros.checked_mul(1000));
    checked(whole(months.trunc()), whole(whole_days), nanoseconds)
}

/// A span of nanoseconds as days and the time that is left, both of one sign.
pub(super) fn of_nanoseconds(span: i128) -> Result<IntervalMonthDayNano> {
    let days = span / i128::from(DAY);
    checked(Some(0), i32::try_from(days).ok(), Some((span % i128::from(DAY)) as i64))
}

/// Hours beyond 24 become days, of one sign with the time that is left.
pub(super) fn justify_hours(a: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    let (mut days, mut time) = (i64::from(a.days) + a.nanoseconds / DAY, a.nanoseconds % DAY);
    if days > 0 && time < 0 {
        (days, time) = (days - 1, time + DAY);
    } else if days < 0 && time > 0 {
        (days, time) = (days + 1, time - DAY);
    }
    checked(Some(a.months), i32::try_from(days).ok(), Some(time))
}

/// Days beyond 30 become months, of one sign with the days that are left.
pub(super) fn justify_days(a: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    let (mut months, mut days) = (i64::from(a.months) + i64::from(a.days / 30), a.days % 30);
    if months > 0 && days < 0 {
        (months, days) = (months - 1, days + 30);
    } else if months < 0 && days > 0 {
        (months, days) = (months + 1, days - 30);
    }
    checked(i32::try_from(months).ok(), Some(days), Some(a.nanoseconds))
}

/// Months, days and time of one sign, with less than 30 days and 24 hours.
pub(super) fn justify_interval(a: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    let length = length(a);
    let month = MONTH * i128::from(DAY);
    let (months, rest) = (length / month, length % month);
    let days = rest / i128::from(DAY);
    checked(i32::try_from(months).ok(), Some(days as i32), Some((rest % i128::from(DAY)) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(months: i32, days: i32, seconds: i64) -> IntervalMonthDayNano {
        IntervalMonthDayNano::new(months, days, seconds * 1_000_000_000)
    }

    #[test]
    fn equal_intervals_have_one_form() {
        assert_eq!(canonical(interval(1, 0, 0)), canonical(interval(0, 30, 0)));
        assert_eq!(canonical(interval(0, 1, 0)), canonical(interval(0, 0, 86_400)));
        assert_eq!(canonical(interval(0, 0, -1)), interval(-1, 29, 86_399));
        assert!(canonical(interval(0, 40, 0)) > canonical(interval(1, 0, 0)));
        assert!(canonical(interval(0, -1, 0)) < canonical(interval(0, 0, -3600)));
    }

    #[test]
    fn fractions_go_to_the_next_part() {
        assert_eq!(multiply(interval(1, 0, 0), 2.5).unwrap(), interval(2, 15, 0));
        assert_eq!(divide(interval(0, 0, 3600), 4.0).unwrap(), interval(0, 0, 900));
        assert_eq!(multiply(interval(0, 1, 0), 1.5).unwrap(), interval(0, 1, 43_200));
        assert_eq!(divide(interval(1, 40, 10_800), 3.0).unwrap(), interval(0, 23, 32_400));
        assert!(divide(interval(1, 0, 0), 0.0).is_err());
        assert!(multiply(interval(i32::MAX, 0, 0), 2.0).is_err());
        assert!(multiply(interval(1, 0, 0), f64::NAN).is_err());
    }

    #[test]
    fn parts_are_justified() {
        assert_eq!(justify_hours(interval(0, 1, 90_000)).unwrap(), interval(0, 2, 3600));
        assert_eq!(justify_days(interval(0, 35, 0)).unwrap(), interval(1, 5, 0));
        assert_eq!(justify_interval(interval(1, 0, -3600)).unwrap(), interval(0, 29, 82_800));
        assert_eq!(of_nanoseconds(-90_000_000_000_000).unwrap(), interval(0, -1, -3600));
    }
}
