//! The rows of a recursive query with UNION: each is given once, whichever round has made it.

use crate::equality::keys_of;
use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use std::sync::Arc;

/// The rows so far, in a hash table.
pub(super) struct NewRows {
    known: Box<dyn GroupValues>,
    /// The table's bytes, of the memory limit.
    held: MemoryReservation,
    /// The number of each row of a batch among the known ones.
    numbers: Vec<usize>,
}

impl NewRows {
    /// No rows so far, of the recursive query of that name.
    pub(super) fn new(name: &str, schema: &SchemaRef, context: &TaskContext) -> Result<Self> {
        let known = new_group_values(Arc::clone(schema), &GroupOrdering::None)?;
        let consumer = MemoryConsumer::new(format!("the rows of the recursive query {name}, to tell new ones"));
        Ok(Self { known, held: consumer.register(context.memory_pool()), numbers: Vec::new() })
    }

    /// The rows of a batch that were not there before.
    pub(super) fn of(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut next = self.known.len();
        self.numbers.clear();
        let keys = batch.columns().iter().map(keys_of).collect::<Result<Vec<_>>>()?;
        self.known.intern(&keys, &mut self.numbers)?;
        self.held.try_resize(self.known.size())?;
        // New rows are numbered as they come.
        let is_new = |number: &usize| {
            let is_new = *number == next;
            next += usize::from(is_new);
            Some(is_new)
        };
        let is_new: BooleanArray = self.numbers.iter().map(is_new).collect();
        if is_new.true_count() == batch.num_rows() {
            return Ok(batch.clone());
        }
        Ok(filter_record_batch(batch, &is_new)?)
    }
}
