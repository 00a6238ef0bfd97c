//! Columns as NumPy arrays, of which `gingham/_frames.py` makes a frame of pandas without pyarrow.
//!
//! A column is a tuple `(name, kind, values, mask, extra)`: `values` is an array of the type that NumPy has for the column's,
//! of 64-bit integers for a timestamp (`extra` is unit and zone) and a date (`extra` is `("D", None)`), or of objects. `mask` is
//! true where NULL is, and None where nothing is.

use crate::error::guarded;
use crate::to_python;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
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
    let (kind, values, extra) = match field.data_type() {
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
            let plain = plain.map_err(|error| crate::error::unfit(py, &error.to_string()))?;
            let extra = (unit, zone.as_deref()).into_pyobject(py)?.into_any();
            ("timestamp", numbers::<Int64Type>(py, &plain), extra)
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
