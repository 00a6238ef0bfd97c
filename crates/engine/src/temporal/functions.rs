//! The functions that operators between dates, times, timestamps and intervals are, and those that are called by name:
//! age, justify_hours, justify_days and justify_interval.

use crate::Error;
use crate::casts::{Failing, convert};
use crate::error::invalid;
use crate::functions::{Compute, PureFunction, typed};
use crate::temporal::interval::INTERVAL;
use crate::temporal::moment::{Toward, units_of_day};
use crate::temporal::{interval, moment};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Types of a result: an interval, a DATE, or that of the first argument.
fn interval_type(_: &[DataType]) -> Result<DataType> {
    Ok(INTERVAL)
}

fn date_type(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Date32)
}

fn first_type(types: &[DataType]) -> Result<DataType> {
    Ok(types[0].clone())
}

/// DATE + days.
pub(super) fn date_plus_days() -> PureFunction {
    let compute: Compute = |arguments, _| days_moved(arguments, i64::checked_add);
    PureFunction::new("date_plus_days", date_and_days, date_type, compute).operator("+")
}

/// DATE - days.
pub(super) fn date_minus_days() -> PureFunction {
    let compute: Compute = |arguments, _| days_moved(arguments, i64::checked_sub);
    PureFunction::new("date_minus_days", date_and_days, date_type, compute).operator("-")
}

/// DATE - DATE: a number of days.
pub(super) fn days_between() -> PureFunction {
    let types = |_: &[DataType]| Ok(vec![DataType::Date32; 2]);
    PureFunction::new("days_between", types, |_| Ok(DataType::Int64), days_apart).operator("-")
}

/// DATE + TIME: a TIMESTAMP.
pub(super) fn date_plus_time() -> PureFunction {
    let types = |_: &[DataType]| Ok(vec![DataType::Date32, DataType::Time64(TimeUnit::Microsecond)]);
    let type_of = |_: &[DataType]| Ok(DataType::Timestamp(TimeUnit::Microsecond, None));
    PureFunction::new("date_plus_time", types, type_of, date_with_time).operator("+")
}

/// A timestamp and an interval, where a DATE is its midnight.
pub(super) fn later() -> PureFunction {
    let compute: Compute = |arguments, _| moved(arguments, Toward::Later);
    PureFunction::new("timestamp_plus_interval", moment_and_interval, first_type, compute).operator("+")
}

/// A timestamp less an interval.
pub(super) fn earlier() -> PureFunction {
    let compute: Compute = |arguments, _| moved(arguments, Toward::Earlier);
    PureFunction::new("timestamp_minus_interval", moment_and_interval, first_type, compute).operator("-")
}

/// The interval between two timestamps: days and time.
pub(super) fn between() -> PureFunction {
    let compute: Compute = |arguments, _| spans(arguments, moment::difference);
    PureFunction::new("interval_between", moments, interval_type, compute).operator("-")
}

/// TIME + interval.
pub(super) fn time_later() -> PureFunction {
    let compute: Compute = |arguments, _| time_moved(arguments, Toward::Later);
    PureFunction::new("time_plus_interval", time_and_interval, first_type, compute).operator("+")
}

/// TIME - interval.
pub(super) fn time_earlier() -> PureFunction {
    let compute: Compute = |arguments, _| time_moved(arguments, Toward::Earlier);
    PureFunction::new("time_minus_interval", time_and_interval, first_type, compute).operator("-")
}

/// TIME - TIME: an interval.
pub(super) fn time_between() -> PureFunction {
    let types = |_: &[DataType]| Ok(vec![DataType::Time64(TimeUnit::Nanosecond); 2]);
    PureFunction::new("time_between", types, interval_type, times_apart).operator("-")
}

/// The sum of two intervals.
pub(super) fn interval_plus() -> PureFunction {
    let compute: Compute = |arguments, _| combined(arguments, interval::add);
    PureFunction::new("interval_plus", intervals, interval_type, compute).operator("+")
}

/// The difference of two intervals.
pub(super) fn interval_minus() -> PureFunction {
    let compute: Compute = |arguments, _| combined(arguments, interval::subtract);
    PureFunction::new("interval_minus", intervals, interval_type, compute).operator("-")
}

/// An interval times a number.
pub(super) fn interval_times() -> PureFunction {
    let compute: Compute = |arguments, _| scaled(arguments, interval::multiply);
    PureFunction::new("interval_times", interval_and_number, interval_type, compute).operator("*")
}

/// An interval by a number.
pub(super) fn interval_by() -> PureFunction {
    let compute: Compute = |arguments, _| scaled(arguments, interval::divide);
    PureFunction::new("interval_by", interval_and_number, interval_type, compute).operator("/")
}

/// An interval with the other sign.
pub(super) fn interval_negative() -> PureFunction {
    let compute: Compute = |arguments, _| changed(arguments, interval::negate);
    PureFunction::new("interval_negative", intervals, interval_type, compute).operator("-")
}

/// The name of the function of [`interval_key`].
pub(crate) const INTERVAL_KEY: &str = "interval_key";

/// The form that equal intervals share; not to be shown.
pub(crate) fn interval_key() -> PureFunction {
    let compute: Compute = |arguments, _| interval_keys(&arguments[0]);
    PureFunction::new(INTERVAL_KEY, intervals, interval_type, compute)
}

/// The forms that equal intervals share.
pub(crate) fn interval_keys(values: &ArrayRef) -> Result<ArrayRef> {
    changed(std::slice::from_ref(values), |value| Ok(interval::canonical(value)))
}

/// The length of an interval in nanoseconds, a month of 30 days.
pub(super) fn interval_length() -> PureFunction {
    let compute: Compute = |arguments, result| {
        let values = typed::<IntervalMonthDayNanoType>(&arguments[0])?;
        let lengths = values.iter().map(|value| value.map(interval::length));
        Ok(Arc::new(lengths.collect::<Decimal128Array>().with_data_type(result.clone())))
    };
    PureFunction::new("interval_length", intervals, |_| Ok(DataType::Decimal128(38, 0)), compute)
}

/// greatest, least and nullif of intervals, which are compared by their length.
pub(super) fn choice_of_intervals(name: &str) -> Option<PureFunction> {
    let (name, compute): (_, Compute) = match name {
        "greatest" => {
            ("interval_greatest", |arguments, _| chosen(arguments, |a, b| interval::length(b) > interval::length(a)))
        }
        "least" => {
            ("interval_least", |arguments, _| chosen(arguments, |a, b| interval::length(b) < interval::length(a)))
        }
        "nullif" => ("interval_nullif", |arguments, _| {
            let (values, others) =
                (typed::<IntervalMonthDayNanoType>(&arguments[0])?, typed::<IntervalMonthDayNanoType>(&arguments[1])?);
            let pairs = values.iter().zip(others);
            let kept = pairs.map(|(value, other)| {
                value.filter(|value| other.is_none_or(|other| interval::length(*value) != interval::length(other)))
            });
            Ok(Arc::new(kept.collect::<PrimitiveArray<IntervalMonthDayNanoType>>()))
        }),
        _ => return None,
    };
    Some(PureFunction::new(name, intervals, interval_type, compute).with_nulls())
}

/// The value of each row that none is better than; NULLs are passed over.
fn chosen(
    arguments: &[ArrayRef],
    is_better: fn(IntervalMonthDayNano, IntervalMonthDayNano) -> bool,
) -> Result<ArrayRef> {
    let columns =
        arguments.iter().map(|column| typed::<IntervalMonthDayNanoType>(column)).collect::<Result<Vec<_>>>()?;
    let rows = columns.first().map_or(0, |column| column.len());
    let best = (0..rows).map(|row| {
        let values = columns.iter().filter(|column| column.is_valid(row)).map(|column| column.value(row));
        values.reduce(|best, value| if is_better(best, value) { value } else { best })
    });
    Ok(Arc::new(best.collect::<PrimitiveArray<IntervalMonthDayNanoType>>()))
}

/// The functions that are called by name.
pub(super) fn called() -> Vec<Arc<ScalarUDF>> {
    let age: Compute = |arguments, _| spans(arguments, moment::age);
    let hours: Compute = |arguments, _| changed(arguments, interval::justify_hours);
    let days: Compute = |arguments, _| changed(arguments, interval::justify_days);
    let all: Compute = |arguments, _| changed(arguments, interval::justify_interval);
    let one = |name, compute| PureFunction::new(name, one_interval, interval_type, compute).build();
    vec![
        PureFunction::new(crate::temporal::calls::TO_INTERVAL, text_and_fields, interval_type, intervals_of).build(),
        PureFunction::new(
            crate::temporal::calls::TIME_OF,
            one_value,
            |_| Ok(DataType::Time64(TimeUnit::Microsecond)),
            |values, result| convert(&values[0], result, Failing::Error),
        )
        .build(),
        PureFunction::new("age", two_moments, interval_type, age).build(),
        one("justify_hours", hours),
        one("justify_days", days),
        one("justify_interval", all),
    ]
}

fn date_and_days(_: &[DataType]) -> Result<Vec<DataType>> {
    Ok(vec![DataType::Date32, DataType::Int64])
}

/// The type in which a timestamp is computed: nanoseconds stay, all others are microseconds.
fn computed(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Time64(TimeUnit::Nanosecond) => DataType::Time64(TimeUnit::Nanosecond),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        _ => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

fn moment_and_interval(types: &[DataType]) -> Result<Vec<DataType>> {
    Ok(vec![computed(&types[0]), INTERVAL])
}

fn time_and_interval(types: &[DataType]) -> Result<Vec<DataType>> {
    Ok(vec![computed(&types[0]), INTERVAL])
}

/// Two timestamps in one unit, with a zone when one of them has it.
pub(super) fn moments(types: &[DataType]) -> Result<Vec<DataType>> {
    let all = types.iter().map(computed);
    let finest = if all.clone().any(|own| matches!(own, DataType::Timestamp(TimeUnit::Nanosecond, _))) {
        TimeUnit::Nanosecond
    } else {
        TimeUnit::Microsecond
    };
    let zone = all.into_iter().find_map(|own| if let DataType::Timestamp(_, zone) = own { zone } else { None });
    Ok(vec![DataType::Timestamp(finest, zone); types.len()])
}

fn two_moments(types: &[DataType]) -> Result<Vec<DataType>> {
    let is_moment = |data_type: &DataType| {
        matches!(data_type, DataType::Timestamp(..) | DataType::Date32 | DataType::Null) || data_type.is_string()
    };
    match types {
        [a, b] if is_moment(a) && is_moment(b) => moments(types),
        [other] | [other, _] if !is_moment(other) => {
            invalid!(UndefinedFunction, "age takes timestamps, not {}", type_name(other))
        }
        [_, other] => invalid!(UndefinedFunction, "age takes timestamps, not {}", type_name(other)),
        _ => invalid!(UndefinedFunction, "age takes two timestamps, not {} values", types.len()),
    }
}

fn intervals(types: &[DataType]) -> Result<Vec<DataType>> {
    Ok(vec![INTERVAL; types.len()])
}

fn one_interval(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [DataType::Interval(_) | DataType::Null] => Ok(vec![INTERVAL]),
        [text] if text.is_string() => Ok(vec![INTERVAL]),
        [other] => invalid!(UndefinedFunction, "an interval is to be justified, not {}", type_name(other)),
        _ => invalid!(UndefinedFunction, "one interval is to be justified, not {}", types.len()),
    }
}

fn one_value(types: &[DataType]) -> Result<Vec<DataType>> {
    let is_time = |own: &DataType| own.is_temporal() || own.is_null() || own.is_string();
    match types {
        [own] if is_time(own) => Ok(types.to_vec()),
        [own] => invalid!(CannotCoerce, "{own} can't be cast to TIME"),
        _ => invalid!(UndefinedFunction, "one value is cast to TIME, not {}", types.len()),
    }
}

fn text_and_fields(types: &[DataType]) -> Result<Vec<DataType>> {
    match types.len() {
        2 => Ok(vec![DataType::Utf8View; 2]),
        count => invalid!(UndefinedFunction, "an interval is read of a text and its fields, not of {count} values"),
    }
}

fn intervals_of(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let [texts, fields] = [&arguments[0], &arguments[1]].map(|texts| texts.as_string_view_opt());
    let (Some(texts), Some(fields)) = (texts, fields) else { return internal_err!("an interval of no text") };
    let read = |(text, fields): (Option<&str>, Option<&str>)| match text.zip(fields) {
        None => Ok(None),
        Some((text, fields)) => match crate::temporal::interval_of(text, fields) {
            Ok(interval) => Ok(Some(interval)),
            Err(problem) => Err(Error::InvalidInput(problem).into()),
        },
    };
    let intervals: Result<PrimitiveArray<IntervalMonthDayNanoType>> = texts.iter().zip(fields).map(read).collect();
    Ok(Arc::new(intervals?))
}

fn interval_and_number(_: &[DataType]) -> Result<Vec<DataType>> {
    Ok(vec![INTERVAL, DataType::Float64])
}

/// The results of two arguments, row by row; NULL where one of them is.
fn pairs<A: ArrowPrimitiveType, B: ArrowPrimitiveType, R: ArrowPrimitiveType>(
    arguments: &[ArrayRef],
    combine: impl Fn(A::Native, B::Native) -> Result<R::Native>,
) -> Result<PrimitiveArray<R>> {
    let (left, right) = (typed::<A>(&arguments[0])?, typed::<B>(&arguments[1])?);
    let rows = left.iter().zip(right);
    rows.map(|(a, b)| a.zip(b).map(|(a, b)| combine(a, b)).transpose()).collect()
}

fn days_moved(arguments: &[ArrayRef], operation: fn(i64, i64) -> Option<i64>) -> Result<ArrayRef> {
    let moved = pairs::<Date32Type, Int64Type, Date32Type>(arguments, |date, days| {
        if date == i32::MAX || date == i32::MIN {
            return Ok(date);
        }
        let moved = operation(date.into(), days).and_then(|days| i32::try_from(days).ok());
        match moved.filter(|moved| *moved != i32::MAX && *moved != i32::MIN) {
            Some(moved) => Ok(moved),
            None => invalid!(DatetimeFieldOverflow, "date overflow: the result is out of range for DATE"),
        }
    })?;
    Ok(Arc::new(moved))
}

fn days_apart(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let days = pairs::<Date32Type, Date32Type, Int64Type>(arguments, |a, b| {
        if [a, b].iter().any(|date| *date == i32::MAX || *date == i32::MIN) {
            return invalid!(DatetimeFieldOverflow, "infinite dates can't be subtracted");
        }
        Ok(i64::from(a) - i64::from(b))
    })?;
    Ok(Arc::new(days))
}

fn date_with_time(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let day = units_of_day(TimeUnit::Microsecond);
    let sums = pairs::<Date32Type, Time64MicrosecondType, TimestampMicrosecondType>(arguments, |date, time| {
        match date {
            i32::MAX => return Ok(i64::MAX),
            i32::MIN => return Ok(i64::MIN),
            _ => {}
        }
        match i64::from(date).checked_mul(day).and_then(|midnight| midnight.checked_add(time)) {
            Some(timestamp) => Ok(timestamp),
            None => invalid!(DatetimeFieldOverflow, "timestamp overflow: the result is out of range for TIMESTAMP"),
        }
    })?;
    Ok(Arc::new(sums))
}

fn moved(arguments: &[ArrayRef], toward: Toward) -> Result<ArrayRef> {
    type Interval = IntervalMonthDayNanoType;
    Ok(match arguments[0].data_type() {
        DataType::Timestamp(unit @ TimeUnit::Nanosecond, zone) => {
            let moved = pairs::<TimestampNanosecondType, Interval, TimestampNanosecondType>(arguments, |a, b| {
                moment::moved(a, *unit, b, toward)
            })?;
            Arc::new(moved.with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(unit, zone) => {
            let moved = pairs::<TimestampMicrosecondType, Interval, TimestampMicrosecondType>(arguments, |a, b| {
                moment::moved(a, *unit, b, toward)
            })?;
            Arc::new(moved.with_timezone_opt(zone.clone()))
        }
        other => return internal_err!("{other} moved by an interval"),
    })
}

/// The span between two timestamps of one unit.
type Span = fn(i64, i64, TimeUnit) -> Result<IntervalMonthDayNano>;

fn spans(arguments: &[ArrayRef], span: Span) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, _) = arguments[0].data_type() else {
        return internal_err!("a span of {}", arguments[0].data_type());
    };
    let units = arguments.iter().map(|argument| cast(argument, &DataType::Int64)).collect::<Result<Vec<_>, _>>()?;
    let spans = pairs::<Int64Type, Int64Type, IntervalMonthDayNanoType>(&units, |a, b| span(a, b, *unit))?;
    Ok(Arc::new(spans))
}

fn time_moved(arguments: &[ArrayRef], toward: Toward) -> Result<ArrayRef> {
    type Interval = IntervalMonthDayNanoType;
    Ok(match arguments[0].data_type() {
        DataType::Time64(unit @ TimeUnit::Nanosecond) => {
            Arc::new(pairs::<Time64NanosecondType, Interval, Time64NanosecondType>(arguments, |a, b| {
                Ok(moment::time_moved(a, *unit, b, toward))
            })?)
        }
        DataType::Time64(unit) => {
            Arc::new(pairs::<Time64MicrosecondType, Interval, Time64MicrosecondType>(arguments, |a, b| {
                Ok(moment::time_moved(a, *unit, b, toward))
            })?)
        }
        other => return internal_err!("{other} moved by an interval"),
    })
}

fn times_apart(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let spans = pairs::<Time64NanosecondType, Time64NanosecondType, IntervalMonthDayNanoType>(arguments, |a, b| {
        Ok(IntervalMonthDayNano::new(0, 0, a - b))
    })?;
    Ok(Arc::new(spans))
}

fn combined(
    arguments: &[ArrayRef],
    combine: fn(IntervalMonthDayNano, IntervalMonthDayNano) -> Result<IntervalMonthDayNano>,
) -> Result<ArrayRef> {
    type Interval = IntervalMonthDayNanoType;
    Ok(Arc::new(pairs::<Interval, Interval, Interval>(arguments, combine)?))
}

fn scaled(
    arguments: &[ArrayRef],
    scale: fn(IntervalMonthDayNano, f64) -> Result<IntervalMonthDayNano>,
) -> Result<ArrayRef> {
    type Interval = IntervalMonthDayNanoType;
    Ok(Arc::new(pairs::<Interval, Float64Type, Interval>(arguments, scale)?))
}

fn changed(
    arguments: &[ArrayRef],
    change: impl Fn(IntervalMonthDayNano) -> Result<IntervalMonthDayNano>,
) -> Result<ArrayRef> {
    let values = typed::<IntervalMonthDayNanoType>(&arguments[0])?;
    let changed: Result<PrimitiveArray<IntervalMonthDayNanoType>> =
        values.iter().map(|value| value.map(&change).transpose()).collect();
    Ok(Arc::new(changed?))
}
