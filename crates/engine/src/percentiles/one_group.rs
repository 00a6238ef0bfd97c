//! The values of one group, or of a window's frame, which loses values too.

use crate::percentiles::fractions::AskedFractions;
use crate::percentiles::kept::{Kept, lists_of};
use crate::percentiles::value::{Value, column_of};
use arrow::array::{Array, ArrayRef};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;

/// The values, the sorted ones first.
#[derive(Debug)]
pub(super) struct OneGroup<T> {
    asked: AskedFractions,
    kept: Kept,
    values: Vec<T>,
    /// So many are sorted.
    sorted: usize,
    /// Whether it was asked before, as it is for each row of a window.
    was_asked: bool,
    /// Bytes beside the values.
    beside: usize,
}

impl<T: Value> OneGroup<T> {
    pub(super) fn new(asked: AskedFractions, kept: Kept) -> Self {
        Self { asked, kept, values: Vec::new(), sorted: 0, was_asked: false, beside: 0 }
    }

    fn add(&mut self, kept: &ArrayRef) -> Result<()> {
        let column = column_of::<T>(kept)?;
        self.values.reserve(column.len() - column.null_count());
        for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
            let value = T::at(column, row);
            self.beside += value.beside();
            self.values.push(value);
        }
        Ok(())
    }

    /// Sorts what came since this was done last: few values are put in their places one by one.
    fn settle(&mut self) {
        let new = self.values.len() - self.sorted;
        if new > 8 {
            self.values.sort_unstable_by(T::order);
        } else {
            for at in self.sorted..self.values.len() {
                let place = self.values[..at].partition_point(|other| other.order(&self.values[at]).is_le());
                self.values[place..=at].rotate_right(1);
            }
        }
        self.sorted = self.values.len();
    }
}

impl<T: Value> Accumulator for OneGroup<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let kept = self.kept.keep(&values[0])?;
        self.add(&kept)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let kept = self.kept.keep(&values[0])?;
        let column = column_of::<T>(&kept)?;
        self.settle();
        for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
            let value = T::at(column, row);
            let Ok(at) = self.values.binary_search_by(|own| own.order(&value)) else {
                return internal_err!("a frame lost a value that it did not have");
            };
            self.beside -= self.values.remove(at).beside();
        }
        self.sorted = self.values.len();
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        (self.sorted, self.beside) = (0, 0);
        let lists = self.kept.lists(vec![std::mem::take(&mut self.values)])?;
        Ok(vec![ScalarValue::try_from_array(&lists, 0)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        lists_of(&states[0])?.iter().flatten().try_for_each(|list| self.add(&list))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let answer = if std::mem::replace(&mut self.was_asked, true) || self.sorted > 0 {
            self.settle();
            self.asked.answer(self.values.len(), |at| Ok(self.values[at].clone()))?
        } else {
            self.asked.answer_of(&mut self.values)?
        };
        ScalarValue::try_from_array(&self.kept.column_of_answers(vec![answer])?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<T>() + self.beside
    }
}
