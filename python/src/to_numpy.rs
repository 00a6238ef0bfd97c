//! Columns as NumPy arrays, of which `gingham/_frames.py` makes a frame of pandas without pyarrow.
//!
//! A column is a tuple `(name, kind, values, mask, extra)`: `values` is an array of the type that NumPy has for the column's,
//! of 64-bit integers for a timestamp (`extra` is unit and zone), a date (`extra` is `("D", None)`) and an interval (`duration`, whose
//! `extra` is the unit), or of objects. `mask` is true where NULL is, and None where nothing is.

use crate::error::{guarded, unfit};
use crate::to_python::{self, nanos_of};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use gingham::lab::{PanicPoint, pass};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A column of a result.
pub(crate) fn column<'py>(py: Python<'py>, field: &Field, chunks: &[ArrayRef]) -> PyResult<Bound<'py, PyTuple>> {
    guarded(py, || {
        pass(PanicPoint::Show);
        column_of(py, field, chunks)
    })
}

fn column_of<'py>(py: Python<'py>, field: &Field, chunks: &[ArrayRef]) -> PyResult<Bound<'py, PyTuple>> {
    let none = || py.None().into_bound(py);
    let sums = if *field.data_type() == DataType::Decimal128(38, 0) { whole(chunks) } else { None };
    let (kind, values, extra) = match field.data_type() {
        DataType::Decimal128(..) if sums.is_some() => {
            ("number", numbers::<Int64Type>(py, sums.as_deref().unwrap_or_default()), none())
        }
        DataType::Boolean => ("bool", booleans(py, chunks), none()),
        DataType::Int8 => ("number", numbers::<Int8Type>(py, chunks), none()),
        DataType::Int16 => ("number", numbers::<Int16Type>(py, chunks), none()),
        DataType::Int32 => ("number", numbers::<Int32Type>(py, chunks), none()),
        DataType::Int64 => ("number", numbers::<Int64Type>(py, chunks), none()),
        DataType::UInt8 => ("number", numbers::<UInt8Type>(py, chunks), none()),
        DataType::UInt16 => ("number", numbers::<UInt16Type>(py, chunks), none()),
        DataType::UInt32 => ("number", numbers::<UInt32Type>(py, chunks), none()),
        DataType::UInt64 => ("number", numbers::<UInt64Type>(py, chunks), none()),
        DataType::Float32 => ("number", numbers::<Float32Type>(py, chunks), none()),
        DataType::Float64 => ("number", numbers::<Float64Type>(py, chunks), none()),
        DataType::Date32 => {
            let days = chunks.iter().flat_map(|own| own.as_primitive::<Date32Type>().values().iter().copied());
            let days: Vec<i64> = days.map(i64::from).collect();
            ("date", PyArray1::from_vec(py, days).into_any(), ("D", none()).into_pyobject(py)?.into_any())
        }
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                TimeUnit::Second => "s",
                TimeUnit::Millisecond => "ms",
                TimeUnit::Microsecond => "us",
                TimeUnit::Nanosecond => "ns",
            };
            let plain: Result<Vec<ArrayRef>, _> =
                chunks.iter().map(|own| arrow::compute::cast(own, &DataType::Int64)).collect();
            let plain = plain.map_err(|error| unfit(py, &error.to_string()))?;
            let extra = (unit, zone.as_deref()).into_pyobject(py)?.into_any();
            ("timestamp", numbers::<Int64Type>(py, &plain), extra)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let (counts, unit) = durations(py, field, chunks)?;
            let unit = if unit == TimeUnit::Nanosecond { "ns" } else { "us" };
            let values = counts.into_iter().flatten().map(Option::unwrap_or_default).collect();
            ("duration", PyArray1::<i64>::from_vec(py, values).into_any(), unit.into_pyobject(py)?.into_any())
        }
        _ => {
            let mut objects: Vec<Py<PyAny>> = Vec::with_capacity(chunks.iter().map(|own| own.len()).sum());
            for own in chunks {
                objects.extend(to_python::column(py, own, field)?.into_iter().map(Bound::unbind));
            }
            ("object", PyArray1::from_vec(py, objects).into_any(), none())
        }
    };
    let mask = if chunks.iter().any(|own| own.logical_null_count() > 0) { mask(py, chunks) } else { none() };
    (field.name(), kind, values, mask, extra).into_pyobject(py)
}

/// Sums of BIGINTs as integers of 64 bits; `None` where one has more.
fn whole(chunks: &[ArrayRef]) -> Option<Vec<ArrayRef>> {
    let plain = chunks.iter().map(|own| arrow::compute::cast(own, &DataType::Int64).ok());
    let plain: Vec<ArrayRef> = plain.collect::<Option<_>>()?;
    let fits = chunks.iter().zip(&plain).all(|(own, plain)| own.null_count() == plain.null_count());
    fits.then_some(plain)
}

/// The intervals of chunks as counts of a unit: of nanoseconds where one has some.
pub(crate) fn durations(
    py: Python<'_>,
    field: &Field,
    chunks: &[ArrayRef],
) -> PyResult<(Vec<Vec<Option<i64>>>, TimeUnit)> {
    let intervals = || chunks.iter().map(|own| own.as_primitive::<IntervalMonthDayNanoType>());
    let fine = intervals().flatten().flatten().any(|own| nanos_of(own) % 1_000 != 0);
    let (unit, nanos, name) =
        if fine { (TimeUnit::Nanosecond, 1, "nanoseconds") } else { (TimeUnit::Microsecond, 1_000, "microseconds") };
    let count = |own: Option<IntervalMonthDayNano>| {
        own.map(|own| i64::try_from(nanos_of(own) / nanos)).transpose().map_err(|_| {
            let text =
                format!("column '{}' has an interval that is out of range for durations of {name}", field.name());
            unfit(py, &format!("{text}; CAST it to VARCHAR"))
        })
    };
    let counts = intervals().map(|own| own.iter().map(count).collect::<PyResult<Vec<_>>>());
    Ok((counts.collect::<PyResult<Vec<_>>>()?, unit))
}

fn mask<'py>(py: Python<'py>, chunks: &[ArrayRef]) -> Bound<'py, PyAny> {
    let mut mask = Vec::with_capacity(chunks.iter().map(|own| own.len()).sum());
    for own in chunks {
        match own.logical_nulls() {
            Some(nulls) => mask.extend(nulls.iter().map(|valid| !valid)),
            None => mask.resize(mask.len() + own.len(), false),
        }
    }
    PyArray1::from_vec(py, mask).into_any()
}

fn numbers<'py, T: ArrowPrimitiveType>(py: Python<'py>, chunks: &[ArrayRef]) -> Bound<'py, PyAny>
where
    T::Native: Element,
{
    let values = py.detach(|| {
        let mut values = Vec::with_capacity(chunks.iter().map(|own| own.len()).sum());
        chunks.iter().for_each(|own| values.extend_from_slice(own.as_primitive::<T>().values()));
        values
    });
    PyArray1::from_vec(py, values).into_any()
}

fn booleans<'py>(py: Python<'py>, chunks: &[ArrayRef]) -> Bound<'py, PyAny> {
    let values = chunks.iter().flat_map(|own| own.as_boolean().values().iter());
    PyArray1::from_vec(py, values.collect::<Vec<bool>>()).into_any()
}
