//! The different values of one group, or of a window's frame, with how often each is there.

use crate::percentiles::fractions::AskedFractions;
use crate::percentiles::kept::{Kept, lists_of};
use crate::percentiles::value::{Value, column_of};
use arrow::array::{Array, ArrayRef};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A value by its order.
#[derive(Debug, Clone)]
struct ByOrder<T>(T);

impl<T: Value> PartialEq for ByOrder<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Value> Eq for ByOrder<T> {}

impl<T: Value> PartialOrd for ByOrder<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Value> Ord for ByOrder<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

/// The values, and how often each is there.
#[derive(Debug)]
pub(super) struct Distinct<T> {
    asked: AskedFractions,
    kept: Kept,
    values: BTreeMap<ByOrder<T>, u64>,
    /// Bytes beside the values.
    beside: usize,
}

impl<T: Value> Distinct<T> {
    pub(super) fn new(asked: AskedFractions, kept: Kept) -> Self {
        Self { asked, kept, values: BTreeMap::new(), beside: 0 }
    }

    fn add(&mut self, kept: &ArrayRef) -> Result<()> {
        let column = column_of::<T>(kept)?;
        for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
            let value = T::at(column, row);
            let beside = value.beside();
            let times = self.values.entry(ByOrder(value)).or_insert(0);
            self.beside += if *times == 0 { beside } else { 0 };
            *times += 1;
        }
        Ok(())
    }
}

impl<T: Value> Accumulator for Distinct<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let kept = self.kept.keep(&values[0])?;
        self.add(&kept)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let kept = self.kept.keep(&values[0])?;
        let column = column_of::<T>(&kept)?;
        for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
            let value = ByOrder(T::at(column, row));
            match self.values.get_mut(&value) {
                Some(times) if *times > 1 => *times -= 1,
                Some(_) => {
                    self.values.remove(&value);
                    self.beside -= value.0.beside();
                }
                None => return internal_err!("a frame lost a value that it did not have"),
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.beside = 0;
        let values = std::mem::take(&mut self.values).into_keys().map(|value| value.0).collect();
        let lists = self.kept.lists::<T>(vec![values])?;
        Ok(vec![ScalarValue::try_from_array(&lists, 0)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        lists_of(&states[0])?.iter().flatten().try_for_each(|list| self.add(&list))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let answer = self.asked.answer(self.values.len(), |at| match self.values.keys().nth(at) {
            Some(value) => Ok(value.0.clone()),
            None => internal_err!("there are {} different values, not {at}", self.values.len()),
        })?;
        ScalarValue::try_from_array(&self.kept.column_of_answers(vec![answer])?, 0)
    }

    fn size(&self) -> usize {
        // A tree's nodes are two thirds full.
        size_of_val(self) + self.values.len() * size_of::<(T, u64)>() * 3 / 2 + self.beside
    }
}
