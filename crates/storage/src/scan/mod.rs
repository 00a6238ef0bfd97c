//! Scans: which morsels can match, which records of a morsel do, and their values as Arrow arrays.

use crate::catalog::TableSnapshot;
use crate::{ColumnId, Predicate, Result};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use std::sync::Arc;

/// A prepared scan of one table snapshot; shared by the threads that read its morsels.
#[derive(Debug)]
pub struct TableScan {
    _private: (),
}

impl TableScan {
    /// Prepares a scan: translates `predicate` once per segment (to code ranges) and per dictionary version, and drops
    /// the morsels whose zone maps rule them out. `projection` gives the output columns, in order; batches have at most
    /// `batch_rows` records.
    pub fn new(
        table: Arc<TableSnapshot>,
        projection: Vec<ColumnId>,
        predicate: Predicate,
        batch_rows: usize,
        isa: gingham_kernels::Isa,
    ) -> Result<Self> {
        let _ = (table, projection, predicate, batch_rows, isa);
        todo!()
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        todo!()
    }

    /// Morsels to read: one zone of a segment or delta block each.
    pub fn morsels(&self) -> usize {
        todo!()
    }

    /// Zones ruled out by zone maps, for EXPLAIN ANALYZE.
    pub fn skipped(&self) -> usize {
        todo!()
    }

    /// Number of records that qualify in a morsel, without their values.
    pub fn count(&self, morsel: usize) -> Result<usize> {
        let _ = morsel;
        todo!()
    }

    /// The qualifying records of a morsel, in record order, in batches of at most `batch_rows`; decoded one batch at a
    /// time as the iterator is advanced.
    pub fn read(self: &Arc<Self>, morsel: usize) -> Result<MorselBatches> {
        let _ = morsel;
        todo!()
    }
}

/// Batches of one morsel.
#[derive(Debug)]
pub struct MorselBatches {
    _private: (),
}

impl Iterator for MorselBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

/// Values of a column at record numbers `tids` of a zone, as the column's Arrow type.
pub fn lookup(view: &crate::view::ColumnView, tids: &[u32], isa: gingham_kernels::Isa) -> Result<ArrayRef> {
    let _ = (view, tids, isa);
    todo!()
}

/// Values of the records `rows` of a zone, as the column's Arrow type.
pub fn decode(
    view: &crate::view::ColumnView,
    rows: std::ops::Range<usize>,
    isa: gingham_kernels::Isa,
) -> Result<ArrayRef> {
    let _ = (view, rows, isa);
    todo!()
}
