//! What takes a table's records away as a whole: TRUNCATE, and what DROP TABLE removes. It goes by the catalog and opens no file, so
//! that a table whose files are missing or damaged can be emptied and dropped.

use crate::lmdb::environment::Name;
use crate::lmdb::records::{SegmentRecord, TableRecord, id_key, pair_key};
use crate::lmdb::{folder, records, values};
use crate::snapshot::dictionaries;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Result, TableId};
use std::collections::HashSet;

impl Transaction<'_> {
    /// Removes all records of a table, also of one whose files are missing or damaged. Errors when a table that has records refers
    /// to it.
    pub fn truncate(&mut self, table: TableId) -> Result<u64> {
        let mut filled = HashSet::new();
        for other in self.table_ids().into_iter().filter(|other| *other != table) {
            let record = self.record(other)?;
            let refers = record.definition.references.iter().any(|reference| reference.table == table);
            if refers && self.record_rows(&record)? > 0 {
                filled.insert(other);
            }
        }
        self.refuse_when_referred(table, "truncated", |referrer| filled.contains(&referrer.id))?;
        let mut record = self.record(table)?;
        let rows = self.record_rows(&record)?;
        self.remove_rows(&mut record)?;
        self.put_record(record)?;
        Ok(rows)
    }

    /// The number of a table's records, without opening its files.
    fn record_rows(&self, record: &TableRecord) -> Result<u64> {
        let segments = records::segments(self.environment, &self.transaction, record);
        let segments = segments.map_err(|error| error.of_table(&record.definition.name))?;
        let all = segments.iter().map(|(_, segment)| segment.rows).sum::<u64>()
            + record.delta.iter().map(|block| block.rows).sum::<u64>()
            + record.heap.as_ref().map_or(0, |heap| heap.rows);
        Ok(all.saturating_sub(record.deleted.iter().map(|deleted| deleted.rows).sum::<u64>()))
    }

    /// Removes segments, delta blocks and dictionaries of a table, whatever of them can be read.
    pub(crate) fn remove_rows(&mut self, record: &mut TableRecord) -> Result<()> {
        let (id, environment) = (record.definition.id, self.environment);
        let mut known = Vec::new();
        values::each_raw(environment, &self.transaction, Name::Segments, &id_key(id), |key, value| {
            let payload = values::unseal(Name::Segments, key, value, || values::describe_key(Name::Segments, key));
            let segment = payload.and_then(|payload| values::parse_at(environment, Name::Segments, key, payload));
            // The files of one that can't be read stay until the next open, when no table has them any more.
            known.push((key.to_vec(), segment.ok()));
            Ok(())
        })?;
        for (key, segment) in known {
            let segment: Option<SegmentRecord> = segment;
            for file in segment.iter().flat_map(SegmentRecord::files) {
                self.changes.replaced.push(folder::segment_file(self.store.path(), id, file));
            }
            values::delete(environment, &mut self.transaction, Name::Segments, &key)?;
        }
        record.segments = 0;
        for deleted in record.deleted.clone() {
            self.forget_deleted(record, deleted.segment)?;
        }
        self.remove_delta(record)?;
        self.remove_pages(record)?;
        for (column, version) in dictionaries::versions(environment, &self.transaction, id, None)? {
            let key = records::dictionary_key(id, column, version);
            values::delete(environment, &mut self.transaction, Name::Dictionaries, &key)?;
        }
        Ok(())
    }

    /// Removes one segment's record; its files go after the commit.
    pub(crate) fn remove_segment(&mut self, record: &mut TableRecord, position: u64, segment: u64) -> Result<()> {
        let (table, key) = (record.definition.id, pair_key(record.definition.id, position));
        record.segments -= 1;
        self.forget_deleted(record, segment)?;
        let stored: Option<SegmentRecord> =
            values::get_json(self.environment, &self.transaction, Name::Segments, &key)?;
        for file in stored.iter().flat_map(SegmentRecord::files) {
            self.changes.replaced.push(folder::segment_file(self.store.path(), table, file));
        }
        values::delete(self.environment, &mut self.transaction, Name::Segments, &key)
    }

    /// Removes all delta blocks.
    pub(crate) fn remove_delta(&mut self, record: &mut TableRecord) -> Result<()> {
        record.delta.clone().iter().try_for_each(|block| self.remove_block(record, block.id))
    }

    /// Removes dictionary versions that no segment of the table names.
    pub(crate) fn remove_unused_dictionaries(&mut self, record: &TableRecord) -> Result<()> {
        let (environment, table) = (self.environment, record.definition.id);
        let used: HashSet<(ColumnId, u32)> = records::segments(environment, &self.transaction, record)?
            .into_iter()
            .flat_map(|(_, segment)| segment.dictionaries)
            .collect();
        for (column, version) in dictionaries::versions(environment, &self.transaction, table, None)? {
            if !used.contains(&(column, version)) {
                let key = records::dictionary_key(table, column, version);
                values::delete(environment, &mut self.transaction, Name::Dictionaries, &key)?;
            }
        }
        Ok(())
    }
}
