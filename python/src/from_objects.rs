//! Columns of Python's objects as Arrow arrays. A column's type is that of its values; values of several classes are one column
//! where a type has all of them as they are, as whole numbers beside floats, and else an error that names column, row and value.

use crate::error::{unfit, unsupported};
use crate::from_python::{self, Moment, bytes_of, classes, text_of};
use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    IntervalMonthDayNanoArray, StringViewBuilder, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow::buffer::NullBuffer;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString, PyType};
use std::sync::Arc;

/// Characters of a value that an error shows.
const SHOWN: usize = 60;

/// What the values of a column of objects are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Text,
    Uuid,
    Bytes,
    Boolean,
    Integer,
    Float,
    Decimal,
    Timestamp,
    ZonedTimestamp,
    Date,
    Time,
    Interval,
}

impl Class {
    /// The class that has the values of both: numbers that are equal in Python are.
    fn with(self, other: Self) -> Option<Self> {
        use Class::{Boolean, Decimal, Float, Integer};
        match (self, other) {
            _ if self == other => Some(self),
            (Boolean, Integer) | (Integer, Boolean) => Some(Integer),
            (Boolean | Integer, wide @ (Float | Decimal)) | (wide @ (Float | Decimal), Boolean | Integer) => Some(wide),
            _ => None,
        }
    }
}

fn class_of(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<Class>> {
    if value.is_instance_of::<PyString>() {
        return Ok(Some(Class::Text));
    }
    if value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>()
    {
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
        let zoned = !value.getattr(intern!(py, "tzinfo"))?.is_none();
        Some(if zoned { Class::ZonedTimestamp } else { Class::Timestamp })
    } else if is(&classes.date)? {
        Some(Class::Date)
    } else if is(&classes.time)? {
        Some(Class::Time)
    } else if is(&classes.timedelta)? {
        Some(Class::Interval)
    } else if is(&classes.uuid)? {
        Some(Class::Uuid)
    } else {
        None
    })
}

/// A column of objects, and the values that it has.
struct Objects<'a, 'py> {
    py: Python<'py>,
    name: &'a str,
    values: Vec<Option<Bound<'py, PyAny>>>,
}

/// The values of an array of objects, those apart that `nulls` says are missing.
pub(crate) fn objects(
    py: Python<'_>,
    name: &str,
    values: &Bound<'_, PyAny>,
    nulls: Option<&NullBuffer>,
) -> PyResult<ArrayRef> {
    let array = values.cast::<PyArray1<Py<PyAny>>>()?.readonly();
    let own = array.as_slice()?.iter().enumerate().map(|(row, value)| {
        let valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        valid.then(|| plain(py, value.bind(py))).transpose()
    });
    let objects = Objects { py, name, values: own.collect::<PyResult<_>>()? };
    let class = objects.class()?;
    objects.array(class)
}

/// A scalar of NumPy's as the value of Python that it is; others as they are.
fn plain<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let known = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyBytes>();
    if known || value.get_type().module()? != "numpy" {
        return Ok(value.clone());
    }
    let kind =
        value.getattr_opt(intern!(py, "dtype"))?.map(|dtype| dtype.getattr("kind")?.extract::<String>()).transpose()?;
    match kind.as_deref() {
        Some("b" | "i" | "u" | "f") => value.call_method0(intern!(py, "item")),
        _ => Ok(value.clone()),
    }
}

/// A value as errors show it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
    let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let cut: String = text.chars().take(SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut}{more} of the class {kind}")
}

impl<'py> Objects<'_, 'py> {
    fn present(&self) -> impl Iterator<Item = (usize, &Bound<'py, PyAny>)> {
        self.values.iter().enumerate().filter_map(|(row, value)| Some((row, value.as_ref()?)))
    }

    /// The class of all values; texts where there is none.
    fn class(&self) -> PyResult<Class> {
        let mut found: Option<(Class, usize)> = None;
        for (row, value) in self.present() {
            let Some(own) = class_of(self.py, value)? else {
                let text =
                    format!("column '{}', row {row}: no column can have {}; convert it first", self.name, shown(value));
                return Err(unsupported(self.py, &text));
            };
            let Some((class, first)) = found else {
                found = Some((own, row));
                continue;
            };
            let Some(both) = class.with(own) else {
                let before = self.values[first].as_ref().map_or_else(String::new, shown);
                let text = format!(
                    "column '{}' mixes classes of values: row {row} has {}, and row {first} {before}; make them one class",
                    self.name,
                    shown(value)
                );
                return Err(unsupported(self.py, &text));
            };
            found = Some((both, first));
        }
        Ok(found.map_or(Class::Text, |(class, _)| class))
    }

    fn array(&self, class: Class) -> PyResult<ArrayRef> {
        let py = self.py;
        Ok(match class {
            Class::Text => {
                let mut texts = StringViewBuilder::with_capacity(self.values.len());
                for (row, value) in self.values.iter().enumerate() {
                    let text = value.as_ref().map(|value| text_of(value.cast::<PyString>()?));
                    texts.append_option(text.transpose().map_err(|error| self.told(row, error))?);
                }
                Arc::new(texts.finish())
            }
            Class::Uuid => {
                let mut texts = StringViewBuilder::with_capacity(self.values.len());
                for text in self.each(|value| Ok(value.str()?.to_string()))? {
                    texts.append_option(text);
                }
                Arc::new(texts.finish())
            }
            Class::Bytes => {
                let mut bytes = BinaryViewBuilder::with_capacity(self.values.len());
                for value in &self.values {
                    bytes.append_option(value.as_ref().map(bytes_of).transpose()?.flatten());
                }
                Arc::new(bytes.finish())
            }
            Class::Boolean => Arc::new(self.each(|value| value.extract())?.into_iter().collect::<BooleanArray>()),
            Class::Integer => self.integers()?,
            Class::Float => Arc::new(self.each(|value| self.float(value))?.into_iter().collect::<Float64Array>()),
            Class::Decimal => self.decimals()?,
            Class::Timestamp | Class::ZonedTimestamp => self.moments(class == Class::ZonedTimestamp)?,
            Class::Date => {
                let days = self.each(|value| Ok(from_python::day(py, value)? as i32))?;
                Arc::new(days.into_iter().collect::<Date32Array>())
            }
            Class::Time => {
                let times = self.each(|value| from_python::time(py, value))?;
                Arc::new(times.into_iter().collect::<Time64MicrosecondArray>())
            }
            Class::Interval => {
                let spans = self.each(|value| from_python::interval(py, value))?;
                Arc::new(spans.into_iter().collect::<IntervalMonthDayNanoArray>())
            }
        })
    }

    /// An error of a value with its place.
    fn told(&self, row: usize, error: PyErr) -> PyErr {
        unfit(self.py, &format!("column '{}', row {row}: {}", self.name, error.value(self.py)))
    }

    fn each<T>(&self, one: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>) -> PyResult<Vec<Option<T>>> {
        let own = |(row, value): (usize, &Option<Bound<'py, PyAny>>)| {
            value.as_ref().map(|value| one(value).map_err(|error| self.told(row, error))).transpose()
        };
        self.values.iter().enumerate().map(own).collect()
    }

    /// A number as the DOUBLE that is equal to it.
    fn float(&self, value: &Bound<'py, PyAny>) -> PyResult<f64> {
        let inexact = || {
            unfit(self.py, &format!("{value} is no DOUBLE exactly, and other values are floats; make them one class"))
        };
        let float: f64 = value.extract().map_err(|_| inexact())?;
        // Python compares whole numbers and floats by their values, to the last digit.
        if value.is_instance_of::<PyFloat>() || value.eq(float)? { Ok(float) } else { Err(inexact()) }
    }

    fn integers(&self) -> PyResult<ArrayRef> {
        if let Ok(small) = self.each(|value| value.extract::<i64>()) {
            return Ok(Arc::new(small.into_iter().collect::<Int64Array>()));
        }
        if let Ok(large) = self.each(|value| value.extract::<u64>()) {
            return Ok(Arc::new(large.into_iter().collect::<UInt64Array>()));
        }
        let wide = self.each(|value| from_python::whole(self.py, value))?;
        let wide = wide.into_iter().collect::<Decimal128Array>().with_precision_and_scale(38, 0);
        Ok(Arc::new(wide.map_err(|error| unfit(self.py, &error.to_string()))?))
    }

    /// Decimals with as many digits behind the point as the one that has most.
    fn decimals(&self) -> PyResult<ArrayRef> {
        let read = self.each(|value| match value.is_instance_of::<PyInt>() {
            true => {
                let whole = from_python::whole(self.py, value)?;
                Ok((whole, whole.unsigned_abs().to_string().len() as u8, 0))
            }
            false => from_python::decimal(self.py, value),
        })?;
        let scale = read.iter().flatten().map(|(.., scale)| *scale).max().unwrap_or(0);
        let mut most = 1;
        let mut unscaled = Vec::with_capacity(read.len());
        for (row, own) in read.into_iter().enumerate() {
            let scaled = own.map(|(value, precision, own)| {
                let wider = u32::from((scale - own).unsigned_abs());
                most = most.max(u32::from(precision) + wider);
                let scaled = 10_i128.checked_pow(wider).and_then(|power| value.checked_mul(power));
                scaled.filter(|_| most <= 38).ok_or_else(|| {
                    let shown = self.values[row].as_ref().map_or_else(String::new, shown);
                    let text = format!(
                        "column '{}', row {row}: {shown} has more than 38 digits with {scale} behind the point, as the column needs",
                        self.name
                    );
                    unfit(self.py, &text)
                })
            });
            unscaled.push(scaled.transpose()?);
        }
        let decimals = unscaled.into_iter().collect::<Decimal128Array>();
        let decimals = decimals.with_precision_and_scale(most.max(scale.unsigned_abs().into()) as u8, scale);
        Ok(Arc::new(decimals.map_err(|error| unfit(self.py, &error.to_string()))?))
    }

    /// Timestamps: of nanoseconds where a value has some.
    fn moments(&self, zoned: bool) -> PyResult<ArrayRef> {
        let moments = self.each(|value| Moment::of(self.py, value))?;
        let zone = zoned.then(|| Arc::<str>::from("+00:00"));
        if moments.iter().flatten().all(|moment| moment.nanos == 0) {
            let micros = moments.iter().map(|moment| moment.as_ref().map(|moment| moment.micros));
            return Ok(Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone_opt(zone)));
        }
        let mut nanos = Vec::with_capacity(moments.len());
        for (row, moment) in moments.into_iter().enumerate() {
            let own = moment.map(|moment| {
                moment.in_nanos().ok_or_else(|| {
                    let text = "is out of range for TIMESTAMP(9), and other values of the column have nanoseconds";
                    let shown = self.values[row].as_ref().map_or_else(String::new, shown);
                    unfit(self.py, &format!("column '{}', row {row}: {shown} {text}", self.name))
                })
            });
            nanos.push(own.transpose()?);
        }
        Ok(Arc::new(nanos.into_iter().collect::<TimestampNanosecondArray>().with_timezone_opt(zone)))
    }
}
