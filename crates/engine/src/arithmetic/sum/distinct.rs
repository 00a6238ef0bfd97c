//! SUM(DISTINCT …).

use super::{Number, PARTIAL, as_values, with_values};
use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;
use std::collections::HashMap;

/// The distinct values, each with the number of rows that have it, so that a window can take rows out again.
#[derive(Debug)]
pub(super) struct DistinctSum {
    number: Number,
    counts: HashMap<i128, u64>,
}

impl DistinctSum {
    pub(super) fn new(number: Number) -> Self {
        Self { number, counts: HashMap::new() }
    }

    fn values(&self, values: &ArrayRef) -> Result<Vec<i128>> {
        Ok(with_values!(self.number, values, present))
    }
}

/// The values that are not NULL.
fn present<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, widen: impl Fn(T::Native) -> i128) -> Vec<i128> {
    values.iter().flatten().map(widen).collect()
}

impl Accumulator for DistinctSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in self.values(&values[0])? {
            *self.counts.entry(value).or_default() += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in self.values(&values[0])? {
            match self.counts.get_mut(&value) {
                Some(1) => drop(self.counts.remove(&value)),
                Some(count) => *count -= 1,
                None => return internal_err!("a window left a value that it never entered"),
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let DataType::Decimal128(precision, scale) = PARTIAL else { return Ok(Vec::new()) };
        let values: Vec<_> =
            self.counts.keys().map(|value| ScalarValue::Decimal128(Some(*value), precision, scale)).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &PARTIAL))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states[0].as_list_opt::<i32>() else { return internal_err!("the state of SUM is no list") };
        for list in lists.iter().flatten() {
            for value in as_values::<Decimal128Type>(&list)?.iter().flatten() {
                *self.counts.entry(value).or_default() += 1;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sum = (!self.counts.is_empty()).then_some(0i128);
        for value in self.counts.keys() {
            let next = sum.and_then(|sum| sum.checked_add(*value));
            sum = Some(next.ok_or_else(|| self.number.overflow(None))?);
        }
        self.number.scalar(sum)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * (size_of::<i128>() + size_of::<u64>() + 1)
    }
}
