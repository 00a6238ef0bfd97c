//! Columns as bytes: each in the one form that a few kinds of types share. An array is written as PostgreSQL's `array_send` does: how many
//! dimensions there are, whether there is a NULL, the type of the elements, the length of each dimension and where it begins, and the elements.

use crate::wire::column_type::{INT2VECTOR, OIDVECTOR, element_of};
use crate::wire::column_type::{has_records, wire_type};
use crate::wire::epoch::{EPOCH_DAYS, EPOCH_MICROSECONDS};
use crate::wire::numeric;
use crate::wire::texts::texts;
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, StringViewArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, IntervalUnit, TimeUnit, TimestampMicrosecondType};
use bytes::{BufMut, BytesMut};
use datafusion::error::{DataFusionError, Result};

/// A column whose values are written as bytes.
pub(super) enum BinaryColumn {
    Boolean(BooleanArray),
    Int16(Int16Array),
    Int32(Int32Array),
    Int64(Int64Array),
    Oid(UInt32Array),
    Float32(Float32Array),
    Float64(Float64Array),
    Decimal(Decimal128Array, i8),
    Date(Date32Array),
    Time(Time64MicrosecondArray),
    Timestamp(TimestampMicrosecondArray),
    Interval(IntervalMonthDayNanoArray),
    Text(StringViewArray),
    Bytes(BinaryViewArray),
    Array(BinaryList),
}

/// Arrays and their elements.
pub(super) struct BinaryList {
    pub(super) lists: ListArray,
    pub(super) elements: Box<BinaryColumn>,
    /// The number of the type of what is no array.
    pub(super) element_oid: u32,
    /// The number of the first element: 0 of vectors, 1 of arrays.
    pub(super) first: i32,
}

impl BinaryColumn {
    /// The column of these values. Those that PostgreSQL has no type for are texts.
    pub(super) fn of(values: &ArrayRef) -> Result<Self> {
        let data_type = values.data_type();
        if has_records(data_type) {
            return Ok(Self::Text(texts(values)?));
        }
        let to = |data_type: &DataType| Ok::<_, DataFusionError>(cast(values, data_type)?);
        Ok(match data_type {
            DataType::Boolean => Self::Boolean(values.as_boolean().clone()),
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => {
                Self::Int16(to(&DataType::Int16)?.as_primitive().clone())
            }
            DataType::UInt16 | DataType::Int32 => Self::Int32(to(&DataType::Int32)?.as_primitive().clone()),
            DataType::UInt32 | DataType::Int64 => Self::Int64(to(&DataType::Int64)?.as_primitive().clone()),
            DataType::UInt64 => Self::Decimal(to(&DataType::Decimal128(20, 0))?.as_primitive().clone(), 0),
            DataType::Float16 | DataType::Float32 => Self::Float32(to(&DataType::Float32)?.as_primitive().clone()),
            DataType::Float64 => Self::Float64(values.as_primitive().clone()),
            DataType::Decimal128(_, scale) => Self::Decimal(values.as_primitive::<Decimal128Type>().clone(), *scale),
            DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal256(_, scale) => {
                Self::Decimal(to(&DataType::Decimal128(38, *scale))?.as_primitive().clone(), *scale)
            }
            DataType::Date32 | DataType::Date64 => Self::Date(to(&DataType::Date32)?.as_primitive().clone()),
            DataType::Time32(_) | DataType::Time64(_) => {
                Self::Time(to(&DataType::Time64(TimeUnit::Microsecond))?.as_primitive().clone())
            }
            DataType::Timestamp(unit, _) => Self::Timestamp(microseconds(values, *unit)?),
            DataType::Interval(_) | DataType::Duration(_) => {
                Self::Interval(to(&DataType::Interval(IntervalUnit::MonthDayNano))?.as_primitive().clone())
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Bytes(to(&DataType::BinaryView)?.as_binary_view().clone())
            }
            DataType::Dictionary(_, inner) => Self::of(&to(inner)?)?,
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _)
            | DataType::ListView(field)
            | DataType::LargeListView(field) => {
                let lists = to(&DataType::List(field.clone()))?.as_list::<i32>().clone();
                let elements = Box::new(Self::of(lists.values())?);
                let element_oid = match elements.as_ref() {
                    Self::Array(inner) => inner.element_oid,
                    _ => wire_type(field.data_type()).oid,
                };
                Self::Array(BinaryList { lists, elements, element_oid, first: 1 })
            }
            _ => Self::Text(texts(values)?),
        })
    }

    /// The column of these values, which a client is told to be of a type.
    pub(super) fn told(values: &ArrayRef, oid: u32) -> Result<Self> {
        let to = |data_type: DataType| Ok::<_, DataFusionError>(cast(values, &data_type)?);
        if let Some(element_oid) = element_of(oid) {
            let lists = values.as_list::<i32>().clone();
            let elements = Box::new(Self::told(lists.values(), element_oid)?);
            let first = i32::from(!matches!(oid, INT2VECTOR | OIDVECTOR));
            return Ok(Self::Array(BinaryList { lists, elements, element_oid, first }));
        }
        match oid {
            21 => Self::of(&to(DataType::Int16)?),
            23 => Self::of(&to(DataType::Int32)?),
            26 | 28 => Ok(Self::Oid(to(DataType::UInt32)?.as_primitive().clone())),
            700 => Self::of(&to(DataType::Float32)?),
            _ => Self::of(values),
        }
    }

    /// Writes a value and its length before it.
    pub(super) fn put(&self, row: usize, to: &mut BytesMut) -> Result<()> {
        if self.is_null(row) {
            to.put_i32(-1);
            return Ok(());
        }
        match self {
            Self::Boolean(own) => sized(to, &[u8::from(own.value(row))]),
            Self::Int16(own) => sized(to, &own.value(row).to_be_bytes()),
            Self::Int32(own) => sized(to, &own.value(row).to_be_bytes()),
            Self::Int64(own) => sized(to, &own.value(row).to_be_bytes()),
            Self::Oid(own) => sized(to, &own.value(row).to_be_bytes()),
            Self::Float32(own) => sized(to, &own.value(row).to_be_bytes()),
            Self::Float64(own) => sized(to, &own.value(row).to_be_bytes()),
            Self::Date(own) => sized(to, &date(own.value(row)).to_be_bytes()),
            Self::Time(own) => sized(to, &own.value(row).to_be_bytes()),
            Self::Timestamp(own) => sized(to, &timestamp(own.value(row))?.to_be_bytes()),
            Self::Interval(own) => {
                let interval = own.value(row);
                to.put_i32(16);
                to.put_i64(interval.nanoseconds / 1000);
                to.put_i32(interval.days);
                to.put_i32(interval.months);
            }
            Self::Text(own) => sized(to, own.value(row).as_bytes()),
            Self::Bytes(own) => sized(to, own.value(row)),
            Self::Decimal(own, scale) => {
                measured(to, |to| {
                    numeric::put(own.value(row), *scale, to);
                    Ok(())
                })?;
            }
            Self::Array(own) => measured(to, |to| put_array(own, row, to))?,
        }
        Ok(())
    }

    /// Whether the value of a row is NULL.
    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Boolean(own) => own.is_null(row),
            Self::Int16(own) => own.is_null(row),
            Self::Int32(own) => own.is_null(row),
            Self::Int64(own) => own.is_null(row),
            Self::Oid(own) => own.is_null(row),
            Self::Float32(own) => own.is_null(row),
            Self::Float64(own) => own.is_null(row),
            Self::Decimal(own, _) => own.is_null(row),
            Self::Date(own) => own.is_null(row),
            Self::Time(own) => own.is_null(row),
            Self::Timestamp(own) => own.is_null(row),
            Self::Interval(own) => own.is_null(row),
            Self::Text(own) => own.is_null(row),
            Self::Bytes(own) => own.is_null(row),
            Self::Array(own) => own.lists.is_null(row),
        }
    }
}

/// Writes bytes and their number before them.
pub(super) fn sized(to: &mut BytesMut, bytes: &[u8]) {
    to.put_i32(bytes.len() as i32);
    to.put_slice(bytes);
}

/// Writes what `put` writes, and its length before it.
fn measured(to: &mut BytesMut, put: impl FnOnce(&mut BytesMut) -> Result<()>) -> Result<()> {
    let start = to.len();
    to.put_i32(0);
    put(to)?;
    let length = (to.len() - start - 4) as i32;
    to[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Days since 2000-01-01; infinite dates stay.
fn date(days: i32) -> i32 {
    match days {
        i32::MAX | i32::MIN => days,
        days => days.saturating_sub(EPOCH_DAYS),
    }
}

/// Microseconds since 2000-01-01; infinite times stay.
fn timestamp(microseconds: i64) -> Result<i64> {
    match microseconds {
        i64::MAX | i64::MIN => Ok(microseconds),
        finite => match finite.checked_sub(EPOCH_MICROSECONDS) {
            Some(since) => Ok(since),
            None => crate::error::invalid!(DatetimeFieldOverflow, "a timestamp is too early for PostgreSQL's protocol"),
        },
    }
}

/// Timestamps in microseconds; infinite ones stay so.
fn microseconds(values: &ArrayRef, unit: TimeUnit) -> Result<TimestampMicrosecondArray> {
    if unit == TimeUnit::Microsecond {
        return Ok(values.as_primitive::<TimestampMicrosecondType>().clone().with_timezone_opt(None::<&str>));
    }
    let counts = cast(values, &DataType::Int64)?;
    let (by, is_finer) = match unit {
        TimeUnit::Second => (1_000_000, false),
        TimeUnit::Millisecond => (1_000, false),
        TimeUnit::Microsecond | TimeUnit::Nanosecond => (1_000, true),
    };
    let own = |count: i64| match count {
        i64::MAX | i64::MIN => Ok(count),
        count if is_finer => Ok(count.div_euclid(by)),
        count => match count.checked_mul(by) {
            Some(count) => Ok(count),
            None => {
                crate::error::invalid!(DatetimeFieldOverflow, "a timestamp is out of range for PostgreSQL's protocol")
            }
        },
    };
    counts.as_primitive::<Int64Type>().try_unary(own)
}

/// Writes the array of a row.
fn put_array(arrays: &BinaryList, row: usize, to: &mut BytesMut) -> Result<()> {
    let start = to.len();
    let lengths = dimensions(arrays, row)?;
    if lengths.contains(&0) {
        to.put_i32(0);
        to.put_i32(0);
        to.put_u32(arrays.element_oid);
        return Ok(());
    }
    to.put_i32(lengths.len() as i32);
    to.put_i32(0);
    to.put_u32(arrays.element_oid);
    for length in lengths {
        to.put_i32(length as i32);
        to.put_i32(arrays.first);
    }
    if put_elements(arrays, row, to)? {
        to[start + 4..start + 8].copy_from_slice(&1_i32.to_be_bytes());
    }
    Ok(())
}

/// The length of each dimension. Arrays within an array have one length in PostgreSQL.
fn dimensions(arrays: &BinaryList, row: usize) -> Result<Vec<usize>> {
    let (offsets, length) = (arrays.lists.value_offsets(), arrays.lists.value_length(row) as usize);
    let mut lengths = vec![length];
    let BinaryColumn::Array(inner) = arrays.elements.as_ref() else { return Ok(lengths) };
    let first = offsets[row] as usize;
    let mut within: Option<Vec<usize>> = None;
    for place in first..first + length {
        let own = if inner.lists.is_null(place) { None } else { Some(dimensions(inner, place)?) };
        match (own, &within) {
            (Some(own), None) => within = Some(own),
            (Some(own), Some(known)) if own == *known => {}
            _ => {
                return crate::error::invalid!(
                    ArraySubscriptError,
                    "an array has arrays of different lengths within, or NULLs among them, for which PostgreSQL's protocol has no form"
                );
            }
        }
    }
    lengths.extend(within.unwrap_or_default());
    Ok(lengths)
}

/// Writes the elements of an array; whether one of them is NULL.
fn put_elements(arrays: &BinaryList, row: usize, to: &mut BytesMut) -> Result<bool> {
    let (first, length) = (arrays.lists.value_offsets()[row] as usize, arrays.lists.value_length(row) as usize);
    let mut has_null = false;
    for place in first..first + length {
        match arrays.elements.as_ref() {
            BinaryColumn::Array(inner) => has_null |= put_elements(inner, place, to)?,
            own => {
                has_null |= own.is_null(place);
                own.put(place, to)?;
            }
        }
    }
    Ok(has_null)
}
