//! The sum of all rows, or of a window that slides over them.

use crate::arithmetic::sum::{PARTIAL, Summed, SummedType, with_values};
use crate::functions::typed;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;

/// One sum.
#[derive(Debug)]
pub(super) struct SumAccumulator {
    number: SummedType,
    sum: i128,
    /// Values in the sum; without any it is NULL.
    count: u64,
}

impl SumAccumulator {
    pub(super) fn new(number: SummedType) -> Self {
        Self { number, sum: 0, count: 0 }
    }

    fn add(&mut self, part: Option<i128>) -> Result<()> {
        let sum = part.and_then(|part| self.sum.checked_add(part));
        self.sum = sum.ok_or_else(|| self.number.overflow(None))?;
        Ok(())
    }

    fn sum_of(&self, values: &ArrayRef) -> Result<Option<i128>> {
        Ok(with_values!(self.number, values, total))
    }
}

/// The sum of the values that are not NULL; `None` when it leaves 128 bits.
fn total<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, widen: impl Fn(T::Native) -> i128) -> Option<i128> {
    let mut sum = 0i128;
    let mut overflowed = false;
    let mut add = |value: T::Native| {
        let (next, wrapped) = sum.overflowing_add(widen(value));
        sum = next;
        overflowed |= wrapped;
    };
    match values.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => values.values().iter().for_each(|value| add(*value)),
        Some(nulls) => nulls.valid_indices().for_each(|row| add(values.value(row))),
    }
    (!overflowed).then_some(sum)
}

impl Accumulator for SumAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count += (values[0].len() - values[0].null_count()) as u64;
        let part = self.sum_of(&values[0])?;
        self.add(part)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count -= (values[0].len() - values[0].null_count()) as u64;
        let part = self.sum_of(&values[0])?.and_then(i128::checked_neg);
        self.add(part)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let DataType::Decimal128(precision, scale) = PARTIAL else { return Ok(Vec::new()) };
        Ok(vec![ScalarValue::Decimal128((self.count > 0).then_some(self.sum), precision, scale)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let parts = typed::<Decimal128Type>(&states[0])?;
        self.count += (parts.len() - parts.null_count()) as u64;
        let part = total(parts, std::convert::identity);
        self.add(part)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.number.scalar((self.count > 0).then_some(self.sum))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
