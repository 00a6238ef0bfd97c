//! The values of many groups.

use crate::percentiles::fractions::AskedFractions;
use crate::percentiles::kept::{Kept, lists_of};
use crate::percentiles::value::{Value, column_of};
use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::NullBuffer;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

/// The values by group.
#[derive(Debug)]
pub(super) struct Groups<T> {
    asked: AskedFractions,
    kept: Kept,
    groups: Vec<Vec<T>>,
    /// Bytes of the values, with room for more.
    bytes: usize,
}

impl<T: Value> Groups<T> {
    pub(super) fn new(asked: AskedFractions, kept: Kept) -> Self {
        Self { asked, kept, groups: Vec::new(), bytes: 0 }
    }

    fn push(&mut self, group: usize, value: T) {
        let values = &mut self.groups[group];
        let before = values.capacity();
        self.bytes += value.beside();
        values.push(value);
        self.bytes += (values.capacity() - before) * size_of::<T>();
    }

    /// The groups that are wanted, which are forgotten here.
    fn take(&mut self, wanted: EmitTo) -> Vec<Vec<T>> {
        let taken = wanted.take_needed(&mut self.groups);
        let bytes = |values: &Vec<T>| values.capacity() * size_of::<T>() + values.iter().map(T::beside).sum::<usize>();
        self.bytes -= taken.iter().map(bytes).sum::<usize>();
        taken
    }
}

/// The rows that count: those that are not NULL and pass FILTER.
fn counting(column: &dyn Array, filter: Option<&BooleanArray>) -> Option<NullBuffer> {
    let passing = filter.map(|filter| {
        let known = filter.nulls().map_or_else(|| filter.values().clone(), |nulls| filter.values() & nulls.inner());
        NullBuffer::new(known)
    });
    NullBuffer::union(column.nulls(), passing.as_ref())
}

impl<T: Value> GroupsAccumulator for Groups<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let kept = self.kept.keep(&values[0])?;
        let (column, counting) = (column_of::<T>(&kept)?, counting(&kept, filter));
        self.groups.resize_with(total_num_groups, Vec::new);
        for (row, group) in group_indices.iter().enumerate() {
            if counting.as_ref().is_none_or(|counting| counting.is_valid(row)) {
                self.push(*group, T::at(column, row));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        let lists = lists_of(&states[0])?;
        let column = column_of::<T>(lists.values())?;
        self.groups.resize_with(total_num_groups, Vec::new);
        for (group, (list, ends)) in group_indices.iter().zip(lists.offsets().windows(2).enumerate()) {
            if lists.is_null(list) {
                continue;
            }
            for row in ends[0] as usize..ends[1] as usize {
                if column.is_null(row) {
                    return internal_err!("a NULL among the values of a percentile");
                }
                self.push(*group, T::at(column, row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let answers = self.take(emit_to).into_iter().map(|mut values| self.asked.answer_of(&mut values));
        self.kept.column_of_answers(answers.collect::<Result<_>>()?)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit_to);
        Ok(vec![self.kept.lists(groups)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let kept = self.kept.keep(&values[0])?;
        let counting = counting(&kept, filter);
        Ok(vec![self.kept.lists_of_rows(kept, counting)?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<Vec<T>>() + self.bytes
    }
}
