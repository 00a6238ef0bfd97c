//! What a statement sees: an immutable picture of the catalog at one commit.

use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::records::TableRecord;
use crate::model::dictionary::Dictionary;
use crate::model::labels::Labels;
use crate::model::sequence::SequenceRecord;
use crate::model::summary::ColumnSummary;
use crate::model::table::ViewDefinition;
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::snapshot::coded_delta::CodedBlocks;
use crate::snapshot::damaged_table::DamagedTable;
use crate::snapshot::delete_vector::DeleteVector;
use crate::snapshot::heap::overlay::Overlay;
use crate::snapshot::heap::reader::HeapReader;
use crate::snapshot::heap::zones::id_column;
use crate::snapshot::summary::Summaries;
use crate::{ColumnId, Result, TableDefinition, TableId, TableName};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

/// The catalog at one commit.
#[derive(Debug)]
pub struct Snapshot {
    /// Number of the commit.
    pub commit: u64,
    /// Schema names; `public` is always there.
    pub schemas: Vec<String>,
    /// Tables by name, those that can be read: [`table`](Self::table) tells a damaged one from one that is not there.
    pub tables: BTreeMap<TableName, Arc<TableSnapshot>>,
    /// The other tables by name: each statement that needs one fails by its error.
    pub damaged: BTreeMap<TableName, Arc<DamagedTable>>,
    /// Views by name.
    pub views: BTreeMap<TableName, Arc<ViewDefinition>>,
    /// Sequences by name.
    pub sequences: BTreeMap<TableName, Arc<SequenceRecord>>,
    /// Numbers and comments of schemas and views.
    pub labels: Arc<Labels>,
    /// What a reader keeps for as long as the snapshot is the latest: plans, which are valid for it alone. It must not
    /// hold the snapshot. Shared with the same snapshot under a pin.
    pub kept: Arc<OnceLock<Arc<dyn Any + Send + Sync>>>,
}

impl Snapshot {
    /// The table of that number, when it can be read.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableSnapshot>> {
        self.tables.values().find(|table| table.definition.id == id)
    }

    /// The table of that name, `None` when there is none. Fails when it can't be read.
    pub fn table(&self, name: &TableName) -> Result<Option<&Arc<TableSnapshot>>> {
        match self.damaged.get(name) {
            Some(damaged) => Err(damaged.error()),
            None => Ok(self.tables.get(name)),
        }
    }

    /// Whether there is a table of that name, damaged or not.
    pub fn has_table(&self, name: &TableName) -> bool {
        self.tables.contains_key(name) || self.damaged.contains_key(name)
    }

    /// The definition of the table of that name, damaged or not.
    pub fn definition(&self, name: &TableName) -> Option<&Arc<TableDefinition>> {
        let damaged = || self.damaged.get(name).map(|table| &table.definition);
        self.tables.get(name).map(|table| &table.definition).or_else(damaged)
    }

    /// The definitions of all tables by their names, damaged ones last.
    pub fn definitions(&self) -> impl Iterator<Item = (&TableName, &Arc<TableDefinition>)> {
        let whole = self.tables.iter().map(|(name, table)| (name, &table.definition));
        whole.chain(self.damaged.iter().map(|(name, table)| (name, &table.definition)))
    }

    /// Whether tables that can't be read may be whole by now.
    pub(crate) fn is_worth_another_look(&self) -> bool {
        self.damaged.values().any(|table| table.is_worth_another_look())
    }

    /// This snapshot with one of its tables under the name of another, which is hidden by it. Plans are kept in common.
    pub fn with_stand_in(&self, hidden: &TableName, stands_in: &TableName) -> Self {
        let (mut tables, mut damaged) = (self.tables.clone(), self.damaged.clone());
        if let Some(table) = self.tables.get(stands_in) {
            damaged.remove(hidden);
            tables.insert(hidden.clone(), Arc::clone(table));
        } else if let Some(table) = self.damaged.get(stands_in) {
            tables.remove(hidden);
            damaged.insert(hidden.clone(), Arc::clone(table));
        }
        Self {
            commit: self.commit,
            schemas: self.schemas.clone(),
            tables,
            damaged,
            views: self.views.clone(),
            sequences: self.sequences.clone(),
            labels: Arc::clone(&self.labels),
            kept: Arc::clone(&self.kept),
        }
    }

    /// The columns of a table that any table's REFERENCES names, each once.
    pub fn referred_columns(&self, table: TableId) -> Vec<ColumnId> {
        referred_columns(self.definitions().map(|(_, definition)| &**definition), table)
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
    /// Deleted records, by segment or delta block; none where all records are there.
    pub deleted: BTreeMap<SegmentId, Arc<DeleteVector>>,
    /// Dictionaries of the columns that have any.
    pub dictionaries: BTreeMap<ColumnId, Arc<Dictionary>>,
    /// What the pages of a heap table are like. Such a table has no segments.
    pub heap: Option<HeapRecord>,
    /// The pages of a heap table in a snapshot under a pin ([`Store::pinned`](crate::open::shared::Store::pinned)): its pages, to
    /// be read.
    pub pages: Option<Arc<HeapReader>>,
    /// Delta blocks with codes made so far; `Default::default()` in a new snapshot.
    pub coded: Arc<CodedBlocks>,
    /// Summaries computed so far; `Summaries::default()` in a new snapshot.
    pub summaries: Summaries,
}

impl Snapshot {
    /// This snapshot with the pages of its heap tables, which `reader` gives.
    pub(crate) fn with_pages(&self, reader: impl Fn(&TableSnapshot, &HeapRecord) -> HeapReader) -> Self {
        let tables = self.tables.iter().map(|(name, table)| match &table.heap {
            None => (name.clone(), Arc::clone(table)),
            Some(heap) => (name.clone(), table.with_reader(reader(table, heap))),
        });
        Self {
            commit: self.commit,
            schemas: self.schemas.clone(),
            tables: tables.collect(),
            damaged: self.damaged.clone(),
            views: self.views.clone(),
            sequences: self.sequences.clone(),
            labels: Arc::clone(&self.labels),
            kept: Arc::clone(&self.kept),
        }
    }

    /// The snapshot of the next commit, which has left these tables with these records; `None` when it has to be loaded, as for
    /// changes of anything but the records of heap tables.
    pub(crate) fn after_commit(&self, commit: u64, records: &HashMap<TableId, TableRecord>) -> Option<Self> {
        let mut tables = self.tables.clone();
        for record in records.values() {
            let table = tables.get_mut(&record.definition.name)?;
            if table.heap.is_none() || *table.definition != record.definition {
                return None;
            }
            let after = TableSnapshot::empty_of(Arc::clone(&table.definition));
            *table = Arc::new(TableSnapshot { version: record.version, heap: Some(record.heap.clone()?), ..after });
        }
        let (schemas, views, damaged) = (self.schemas.clone(), self.views.clone(), self.damaged.clone());
        let (sequences, labels) = (self.sequences.clone(), Arc::clone(&self.labels));
        Some(Self { commit, schemas, tables, damaged, views, sequences, labels, kept: Arc::default() })
    }

    /// This snapshot with the pages of those heap tables that have none yet.
    pub(crate) fn with_missing_pages(
        mut self,
        reader: impl Fn(&TableSnapshot, &HeapRecord) -> Result<HeapReader>,
    ) -> Result<Self> {
        for table in self.tables.values_mut().filter(|table| table.pages.is_none()) {
            if let Some(heap) = &table.heap {
                *table = table.with_reader(reader(table, heap)?);
            }
        }
        Ok(self)
    }

    /// Heap pages that an open transaction has copied, to read what it has written.
    pub(crate) fn copied_pages(&self) -> usize {
        let overlays = self.tables.values().filter_map(|table| table.pages.as_ref()?.overlay());
        overlays.map(Overlay::len).sum()
    }
}

/// The columns of a table that the REFERENCES of these tables name, each once.
pub(crate) fn referred_columns<'d>(
    tables: impl IntoIterator<Item = &'d TableDefinition>,
    table: TableId,
) -> Vec<ColumnId> {
    let references = tables.into_iter().flat_map(|definition| &definition.references);
    let columns: BTreeSet<ColumnId> = references
        .filter(|reference| reference.table == table)
        .flat_map(|reference| reference.referred.clone())
        .collect();
    columns.into_iter().collect()
}

impl TableSnapshot {
    /// This table with one more column behind the others, called `name`: the ids of its records. Those of a heap table stay with
    /// their records, others are row ids, which change with the table's version.
    pub fn with_record_ids(&self, name: String) -> Self {
        let mut definition = TableDefinition::clone(&self.definition);
        definition.columns.push(id_column(name));
        Self { definition: Arc::new(definition), ..self.reduced(self.segments.clone(), self.delta.clone()) }
    }

    /// This table, its pages read by `reader`.
    pub(crate) fn with_reader(&self, reader: HeapReader) -> Arc<Self> {
        Arc::new(Self { pages: Some(Arc::new(reader)), ..self.reduced(Vec::new(), Vec::new()) })
    }

    /// The part of the table that is these of its segments and delta blocks.
    pub(crate) fn reduced(&self, segments: Vec<Arc<Segment>>, delta: Vec<Arc<Segment>>) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
            version: self.version,
            segments,
            delta,
            deleted: self.deleted.clone(),
            dictionaries: self.dictionaries.clone(),
            heap: self.heap.clone(),
            pages: self.pages.clone(),
            coded: Arc::clone(&self.coded),
            summaries: Summaries::default(),
        }
    }

    /// A table without records: one that is not created yet, with number 0, or the start of a new one.
    pub fn empty(definition: TableDefinition) -> Self {
        Self::empty_of(Arc::new(definition))
    }

    fn empty_of(definition: Arc<TableDefinition>) -> Self {
        Self {
            definition,
            version: 0,
            segments: Vec::new(),
            delta: Vec::new(),
            deleted: BTreeMap::new(),
            dictionaries: BTreeMap::new(),
            heap: None,
            pages: None,
            coded: Arc::default(),
            summaries: Summaries::default(),
        }
    }

    /// Records, exact.
    pub fn rows(&self) -> u64 {
        let pages = self.heap.as_ref().map_or(0, |heap| heap.rows);
        pages + self.segments.iter().chain(&self.delta).map(|segment| self.live_rows(segment)).sum::<u64>()
    }

    /// Records of one of its segments or delta blocks, without those that are deleted.
    pub fn live_rows(&self, segment: &Segment) -> u64 {
        segment.rows() as u64 - self.deleted_rows(segment)
    }

    /// Deleted records of one of its segments or delta blocks.
    pub fn deleted_rows(&self, segment: &Segment) -> u64 {
        self.deleted.get(&segment.id()).map_or(0, |deleted| deleted.rows())
    }

    /// Row ids that were given: those of deleted records are among them.
    pub fn numbers(&self) -> u64 {
        let pages = self.heap.as_ref().map_or(0, |heap| heap.rows);
        pages + self.segments.iter().chain(&self.delta).map(|segment| segment.rows() as u64).sum::<u64>()
    }

    /// True when some of its segments' records are deleted.
    pub fn has_deleted(&self) -> bool {
        self.segments.iter().chain(&self.delta).any(|segment| self.deleted.contains_key(&segment.id()))
    }

    /// Statistics of a live column, merged over segments and delta; computed once per snapshot.
    pub fn summary(&self, column: ColumnId) -> Option<ColumnSummary> {
        self.summaries.get_or_compute(self, column)
    }
}
