//! SUM(DISTINCT …).

use crate::arithmetic::counted::Counted;
use crate::arithmetic::sum::{Summed, SummedType, with_values};
use crate::functions::typed;
use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Decimal128Type, Int64Type, UInt64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;

/// The sum of the different values.
#[derive(Debug)]
pub(super) struct DistinctSum {
    number: SummedType,
    counted: Counted,
}

impl DistinctSum {
    pub(super) fn new(number: SummedType) -> Self {
        Self { number, counted: Counted::default() }
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
        self.counted.add(self.values(&values[0])?);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.counted.remove(self.values(&values[0])?)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.counted.state())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.counted.merge(&states[0])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sum = None;
        for value in self.counted.values() {
            let next = sum.unwrap_or(0i128).checked_add(*value);
            sum = Some(next.ok_or_else(|| self.number.overflow(None))?);
        }
        self.number.scalar(sum)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counted.size()
    }
}
