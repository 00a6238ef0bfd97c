//! Columns of segments that were written anew: a transaction gives the segment another number, that of the new file, and keeps the
//! files before of which columns are still read. All that goes by a segment's number sees another segment.

use crate::SqlState;
use crate::lmdb::environment::Name;
use crate::lmdb::records::{DeletedRecord, PartRecord, SegmentRecord, TableRecord, pair_key};
use crate::lmdb::{folder, records, values};
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::segment::writer::WrittenSegment;
use crate::snapshot::delete_vector::zone_key;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Error, Result};

/// Some columns of a segment, written anew for all of its records.
#[derive(Debug)]
pub(crate) struct ColumnFile {
    /// The segment.
    pub(crate) of: SegmentId,
    /// The file, in which its records have the same numbers.
    pub(crate) written: WrittenSegment,
}

impl Transaction<'_> {
    /// Puts columns that were written anew into the places of those before, of `table` as this transaction sees it.
    pub(crate) fn join_columns(
        &mut self,
        record: &mut TableRecord,
        table: &TableSnapshot,
        new: Vec<ColumnFile>,
    ) -> Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        let known = records::segments(self.environment, &self.transaction, record)?;
        for file in new {
            let place = known.iter().find(|(_, segment)| segment.id == file.of);
            let segment = table.segments.iter().find(|segment| segment.id() == file.of);
            let (Some((position, before)), Some(segment)) = (place, segment) else {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("table {} has no segment {}", record.definition.name, file.of),
                ));
            };
            let stored = self.with_columns(record, before, segment, &file)?;
            let gone = before.files().filter(|old| stored.files().all(|file| file != *old));
            let path = |file| folder::segment_file(self.store.path(), record.definition.id, file);
            let gone: Vec<_> = gone.map(path).collect();
            self.changes.replaced.extend(gone);
            let key = pair_key(record.definition.id, *position);
            values::put_json(self.environment, &mut self.transaction, Name::Segments, &key, &stored)?;
            self.hand_on_deleted(record, table, file.of, stored.id)?;
        }
        self.remove_unused_dictionaries(record)
    }

    /// What the catalog says of a segment with the columns of a new file.
    fn with_columns(
        &mut self,
        record: &mut TableRecord,
        before: &SegmentRecord,
        segment: &Segment,
        file: &ColumnFile,
    ) -> Result<SegmentRecord> {
        let written = &file.written;
        let left = |columns: &mut dyn Iterator<Item = ColumnId>| -> Vec<ColumnId> {
            columns.filter(|column| !written.columns.contains(column)).collect()
        };
        let own = PartRecord {
            id: before.id,
            bytes: before.bytes,
            directory_checksum: before.directory_checksum,
            columns: left(&mut segment.own_columns()),
        };
        let others = before.parts.iter().map(|part| {
            let columns = left(&mut part.columns.iter().copied());
            PartRecord { columns, ..part.clone() }
        });
        let mut dictionaries = before.dictionaries.clone();
        dictionaries.retain(|(column, _)| !written.columns.contains(column));
        let parts = std::iter::once(own).chain(others).filter(|part| !part.columns.is_empty()).collect();
        dictionaries.extend(self.versions_of(record, written)?);
        Ok(SegmentRecord {
            id: written.id,
            rows: written.rows,
            bytes: written.bytes,
            directory_checksum: written.directory_checksum,
            dictionaries,
            parts,
        })
    }

    /// Gives the deleted records of a segment to its successor.
    fn hand_on_deleted(
        &mut self,
        record: &mut TableRecord,
        table: &TableSnapshot,
        from: SegmentId,
        to: SegmentId,
    ) -> Result<()> {
        let Some(deleted) = table.deleted.get(&from) else { return Ok(()) };
        self.forget_deleted(record, from)?;
        let zones = table.segments.iter().find(|segment| segment.id() == from).map_or(0, |segment| segment.zones());
        for zone in 0..zones {
            let Some(bits) = deleted.zone(zone) else { continue };
            let key = zone_key(record.definition.id, to, zone);
            values::put(self.environment, &mut self.transaction, Name::Deleted, &key, &bits.encode())?;
        }
        let number = self.store.allocate_segment();
        record.deleted.push(DeletedRecord { segment: to, rows: deleted.rows(), number });
        record.deleted.sort_unstable_by_key(|known| known.segment);
        Ok(())
    }
}
