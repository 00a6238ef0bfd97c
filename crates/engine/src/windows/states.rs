//! States of an aggregate over blocks of a partition's rows, and of ever larger runs of blocks: a long range of rows is put together
//! of few of them, so that a frame need not be read row by row for each of the partition's rows.

use arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;
use std::ops::Range;

/// Rows of a block: below, merging states costs more than aggregating the rows.
const BLOCK: usize = 128;

/// Gives some of the rows to an accumulator.
type AddRows<'a> = dyn Fn(&mut dyn Accumulator, Range<usize>) -> Result<()> + 'a;

/// The state of an accumulator: a value of each of its fields.
type State = Vec<ScalarValue>;

/// The states, by levels: of each block, of each two blocks, of each four.
#[derive(Debug)]
pub(super) struct BlockStates(Vec<Vec<State>>);

impl BlockStates {
    /// Whether a range is long enough to be put together of blocks.
    pub(super) fn are_worth(range: &Range<usize>) -> bool {
        range.len() >= 4 * BLOCK
    }

    /// The states of so many rows, of which `add` gives some to an accumulator.
    pub(super) fn of(
        rows: usize,
        accumulator: &dyn Fn() -> Result<Box<dyn Accumulator>>,
        add: &AddRows<'_>,
    ) -> Result<Self> {
        let state = |block: usize| {
            let mut own = accumulator()?;
            add(own.as_mut(), block * BLOCK..(block + 1) * BLOCK)?;
            own.state()
        };
        let mut levels = vec![(0..rows / BLOCK).map(state).collect::<Result<Vec<State>>>()?];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            let both = |pair: &[State]| {
                let mut own = accumulator()?;
                merge(own.as_mut(), &[&pair[0], &pair[1]])?;
                own.state()
            };
            let next = last.chunks_exact(2).map(both).collect::<Result<Vec<State>>>()?;
            levels.push(next);
        }
        Ok(Self(levels))
    }

    /// Gives the rows of a range to an accumulator, in their order.
    pub(super) fn add(&self, range: Range<usize>, accumulator: &mut dyn Accumulator, add: &AddRows<'_>) -> Result<()> {
        let (first, end) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        if first >= end {
            return add(accumulator, range);
        }
        add(accumulator, range.start..first * BLOCK)?;
        let mut states = Vec::new();
        let mut block = first;
        while block < end {
            let fits = |level: &usize| {
                let width = 1 << level;
                block % width == 0 && block + width <= end && self.0[*level].len() > block >> level
            };
            let level = (0..self.0.len()).take_while(fits).last().unwrap_or(0);
            states.push(&self.0[level][block >> level]);
            block += 1 << level;
        }
        merge(accumulator, &states)?;
        add(accumulator, end * BLOCK..range.end)
    }
}

fn merge(accumulator: &mut dyn Accumulator, states: &[&State]) -> Result<()> {
    let fields = states.first().map_or(0, |state| state.len());
    let column = |field: usize| ScalarValue::iter_to_array(states.iter().map(|state| state[field].clone()));
    let columns = (0..fields).map(column).collect::<Result<Vec<ArrayRef>>>()?;
    accumulator.merge_batch(&columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, Int64Array};
    use datafusion::common::internal_err;

    /// Texts of the rows one after the other, which tell their order.
    #[derive(Debug, Default)]
    struct Joined(String);

    impl Accumulator for Joined {
        fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
            let Some(values) = values[0].as_any().downcast_ref::<Int64Array>() else {
                return internal_err!("integers");
            };
            values.values().iter().for_each(|value| self.0.push_str(&format!("{value} ")));
            Ok(())
        }

        fn evaluate(&mut self) -> Result<ScalarValue> {
            Ok(ScalarValue::from(self.0.as_str()))
        }

        fn size(&self) -> usize {
            size_of_val(self)
        }

        fn state(&mut self) -> Result<Vec<ScalarValue>> {
            Ok(vec![self.evaluate()?])
        }

        fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
            for row in 0..states[0].len() {
                let text = ScalarValue::try_from_array(&states[0], row)?;
                self.0.push_str(text.try_as_str().flatten().unwrap_or_default());
            }
            Ok(())
        }
    }

    #[test]
    fn ranges_are_of_all_of_their_rows_in_order() {
        let rows = 5000_i64;
        let values = Int64Array::from_iter_values(0..rows);
        let add = |own: &mut dyn Accumulator, range: Range<usize>| {
            own.update_batch(&[std::sync::Arc::new(values.slice(range.start, range.len())) as ArrayRef])
        };
        let states = BlockStates::of(5000, &|| Ok(Box::new(Joined::default())), &add).unwrap();
        for range in [0..5000, 0..0, 1..127, 127..129, 128..256, 100..4999, 640..4992, 4900..5000, 129..3000] {
            let mut own = Joined::default();
            states.add(range.clone(), &mut own, &add).unwrap();
            let expected: String = range.clone().map(|row| format!("{row} ")).collect();
            assert_eq!(own.0, expected, "{range:?}");
        }
    }
}
