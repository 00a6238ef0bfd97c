//! A table in segments and delta blocks: those that can't be read whole are taken out of it.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::records::{
    self, DeletedRecord, SegmentRecord, TableRecord, dictionary_key, id_key, pair_key, pair_of_key,
};
use crate::lmdb::values;
use crate::model::dictionary::Dictionary;
use crate::open::shared::Store;
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::snapshot::delete_vector::{DeleteVector, zone_of_key};
use crate::snapshot::dictionaries;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Error, LogicalType, Result, TableId};
use heed::RoTxn;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What became of a table.
#[derive(Debug)]
pub(super) struct Mended {
    /// Records that it has.
    pub(super) rows: u64,
    /// Records that it lacks, where that is known; 0 when it is whole.
    pub(super) lost: Option<u64>,
    /// What of it could not be read.
    pub(super) why: Option<String>,
}

/// What of a table can be read.
#[derive(Default)]
struct Sound {
    segments: Vec<(u64, SegmentRecord)>,
    /// Positions of segments that can't be read.
    broken: Vec<u64>,
    /// Segments that named dictionaries of dropped columns which are lost.
    changed: Vec<u64>,
    delta: HashSet<SegmentId>,
    lost: u64,
    /// Segments of which not even the number of records is known.
    unknown: u64,
    why: Option<String>,
}

impl Sound {
    fn miss(&mut self, rows: u64, error: &Error) {
        self.lost += rows;
        self.why.get_or_insert(error.to_string());
    }
}

/// Takes out of a table what can't be read.
pub(super) fn mend(store: &Arc<Store>, table: TableId) -> Result<Mended> {
    let environment = store.environment()?;
    let (record, sound) = environment.read(|transaction| {
        let record = records::existing(&environment, transaction, table)?;
        let reading = Reading { store, environment: &environment, transaction, record: &record };
        let sound = reading.sound()?;
        Ok((record, sound))
    })?;
    let kept: HashSet<SegmentId> =
        sound.segments.iter().map(|(_, segment)| segment.id).chain(sound.delta.iter().copied()).collect();
    let deleted: u64 =
        record.deleted.iter().filter(|deleted| kept.contains(&deleted.segment)).map(|deleted| deleted.rows).sum();
    let blocks = record.delta.iter().filter(|block| kept.contains(&block.id)).map(|block| block.rows);
    let rows = sound.segments.iter().map(|(_, segment)| segment.rows).chain(blocks).sum::<u64>() - deleted;
    let is_whole = sound.why.is_none() && sound.unknown == 0;
    let mended = Mended {
        rows,
        lost: (sound.unknown == 0).then_some(sound.lost),
        why: if is_whole {
            None
        } else {
            Some(sound.why.clone().unwrap_or_else(|| "a segment's value is lost".into()))
        },
    };
    store.write(|transaction| take_out(transaction, record, &sound, &kept))?;
    Ok(mended)
}

/// A table while it is looked at.
struct Reading<'r> {
    store: &'r Arc<Store>,
    environment: &'r Environment,
    transaction: &'r RoTxn<'r>,
    record: &'r TableRecord,
}

impl Reading<'_> {
    fn sound(&self) -> Result<Sound> {
        let Self { environment, transaction, record, .. } = *self;
        let (mut sound, mut stored) = (Sound::default(), Vec::new());
        values::each(environment, transaction, Name::Segments, &id_key(record.definition.id), |key, payload| {
            let position = pair_of_key(key).map_or(0, |(_, position)| position);
            let segment: SegmentRecord = values::parse_at(environment, Name::Segments, key, payload)?;
            stored.push((position, segment));
            Ok(())
        })?;
        sound.unknown = record.segments.saturating_sub(stored.len() as u64);
        let dictionaries = self.dictionaries(&stored)?;
        for (position, segment) in stored {
            let deleted = record.deleted.iter().find(|deleted| deleted.segment == segment.id);
            match self.segment(&segment, &dictionaries).and_then(|open| self.deleted(deleted, &open)) {
                Ok(()) => {
                    let live = |column: ColumnId| record.definition.column_by_id(column).is_some();
                    let known = |(column, version): &(ColumnId, u32)| {
                        live(*column) || dictionaries.whole.contains(&(*column, *version))
                    };
                    let named: Vec<_> = segment.dictionaries.iter().copied().filter(known).collect();
                    if named.len() < segment.dictionaries.len() {
                        sound.changed.push(position);
                    }
                    sound.segments.push((position, SegmentRecord { dictionaries: named, ..segment }));
                }
                Err(error) if error.is_of_bytes() => {
                    sound.broken.push(position);
                    sound.miss(segment.rows - deleted.map_or(0, |deleted| deleted.rows.min(segment.rows)), &error);
                }
                Err(error) => return Err(error),
            }
        }
        for block in &record.delta {
            let deleted = record.deleted.iter().find(|deleted| deleted.segment == block.id);
            match self.block(block.id, block.rows).and_then(|open| self.deleted(deleted, &open)) {
                Ok(()) => drop(sound.delta.insert(block.id)),
                Err(error) if error.is_of_bytes() => {
                    sound.miss(block.rows - deleted.map_or(0, |deleted| deleted.rows.min(block.rows)), &error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(sound)
    }

    /// The dictionaries that segments name, as far as they can be read.
    fn dictionaries(&self, segments: &[(u64, SegmentRecord)]) -> Result<Dictionaries> {
        let Self { environment, transaction, record, .. } = *self;
        let definition = &record.definition;
        let used: BTreeSet<(ColumnId, u32)> =
            segments.iter().flat_map(|(_, segment)| segment.dictionaries.iter().copied()).collect();
        let (mut found, mut lists) = (Dictionaries::default(), BTreeMap::<ColumnId, Vec<_>>::new());
        for (column, version) in used {
            let live = definition.column_by_id(column);
            let logical_type = live.map_or(LogicalType::Binary, |live| live.logical_type.clone());
            match dictionaries::load(environment, transaction, definition.id, column, version, &logical_type) {
                Ok(entries) => lists.entry(column).or_default().push((version, entries)),
                Err(error) if error.is_of_bytes() => {}
                Err(error) => return Err(error),
            }
        }
        for (column, versions) in lists {
            let numbers: Vec<u32> = versions.iter().map(|(version, _)| *version).collect();
            match Dictionary::build(&format!("dictionaries of column {column}"), versions) {
                Ok(dictionary) => {
                    found.whole.extend(numbers.into_iter().map(|version| (column, version)));
                    if definition.column_by_id(column).is_some() {
                        found.live.insert(column, Arc::new(dictionary));
                    }
                }
                Err(error) if error.is_of_bytes() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// A segment, all of whose blocks were read.
    fn segment(&self, segment: &SegmentRecord, dictionaries: &Dictionaries) -> Result<Arc<Segment>> {
        let definition = &self.record.definition;
        for (column, version) in &segment.dictionaries {
            if let Some(column_name) = definition.column_by_id(*column).map(|column| &column.name)
                && !dictionaries.whole.contains(&(*column, *version))
            {
                let place = format!("table '{}', dictionary {version} of column '{column_name}'", definition.name);
                return Err(Error::corrupt(place, "it can't be read"));
            }
        }
        let (loader, name) = (self.store.loader(self.environment), Arc::from(definition.name.to_string()));
        whole(loader.segment((definition.id, &name), segment, &dictionaries.live, &HashMap::new())?)
    }

    /// A delta block, all of which was read.
    fn block(&self, id: SegmentId, rows: u64) -> Result<Arc<Segment>> {
        let (definition, loader) = (&self.record.definition, self.store.loader(self.environment));
        let block = loader.delta_block(self.transaction, definition, id)?;
        if block.rows() as u64 != rows {
            let place = format!("table '{}', delta block {id}", definition.name);
            return Err(Error::corrupt(place, format!("it has {} records, the table says {rows}", block.rows())));
        }
        whole(block)
    }

    /// Whether it can be told which of a segment's records are deleted.
    fn deleted(&self, deleted: Option<&DeletedRecord>, segment: &Segment) -> Result<()> {
        let Some(deleted) = deleted else { return Ok(()) };
        let table = self.record.definition.id;
        DeleteVector::load(self.environment, self.transaction, table, deleted, segment).map(drop)
    }
}

/// Dictionaries that can be read.
#[derive(Default)]
struct Dictionaries {
    whole: HashSet<(ColumnId, u32)>,
    live: BTreeMap<ColumnId, Arc<Dictionary>>,
}

fn whole(segment: Arc<Segment>) -> Result<Arc<Segment>> {
    match segment.check().into_iter().next() {
        Some(error) => Err(error),
        None => Ok(segment),
    }
}

/// Leaves of a table what is sound, and none of the values that nothing names then.
fn take_out(
    transaction: &mut Transaction<'_>,
    mut record: TableRecord,
    sound: &Sound,
    kept: &HashSet<SegmentId>,
) -> Result<()> {
    let (environment, table) = (transaction.environment, record.definition.id);
    let mut gone: Vec<(Name, Vec<u8>)> =
        sound.broken.iter().map(|position| (Name::Segments, pair_key(table, *position).to_vec())).collect();
    for (position, segment) in sound.segments.iter().filter(|(position, _)| sound.changed.contains(position)) {
        let key = pair_key(table, *position);
        values::put_json(environment, &mut transaction.transaction, Name::Segments, &key, segment)?;
    }
    let used: HashSet<[u8; 16]> = sound
        .segments
        .iter()
        .flat_map(|(_, segment)| segment.dictionaries.iter())
        .map(|(column, version)| dictionary_key(table, *column, *version))
        .collect();
    let deleted: HashSet<SegmentId> = record.deleted.iter().map(|deleted| deleted.segment).collect();
    for name in [Name::Delta, Name::Deleted, Name::Dictionaries] {
        values::each_raw(environment, &transaction.transaction, name, &id_key(table), |key, _| {
            let stays = match name {
                Name::Delta => pair_of_key(key).is_some_and(|(_, block)| sound.delta.contains(&block)),
                Name::Deleted => {
                    let segment = zone_of_key(key).map(|(_, segment, _)| segment);
                    segment.is_some_and(|segment| kept.contains(&segment) && deleted.contains(&segment))
                }
                _ => used.iter().any(|used| used[..] == *key),
            };
            if !stays {
                gone.push((name, key.to_vec()));
            }
            Ok(())
        })?;
    }
    for (name, key) in &gone {
        values::delete(environment, &mut transaction.transaction, *name, key)?;
    }
    let segments = sound.segments.len() as u64;
    if gone.is_empty()
        && sound.changed.is_empty()
        && record.segments == segments
        && record.delta.len() == sound.delta.len()
    {
        return Ok(());
    }
    record.segments = segments;
    record.delta.retain(|block| sound.delta.contains(&block.id));
    record.deleted.retain(|deleted| kept.contains(&deleted.segment));
    transaction.put_record(record)
}
