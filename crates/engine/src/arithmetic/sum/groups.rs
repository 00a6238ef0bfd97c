//! The sums of many groups.

use crate::arithmetic::sum::{PARTIAL, Summed, SummedType, nulls, with_values};
use crate::functions::typed;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal128Array, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// One sum per group.
#[derive(Debug)]
pub(super) struct GroupSums {
    number: SummedType,
    sums: Vec<i128>,
    /// Groups that have a value; the sum of the others is NULL.
    seen: Vec<bool>,
}

impl GroupSums {
    pub(super) fn new(number: SummedType) -> Self {
        Self { number, sums: Vec::new(), seen: Vec::new() }
    }

    fn add<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        widen: impl Fn(T::Native) -> i128,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        self.sums.resize(total_groups, 0);
        self.seen.resize(total_groups, false);
        let (sums, seen) = (&mut self.sums, &mut self.seen);
        let mut overflowed = false;
        let mut add = |group: usize, value: T::Native| {
            let (sum, wrapped) = sums[group].overflowing_add(widen(value));
            sums[group] = sum;
            seen[group] = true;
            overflowed |= wrapped;
        };
        match taken(values, filter) {
            None => groups.iter().zip(values.values()).for_each(|(group, value)| add(*group, *value)),
            Some(rows) => rows.valid_indices().for_each(|row| add(groups[row], values.value(row))),
        }
        if overflowed { Err(self.number.overflow(None)) } else { Ok(()) }
    }

    fn take(&mut self, emit: EmitTo) -> (Vec<i128>, Vec<bool>) {
        (emit.take_needed(&mut self.sums), emit.take_needed(&mut self.seen))
    }
}

/// The rows that count: those that are not NULL and pass the FILTER; `None` for all.
pub(crate) fn taken(values: &dyn Array, filter: Option<&BooleanArray>) -> Option<NullBuffer> {
    let passed = filter.map(|filter| {
        let passed = match filter.nulls() {
            Some(nulls) => filter.values() & nulls.inner(),
            None => filter.values().clone(),
        };
        NullBuffer::new(passed)
    });
    let present = values.nulls().filter(|nulls| nulls.null_count() > 0);
    NullBuffer::union(present, passed.as_ref())
}

/// Calls `each` for the rows that count.
pub(crate) fn for_rows_taken(values: &dyn Array, filter: Option<&BooleanArray>, mut each: impl FnMut(usize)) {
    match taken(values, filter) {
        None => (0..values.len()).for_each(each),
        Some(rows) => rows.valid_indices().for_each(&mut each),
    }
}

fn partial(sums: Vec<i128>, nulls: Option<NullBuffer>) -> Result<Vec<ArrayRef>> {
    let DataType::Decimal128(precision, scale) = PARTIAL else { return Ok(Vec::new()) };
    Ok(vec![Arc::new(Decimal128Array::new(sums.into(), nulls).with_precision_and_scale(precision, scale)?)])
}

impl GroupsAccumulator for GroupSums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        with_values!(self.number, &values[0], |values, widen| self.add(values, widen, groups, filter, total_groups))
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        let parts = typed::<Decimal128Type>(&states[0])?;
        self.add(parts, std::convert::identity, groups, None, total_groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let (sums, seen) = self.take(emit);
        self.number.array(sums, &seen)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, seen) = self.take(emit);
        partial(sums, nulls(&seen))
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let taken = taken(&values[0], filter);
        let sums = with_values!(self.number, &values[0], widened);
        partial(sums, taken)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.seen.capacity()
    }
}

fn widened<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, widen: impl Fn(T::Native) -> i128) -> Vec<i128> {
    values.values().iter().map(|value| widen(*value)).collect()
}
