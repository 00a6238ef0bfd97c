//! Timestamps and intervals made of numbers, and whether one is finite: make_timestamp, make_timestamptz, make_interval,
//! isfinite.

use crate::error::invalid;
use crate::functions::{Compute, PureFunction};
use crate::temporal::civil::{Civil, days_of};
use crate::temporal::column::integers;
use crate::temporal::interval::INTERVAL;
use crate::temporal::moment::is_infinite;
use crate::temporal::text::{Zone, utc_of};
use crate::temporal::zones::ZONE;
use crate::type_name::type_name;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, IntervalMonthDayNanoArray, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, IntervalMonthDayNano, TimeUnit};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let local = |_: &[DataType]| Ok(DataType::Timestamp(TimeUnit::Microsecond, None));
    let instant = |_: &[DataType]| Ok(DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())));
    let interval = |_: &[DataType]| Ok(INTERVAL);
    let finite: Compute = |own, _| finite(&own[0]);
    vec![
        PureFunction::new("make_date", date_parts, |_| Ok(DataType::Date32), dates).build(),
        PureFunction::new("make_timestamp", |types| parts("make_timestamp", types, 6, false), local, timestamps)
            .build(),
        PureFunction::new("make_timestamptz", |types| parts("make_timestamptz", types, 6, true), instant, timestamps)
            .build(),
        PureFunction::new("make_interval", |types| parts("make_interval", types, 7, false), interval, intervals)
            .build(),
        PureFunction::new("isfinite", one_time, |_| Ok(DataType::Boolean), finite).build(),
    ]
}

/// Whole numbers and, last, seconds with a fraction; behind them the name of a zone.
fn parts(name: &str, types: &[DataType], count: usize, has_zone: bool) -> Result<Vec<DataType>> {
    if types.len() != count && !(has_zone && types.len() == count + 1) {
        return invalid!(UndefinedFunction, "{name} takes {count} numbers, not {} values", types.len());
    }
    for own in &types[..count] {
        if !(own.is_numeric() || own.is_null() || own.is_string()) {
            return invalid!(UndefinedFunction, "{name} takes numbers, not {}", type_name(own));
        }
    }
    let mut all = vec![DataType::Int64; count - 1];
    all.push(DataType::Float64);
    all.extend((types.len() > count).then_some(DataType::Utf8View));
    Ok(all)
}

/// The whole numbers of a row, and the seconds.
fn row_of(arguments: &[ArrayRef], row: usize) -> Option<(Vec<i64>, f64)> {
    if arguments.iter().any(|own| own.is_null(row)) {
        return None;
    }
    let whole = arguments.iter().filter_map(|own| own.as_primitive_opt::<Int64Type>());
    let seconds = arguments.iter().find_map(|own| own.as_primitive_opt::<Float64Type>())?;
    Some((whole.map(|own| own.value(row)).collect(), seconds.value(row)))
}

fn date_parts(types: &[DataType]) -> Result<Vec<DataType>> {
    let is_number = |own: &DataType| own.is_integer() || own.is_null() || own.is_string();
    match types {
        [_, _, _] if types.iter().all(is_number) => Ok(vec![DataType::Int64; 3]),
        _ => invalid!(UndefinedFunction, "make_date takes a year, a month and a day as whole numbers"),
    }
}

fn dates(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let mut made = Vec::with_capacity(arguments[0].len());
    for row in 0..arguments[0].len() {
        if arguments.iter().any(|own| own.is_null(row)) {
            made.push(None);
            continue;
        }
        let [year, month, day] = [0, 1, 2].map(|at| arguments[at].as_primitive::<Int64Type>().value(row));
        let days = day_of(year, month, day).and_then(|days| i32::try_from(days).ok());
        match days {
            Some(days) => made.push(Some(days)),
            None => return invalid!(DatetimeFieldOverflow, "there is no day {year}-{month:02}-{day:02}"),
        }
    }
    Ok(Arc::new(made.into_iter().collect::<Date32Array>()))
}

/// The day of a date, whose year is negative before the first; `None` where there is none.
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_year = year != 0 && (-4713..=5_874_897).contains(&year);
    let of_era = if year < 0 { year + 1 } else { year };
    let is_day = is_year && (1..=12).contains(&month) && (1..=days_of(of_era, month)).contains(&day);
    is_day.then(|| Civil { year: of_era, month, day }.days())
}

fn timestamps(arguments: &[ArrayRef], result: &DataType) -> Result<ArrayRef> {
    let zones = match arguments.get(6) {
        Some(zones) => Some(cast(zones, &DataType::Utf8View)?),
        None => None,
    };
    let rows = arguments[0].len();
    let mut made = Vec::with_capacity(rows);
    for row in 0..rows {
        let Some((whole, seconds)) = row_of(arguments, row) else {
            made.push(None);
            continue;
        };
        let local = timestamp(&whole, seconds)?;
        made.push(Some(match &zones {
            None => local,
            Some(zones) => {
                let name = zones.as_string_view().value(row);
                match Zone::read(name) {
                    Ok(zone) => utc_of(local, zone),
                    Err(_) => {
                        return invalid!(
                            InvalidParameterValue,
                            "time zone '{name}' is not known; names are like 'Europe/Berlin' or '+02'"
                        );
                    }
                }
            }
        }));
    }
    Ok(Arc::new(made.into_iter().collect::<TimestampMicrosecondArray>().with_data_type(result.clone())))
}

/// Microseconds of a date and a time of its day. Years before the first are negative.
fn timestamp(whole: &[i64], seconds: f64) -> Result<i64> {
    let [year, month, day, hour, minute] = *whole else {
        return datafusion::common::internal_err!("{} parts of a timestamp", whole.len());
    };
    let Some(days) = day_of(year, month, day) else {
        return invalid!(DatetimeFieldOverflow, "there is no day {year}-{month:02}-{day:02}");
    };
    let is_time = (0..=24).contains(&hour) && (0..=59).contains(&minute) && (0.0..=60.0).contains(&seconds);
    let micros = (seconds * 1e6).round_ties_even() as i64;
    let time = (hour * 60 + minute) * 60_000_000 + micros;
    if !is_time || time > 86_400_000_000 {
        return invalid!(DatetimeFieldOverflow, "there is no time {hour}:{minute:02}:{seconds}");
    }
    match days.checked_mul(86_400_000_000).and_then(|midnight| midnight.checked_add(time)) {
        Some(micros) => Ok(micros),
        None => invalid!(DatetimeFieldOverflow, "{year}-{month:02}-{day:02} is out of range for TIMESTAMP"),
    }
}

fn intervals(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let rows = arguments[0].len();
    let mut made = Vec::with_capacity(rows);
    for row in 0..rows {
        made.push(row_of(arguments, row).map(|(whole, seconds)| interval(&whole, seconds)).transpose()?);
    }
    Ok(Arc::new(made.into_iter().collect::<IntervalMonthDayNanoArray>()))
}

fn interval(whole: &[i64], seconds: f64) -> Result<IntervalMonthDayNano> {
    let [years, months, weeks, days, hours, minutes] = *whole else {
        return datafusion::common::internal_err!("{} parts of an interval", whole.len());
    };
    let sum = |many: i64, of: i64, more: i64| many.checked_mul(of).and_then(|own| own.checked_add(more));
    let months = sum(years, 12, months).and_then(|own| i32::try_from(own).ok());
    let days = sum(weeks, 7, days).and_then(|own| i32::try_from(own).ok());
    let micros = (seconds * 1e6).round_ties_even();
    let is_finite = micros.is_finite() && micros.abs() < 9e15;
    let time = sum(hours, 60, minutes).and_then(|own| sum(own, 60_000_000, micros as i64));
    let time = time.and_then(|own| own.checked_mul(1000)).filter(|_| is_finite);
    match (months, days, time) {
        (Some(months), Some(days), Some(time)) => Ok(IntervalMonthDayNano::new(months, days, time)),
        _ => invalid!(DatetimeFieldOverflow, "the interval is out of range"),
    }
}

fn one_time(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [own @ (DataType::Date32 | DataType::Timestamp(..) | DataType::Interval(_))] => Ok(vec![own.clone()]),
        [DataType::Null] => Ok(vec![DataType::Timestamp(TimeUnit::Microsecond, None)]),
        [other] => {
            invalid!(UndefinedFunction, "isfinite takes a date, a timestamp or an interval, not {}", type_name(other))
        }
        _ => invalid!(UndefinedFunction, "isfinite takes one value, not {}", types.len()),
    }
}

fn finite(values: &ArrayRef) -> Result<ArrayRef> {
    if matches!(values.data_type(), DataType::Interval(_)) {
        let all = (0..values.len()).map(|row| values.is_valid(row).then_some(true));
        return Ok(Arc::new(all.collect::<BooleanArray>()));
    }
    let of_day = *values.data_type() == DataType::Date32;
    let ends = [i64::from(i32::MIN), i64::from(i32::MAX)];
    let is_finite = |own: i64| if of_day { !ends.contains(&own) } else { !is_infinite(own) };
    Ok(Arc::new(integers(values)?.iter().map(|own| own.map(is_finite)).collect::<BooleanArray>()))
}
