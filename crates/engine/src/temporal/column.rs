//! Columns of dates, times and timestamps as integers, and back.

use crate::error::invalid;
use crate::temporal::interval::DAY;
use crate::temporal::moment::{is_infinite, units_of_day};
use crate::temporal::value::{At, nanoseconds_of};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, make_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use std::sync::Arc;

/// The kind of value that a type has.
pub(crate) fn kind(data_type: &DataType) -> Result<At> {
    Ok(match data_type {
        DataType::Date32 => At::Day,
        DataType::Time32(unit) | DataType::Time64(unit) => At::Time(*unit),
        DataType::Timestamp(unit, None) => At::Local(*unit),
        DataType::Timestamp(unit, Some(_)) => At::Instant(*unit),
        other => {
            return invalid!(
                DatatypeMismatch,
                "{} is no date, time or timestamp; cast it",
                crate::type_name::type_name(other)
            );
        }
    })
}

/// The integers of dates and times.
pub(crate) fn integers(values: &ArrayRef) -> Result<Int64Array> {
    let plain = match values.data_type() {
        DataType::Date32 | DataType::Time32(_) => cast(values, &DataType::Int32)?,
        _ => Arc::clone(values),
    };
    Ok(cast(&plain, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

/// Integers as a type's values.
pub(crate) fn as_type(values: Int64Array, to: &DataType) -> Result<ArrayRef> {
    Ok(match to {
        DataType::Date32 | DataType::Time32(_) => cast(&cast(&values, &DataType::Int32)?, to)?,
        DataType::Timestamp(unit, Some(_)) => {
            // A cast would take the zone's offset away.
            let plain = cast(&values, &DataType::Timestamp(*unit, None))?;
            make_array(plain.to_data().into_builder().data_type(to.clone()).build()?)
        }
        _ => cast(&values, to)?,
    })
}

/// A point in time as a day and the time of that day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DayAndTime {
    /// Days since 1970-01-01; 0 of a time alone.
    pub(super) days: i64,
    /// Nanoseconds since midnight.
    pub(super) nanoseconds: i64,
}

/// Days and times of a column; infinite values have none.
pub(super) fn days_and_times(values: &ArrayRef) -> Result<Vec<Option<DayAndTime>>> {
    let at = kind(values.data_type())?;
    let split = |value: i64| match at {
        At::Day if value == i64::from(i32::MAX) || value == i64::from(i32::MIN) => None,
        At::Day => Some(DayAndTime { days: value, nanoseconds: 0 }),
        At::Time(unit) => Some(DayAndTime { days: 0, nanoseconds: value * nanoseconds_of(unit) }),
        At::Local(_) | At::Instant(_) if is_infinite(value) => None,
        At::Local(unit) | At::Instant(unit) => {
            let day = units_of_day(unit);
            let nanoseconds = value.rem_euclid(day) * (DAY / day);
            Some(DayAndTime { days: value.div_euclid(day), nanoseconds })
        }
    };
    Ok(integers(values)?.iter().map(|value| value.and_then(split)).collect())
}
