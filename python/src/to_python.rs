//! Rows as tuples of Python's own values.

use crate::error::{guarded, unfit, unsupported};
use crate::from_python::classes;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, DecimalType, Field,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::temporal_conversions::{date32_to_datetime, date64_to_datetime};
use chrono::{DateTime, Datelike, NaiveDateTime, NaiveTime};
use gingham::lab::{PanicPoint, pass};
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

const DAY_NANOS: i128 = 86_400_000_000_000;

type Column<'py> = Vec<Bound<'py, PyAny>>;

/// The rows of a batch.
pub(crate) fn tuples<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    guarded(py, || {
        pass(PanicPoint::Show);
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields()).map(|(values, field)| column(py, values, field));
        let mut columns = columns.map(|column| Ok(column?.into_iter())).collect::<PyResult<Vec<_>>>()?;
        (0..batch.num_rows()).map(|_| PyTuple::new(py, columns.iter_mut().map(Iterator::next))).collect()
    })
}

/// The values of a column; None for NULL.
pub(crate) fn column<'py>(py: Python<'py>, values: &ArrayRef, field: &Field) -> PyResult<Column<'py>> {
    match values.data_type() {
        DataType::Null => Ok(vec![py.None().into_bound(py); values.len()]),
        DataType::Boolean => {
            each(py, values.as_boolean().iter(), |own| Ok(own.into_pyobject(py)?.to_owned().into_any()))
        }
        DataType::Int8 => numbers::<Int8Type>(py, values),
        DataType::Int16 => numbers::<Int16Type>(py, values),
        DataType::Int32 => numbers::<Int32Type>(py, values),
        DataType::Int64 => numbers::<Int64Type>(py, values),
        DataType::UInt8 => numbers::<UInt8Type>(py, values),
        DataType::UInt16 => numbers::<UInt16Type>(py, values),
        DataType::UInt32 => numbers::<UInt32Type>(py, values),
        DataType::UInt64 => numbers::<UInt64Type>(py, values),
        DataType::Float16 => {
            each(py, values.as_primitive::<Float16Type>().iter(), |own| Ok(own.to_f64().into_pyobject(py)?.into_any()))
        }
        DataType::Float32 => numbers::<Float32Type>(py, values),
        DataType::Float64 => numbers::<Float64Type>(py, values),
        // A sum of BIGINTs, which is a whole number of any length.
        DataType::Decimal128(38, 0) => {
            each(py, values.as_primitive::<Decimal128Type>().iter(), |own| own.into_bound_py_any(py))
        }
        DataType::Decimal128(_, scale) => {
            let class = classes(py)?.decimal.bind(py);
            let text = |own: i128| Decimal128Type::format_decimal(own, 38, *scale);
            each(py, values.as_primitive::<Decimal128Type>().iter(), |own| class.call1((text(own),)))
        }
        DataType::Decimal256(precision, scale) => {
            let class = classes(py)?.decimal.bind(py);
            each(py, values.as_primitive::<Decimal256Type>().iter(), |own| {
                class.call1((Decimal256Type::format_decimal(own, *precision, *scale),))
            })
        }
        DataType::Utf8View => each(py, values.as_string_view().iter(), |own| Ok(PyString::new(py, own).into_any())),
        DataType::Utf8 => each(py, values.as_string::<i32>().iter(), |own| Ok(PyString::new(py, own).into_any())),
        DataType::LargeUtf8 => each(py, values.as_string::<i64>().iter(), |own| Ok(PyString::new(py, own).into_any())),
        DataType::BinaryView => each(py, values.as_binary_view().iter(), |own| Ok(PyBytes::new(py, own).into_any())),
        DataType::Binary => each(py, values.as_binary::<i32>().iter(), |own| Ok(PyBytes::new(py, own).into_any())),
        DataType::LargeBinary => each(py, values.as_binary::<i64>().iter(), |own| Ok(PyBytes::new(py, own).into_any())),
        DataType::FixedSizeBinary(_) => {
            each(py, values.as_fixed_size_binary().iter(), |own| Ok(PyBytes::new(py, own).into_any()))
        }
        DataType::Date32 => {
            each(py, values.as_primitive::<Date32Type>().iter(), |own| date(py, date32_to_datetime(own), own, field))
        }
        DataType::Date64 => {
            each(py, values.as_primitive::<Date64Type>().iter(), |own| date(py, date64_to_datetime(own), own, field))
        }
        DataType::Time32(_) | DataType::Time64(_) => times(py, values, field),
        DataType::Timestamp(unit, zone) => timestamps(py, values, *unit, zone.as_deref(), field),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            each(py, values.as_primitive::<IntervalMonthDayNanoType>().iter(), |own| span(py, own, field))
        }
        DataType::Dictionary(_, plain) => column(py, &cast(py, values, plain)?, field),
        _ => nested(py, values, field),
    }
}

/// Lists as lists, records as dictionaries.
fn nested<'py>(py: Python<'py>, values: &ArrayRef, field: &Field) -> PyResult<Column<'py>> {
    let list = |own: Option<ArrayRef>, inner: &Field| match own {
        None => Ok(py.None().into_bound(py)),
        Some(own) => Ok(PyList::new(py, column(py, &own, inner)?)?.into_any()),
    };
    match values.data_type() {
        DataType::List(inner) => values.as_list::<i32>().iter().map(|own| list(own, inner)).collect(),
        DataType::LargeList(inner) => values.as_list::<i64>().iter().map(|own| list(own, inner)).collect(),
        DataType::FixedSizeList(inner, _) => values.as_fixed_size_list().iter().map(|own| list(own, inner)).collect(),
        DataType::Struct(fields) => {
            let record = values.as_struct();
            let columns = record.columns().iter().zip(fields).map(|(own, inner)| column(py, own, inner));
            let columns = columns.collect::<PyResult<Vec<_>>>()?;
            let row = |row: usize| {
                if record.is_null(row) {
                    return Ok(py.None().into_bound(py));
                }
                let own = PyDict::new(py);
                for (inner, column) in fields.iter().zip(&columns) {
                    own.set_item(inner.name(), &column[row])?;
                }
                Ok(own.into_any())
            };
            (0..values.len()).map(row).collect()
        }
        DataType::Map(..) => {
            let map = values.as_map();
            let row = |row: usize| {
                if map.is_null(row) {
                    return Ok(py.None().into_bound(py));
                }
                let entries = map.value(row);
                let own = PyDict::new(py);
                let keys = column(py, entries.column(0), field)?;
                for (key, value) in keys.into_iter().zip(column(py, entries.column(1), field)?) {
                    own.set_item(key, value)?;
                }
                Ok(own.into_any())
            };
            (0..values.len()).map(row).collect()
        }
        other => Err(unsupported(
            py,
            &format!("column '{}' is of the type {other}, which Python has no value for", field.name()),
        )),
    }
}

fn cast(py: Python<'_>, values: &ArrayRef, to: &DataType) -> PyResult<ArrayRef> {
    arrow::compute::cast(values, to).map_err(|error| unfit(py, &error.to_string()))
}

fn each<'py, V>(
    py: Python<'py>,
    values: impl Iterator<Item = Option<V>>,
    one: impl Fn(V) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Column<'py>> {
    let none = py.None().into_bound(py);
    values.map(|value| value.map_or_else(|| Ok(none.clone()), &one)).collect()
}

fn numbers<'py, T: ArrowPrimitiveType>(py: Python<'py>, values: &ArrayRef) -> PyResult<Column<'py>>
where
    T::Native: IntoPyObjectExt<'py>,
{
    each(py, values.as_primitive::<T>().iter(), |own| own.into_bound_py_any(py))
}

/// A date, which Python has from year 1 to 9999 only.
fn date<'py>(
    py: Python<'py>,
    date: Option<NaiveDateTime>,
    days: impl std::fmt::Display,
    field: &Field,
) -> PyResult<Bound<'py, PyAny>> {
    match date.filter(|date| (1..=9999).contains(&date.year())) {
        Some(date) => Ok(date.date().into_pyobject(py)?.into_any()),
        None => Err(out_of_range(py, "date", &format!("{days} days from 1970-01-01"), field)),
    }
}

fn out_of_range(py: Python<'_>, class: &str, value: &str, field: &Field) -> PyErr {
    unfit(
        py,
        &format!(
            "column '{}' has a value ({value}) outside the years 1 to 9999, which Python's {class} can't hold; \
             CAST it to VARCHAR, or read the rows by .arrow()",
            field.name()
        ),
    )
}

/// Nanoseconds of an interval, of which a month has 30 days, as it has where intervals are compared.
pub(crate) fn nanos_of(interval: IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * DAY_NANOS + i128::from(interval.nanoseconds)
}

/// An interval as a timedelta: as pandas' where it has nanoseconds, which Python's has not.
fn span<'py>(py: Python<'py>, interval: IntervalMonthDayNano, field: &Field) -> PyResult<Bound<'py, PyAny>> {
    let nanos = nanos_of(interval);
    if nanos % 1_000 != 0 {
        let own = i64::try_from(nanos).ok();
        let made = own.and_then(|own| of_pandas(py, "Timedelta", own, None).transpose());
        return made
            .unwrap_or_else(|| Err(too_fine(py, "INTERVAL", "timedelta", &format!("{nanos} nanoseconds"), field)));
    }
    let (days, rest) = (nanos.div_euclid(DAY_NANOS), nanos.rem_euclid(DAY_NANOS));
    let made = classes(py)?.timedelta.bind(py).call1((days as i64, 0, (rest / 1_000) as i64));
    made.map_err(|_| {
        let text =
            format!("column '{}' has an interval of {days} days, which Python's timedelta can't hold", field.name());
        unfit(py, &format!("{text}; CAST it to VARCHAR, or read the rows by .arrow()"))
    })
}

/// A value of a class of pandas', which has nanoseconds; `None` where there is no pandas.
fn of_pandas<'py>(
    py: Python<'py>,
    class: &str,
    nanos: i64,
    zone: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(pandas) = py.import(intern!(py, "pandas")) else { return Ok(None) };
    let named = PyDict::new(py);
    named.set_item("unit", "ns")?;
    if let Some(zone) = zone {
        named.set_item("tz", zone)?;
    }
    pandas.getattr(class)?.call((nanos,), Some(&named)).map(Some)
}

fn too_fine(py: Python<'_>, sql: &str, class: &str, value: &str, field: &Field) -> PyErr {
    let text =
        format!("column '{}' has a {sql} with nanoseconds ({value}), which Python's {class} can't hold", field.name());
    unfit(py, &format!("{text}; CAST it to {sql}(6) or VARCHAR, or read the rows by .arrow()"))
}

fn times<'py>(py: Python<'py>, values: &ArrayRef, field: &Field) -> PyResult<Column<'py>> {
    let nanoseconds = cast(py, values, &DataType::Time64(TimeUnit::Nanosecond))?;
    let nanoseconds = nanoseconds.as_primitive::<arrow::datatypes::Time64NanosecondType>();
    each(py, nanoseconds.iter(), |own| {
        let (seconds, rest) = (own / 1_000_000_000, own % 1_000_000_000);
        let midnight = NaiveTime::from_num_seconds_from_midnight_opt(seconds as u32, rest as u32);
        match midnight.filter(|_| rest % 1_000 == 0) {
            Some(time) => Ok(time.into_pyobject(py)?.into_any()),
            None if rest % 1_000 != 0 => {
                let text = midnight.map_or_else(|| own.to_string(), |time| time.to_string());
                Err(too_fine(py, "TIME", "time", &text, field))
            }
            None => {
                let text = format!("column '{}' has the time 24:00, which Python's time can't hold", field.name());
                Err(unfit(py, &format!("{text}; CAST it to VARCHAR")))
            }
        }
    })
}

fn timestamps<'py>(
    py: Python<'py>,
    values: &ArrayRef,
    unit: TimeUnit,
    zone: Option<&str>,
    field: &Field,
) -> PyResult<Column<'py>> {
    let of_unit = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let zone = zone.map(|zone| zone_of(py, zone)).transpose()?;
    let units = cast(py, values, &DataType::Int64)?;
    each(py, units.as_primitive::<Int64Type>().iter(), |own| {
        let (seconds, rest) = (own.div_euclid(of_unit), own.rem_euclid(of_unit));
        let nanoseconds = rest * (1_000_000_000 / of_unit);
        let moment = DateTime::from_timestamp(seconds, (nanoseconds / 1000 * 1000) as u32);
        let Some(moment) = moment.filter(|moment| (1..=9999).contains(&moment.year())) else {
            return Err(out_of_range(py, "datetime", &format!("{seconds} seconds from 1970-01-01"), field));
        };
        if nanoseconds % 1_000 != 0 {
            // Units of nanoseconds are pandas' own.
            let made = of_pandas(py, "Timestamp", own, zone.as_ref())?;
            return made.ok_or_else(|| too_fine(py, "TIMESTAMP", "datetime", &moment.naive_utc().to_string(), field));
        }
        match &zone {
            None => Ok(moment.naive_utc().into_pyobject(py)?.into_any()),
            Some(zone) => {
                let utc = moment.into_pyobject(py)?;
                Ok(utc.call_method1(intern!(py, "astimezone"), (zone,))?)
            }
        }
    })
}

/// The tzinfo of a zone's name or offset.
fn zone_of<'py>(py: Python<'py>, zone: &str) -> PyResult<Bound<'py, PyAny>> {
    if zone.eq_ignore_ascii_case("utc") || matches!(zone, "+00:00" | "Z") {
        return Ok(classes(py)?.utc.bind(py).clone());
    }
    if let Some((sign, rest)) = zone.split_at_checked(1).filter(|(sign, _)| matches!(*sign, "+" | "-")) {
        let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
        let (hours, minutes) = digits.split_at_checked(2).unwrap_or((&digits, "0"));
        let minutes = hours.parse::<i64>().unwrap_or(0) * 60 + minutes.parse::<i64>().unwrap_or(0);
        let offset = if sign == "-" { -minutes } else { minutes };
        let delta = classes(py)?.timedelta.bind(py).call1((0, offset * 60))?;
        return py.import("datetime")?.getattr("timezone")?.call1((delta,));
    }
    py.import("zoneinfo")?.getattr("ZoneInfo")?.call1((zone,))
}
