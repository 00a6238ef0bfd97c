//! The different values of an aggregate with DISTINCT, each with the number of rows that have it, so that a window can take
//! rows out again.

use crate::functions::typed;
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use std::collections::HashMap;
use std::collections::hash_map::Keys;

/// The type of values as they are handed over: 128 bits, whatever the digits.
pub(super) const HANDED_OVER: DataType = DataType::Decimal128(38, 0);

/// Values and how many rows have them.
#[derive(Debug, Default)]
pub(super) struct Counted {
    counts: HashMap<i128, u64>,
}

impl Counted {
    /// Rows with these values come.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = i128>) {
        for value in values {
            *self.counts.entry(value).or_default() += 1;
        }
    }

    /// Rows with these values leave.
    pub(super) fn remove(&mut self, values: impl IntoIterator<Item = i128>) -> Result<()> {
        for value in values {
            match self.counts.get_mut(&value) {
                Some(1) => drop(self.counts.remove(&value)),
                Some(count) => *count -= 1,
                None => return internal_err!("a window left a value that it never entered"),
            }
        }
        Ok(())
    }

    /// The values, each once.
    pub(super) fn values(&self) -> Keys<'_, i128, u64> {
        self.counts.keys()
    }

    /// The values as they are handed over.
    pub(super) fn state(&self) -> Vec<ScalarValue> {
        let values: Vec<_> = self.values().map(|value| ScalarValue::Decimal128(Some(*value), 38, 0)).collect();
        vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &HANDED_OVER))]
    }

    /// Takes the values that others handed over.
    pub(super) fn merge(&mut self, states: &ArrayRef) -> Result<()> {
        let Some(lists) = states.as_list_opt::<i32>() else {
            return internal_err!("the state of an aggregate with DISTINCT is no list");
        };
        for list in lists.iter().flatten() {
            self.add(typed::<Decimal128Type>(&list)?.iter().flatten());
        }
        Ok(())
    }

    /// Bytes that the values take.
    pub(super) fn size(&self) -> usize {
        self.counts.capacity() * (size_of::<i128>() + size_of::<u64>() + 1)
    }
}
