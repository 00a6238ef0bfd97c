//! The kinds of values that are kept: numbers of four widths, and the bytes that everything else is ordered by.

use crate::temporal::{interval_between, interval_length};
use arrow::array::{Array, ArrayRef, LargeBinaryArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float64Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType,
};
use datafusion::common::internal_err;
use datafusion::error::Result;
use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;

/// A value of a group.
pub(super) trait Value: Clone + Send + Sync + Debug + 'static {
    /// Columns of such values.
    type Column: Array + 'static;

    /// The value of a row that is not NULL.
    fn at(column: &Self::Column, row: usize) -> Self;

    /// A column of values, of the type that such columns are kept as.
    fn column(values: Vec<Option<Self>>, kept: &DataType) -> ArrayRef;

    /// The order of two values.
    fn order(&self, other: &Self) -> Ordering;

    /// The value that lies so far on the way from one to another.
    fn between(first: &Self, second: &Self, share: f64) -> Result<Self>;

    /// Bytes of memory apart from those of the type.
    fn beside(&self) -> usize {
        0
    }
}

/// The column as one of these values.
pub(super) fn column_of<T: Value>(array: &ArrayRef) -> Result<&T::Column> {
    match array.as_any().downcast_ref::<T::Column>() {
        Some(column) => Ok(column),
        None => internal_err!("a percentile of {}", array.data_type()),
    }
}

fn primitives<T: ArrowPrimitiveType>(values: Vec<Option<T::Native>>, kept: &DataType) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter(values).with_data_type(kept.clone()))
}

impl Value for i64 {
    type Column = PrimitiveArray<Int64Type>;

    fn at(column: &Self::Column, row: usize) -> Self {
        column.value(row)
    }

    fn column(values: Vec<Option<Self>>, kept: &DataType) -> ArrayRef {
        primitives::<Int64Type>(values, kept)
    }

    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn between(_: &Self, _: &Self, _: f64) -> Result<Self> {
        internal_err!("integers are interpolated as floats")
    }
}

impl Value for f64 {
    type Column = PrimitiveArray<Float64Type>;

    /// One NaN, which is larger than all numbers, and one zero.
    fn at(column: &Self::Column, row: usize) -> Self {
        let value = column.value(row);
        if value.is_nan() { Self::NAN.abs() } else { value + 0.0 }
    }

    fn column(values: Vec<Option<Self>>, kept: &DataType) -> ArrayRef {
        primitives::<Float64Type>(values, kept)
    }

    fn order(&self, other: &Self) -> Ordering {
        self.total_cmp(other)
    }

    fn between(first: &Self, second: &Self, share: f64) -> Result<Self> {
        Ok(first + share * (second - first))
    }
}

impl Value for i128 {
    type Column = PrimitiveArray<Decimal128Type>;

    fn at(column: &Self::Column, row: usize) -> Self {
        column.value(row)
    }

    fn column(values: Vec<Option<Self>>, kept: &DataType) -> ArrayRef {
        primitives::<Decimal128Type>(values, kept)
    }

    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    /// Decimals have medians alone, half of the way. A half of the last digit goes away from zero.
    fn between(first: &Self, second: &Self, _: f64) -> Result<Self> {
        // Their sum may be too large.
        let below = (first & second) + ((first ^ second) >> 1);
        let is_half = (first ^ second) & 1 == 1;
        Ok(if is_half && below >= 0 { below + 1 } else { below })
    }
}

impl Value for IntervalMonthDayNano {
    type Column = PrimitiveArray<IntervalMonthDayNanoType>;

    fn at(column: &Self::Column, row: usize) -> Self {
        column.value(row)
    }

    fn column(values: Vec<Option<Self>>, kept: &DataType) -> ArrayRef {
        primitives::<IntervalMonthDayNanoType>(values, kept)
    }

    fn order(&self, other: &Self) -> Ordering {
        interval_length(*self).cmp(&interval_length(*other))
    }

    fn between(first: &Self, second: &Self, share: f64) -> Result<Self> {
        interval_between(*first, *second, share)
    }
}

/// The bytes of a row in Arrow's row format.
impl Value for Box<[u8]> {
    type Column = LargeBinaryArray;

    fn at(column: &Self::Column, row: usize) -> Self {
        column.value(row).into()
    }

    fn column(values: Vec<Option<Self>>, _: &DataType) -> ArrayRef {
        Arc::new(LargeBinaryArray::from_iter(values))
    }

    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn between(_: &Self, _: &Self, _: f64) -> Result<Self> {
        internal_err!("only numbers and intervals are interpolated")
    }

    /// With what the allocator adds.
    fn beside(&self) -> usize {
        self.len().next_multiple_of(16) + 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_decimals_are_exact_or_rounded_away_from_zero() {
        let half = |a: i128, b: i128| i128::between(&a, &b, 0.5).unwrap();
        assert_eq!([half(1, 3), half(1, 2), half(-1, -2), half(-1, 2), half(-2, 1)], [2, 2, -2, 1, -1]);
        let most = 10_i128.pow(38) - 1;
        assert_eq!([half(most, most - 2), half(-most, 2 - most), half(-most, most)], [most - 1, 1 - most, 0]);
    }

    #[test]
    fn intervals_are_ordered_by_their_length() {
        let (month, days) = (IntervalMonthDayNano::new(1, 0, 0), IntervalMonthDayNano::new(0, 30, 0));
        assert_eq!(month.order(&days), Ordering::Equal);
        assert_eq!(IntervalMonthDayNano::new(0, 31, 0).order(&month), Ordering::Greater);
        let half = IntervalMonthDayNano::between(&days, &IntervalMonthDayNano::new(0, 33, 0), 0.5).unwrap();
        assert_eq!(half, IntervalMonthDayNano::new(0, 31, 43_200_000_000_000));
    }
}
