//! Columns of NumPy arrays as one Arrow batch, so that frames of pandas are read without pyarrow.
//!
//! A column is a tuple `(name, kind, values, mask, extra)`, as `gingham/_frames.py` makes them: `kind` is `number` or `bool` for an
//! array of that type, `timestamp` for one of 64-bit integers with unit and zone as `extra`, `arrow` for an array of Arrow's, and
//! `object` for one of Python's values, which are all of one class. `mask` is true where a value is missing, or None.

use crate::error::{guarded, unfit, unsupported};
use crate::from_python::{self, classes};
use arrow::array::{
    Array, ArrayRef, BinaryViewBuilder, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    PrimitiveArray, RecordBatch, RecordBatchOptions, StringViewBuilder, Time64MicrosecondArray,
    TimestampMicrosecondArray, UInt64Array, make_array, new_empty_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::concat;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema,
    TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use gingham::lab::{PanicPoint, pass};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyType};
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
            "timestamp" => timestamp(py, &values, &extra, nulls)?,
            "arrow" => arrow_array(py, &values)?,
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
fn arrow_array(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let (chunks, field) = values.extract::<PyChunkedArray>()?.into_inner();
    match chunks.as_slice() {
        [] => Ok(new_empty_array(field.data_type())),
        [one] => Ok(Arc::clone(one)),
        several => {
            let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
            concat(&several).map_err(|error| unfit(py, &error.to_string()))
        }
    }
}

fn timestamp(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    extra: &Bound<'_, PyAny>,
    nulls: Option<NullBuffer>,
) -> PyResult<ArrayRef> {
    let (unit, zone): (String, Option<String>) = extra.extract()?;
    let unit = match unit.as_str() {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    let units = Int64Array::new(ScalarBuffer::from(slice::<i64>(values)?), nulls);
    let data = units.to_data();
    let data = data.into_builder().data_type(DataType::Timestamp(unit, zone.map(Arc::from)));
    Ok(make_array(data.build().map_err(|error| unfit(py, &error.to_string()))?))
}

/// What the values of a column of objects are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Text,
    Bytes,
    Boolean,
    Integer,
    Float,
    Decimal,
    Timestamp,
    ZonedTimestamp,
    Date,
    Time,
}

fn class_of(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<Class>> {
    if value.is_instance_of::<PyString>() {
        return Ok(Some(Class::Text));
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(Some(Class::Bytes));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(Class::Boolean));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(Class::Integer));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(Class::Float));
    }
    let classes = classes(py)?;
    let is = |class: &Py<PyType>| value.is_instance(class.bind(py));
    Ok(if is(&classes.decimal)? {
        Some(Class::Decimal)
    } else if is(&classes.datetime)? {
        let zoned = !value.getattr("tzinfo")?.is_none();
        Some(if zoned { Class::ZonedTimestamp } else { Class::Timestamp })
    } else if is(&classes.date)? {
        Some(Class::Date)
    } else if is(&classes.time)? {
        Some(Class::Time)
    } else {
        None
    })
}

fn objects(py: Python<'_>, name: &str, values: &Bound<'_, PyAny>, nulls: Option<&NullBuffer>) -> PyResult<ArrayRef> {
    let array = values.cast::<PyArray1<Py<PyAny>>>()?.readonly();
    let array = array.as_slice()?;
    let is_valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let mut class = None;
    for (row, value) in array.iter().enumerate().filter(|(row, _)| is_valid(*row)) {
        let value = value.bind(py);
        let own = class_of(py, value)?;
        let kind = value.get_type().name()?;
        let Some(own) = own else {
            let text =
                format!("column '{name}' has a value of the class {kind} in row {row}, which no column can have");
            return Err(unsupported(py, &text));
        };
        if *class.get_or_insert(own) != own {
            let text =
                format!("column '{name}' mixes values of classes: row {row} is of the class {kind}; make them one");
            return Err(unsupported(py, &text));
        }
    }
    let own: Vec<Option<Bound<'_, PyAny>>> =
        array.iter().enumerate().map(|(row, value)| is_valid(row).then(|| value.bind(py).clone())).collect();
    of_class(py, name, class.unwrap_or(Class::Text), &own)
}

fn of_class(py: Python<'_>, name: &str, class: Class, values: &[Option<Bound<'_, PyAny>>]) -> PyResult<ArrayRef> {
    Ok(match class {
        Class::Text => {
            let mut texts = StringViewBuilder::with_capacity(values.len());
            for value in values {
                match value {
                    Some(value) => texts.append_value(value.cast::<PyString>()?.to_str()?),
                    None => texts.append_null(),
                }
            }
            Arc::new(texts.finish())
        }
        Class::Bytes => {
            let mut bytes = BinaryViewBuilder::with_capacity(values.len());
            for value in values {
                match value {
                    Some(value) => bytes.append_value(value.cast::<PyBytes>()?.as_bytes()),
                    None => bytes.append_null(),
                }
            }
            Arc::new(bytes.finish())
        }
        Class::Boolean => Arc::new(each(values, |value| value.extract())?.into_iter().collect::<BooleanArray>()),
        Class::Integer => integers(py, name, values)?,
        Class::Float => Arc::new(each(values, |value| value.extract())?.into_iter().collect::<Float64Array>()),
        Class::Decimal => decimals(py, name, values)?,
        Class::Timestamp | Class::ZonedTimestamp => {
            let moments = each(values, |value| from_python::timestamp(py, value))?;
            let moments = moments.into_iter().collect::<TimestampMicrosecondArray>();
            Arc::new(if class == Class::Timestamp { moments } else { moments.with_timezone("+00:00") })
        }
        Class::Date => {
            let days = each(values, |value| Ok(from_python::day(py, value)? as i32))?;
            Arc::new(days.into_iter().collect::<Date32Array>())
        }
        Class::Time => {
            let times = each(values, |value| from_python::time(py, value))?;
            Arc::new(times.into_iter().collect::<Time64MicrosecondArray>())
        }
    })
}

fn each<'py, T>(
    values: &[Option<Bound<'py, PyAny>>],
    one: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<Option<T>>> {
    values.iter().map(|value| value.as_ref().map(&one).transpose()).collect()
}

fn integers(py: Python<'_>, name: &str, values: &[Option<Bound<'_, PyAny>>]) -> PyResult<ArrayRef> {
    if let Ok(small) = each(values, |value| value.extract::<i64>()) {
        return Ok(Arc::new(small.into_iter().collect::<Int64Array>()));
    }
    if let Ok(large) = each(values, |value| value.extract::<u64>()) {
        return Ok(Arc::new(large.into_iter().collect::<UInt64Array>()));
    }
    let wide = each(values, |value| {
        let digits = value.str()?.to_string();
        let whole = digits.parse::<i128>().ok().filter(|whole| whole.unsigned_abs() < 10_u128.pow(38));
        whole.ok_or_else(|| unfit(py, &format!("column '{name}': {digits} has more than 38 digits")))
    })?;
    let wide = wide.into_iter().collect::<Decimal128Array>().with_precision_and_scale(38, 0);
    Ok(Arc::new(wide.map_err(|error| unfit(py, &error.to_string()))?))
}

/// Decimals with as many digits behind the point as the one that has most.
fn decimals(py: Python<'_>, name: &str, values: &[Option<Bound<'_, PyAny>>]) -> PyResult<ArrayRef> {
    let read = each(values, |value| from_python::decimal(py, value))?;
    let scale = read.iter().flatten().map(|(.., scale)| *scale).max().unwrap_or(0);
    let mut most = 1;
    let mut unscaled = Vec::with_capacity(read.len());
    for own in read {
        let scaled = own.map(|(value, precision, own)| {
            let wider = u32::from((scale - own).unsigned_abs());
            most = most.max(u32::from(precision) + wider);
            10_i128.checked_pow(wider).and_then(|power| value.checked_mul(power)).filter(|_| most <= 38).ok_or_else(
                || {
                    unfit(
                        py,
                        &format!(
                            "column '{name}': its decimals have more than 38 digits with {scale} behind the point"
                        ),
                    )
                },
            )
        });
        unscaled.push(scaled.transpose()?);
    }
    let decimals = unscaled.into_iter().collect::<Decimal128Array>();
    let decimals = decimals.with_precision_and_scale(most.max(scale.unsigned_abs().into()) as u8, scale);
    Ok(Arc::new(decimals.map_err(|error| unfit(py, &error.to_string()))?))
}
