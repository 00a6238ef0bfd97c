//! The records that a transaction appends, readable before they are part of the table.

use crate::lmdb::folder;
use crate::model::dictionary::Dictionary;
use crate::open::shared::Store;
use crate::scan::rows::for_each_batch;
use crate::segment::reader::Segment;
use crate::snapshot::summary::Summaries;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::keys::encode::key_columns;
use crate::write::table_writer::WrittenRows;
use crate::{ColumnId, Datum, Predicate, Result, TableDefinition, TableId};
use arrow::array::{ArrayRef, RecordBatch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Segments that are written and not in the catalog yet, opened, and the batches for the delta.
#[derive(Debug)]
pub(crate) struct NewRows<'r> {
    segments: Arc<TableSnapshot>,
    delta: &'r [RecordBatch],
}

impl<'r> NewRows<'r> {
    /// Opens the written segments; they lie in the folder of `table`.
    pub(crate) fn open(
        store: &Store,
        table: TableId,
        definition: &Arc<TableDefinition>,
        rows: &'r WrittenRows,
    ) -> Result<Self> {
        let mut lists: BTreeMap<ColumnId, Vec<(u32, ArrayRef)>> = BTreeMap::new();
        for (segment, number) in rows.segments.iter().zip(1..) {
            for (column, entries) in &segment.dictionaries {
                lists.entry(*column).or_default().push((number, Arc::clone(entries)));
            }
        }
        let mut dictionaries = BTreeMap::new();
        for (column, versions) in lists {
            dictionaries.insert(column, Arc::new(Dictionary::build("new records", versions)?));
        }
        let mut segments = Vec::with_capacity(rows.segments.len());
        for (segment, number) in rows.segments.iter().zip(1..) {
            let version = |(column, dictionary): (&ColumnId, &Arc<Dictionary>)| {
                Some((*column, Arc::clone(dictionary.versions.get(&number)?)))
            };
            let versions = dictionaries.iter().filter_map(version).collect();
            let path = folder::segment_file(store.path(), table, segment.id);
            let cache = Arc::clone(store.cache());
            segments.push(Arc::new(Segment::open(&path, segment.id, segment.directory_checksum, versions, cache)?));
        }
        let segments = TableSnapshot {
            definition: Arc::clone(definition),
            version: 0,
            segments,
            delta: Vec::new(),
            deleted: BTreeMap::new(),
            dictionaries,
            heap: None,
            pages: None,
            coded: Arc::default(),
            summaries: Summaries::default(),
        };
        Ok(Self { segments: Arc::new(segments), delta: &rows.delta })
    }

    /// Records in batches of these columns.
    pub(crate) fn of_batches(columns: &Arc<TableDefinition>, batches: &'r [RecordBatch]) -> Self {
        let mut segments = TableSnapshot::empty(TableDefinition::clone(columns));
        segments.definition = Arc::clone(columns);
        Self { segments: Arc::new(segments), delta: batches }
    }

    /// True when there are segments among the records.
    pub(crate) fn has_segments(&self) -> bool {
        !self.segments.segments.is_empty()
    }

    /// Calls `visit` with the values of `columns`, in record order.
    pub(crate) fn for_each(
        &self,
        columns: &[ColumnId],
        mut visit: impl FnMut(&[ArrayRef]) -> Result<()>,
    ) -> Result<()> {
        if self.has_segments() {
            for_each_batch(&self.segments, columns.to_vec(), Predicate::Constant(true), |batch| {
                visit(batch.columns())
            })?;
        }
        for batch in self.delta {
            visit(&key_columns(&self.segments.definition, batch, columns))?;
        }
        Ok(())
    }

    /// Smallest and largest value of `column` in each segment that has any.
    pub(crate) fn segment_bounds(&self, column: ColumnId) -> Vec<(Datum, Datum)> {
        let statistics = self.segments.segments.iter().filter_map(|segment| segment.column(column));
        statistics
            .map(|meta| (meta.statistics.min.clone(), meta.statistics.max.clone()))
            .filter(|(min, max)| !min.is_null() && !max.is_null())
            .collect()
    }

    /// True when some records are for the delta, whose bounds are not known.
    pub(crate) fn has_delta(&self) -> bool {
        !self.delta.is_empty()
    }
}
