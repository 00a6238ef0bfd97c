//! Lists and records as text: dates, times and intervals in them as SQL writes them, infinite ones too, which Arrow's own formatter
//! can't.

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, OffsetSizeTrait, StringViewArray, StructArray,
};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::Result;
use std::sync::Arc;

/// The types of times, and how these are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimesWithin {
    pub(super) is_time: fn(&DataType) -> bool,
    pub(super) write: fn(&ArrayRef) -> Result<ArrayRef>,
}

impl TimesWithin {
    /// Whether values of a type have times within them.
    pub(super) fn are_in(self, data_type: &DataType) -> bool {
        let has = |field: &FieldRef| (self.is_time)(field.data_type()) || self.are_in(field.data_type());
        match data_type {
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => has(field),
            DataType::Struct(fields) => fields.iter().any(has),
            _ => false,
        }
    }

    /// The values as text.
    pub(super) fn written(self, values: &ArrayRef) -> Result<ArrayRef> {
        let values = self.with_texts(values)?;
        let options = FormatOptions::default().with_null("NULL");
        let formatter = ArrayFormatter::try_new(values.as_ref(), &options)?;
        let texts = (0..values.len()).map(|row| values.is_valid(row).then(|| formatter.value(row).to_string()));
        Ok(Arc::new(texts.collect::<StringViewArray>()))
    }

    /// Values with texts in the place of times, however deep.
    fn with_texts(self, values: &ArrayRef) -> Result<ArrayRef> {
        match values.data_type() {
            own if (self.is_time)(own) => (self.write)(values),
            own if !self.are_in(own) => Ok(Arc::clone(values)),
            DataType::List(field) => self.list(values.as_list::<i32>(), field),
            DataType::LargeList(field) => self.list(values.as_list::<i64>(), field),
            DataType::FixedSizeList(field, length) => {
                let own = values.as_fixed_size_list();
                let inner = self.with_texts(own.values())?;
                Ok(Arc::new(FixedSizeListArray::try_new(of(field, &inner), *length, inner, own.nulls().cloned())?))
            }
            DataType::Struct(fields) => {
                let own = values.as_struct();
                let columns = own.columns().iter().map(|own| self.with_texts(own)).collect::<Result<Vec<_>>>()?;
                let fields: Vec<FieldRef> = fields.iter().zip(&columns).map(|(field, own)| of(field, own)).collect();
                Ok(Arc::new(StructArray::try_new(fields.into(), columns, own.nulls().cloned())?))
            }
            _ => Ok(Arc::clone(values)),
        }
    }

    fn list<O: OffsetSizeTrait>(self, own: &GenericListArray<O>, field: &FieldRef) -> Result<ArrayRef> {
        let inner = self.with_texts(own.values())?;
        let offsets = own.offsets().clone();
        Ok(Arc::new(GenericListArray::try_new(of(field, &inner), offsets, inner, own.nulls().cloned())?))
    }
}

fn of(field: &FieldRef, values: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(field.name(), values.data_type().clone(), true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Date32Array, Int64Array, ListArray, TimestampMicrosecondArray};
    use arrow::buffer::OffsetBuffer;

    #[test]
    fn times_within_are_written_as_sql_does() {
        let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(i32::MAX), Some(0), None]));
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(i64::MIN), Some(1), Some(i64::MAX)]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let field = |name: &str, own: &ArrayRef| Arc::new(Field::new(name, own.data_type().clone(), true));
        let fields = vec![field("d", &days), field("t", &times), field("n", &numbers)];
        let records: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![days, times, numbers], None));
        let offsets = OffsetBuffer::from_lengths([1, 0, 2]);
        let lists: ArrayRef = Arc::new(ListArray::new(field("item", &records), offsets, records, None));
        let times = TimesWithin { is_time: DataType::is_temporal, write: crate::casts::temporal::write };
        let texts = times.written(&lists).unwrap();
        let texts: Vec<_> = texts.as_string_view().iter().flatten().collect();
        let expected = [
            "[{d: infinity, t: -infinity, n: 1}]",
            "[]",
            "[{d: 1970-01-01, t: 1970-01-01 00:00:00.000001, n: 2}, {d: NULL, t: infinity, n: 3}]",
        ];
        assert_eq!(texts, expected);
    }
}
