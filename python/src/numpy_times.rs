//! NumPy's `datetime64` and `timedelta64` as parameters. Their `item()` would be an integer where Python's own classes have no such
//! value, and nobody would be told.

use crate::error::{unfit, unsupported};
use crate::from_python::interval_of;
use gingham::ScalarValue;
use pyo3::intern;
use pyo3::prelude::*;

/// What NumPy stores for a value that is missing.
const NOT_A_TIME: i64 = i64::MIN;
/// Months and weeks beyond these are out of every range, and NumPy would count days past the end of its integers.
const MOST_MONTHS: i64 = 12 * 5_000_000;
const SECOND_NANOS: i128 = 1_000_000_000;

/// How many of a unit a value has.
struct Count {
    count: i64,
    unit: String,
}

impl Count {
    /// `None` for NaT.
    fn of(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let data = py.import("numpy")?.getattr("datetime_data")?.call1((value.getattr(intern!(py, "dtype"))?,))?;
        let (unit, step): (String, i64) = data.extract()?;
        let plain = value.call_method1(intern!(py, "astype"), (intern!(py, "int64"),))?;
        let count: i64 = plain.call_method0(intern!(py, "item"))?.extract()?;
        if count == NOT_A_TIME {
            return Ok(None);
        }
        let count = count.checked_mul(step).ok_or_else(|| unfit(py, &format!("{value} is out of range")))?;
        Ok(Some(Self { count, unit }))
    }

    /// In nanoseconds; `Err` is how many of the unit a nanosecond has. `None` for units of no fixed length.
    fn nanos(&self) -> Option<Result<i128, i128>> {
        let nanos = match self.unit.as_str() {
            "W" => 7 * 86_400 * SECOND_NANOS,
            "D" => 86_400 * SECOND_NANOS,
            "h" => 3_600 * SECOND_NANOS,
            "m" => 60 * SECOND_NANOS,
            "s" => SECOND_NANOS,
            "ms" => 1_000_000,
            "us" => 1_000,
            "ns" => 1,
            "ps" => return Some(self.by(1_000)),
            "fs" => return Some(self.by(1_000_000)),
            "as" => return Some(self.by(1_000_000_000)),
            _ => return None,
        };
        Some(Ok(i128::from(self.count) * nanos))
    }

    fn by(&self, parts: i128) -> Result<i128, i128> {
        let count = i128::from(self.count);
        if count % parts == 0 { Ok(count / parts) } else { Err(parts) }
    }
}

fn finer(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyErr {
    unfit(py, &format!("{value} has parts of a nanosecond, which SQL has not; round it first"))
}

/// A `datetime64`: of days and longer units a DATE, else a TIMESTAMP, of nanoseconds where it has some.
pub(crate) fn moment(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let Some(own) = Count::of(py, value)? else { return Ok(ScalarValue::Null) };
    let out_of = |kind: &str| unfit(py, &format!("the datetime64 {value} is out of range for {kind}"));
    if matches!(own.unit.as_str(), "Y" | "M" | "W" | "D") {
        let months = if own.unit == "Y" { own.count.checked_mul(12) } else { Some(own.count) };
        let known = own.unit == "D" || months.is_some_and(|months| months.abs() <= MOST_MONTHS);
        let days = if known { Some(value.call_method1(intern!(py, "astype"), ("datetime64[D]",))?) } else { None };
        let days = days.map(|days| days.call_method1(intern!(py, "astype"), (intern!(py, "int64"),))).transpose()?;
        let days: Option<i64> = days
            .map(|days| days.call_method0(intern!(py, "item")))
            .transpose()?
            .map(|days| days.extract())
            .transpose()?;
        let days = days.and_then(|days| i32::try_from(days).ok()).ok_or_else(|| out_of("DATE"))?;
        return Ok(ScalarValue::Date32(Some(days)));
    }
    let nanos = own.nanos().ok_or_else(|| unsupported(py, &format!("the datetime64 {value} has no unit")))?;
    let nanos = nanos.map_err(|_| finer(py, value))?;
    let (units, nanoseconds) = if nanos % 1_000 == 0 { (nanos / 1_000, false) } else { (nanos, true) };
    let units = i64::try_from(units).map_err(|_| out_of("TIMESTAMP"))?;
    Ok(match nanoseconds {
        true => ScalarValue::TimestampNanosecond(Some(units), None),
        false => ScalarValue::TimestampMicrosecond(Some(units), None),
    })
}

/// A `timedelta64`: months of those in months and years, days and time of others.
pub(crate) fn span(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let Some(own) = Count::of(py, value)? else { return Ok(ScalarValue::Null) };
    let out = || unfit(py, &format!("the timedelta64 {value} is out of range for INTERVAL"));
    if let "Y" | "M" = own.unit.as_str() {
        let months = own.count.checked_mul(if own.unit == "Y" { 12 } else { 1 });
        let months = months.and_then(|months| i32::try_from(months).ok()).ok_or_else(out)?;
        let interval = arrow::datatypes::IntervalMonthDayNano::new(months, 0, 0);
        return Ok(ScalarValue::IntervalMonthDayNano(Some(interval)));
    }
    let Some(nanos) = own.nanos() else {
        return Err(unsupported(
            py,
            &format!("the timedelta64 {value} has no unit, so that nobody knows how long it is"),
        ));
    };
    let nanos = nanos.map_err(|_| finer(py, value))?;
    Ok(ScalarValue::IntervalMonthDayNano(Some(interval_of(nanos).ok_or_else(out)?)))
}
