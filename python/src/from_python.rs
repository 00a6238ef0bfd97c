//! Values of Python as parameters: by their classes, without loss, or refused by class.

use crate::error::{guarded, unfit, unsupported};
use crate::numpy_times;
use arrow::datatypes::IntervalMonthDayNano;
use gingham::lab::{PanicPoint, pass};
use gingham::{ScalarValue, Values};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyMapping, PyMemoryView, PyString, PyType};
use std::sync::Arc;

/// Days from 0001-01-01 to 1970-01-01, as `date.toordinal` counts.
const EPOCH_ORDINAL: i64 = 719_163;
/// Most digits of a decimal.
const MOST_DIGITS: u32 = 38;
const DAY_MICROS: i64 = 86_400_000_000;

/// The values of a statement's parameters: a sequence in order, or a mapping by name.
pub(crate) fn values_of(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Values> {
    guarded(py, || {
        pass(PanicPoint::Show);
        values_in(py, values)
    })
}

fn values_in(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Values> {
    if let Ok(named) = values.cast::<PyMapping>() {
        let mut own = Vec::new();
        for pair in named.items()? {
            let (name, value): (String, Bound<'_, PyAny>) = pair.extract()?;
            own.push((name, scalar(py, &value)?));
        }
        return Ok(Values::Named(own));
    }
    if values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>() {
        return Err(crate::error::misuse(
            py,
            "parameters are a sequence or a mapping, such as [value], not a single value",
        ));
    }
    Ok(Values::Numbered(values.try_iter()?.map(|value| scalar(py, &value?)).collect::<PyResult<_>>()?))
}

/// Classes of the standard library that are told apart.
pub(crate) struct Classes {
    pub(crate) decimal: Py<PyType>,
    pub(crate) datetime: Py<PyType>,
    pub(crate) date: Py<PyType>,
    pub(crate) time: Py<PyType>,
    pub(crate) timedelta: Py<PyType>,
    pub(crate) utc: Py<PyAny>,
    pub(crate) uuid: Py<PyType>,
}

/// The classes, imported once.
pub(crate) fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
    CLASSES.get_or_try_init(py, || {
        let class = |module: &str, name: &str| -> PyResult<Py<PyType>> {
            Ok(py.import(module)?.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        Ok(Classes {
            decimal: class("decimal", "Decimal")?,
            datetime: class("datetime", "datetime")?,
            date: class("datetime", "date")?,
            time: class("datetime", "time")?,
            timedelta: class("datetime", "timedelta")?,
            utc: py.import("datetime")?.getattr("timezone")?.getattr("utc")?.unbind(),
            uuid: class("uuid", "UUID")?,
        })
    })
}

/// A value of Python as one of the engine's.
pub(crate) fn scalar(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    if value.is_none() {
        return Ok(ScalarValue::Null);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(ScalarValue::Boolean(Some(value.extract()?)));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(py, value);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(ScalarValue::Float64(Some(value.extract()?)));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(ScalarValue::Utf8View(Some(text_of(text)?.to_owned())));
    }
    if let Some(bytes) = bytes_of(value)? {
        return Ok(ScalarValue::BinaryView(Some(bytes)));
    }
    of_library(py, value)
}

/// The text of a str, which may have a half of a character in two halves: no text has that.
pub(crate) fn text_of<'a>(value: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    value.to_str().map_err(|error| {
        let text = value.repr().map_or_else(|_| "a str".to_owned(), |text| text.to_string_lossy().into_owned());
        unfit(value.py(), &format!("{text} is no text of Unicode ({})", error.value(value.py())))
    })
}

/// The bytes of a value that is a row of them.
pub(crate) fn bytes_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    Ok(if let Ok(bytes) = value.cast::<PyBytes>() {
        Some(bytes.as_bytes().to_vec())
    } else if let Ok(bytes) = value.cast::<PyByteArray>() {
        Some(bytes.to_vec())
    } else if value.is_instance_of::<PyMemoryView>() {
        Some(value.call_method0(intern!(value.py(), "tobytes"))?.cast_into::<PyBytes>()?.as_bytes().to_vec())
    } else {
        None
    })
}

/// A value of a class of the standard library, of NumPy or of pandas.
fn of_library(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let classes = classes(py)?;
    // pandas' NaT is a datetime without a date, and NA is none of any class.
    let class = value.get_type();
    let name = class.name()?.to_string();
    if matches!(name.as_str(), "NaTType" | "NAType") {
        return Ok(ScalarValue::Null);
    }
    if value.is_instance(classes.decimal.bind(py))? {
        let (unscaled, precision, scale) = decimal(py, value)?;
        return Ok(ScalarValue::Decimal128(Some(unscaled), precision, scale));
    }
    if value.is_instance(classes.datetime.bind(py))? {
        let zoned = !value.getattr(intern!(py, "tzinfo"))?.is_none();
        let zone = zoned.then(|| Arc::from("+00:00"));
        let moment = Moment::of(py, value)?;
        if moment.nanos == 0 {
            return Ok(ScalarValue::TimestampMicrosecond(Some(moment.micros), zone));
        }
        let nanos = moment.in_nanos().ok_or_else(|| unfit(py, &format!("{value} is out of range for TIMESTAMP(9)")))?;
        return Ok(ScalarValue::TimestampNanosecond(Some(nanos), zone));
    }
    if value.is_instance(classes.date.bind(py))? {
        return Ok(ScalarValue::Date32(Some(day(py, value)? as i32)));
    }
    if value.is_instance(classes.time.bind(py))? {
        return Ok(ScalarValue::Time64Microsecond(Some(time(py, value)?)));
    }
    if value.is_instance(classes.timedelta.bind(py))? {
        return Ok(ScalarValue::IntervalMonthDayNano(Some(interval(py, value)?)));
    }
    if value.is_instance(classes.uuid.bind(py))? {
        return Ok(ScalarValue::Utf8View(Some(value.str()?.to_string())));
    }
    if class.module()? == "numpy" && value.hasattr(intern!(py, "item"))? && name != "ndarray" {
        match name.as_str() {
            "datetime64" => return numpy_times::moment(py, value),
            "timedelta64" => return numpy_times::span(py, value),
            _ => {}
        }
        // Scalars of NumPy give the value of Python that they are; those that are none give another one of NumPy's.
        let plain = value.call_method0(intern!(py, "item"))?;
        if plain.get_type().module()? != "numpy" && !plain.is_instance_of::<PyDict>() {
            return scalar(py, &plain);
        }
    }
    Err(unsupported(py, &format!("a value of the class {name} can't be a parameter ({value})")))
}

fn integer(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    if let Ok(small) = value.extract::<i64>() {
        return Ok(ScalarValue::Int64(Some(small)));
    }
    if let Ok(large) = value.extract::<u64>() {
        return Ok(ScalarValue::UInt64(Some(large)));
    }
    Ok(ScalarValue::Decimal128(Some(whole(py, value)?), MOST_DIGITS as u8, 0))
}

/// A whole number of at most 38 digits.
pub(crate) fn whole(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<i128> {
    let number = if value.is_instance_of::<PyBool>() {
        i128::from(value.extract::<bool>()?)
    } else {
        value.extract::<i128>().unwrap_or(i128::MAX)
    };
    if number.unsigned_abs() < 10_u128.pow(MOST_DIGITS) {
        return Ok(number);
    }
    // Python writes no more than 4,300 digits.
    let digits = value.str().map_or_else(|_| "the number".to_owned(), |digits| digits.to_string());
    Err(unfit(py, &format!("{digits} has more than {MOST_DIGITS} digits")))
}

/// Unscaled value, precision and scale of a Decimal.
pub(crate) fn decimal(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<(i128, u8, i8)> {
    let wrong = || unfit(py, &format!("the decimal {value} has more than {MOST_DIGITS} digits"));
    // Without an exponent; NaN and Infinity have none to write out.
    let text = value.call_method1(intern!(py, "__format__"), (intern!(py, "f"),))?.to_string();
    if text.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return Err(unfit(
            py,
            &format!("the decimal {value} is no number, and DECIMAL has no other values; use a float"),
        ));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let unscaled: i128 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
    if unscaled.unsigned_abs() >= 10_u128.pow(MOST_DIGITS) || fraction.len() > MOST_DIGITS as usize {
        return Err(wrong());
    }
    let digits = whole.bytes().filter(u8::is_ascii_digit).count() + fraction.len();
    // A zero before the point is no digit that needs room.
    let digits = if whole.trim_start_matches(['-', '+', '0']).is_empty() { fraction.len() } else { digits };
    Ok((unscaled, digits.clamp(1, MOST_DIGITS as usize) as u8, fraction.len() as i8))
}

/// Days from 1970-01-01 to a date.
pub(crate) fn day(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    Ok(value.call_method0(intern!(py, "toordinal"))?.extract::<i64>()? - EPOCH_ORDINAL)
}

/// Microseconds from midnight to a time of day, which has no zone.
pub(crate) fn time(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if !value.getattr(intern!(py, "tzinfo"))?.is_none() {
        return Err(unsupported(
            py,
            &format!("the time {value} has a zone, and SQL's TIME has none; take it off first"),
        ));
    }
    time_of_day(py, value)
}

fn time_of_day(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let part = |name: &Bound<'_, PyString>| -> PyResult<i64> { value.getattr(name)?.extract() };
    let (hour, minute) = (part(intern!(py, "hour"))?, part(intern!(py, "minute"))?);
    let (second, micro) = (part(intern!(py, "second"))?, part(intern!(py, "microsecond"))?);
    Ok(((hour * 60 + minute) * 60 + second) * 1_000_000 + micro)
}

/// A timestamp: microseconds from 1970-01-01, in UTC for one with a zone, and the nanoseconds that one of pandas' may have besides.
pub(crate) struct Moment {
    pub(crate) micros: i64,
    pub(crate) nanos: i64,
}

impl Moment {
    pub(crate) fn of(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let own = if value.getattr(intern!(py, "tzinfo"))?.is_none() {
            value.clone()
        } else {
            value.call_method1(intern!(py, "astimezone"), (classes(py)?.utc.bind(py),))?
        };
        let micros = day(py, &own)? * DAY_MICROS + time_of_day(py, &own)?;
        Ok(Self { micros, nanos: part(&own, intern!(py, "nanosecond"))? })
    }

    pub(crate) fn in_nanos(&self) -> Option<i64> {
        self.micros.checked_mul(1_000)?.checked_add(self.nanos)
    }
}

/// A part of a value that only pandas' classes have; 0 of others.
fn part(value: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<i64> {
    value.getattr_opt(name)?.map_or(Ok(0), |part| part.extract())
}

/// A timedelta as days and time.
pub(crate) fn interval(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<IntervalMonthDayNano> {
    let own = |name: &Bound<'_, PyString>| -> PyResult<i64> { value.getattr(name)?.extract() };
    let (days, seconds) = (own(intern!(py, "days"))?, own(intern!(py, "seconds"))?);
    let micros = own(intern!(py, "microseconds"))?;
    let seconds = i128::from(days) * 86_400 + i128::from(seconds);
    let nanos =
        seconds * 1_000_000_000 + i128::from(micros) * 1_000 + i128::from(part(value, intern!(py, "nanoseconds"))?);
    interval_of(nanos).ok_or_else(|| unfit(py, &format!("{value} is out of range for INTERVAL")))
}

/// Nanoseconds as days and time of the same sign.
pub(crate) fn interval_of(nanos: i128) -> Option<IntervalMonthDayNano> {
    let day = i128::from(DAY_MICROS) * 1_000;
    let days = i32::try_from(nanos / day).ok()?;
    Some(IntervalMonthDayNano::new(0, days, i64::try_from(nanos % day).ok()?))
}
