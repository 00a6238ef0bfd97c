//! What a statement sees: an immutable picture of the catalog at one commit.

use crate::catalog::summary::Summaries;
use crate::dictionary::Dictionary;
use crate::heap::HeapRecord;
use crate::segment::Segment;
use crate::{ColumnId, Datum, TableDefinition, TableId, TableName};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A view's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDefinition {
    /// Schema and name.
    pub name: TableName,
    /// SQL text of the query.
    pub query: String,
    /// Column names given in CREATE VIEW v (a, b), or empty.
    pub columns: Vec<String>,
}

/// The catalog at one commit.
#[derive(Debug)]
pub struct Snapshot {
    /// Number of the commit.
    pub commit: u64,
    /// Schema names; `public` is always there.
    pub schemas: Vec<String>,
    /// Tables by name.
    pub tables: BTreeMap<TableName, Arc<TableSnapshot>>,
    /// Views by name.
    pub views: BTreeMap<TableName, Arc<ViewDefinition>>,
    /// What a reader keeps for as long as the snapshot is the latest: plans, which are valid for it alone. It must not
    /// hold the snapshot.
    pub kept: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Snapshot {
    /// The table of that number.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableSnapshot>> {
        self.tables.values().find(|table| table.definition.id == id)
    }
}

/// One table at one commit, all its segment files open.
#[derive(Debug)]
pub struct TableSnapshot {
    /// Columns, constraints, options.
    pub definition: Arc<TableDefinition>,
    /// Changes with each commit to the table's data or definition.
    pub version: u64,
    /// Immutable segments, in record order.
    pub segments: Vec<Arc<Segment>>,
    /// Delta blocks, after the segments in record order.
    pub delta: Vec<Arc<Segment>>,
    /// Dictionaries of the columns that have any.
    pub dictionaries: BTreeMap<ColumnId, Arc<Dictionary>>,
    /// Of a heap table: what its pages are like. It has no segments, and is read by [`Store::heap`](crate::catalog::Store).
    pub heap: Option<HeapRecord>,
    /// Summaries computed so far; `Summaries::default()` in a new snapshot.
    pub summaries: Summaries,
}

/// What is known of a column over the whole table.
#[derive(Debug, Clone)]
pub struct ColumnSummary {
    /// Smallest value or a lower bound; NULL when there is none.
    pub min: Datum,
    /// Largest value or an upper bound.
    pub max: Datum,
    /// True when `min` and `max` are values, not bounds.
    pub exact: bool,
    /// NULLs, exact.
    pub nulls: u64,
    /// Distinct values.
    pub distinct: u64,
    /// True when `distinct` is a count, not an estimate.
    pub distinct_exact: bool,
}

impl TableSnapshot {
    /// The part of the table that is these of its segments and delta blocks.
    pub(crate) fn reduced(&self, segments: Vec<Arc<Segment>>, delta: Vec<Arc<Segment>>) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
            version: self.version,
            segments,
            delta,
            dictionaries: self.dictionaries.clone(),
            heap: self.heap.clone(),
            summaries: Summaries::default(),
        }
    }

    /// A table without records: one that is not created yet, with number 0, or the start of a new one.
    pub fn empty(definition: TableDefinition) -> Self {
        Self {
            definition: Arc::new(definition),
            version: 0,
            segments: Vec::new(),
            delta: Vec::new(),
            dictionaries: BTreeMap::new(),
            heap: None,
            summaries: Summaries::default(),
        }
    }

    /// Records, exact.
    pub fn rows(&self) -> u64 {
        let pages = self.heap.as_ref().map_or(0, |heap| heap.rows);
        pages + self.segments.iter().chain(&self.delta).map(|segment| segment.rows() as u64).sum::<u64>()
    }

    /// Statistics of a live column, merged over segments and delta; computed once per snapshot.
    pub fn summary(&self, column: ColumnId) -> Option<ColumnSummary> {
        self.summaries.get_or_compute(self, column)
    }
}
