//! New records become visible: segments get their dictionary versions, few records go to the delta, a delta that has
//! grown becomes a segment.

use crate::SqlState;
use crate::lmdb::environment::Name;
use crate::lmdb::records::{DeltaRecord, SegmentRecord, TableRecord, pair_key};
use crate::lmdb::{folder, values};
use crate::scan::rows::{batch_bytes, read_rows, sort_rows};
use crate::segment::writer::{WrittenSegment, write_segment_file, write_segment_image};
use crate::snapshot::dictionaries;
use crate::write::change::RowChange;
use crate::write::table_writer::WrittenRows;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Error, Result, TableDefinition, TableId};
use arrow::array::RecordBatch;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// A last delta block below this many records and bytes is rewritten together with the records that follow, so that
/// many small inserts do not leave many blocks.
const OPEN_BLOCK_ROWS: u64 = 1024;
const OPEN_BLOCK_BYTES: u64 = 128 << 10;
/// A delta past this many records or bytes is merged into a segment.
const DELTA_ROWS: u64 = 128 << 10;
const DELTA_BYTES: u64 = 64 << 20;

impl Transaction<'_> {
    /// Makes new records visible after checking PRIMARY KEY, UNIQUE and REFERENCES of the table, and that the table's
    /// columns are those that the records were written for. A violated key names the constraint and the values.
    pub fn append(&mut self, table: TableId, rows: WrittenRows) -> Result<()> {
        if rows.rows == 0 {
            return rows.require_columns_of(&self.record(table)?.definition);
        }
        self.change(table, &RowChange::default(), rows, &|| true)
    }

    /// Makes the names of new segment files survive a power loss; their bytes were synced when they were written.
    pub(crate) fn sync_segments(&self, table: TableId) -> Result<()> {
        if self.store.durable && !self.changes.made.is_empty() {
            folder::sync_folder(&folder::table_segments(self.store.path(), table))?;
            folder::sync_folder(&folder::segments(self.store.path()))?;
        }
        Ok(())
    }

    /// Moves files that were written for a table without a number into the folder of the number that it got.
    pub(crate) fn place_files(&mut self, from: TableId, table: TableId, segments: &[WrittenSegment]) -> Result<()> {
        if from == table || segments.is_empty() {
            return Ok(());
        }
        let new = folder::table_segments(self.store.path(), table);
        make_folder(&new)?;
        for segment in segments {
            let old = folder::segment_file(self.store.path(), from, segment.id);
            let new = folder::segment_file(self.store.path(), table, segment.id);
            fs::rename(&old, &new).map_err(Error::io("renaming", &old))?;
            self.changes.made.rename(&old, &new);
        }
        Ok(())
    }

    /// Gives a written segment its dictionary versions and the last place in record order.
    pub(crate) fn add_segment(&mut self, record: &mut TableRecord, segment: &WrittenSegment) -> Result<()> {
        let position = record.next_position;
        record.next_position += 1;
        self.put_segment(record, segment, position)
    }

    /// Gives a written segment its dictionary versions and a place in record order that no other has.
    pub(crate) fn put_segment(
        &mut self,
        record: &mut TableRecord,
        segment: &WrittenSegment,
        position: u64,
    ) -> Result<()> {
        let stored = SegmentRecord {
            id: segment.id,
            rows: segment.rows,
            bytes: segment.bytes,
            directory_checksum: segment.directory_checksum,
            dictionaries: self.versions_of(record, segment)?,
            parts: Vec::new(),
        };
        let key = pair_key(record.definition.id, position);
        record.segments += 1;
        values::put_json(self.environment, &mut self.transaction, Name::Segments, &key, &stored)
    }

    /// Finds or stores the dictionary versions of a written segment.
    pub(crate) fn versions_of(
        &mut self,
        record: &mut TableRecord,
        segment: &WrittenSegment,
    ) -> Result<Vec<(ColumnId, u32)>> {
        let (environment, table) = (self.environment, record.definition.id);
        let mut versions = Vec::with_capacity(segment.dictionaries.len());
        for (column, entries) in &segment.dictionaries {
            let next = record.next_dictionary;
            let version =
                dictionaries::find_or_store(environment, &mut self.transaction, table, *column, entries, next)?;
            if version == next {
                record.next_dictionary += 1;
            }
            versions.push((*column, version));
        }
        Ok(versions)
    }

    /// Adds few records after the segments, or merges the delta when it has grown too large.
    pub(crate) fn add_to_delta(&mut self, record: &mut TableRecord, batches: Vec<RecordBatch>) -> Result<()> {
        let new_rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let new_bytes: u64 = batches.iter().map(|batch| batch_bytes(batch) as u64).sum();
        let (rows, bytes) = record
            .delta
            .iter()
            .fold((new_rows, new_bytes), |(rows, bytes), block| (rows + block.rows, bytes + block.bytes));
        if rows > self.delta_rows.unwrap_or(DELTA_ROWS) || bytes > DELTA_BYTES {
            return self.merge_delta(record, batches);
        }
        let mut gathered = Vec::new();
        if let Some(last) = record.delta.last().cloned()
            && last.rows < OPEN_BLOCK_ROWS
            && last.bytes < OPEN_BLOCK_BYTES
        {
            gathered = self.read_delta(record, std::slice::from_ref(&last))?;
            self.remove_block(record, last.id)?;
        }
        gathered.extend(batches);
        let id = self.store.allocate_segment();
        let (written, image) = write_segment_image(id, &record.definition, gathered)?;
        let key = pair_key(record.definition.id, id);
        values::put(self.environment, &mut self.transaction, Name::Delta, &key, &image)?;
        record.delta.push(DeltaRecord { id, rows: written.rows, bytes: image.len() as u64 });
        Ok(())
    }

    /// Writes the delta and `batches` behind it as a segment.
    fn merge_delta(&mut self, record: &mut TableRecord, batches: Vec<RecordBatch>) -> Result<()> {
        let blocks = record.delta.clone();
        let mut gathered = self.read_delta(record, &blocks)?;
        gathered.extend(batches);
        let segment = self.write_segment(&record.definition, gathered)?;
        self.remove_delta(record)?;
        self.add_segment(record, &segment)
    }

    /// Writes a segment file for this transaction, sorted when the table says so.
    pub(crate) fn write_segment(
        &mut self,
        definition: &TableDefinition,
        batches: Vec<RecordBatch>,
    ) -> Result<WrittenSegment> {
        let (store, id) = (self.store, self.store.allocate_segment());
        make_folder(&folder::table_segments(store.path(), definition.id))?;
        let file = folder::segment_file(store.path(), definition.id, id);
        self.changes.made.add(file.clone());
        write_segment_file(&file, id, definition, sort_rows(definition, batches)?, store.durable)
    }

    /// Records of some delta blocks, as this transaction sees them.
    fn read_delta(&self, record: &TableRecord, blocks: &[DeltaRecord]) -> Result<Vec<RecordBatch>> {
        let mut part = record.clone();
        part.delta = blocks.to_vec();
        let table = self.store.loader(self.environment).delta_table(
            &self.transaction,
            part,
            self.base().table_by_id(record.definition.id),
        )?;
        read_rows(&Arc::new(table))
    }
}

/// Makes a table's folder unless it is there; that of all segments too, when somebody has taken it away, but no database's: one in
/// memory is gone when its process ends.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    let made = |folder: &Path| match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    };
    let retried = match (made(folder), folder.parent()) {
        (Err(error), Some(segments)) if error.kind() == ErrorKind::NotFound => {
            made(segments).and_then(|()| made(folder))
        }
        (first, _) => first,
    };
    retried.map_err(Error::io("creating folder", folder))
}

/// Refuses records that were written for other columns than the table has now.
pub(crate) fn require_same_columns(written_for: &TableDefinition, now: &TableDefinition) -> Result<()> {
    let same = written_for.columns.len() == now.columns.len()
        && written_for.columns.iter().zip(&now.columns).all(|(before, after)| {
            before.id == after.id && before.logical_type == after.logical_type && (after.nullable || !before.nullable)
        });
    if same {
        return Ok(());
    }
    Err(Error::invalid(
        SqlState::ObjectNotInPrerequisiteState,
        format!("the columns of table '{}' changed while records were written for it; write them again", now.name),
    ))
}

impl WrittenRows {
    /// Refuses records that were written for other columns than `definition` has.
    pub(crate) fn require_columns_of(&self, definition: &TableDefinition) -> Result<()> {
        require_same_columns(&self.definition, definition)
    }
}
