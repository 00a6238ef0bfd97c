//! Arrow data of the program as SQL has its values: types that SQL has no name for get the ones that keep all of their values,
//! durations those of intervals, and Arrow's extension type for UUIDs that of texts.
//!
//! A record of Arrow's that is NULL may have values in its fields, which nobody is to see: they become NULL here, so that no
//! function has to look at the record for the sake of a field.

use crate::{Error, Result};
use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, IntervalMonthDayNanoArray, MapArray,
    OffsetSizeTrait, RecordBatch, RecordBatchOptions, StringArray, StringViewArray, StructArray, make_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalUnit, Schema, SchemaRef, TimeUnit,
};
use gingham_storage::{LogicalType, SqlState};
use std::fmt::Write;
use std::sync::Arc;

/// Where a field's metadata has the name of its extension type, and that of UUIDs.
const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";
const UUID_BYTES: i32 = 16;
const DAY_NANOS: i128 = 86_400_000_000_000;
const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// A batch of the program's with its values as SQL has them: durations are intervals, UUIDs texts.
///
/// # Errors
///
/// A column is of a type that SQL has not, or a duration is out of range for an interval.
///
/// ```
/// use arrow::array::{ArrayRef, DurationSecondArray, RecordBatch};
/// use std::sync::Arc;
///
/// let spans: ArrayRef = Arc::new(DurationSecondArray::from(vec![90_000]));
/// let batch = gingham::readable(&RecordBatch::try_from_iter([("span", spans)])?)?;
/// let texts = gingham::as_text(batch.column(0))?;
/// assert_eq!(gingham::ScalarValue::try_from_array(&texts, 0)?.to_string(), "1 day 01:00:00");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn readable(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = readable_schema(&batch.schema())?;
    let positions: Vec<usize> = (0..batch.num_columns()).collect();
    read(batch, &positions, &schema, 0)
}

/// The types that columns are read as.
pub(super) fn readable_schema(schema: &Schema) -> Result<SchemaRef> {
    let field = |field: &FieldRef| {
        let data_type = readable_type(field).ok_or_else(|| {
            let (name, data_type) = (field.name(), field.data_type());
            Error::Unsupported(format!("column '{name}' is of the Arrow type {data_type}, which SQL has no type for"))
        })?;
        Ok(Field::new(field.name(), data_type, field.is_nullable()))
    };
    let fields = schema.fields().iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// The type that a column is read as; `None` for one that has values which no type here keeps.
fn readable_type(field: &Field) -> Option<DataType> {
    if is_uuid(field) {
        return Some(DataType::Utf8View);
    }
    if let Ok(stored) = LogicalType::from_arrow("", field.data_type()) {
        return Some(stored.to_arrow());
    }
    Some(match field.data_type() {
        DataType::Float16 => DataType::Float32,
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Decimal256(precision, scale) if *precision <= 38 => DataType::Decimal128(*precision, *scale),
        DataType::RunEndEncoded(_, values) => readable_type(values)?,
        DataType::Dictionary(_, values) if is_span(values) => INTERVAL,
        DataType::Decimal256(..) | DataType::Union(..) => return None,
        _ => within(field).data_type().clone(),
    })
}

/// A field within a list or a record as it is read: spans of time as intervals, UUIDs as texts, others as they are.
fn within(field: &Field) -> FieldRef {
    let data_type = match field.data_type() {
        _ if is_uuid(field) => DataType::Utf8,
        own if is_span(own) => INTERVAL,
        DataType::List(inner) => DataType::List(within(inner)),
        DataType::LargeList(inner) => DataType::LargeList(within(inner)),
        DataType::FixedSizeList(inner, size) => DataType::FixedSizeList(within(inner), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| within(field)).collect()),
        DataType::Map(entries, sorted) => DataType::Map(within(entries), *sorted),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}

/// Arrow's types of spans of time, but for the one that SQL's INTERVAL is.
fn is_span(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Duration(_) | DataType::Interval(_))
}

fn is_uuid(field: &Field) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(UUID_BYTES)
        && field.metadata().get(EXTENSION).is_some_and(|name| name == UUID)
}

fn has_records(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) => true,
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _) => has_records(inner.data_type()),
        _ => false,
    }
}

/// The columns at `positions` as `schema` has them; `row` is the number of the first row in errors.
pub(super) fn read(batch: &RecordBatch, positions: &[usize], schema: &SchemaRef, row: usize) -> Result<RecordBatch> {
    let own = batch.schema();
    let column = |(position, to): (&usize, &FieldRef)| {
        let place = ValuePlace { column: to.name(), row: Some(row) };
        converted(batch.column(*position), own.field(*position), to, &place)
    };
    let columns = positions.iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// What errors call a value.
struct ValuePlace<'a> {
    column: &'a str,
    /// The number of the first row, where values are a column's own.
    row: Option<usize>,
}

/// The values of a field `from` as those of the field `to`.
fn converted(values: &ArrayRef, from: &Field, to: &Field, place: &ValuePlace<'_>) -> Result<ArrayRef> {
    if from.data_type() == to.data_type() && !has_records(from.data_type()) {
        return Ok(Arc::clone(values));
    }
    let inside = ValuePlace { column: place.column, row: None };
    match (values.data_type(), to.data_type()) {
        (_, DataType::Utf8 | DataType::Utf8View) if is_uuid(from) => Ok(uuids(values, to.data_type())),
        (DataType::Duration(unit), DataType::Interval(_)) => intervals(values, *unit, place),
        (DataType::Dictionary(_, plain), DataType::Interval(_)) => {
            let plain = Field::new(from.name(), plain.as_ref().clone(), true);
            converted(&cast(values, plain.data_type())?, &plain, to, place)
        }
        (DataType::RunEndEncoded(_, plain), _) => converted(&cast(values, plain.data_type())?, plain, to, place),
        (DataType::List(own), DataType::List(wanted)) => list(values.as_list::<i32>(), own, wanted, &inside),
        (DataType::LargeList(own), DataType::LargeList(wanted)) => list(values.as_list::<i64>(), own, wanted, &inside),
        (DataType::FixedSizeList(own, size), DataType::FixedSizeList(wanted, _)) => {
            let lists = values.as_fixed_size_list();
            let items = converted(lists.values(), own, wanted, &inside)?;
            Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(wanted), *size, items, lists.nulls().cloned())?))
        }
        (DataType::Struct(_), DataType::Struct(_)) => Ok(Arc::new(record(values.as_struct(), to, &inside)?)),
        (DataType::Map(own, _), DataType::Map(wanted, sorted)) => {
            let maps = values.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            let entries = converted(&entries, own, wanted, &inside)?.as_struct().clone();
            let (offsets, nulls) = (maps.offsets().clone(), maps.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(wanted), offsets, entries, nulls, *sorted)?))
        }
        (_, wanted) => Ok(cast(values, wanted)?),
    }
}

/// Lists whose items are converted, those alone that belong to one.
fn list<O: OffsetSizeTrait>(
    lists: &GenericListArray<O>,
    own: &FieldRef,
    wanted: &FieldRef,
    place: &ValuePlace<'_>,
) -> Result<ArrayRef> {
    let offsets = lists.offsets();
    let (first, last) = (offsets[0], offsets[lists.len()]);
    let items = lists.values().slice(first.as_usize(), (last - first).as_usize());
    let items = converted(&items, own, wanted, place)?;
    let offsets = arrow::buffer::OffsetBuffer::new(offsets.iter().map(|offset| *offset - first).collect());
    Ok(Arc::new(GenericListArray::try_new(Arc::clone(wanted), offsets, items, lists.nulls().cloned())?))
}

/// Records whose fields are NULL where they are.
fn record(records: &StructArray, to: &Field, place: &ValuePlace<'_>) -> Result<StructArray> {
    let DataType::Struct(wanted) = to.data_type() else { return Ok(records.clone()) };
    let own = records.fields().iter().zip(wanted).zip(records.columns());
    let columns = own.map(|((own, wanted), values)| {
        let values = converted(values, own, wanted, place)?;
        match records.nulls() {
            Some(nulls) if nulls.null_count() > 0 => null_with(&values, nulls),
            _ => Ok(values),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(StructArray::try_new_with_length(wanted.clone(), columns, records.nulls().cloned(), records.len())?)
}

/// The values, NULL where `outer` says so, too.
fn null_with(values: &ArrayRef, outer: &NullBuffer) -> Result<ArrayRef> {
    // Their NULLs are elsewhere.
    if matches!(values.data_type(), DataType::Null | DataType::Union(..) | DataType::RunEndEncoded(..)) {
        return Ok(Arc::clone(values));
    }
    let nulls = NullBuffer::union(values.nulls(), Some(outer));
    let values = make_array(values.to_data().into_builder().nulls(nulls).build()?);
    // A record within has to hand them on.
    let Some(records) = values.as_struct_opt() else { return Ok(values) };
    let columns = records.columns().iter().map(|own| null_with(own, outer)).collect::<Result<Vec<_>>>()?;
    let (fields, nulls) = (records.fields().clone(), records.nulls().cloned());
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, nulls, records.len())?))
}

/// Durations as days and time.
fn intervals(values: &ArrayRef, unit: TimeUnit, place: &ValuePlace<'_>) -> Result<ArrayRef> {
    let (factor, name) = match unit {
        TimeUnit::Second => (1_000_000_000, "seconds"),
        TimeUnit::Millisecond => (1_000_000, "milliseconds"),
        TimeUnit::Microsecond => (1_000, "microseconds"),
        TimeUnit::Nanosecond => (1, "nanoseconds"),
    };
    let counts = cast(values, &DataType::Int64)?;
    let interval = |(row, count): (usize, Option<i64>)| {
        let Some(count) = count else { return Ok(None) };
        let nanos = i128::from(count) * factor;
        let Ok(days) = i32::try_from(nanos / DAY_NANOS) else {
            let at = place.row.map(|first| format!(", row {}", first + row)).unwrap_or_default();
            let text =
                format!("column '{}'{at}: a duration of {count} {name} is out of range for INTERVAL", place.column);
            return Err(Error::invalid(SqlState::IntervalFieldOverflow, text));
        };
        Ok(Some(IntervalMonthDayNano::new(0, days, (nanos % DAY_NANOS) as i64)))
    };
    let intervals = counts.as_primitive::<Int64Type>().iter().enumerate().map(interval);
    Ok(Arc::new(intervals.collect::<Result<IntervalMonthDayNanoArray>>()?))
}

/// UUIDs as they are written.
fn uuids(values: &ArrayRef, to: &DataType) -> ArrayRef {
    let text = |bytes: Option<&[u8]>| {
        bytes.map(|bytes| {
            let mut text = String::with_capacity(36);
            for (at, byte) in bytes.iter().enumerate() {
                if matches!(at, 4 | 6 | 8 | 10) {
                    text.push('-');
                }
                // Writing to a String never fails.
                let _ = write!(text, "{byte:02x}");
            }
            text
        })
    };
    let texts = values.as_fixed_size_binary().iter().map(text);
    match to {
        DataType::Utf8 => Arc::new(texts.collect::<StringArray>()),
        _ => Arc::new(texts.collect::<StringViewArray>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{DurationSecondArray, FixedSizeBinaryArray, Int32Array, ListArray};
    use arrow::buffer::OffsetBuffer;

    fn one(field: Field, values: ArrayRef) -> Result<ArrayRef> {
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![values]).unwrap();
        Ok(Arc::clone(readable(&batch)?.column(0)))
    }

    fn fields_of(values: Vec<i32>, valid: Vec<bool>) -> StructArray {
        let field: FieldRef = Arc::new(Field::new("a", DataType::Int32, true));
        let values: ArrayRef = Arc::new(Int32Array::from(values));
        StructArray::new(vec![field].into(), vec![values], Some(NullBuffer::from(valid)))
    }

    #[test]
    fn fields_of_a_null_record_are_null_at_every_depth() {
        let records = fields_of(vec![1, 2, 3, 4], vec![true, false, true, false]);
        let field = Field::new("x", records.data_type().clone(), true);
        let read = one(field.clone(), Arc::new(records.slice(1, 3))).unwrap();
        let expected = Int32Array::from(vec![None, Some(3), None]);
        assert_eq!(read.as_struct().column(0).as_primitive::<arrow::datatypes::Int32Type>(), &expected);
        // Within a record, and within a list of which a part is read.
        let outer: FieldRef = Arc::new(Field::new("inner", records.data_type().clone(), true));
        let valid = Some(NullBuffer::from(vec![false, true, true, true]));
        let nested = StructArray::new(vec![Arc::clone(&outer)].into(), vec![Arc::new(records.clone())], valid);
        let read = one(Field::new("x", nested.data_type().clone(), true), Arc::new(nested)).unwrap();
        let inner = read.as_struct().column(0).as_struct();
        assert_eq!((inner.null_count(), inner.column(0).null_count()), (3, 3));
        let lists = ListArray::new(outer, OffsetBuffer::from_lengths([1, 2, 1]), Arc::new(records), None);
        let read = one(Field::new("x", lists.data_type().clone(), true), Arc::new(lists.slice(1, 2))).unwrap();
        let items = read.as_list::<i32>().values().as_struct().column(0);
        assert_eq!((items.len(), items.null_count()), (3, 2));
    }

    #[test]
    fn durations_are_days_and_time() {
        let spans: ArrayRef = Arc::new(DurationSecondArray::from(vec![Some(90_061), None, Some(-90_000)]));
        let field = Field::new("d", spans.data_type().clone(), true);
        let texts = crate::as_text(&one(field.clone(), Arc::clone(&spans)).unwrap()).unwrap();
        let texts: Vec<_> = texts.as_string_view().iter().collect();
        assert_eq!(texts, [Some("1 day 01:01:01"), None, Some("-1 days -01:00:00")]);
        let item: FieldRef = Arc::new(Field::new("item", spans.data_type().clone(), true));
        let lists: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([3]), spans, None));
        let read = one(Field::new("l", lists.data_type().clone(), true), lists).unwrap();
        assert_eq!(*read.as_list::<i32>().values().data_type(), INTERVAL);
        let far: ArrayRef = Arc::new(DurationSecondArray::from(vec![1, i64::MAX]));
        let error = one(field, far).unwrap_err();
        assert_eq!(error.sqlstate(), "22015");
        assert!(error.to_string().contains("column 'd', row 1: a duration of 9223372036854775807 seconds"), "{error}");
    }

    #[test]
    fn uuids_are_texts_and_other_bytes_are_not() {
        let bytes: Vec<u8> = (0x10..0x20).collect();
        let values: ArrayRef = Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(bytes), None].into_iter(), 16).unwrap(),
        );
        let plain = Field::new("u", values.data_type().clone(), true);
        let uuid = plain.clone().with_metadata([(EXTENSION.to_owned(), UUID.to_owned())].into());
        let read = one(uuid, Arc::clone(&values)).unwrap();
        let texts: Vec<_> = read.as_string_view().iter().collect();
        assert_eq!(texts, [Some("10111213-1415-1617-1819-1a1b1c1d1e1f"), None]);
        assert_eq!(*one(plain, values).unwrap().data_type(), DataType::BinaryView);
    }
}
