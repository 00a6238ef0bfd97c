//! Deletes records of segments and delta blocks: their bits are set, what has no record left goes, and a segment that has few
//! left is written anew.

use crate::SqlState;
use crate::lmdb::environment::Name;
use crate::lmdb::records::{DeletedRecord, TableRecord, pair_key};
use crate::lmdb::{folder, records, values};
use crate::scan::rows::{read_rows, sort_rows};
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::segment::writer::write_segment_file;
use crate::snapshot::delete_vector::{DeleteVectorZone, zone_key};
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::append::make_folder;
use crate::write::side_by_side::side_by_side;
use crate::write::transaction::Transaction;
use crate::{Error, Result};
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

/// A segment of which less than this part is left is written anew with what is left. That is less work than the deletions
/// since it was written were, and scans no longer read what they then leave out.
const FEW: u64 = 4;

impl Transaction<'_> {
    /// Deletes the records of these numbers, which ascend, from `table`, as this transaction sees it. Segments that
    /// are written anew are so on at most `threads` threads, and before each `wanted` is asked.
    pub(crate) fn delete_numbers(
        &mut self,
        record: &mut TableRecord,
        table: &TableSnapshot,
        numbers: &[u64],
        threads: usize,
        wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let (mut rest, mut first) = (numbers, 0);
        let (mut emptied, mut shrunk) = (HashSet::new(), Vec::new());
        for segment in table.segments.iter().chain(&table.delta) {
            let end = first + segment.rows() as u64;
            let (own, others) = rest.split_at(rest.partition_point(|number| *number < end));
            if !own.is_empty() {
                let left = table.live_rows(segment).checked_sub(own.len() as u64);
                match left.ok_or_else(|| deleted_twice(table))? {
                    0 => {
                        emptied.insert(segment.id());
                    }
                    left => {
                        self.delete_within(record, table, segment, (first, own))?;
                        if left * FEW < segment.rows() as u64 && !segment.is_delta() {
                            shrunk.push(Arc::clone(segment));
                        }
                    }
                }
            }
            (rest, first) = (others, end);
        }
        if let Some(number) = rest.first() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("record {number} of table {}", table.definition.name),
            ));
        }
        self.remove_emptied(record, &emptied)?;
        self.write_anew(record, table, shrunk, threads, wanted)
    }

    /// Deletes some records of a segment or delta block, by their numbers, which ascend, where its first record has `first`.
    fn delete_within(
        &mut self,
        record: &mut TableRecord,
        table: &TableSnapshot,
        segment: &Segment,
        (first, numbers): (u64, &[u64]),
    ) -> Result<()> {
        let before = table.deleted.get(&segment.id());
        let mut changed: Vec<(usize, DeleteVectorZone)> = Vec::new();
        let mut rest = numbers;
        for zone in 0..segment.zones() {
            let own = segment.zone_rows(zone);
            let (start, end) = (first + own.start as u64, first + own.end as u64);
            let (within, others) = rest.split_at(rest.partition_point(|number| *number < end));
            rest = others;
            if within.is_empty() {
                continue;
            }
            let known = before.and_then(|deleted| deleted.zone(zone)).cloned();
            let mut bits = known.unwrap_or_else(|| DeleteVectorZone::none(own.len()));
            if !within.iter().all(|number| bits.add((number - start) as usize)) {
                return Err(deleted_twice(table));
            }
            changed.push((zone, bits));
        }
        let rows = table.deleted_rows(segment) + numbers.len() as u64;
        for (zone, bits) in &changed {
            let key = zone_key(record.definition.id, segment.id(), *zone);
            values::put(self.environment, &mut self.transaction, Name::Deleted, &key, &bits.encode())?;
        }
        record.deleted.retain(|known| known.segment != segment.id());
        let number = self.store.allocate_segment();
        record.deleted.push(DeletedRecord { segment: segment.id(), rows, number });
        record.deleted.sort_unstable_by_key(|known| known.segment);
        Ok(())
    }

    /// Removes segments and delta blocks that have no record left.
    fn remove_emptied(&mut self, record: &mut TableRecord, emptied: &HashSet<SegmentId>) -> Result<()> {
        if emptied.is_empty() {
            return Ok(());
        }
        for block in record.delta.clone().iter().filter(|block| emptied.contains(&block.id)) {
            self.remove_block(record, block.id)?;
        }
        for (position, segment) in records::segments(self.environment, &self.transaction, record)? {
            if emptied.contains(&segment.id) {
                self.remove_segment(record, position, segment.id)?;
            }
        }
        self.remove_unused_dictionaries(record)
    }

    /// Writes what is left of segments anew, each in its place.
    fn write_anew(
        &mut self,
        record: &mut TableRecord,
        table: &TableSnapshot,
        shrunk: Vec<Arc<Segment>>,
        threads: usize,
        wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        if shrunk.is_empty() {
            return Ok(());
        }
        let now = self.store.loader(self.environment).table(&self.transaction, record.clone(), Some(table))?;
        let (store, folder) = (self.store, folder::table_segments(self.store.path(), record.definition.id));
        make_folder(&folder)?;
        let mut jobs = Vec::with_capacity(shrunk.len());
        for (position, place) in records::segments(self.environment, &self.transaction, record)? {
            if let Some(segment) = shrunk.iter().find(|segment| segment.id() == place.id) {
                let id = store.allocate_segment();
                let file = folder::segment_file(store.path(), record.definition.id, id);
                self.changes.made.add(file.clone());
                jobs.push((position, segment, id, file));
            }
        }
        let written = side_by_side(threads, jobs.len(), |job| {
            if !wanted() {
                return Err(Error::Cancelled);
            }
            let (_, segment, id, file) = &jobs[job];
            let rows = read_rows(&Arc::new(now.reduced(vec![Arc::clone(segment)], Vec::new())))?;
            write_segment_file(file, *id, &record.definition, sort_rows(&record.definition, rows)?, store.durable)
        })?;
        for ((position, segment, ..), written) in jobs.iter().zip(&written) {
            self.remove_segment(record, *position, segment.id())?;
            self.put_segment(record, written, *position)?;
        }
        self.remove_unused_dictionaries(record)
    }

    /// Removes one delta block.
    pub(crate) fn remove_block(&mut self, record: &mut TableRecord, block: SegmentId) -> Result<()> {
        record.delta.retain(|known| known.id != block);
        self.forget_deleted(record, block)?;
        let key = pair_key(record.definition.id, block);
        values::delete(self.environment, &mut self.transaction, Name::Delta, &key)
    }

    /// Removes the bits of a segment or delta block that goes.
    pub(crate) fn forget_deleted(&mut self, record: &mut TableRecord, segment: SegmentId) -> Result<()> {
        let before = record.deleted.len();
        record.deleted.retain(|known| known.segment != segment);
        if record.deleted.len() == before {
            return Ok(());
        }
        let (environment, table) = (self.environment, record.definition.id);
        let (first, last) = (zone_key(table, segment, 0), zone_key(table, segment, usize::MAX));
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let removed = environment.values(Name::Deleted)?.delete_range(&mut self.transaction, &range);
        removed.map(drop).map_err(environment.failed("writing"))
    }
}

fn deleted_twice(table: &TableSnapshot) -> Error {
    Error::invalid(
        SqlState::InvalidParameterValue,
        format!("a record of table {} that is deleted already", table.definition.name),
    )
}
