//! What the query of a change gave, until it is written, and what that takes of the memory limit.

use crate::Result;
use crate::bind::Beside;
use crate::session::StatementContext;
use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use gingham_storage::scan::batch_bytes;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// About what a record takes in the set of those that were met.
const BYTES_OF_MET: usize = 16;

/// What a query gave, and what it takes of the memory limit.
pub(crate) struct HeldRows {
    /// Records that a MERGE changes.
    pub(super) records: u64,
    pub(super) ids: Vec<u64>,
    /// Old values of the columns that are referred to.
    pub(super) referred: Vec<RecordBatch>,
    /// New values, where they are not written at once.
    pub(super) batches: Vec<RecordBatch>,
    /// Whole rows for RETURNING, with the columns of the tables beside the one that changes.
    pub(super) returned: Vec<RecordBatch>,
    /// These tables.
    pub(super) beside: Vec<Beside>,
    pub(super) reservation: MemoryReservation,
    pub(super) others: Vec<MemoryReservation>,
    /// The records that were met, where several rows may match one.
    met: HashSet<u64>,
}

impl HeldRows {
    pub(crate) fn new(context: &StatementContext, verb: &str) -> Self {
        let reservation = MemoryConsumer::new(format!("records to {verb}")).register(context.task().memory_pool());
        Self {
            records: 0,
            ids: Vec::new(),
            referred: Vec::new(),
            batches: Vec::new(),
            returned: Vec::new(),
            beside: Vec::new(),
            reservation,
            others: Vec::new(),
            met: HashSet::new(),
        }
    }

    /// Keeps rows for RETURNING.
    pub(super) fn keep_returned(&mut self, rows: Vec<RecordBatch>) -> Result<()> {
        self.reservation.try_grow(rows.iter().map(batch_bytes).sum())?;
        self.returned = rows;
        Ok(())
    }

    /// Adds what `records` rows gave: the ids of records that go, their old values of columns that are referred to, and rows for
    /// RETURNING with the columns of the tables beside.
    pub(crate) fn add(
        &mut self,
        ids: &[u64],
        records: u64,
        referred: Option<RecordBatch>,
        returned: Option<RecordBatch>,
    ) -> Result<()> {
        let bytes: usize = referred.iter().chain(&returned).map(batch_bytes).sum();
        self.reservation.try_grow(bytes + size_of_val(ids))?;
        self.records += records;
        self.ids.extend(ids);
        self.referred.extend(referred);
        self.returned.extend(returned);
        Ok(())
    }

    /// The rows of a batch, whose record ids are column `at`, that are about records which `before` does not name and, where
    /// `takes_first` says so, which no row before was about.
    pub(super) fn wanted(
        &mut self,
        batch: &RecordBatch,
        at: usize,
        takes_first: bool,
        before: Option<&HashSet<u64>>,
    ) -> Result<RecordBatch> {
        if !takes_first && before.is_none() {
            return Ok(batch.clone());
        }
        let ids = batch.column(at).as_primitive::<Int64Type>();
        let known = self.met.len();
        let mut is_wanted =
            |id: u64| before.is_none_or(|before| !before.contains(&id)) && (!takes_first || self.met.insert(id));
        let wanted: BooleanArray = ids.values().iter().map(|id| Some(is_wanted(*id as u64))).collect();
        self.reservation.try_grow((self.met.len() - known) * BYTES_OF_MET)?;
        Ok(if wanted.true_count() == batch.num_rows() { batch.clone() } else { filter_record_batch(batch, &wanted)? })
    }
}

/// What several lanes fill.
pub(crate) fn lock(held: &Mutex<HeldRows>) -> MutexGuard<'_, HeldRows> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
