//! Columns of NumPy arrays as one Arrow batch, so that frames of pandas are read without pyarrow.
//!
//! A column is a tuple `(name, kind, values, mask, extra)`, as `gingham/_frames.py` makes them: `kind` is `number` or `bool` for an
//! array of that type, `timestamp` for one of 64-bit integers with unit and zone as `extra`, `duration` with the unit alone, `arrow`
//! for an array of Arrow's, and `object` for one of Python's values. `mask` is true where a value is missing, or None.

use crate::error::{guarded, unfit, unsupported};
use crate::from_objects::objects;
use arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, RecordBatchOptions, make_array,
    new_empty_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::concat;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, FieldRef, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Schema, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use gingham::lab::{PanicPoint, pass};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3_arrow::PyChunkedArray;
use std::sync::Arc;

/// The batch of some columns.
pub(crate) fn batch(py: Python<'_>, columns: &Bound<'_, PyList>, rows: usize) -> PyResult<RecordBatch> {
    guarded(py, || {
        pass(PanicPoint::Show);
        batch_of(py, columns, rows)
    })
}

fn batch_of(py: Python<'_>, columns: &Bound<'_, PyList>, rows: usize) -> PyResult<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for own in columns {
        let (name, kind, values, mask, extra): (String, String, Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>) =
            own.extract()?;
        let nulls = nulls(&mask)?;
        let array = match kind.as_str() {
            "number" => number(py, &name, &values, nulls)?,
            "bool" => {
                let values = slice::<bool>(&values)?;
                Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls)) as ArrayRef
            }
            "timestamp" => {
                let (unit, zone): (String, Option<String>) = extra.extract()?;
                moments(py, &values, DataType::Timestamp(unit_of(&unit), zone.map(Arc::from)), nulls)?
            }
            "duration" => moments(py, &values, DataType::Duration(unit_of(extra.extract()?)), nulls)?,
            "arrow" => {
                let (array, field) = arrow_array(py, &values)?;
                // It may say that the values are of an extension type.
                fields.push(Field::new(name, array.data_type().clone(), true).with_metadata(field.metadata().clone()));
                arrays.push(array);
                continue;
            }
            _ => objects(py, &name, &values, nulls.as_ref())?,
        };
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| unfit(py, &error.to_string()))
}

fn nulls(mask: &Bound<'_, PyAny>) -> PyResult<Option<NullBuffer>> {
    if mask.is_none() {
        return Ok(None);
    }
    let missing = slice::<bool>(mask)?;
    Ok(Some(NullBuffer::new(BooleanBuffer::collect_bool(missing.len(), |row| !missing[row]))))
}

/// The values of a contiguous array.
fn slice<T: Element + Copy>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    Ok(array.cast::<PyArray1<T>>()?.readonly().as_slice()?.to_vec())
}

fn primitive<T: ArrowPrimitiveType>(values: &Bound<'_, PyAny>, nulls: Option<NullBuffer>) -> PyResult<Option<ArrayRef>>
where
    T::Native: Element,
{
    let Ok(array) = values.cast::<PyArray1<T::Native>>() else { return Ok(None) };
    let values = ScalarBuffer::from(array.readonly().as_slice()?.to_vec());
    Ok(Some(Arc::new(PrimitiveArray::<T>::new(values, nulls))))
}

fn number(py: Python<'_>, name: &str, values: &Bound<'_, PyAny>, nulls: Option<NullBuffer>) -> PyResult<ArrayRef> {
    macro_rules! first {
        ($($type:ty),*) => {
            $(if let Some(array) = primitive::<$type>(values, nulls.clone())? {
                return Ok(array);
            })*
        };
    }
    first!(
        Int64Type,
        Float64Type,
        Int32Type,
        Int16Type,
        Int8Type,
        UInt64Type,
        UInt32Type,
        UInt16Type,
        UInt8Type,
        Float32Type
    );
    let dtype = values.getattr("dtype")?;
    Err(unsupported(py, &format!("column '{name}' is of NumPy's type {dtype}, which SQL has no type for")))
}

/// The chunks of an array of Arrow's as one; a single one is not copied.
fn arrow_array(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<(ArrayRef, FieldRef)> {
    let (chunks, field) = values.extract::<PyChunkedArray>()?.into_inner();
    let array = match chunks.as_slice() {
        [] => new_empty_array(field.data_type()),
        [one] => Arc::clone(one),
        several => {
            let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
            concat(&several).map_err(|error| unfit(py, &error.to_string()))?
        }
    };
    Ok((array, field))
}

fn unit_of(unit: &str) -> TimeUnit {
    match unit {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// 64-bit integers as the values of a type that has such.
fn moments(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    data_type: DataType,
    nulls: Option<NullBuffer>,
) -> PyResult<ArrayRef> {
    let units = Int64Array::new(ScalarBuffer::from(slice::<i64>(values)?), nulls);
    let data = units.to_data().into_builder().data_type(data_type);
    Ok(make_array(data.build().map_err(|error| unfit(py, &error.to_string()))?))
}
