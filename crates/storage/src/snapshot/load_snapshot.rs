//! From catalog values to a snapshot: tables that did not change are taken over from the snapshot before, of those that
//! did the segments, delta blocks and dictionaries that stayed.

use crate::io::system::FileState;
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::records::{DatabaseState, DeletedRecord, SegmentRecord, TableRecord, pair_key};
use crate::lmdb::{records, values};
use crate::model::dictionary::{Dictionary, DictionaryVersion};
use crate::model::labels::{Label, Labels};
use crate::published::segment_files::SegmentFiles;
use crate::segment::SegmentId;
use crate::segment::cache::BlockCache;
use crate::segment::reader::Segment;
use crate::snapshot::damaged_table::DamagedTable;
use crate::snapshot::delete_vector::DeleteVector;
use crate::snapshot::dictionaries;
use crate::snapshot::summary::Summaries;
use crate::snapshot::table_snapshot::{Snapshot, TableSnapshot};
use crate::{ColumnId, Error, Result, TableDefinition, TableId};
use heed::RoTxn;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// Where a snapshot is loaded from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loader<'s> {
    /// The catalog.
    pub(crate) environment: &'s Environment,
    /// Where its segment files are opened.
    pub(crate) files: &'s SegmentFiles,
    /// Cache of the segments' blocks.
    pub(crate) cache: &'s Arc<BlockCache>,
}

impl Loader<'_> {
    /// The state that `transaction` sees. A table that can't be read keeps no other from it.
    pub(crate) fn snapshot(
        &self,
        transaction: &RoTxn<'_>,
        state: DatabaseState,
        previous: Option<&Snapshot>,
    ) -> Result<Snapshot> {
        let known: HashMap<TableId, &Arc<TableSnapshot>> = previous
            .map(|snapshot| snapshot.tables.values().map(|table| (table.definition.id, table)).collect())
            .unwrap_or_default();
        let known_damaged = |record: &TableRecord| {
            let mut damaged = previous?.damaged.values();
            damaged.find(|table| (table.definition.id, table.version) == (record.definition.id, record.version))
        };
        let (mut tables, mut damaged) = (BTreeMap::new(), BTreeMap::new());
        for record in records::tables(self.environment, transaction)? {
            let before = known.get(&record.definition.id).copied();
            let name = record.definition.name.clone();
            if let Some(table) = before.filter(|table| table.version == record.version) {
                tables.insert(name, Arc::clone(table));
                continue;
            }
            if let Some(table) = known_damaged(&record).filter(|table| !table.is_worth_another_look()) {
                damaged.insert(name, Arc::clone(table));
                continue;
            }
            let (definition, version, mut files) = (record.definition.clone(), record.version, Vec::new());
            match self.open(transaction, record, before.map(Arc::as_ref), &mut files) {
                Ok(table) => drop(tables.insert(name, Arc::new(table))),
                Err(error) if error.is_of_bytes() => {
                    let error = error.of_table(&name);
                    tracing::warn!("{error}");
                    damaged.insert(name, Arc::new(DamagedTable::new(Arc::new(definition), version, error, files)));
                }
                Err(error) => return Err(error),
            }
        }
        let mut views = BTreeMap::new();
        let mut labels = Labels { schemas: state.schema_labels, views: BTreeMap::new() };
        for (number, view) in records::views(self.environment, transaction)? {
            let comment = state.view_comments.get(&number).cloned();
            labels.views.insert(view.name.clone(), Label { number, comment });
            views.insert(view.name.clone(), Arc::new(view));
        }
        let sequences = records::sequences(self.environment, transaction)?.into_iter();
        let sequences = sequences.map(|record| (record.definition.name.clone(), Arc::new(record))).collect();
        let (commit, schemas, labels) = (state.commit, state.schemas, Arc::new(labels));
        Ok(Snapshot { commit, schemas, tables, damaged, views, sequences, labels, kept: Arc::default() })
    }

    /// One table as `transaction` sees it. An error names it.
    pub(crate) fn table(
        &self,
        transaction: &RoTxn<'_>,
        record: TableRecord,
        previous: Option<&TableSnapshot>,
    ) -> Result<TableSnapshot> {
        let name = record.definition.name.clone();
        let opened = self.open(transaction, record, previous, &mut Vec::new());
        opened.map_err(|error| error.of_table(&name))
    }

    /// One table. When a segment can't be opened, `files` has those that it lies in, as they were just before.
    fn open(
        &self,
        transaction: &RoTxn<'_>,
        record: TableRecord,
        previous: Option<&TableSnapshot>,
        files: &mut Vec<(PathBuf, Option<FileState>)>,
    ) -> Result<TableSnapshot> {
        let (id, name) = (record.definition.id, Arc::from(record.definition.name.to_string()));
        let stored = records::segments(self.environment, transaction, &record)?;
        let dictionaries = self.dictionaries(transaction, &record.definition, &stored, previous)?;
        let known: HashMap<SegmentId, &Arc<Segment>> = previous
            .map(|table| table.segments.iter().chain(&table.delta).map(|segment| (segment.id(), segment)).collect())
            .unwrap_or_default();
        let mut segments = Vec::with_capacity(stored.len());
        for (_, segment) in &stored {
            if !known.contains_key(&segment.id) {
                files.clear();
                files.extend(segment.files().map(|file| {
                    let path = self.files.path(self.environment.generation(), id, file);
                    let state = FileState::of(&path);
                    (path, state)
                }));
            }
            segments.push(self.segment((id, &name), segment, &dictionaries, &known)?);
        }
        files.clear();
        let mut delta = Vec::with_capacity(record.delta.len());
        for block in &record.delta {
            delta.push(match known.get(&block.id) {
                Some(segment) if segment.table() == Some(&name) => Arc::clone(segment),
                Some(segment) => Arc::new(segment.with_dictionaries(BTreeMap::new()).of_table(&name)),
                None => self.delta_block(transaction, &record.definition, block.id)?,
            });
        }
        // Codes of blocks lead to the dictionaries that there were when they were made.
        let same = previous.filter(|table| same_dictionaries(&table.dictionaries, &dictionaries));
        let coded = same.map(|table| Arc::new(table.coded.of_blocks(&delta))).unwrap_or_default();
        let all = segments.iter().chain(&delta);
        let deleted = self.deleted(transaction, id, &record.deleted, all, previous)?;
        Ok(TableSnapshot {
            definition: Arc::new(record.definition),
            version: record.version,
            segments,
            delta,
            deleted,
            dictionaries,
            heap: record.heap,
            pages: None,
            coded,
            summaries: Summaries::default(),
        })
    }

    /// The delta blocks of `record` alone, as a table without segments.
    pub(crate) fn delta_table(
        &self,
        transaction: &RoTxn<'_>,
        record: TableRecord,
        previous: Option<&Arc<TableSnapshot>>,
    ) -> Result<TableSnapshot> {
        let mut table = TableSnapshot::empty(record.definition);
        for block in &record.delta {
            let known = previous.and_then(|table| table.delta.iter().find(|segment| segment.id() == block.id));
            table.delta.push(match known {
                Some(segment) => Arc::clone(segment),
                None => self.delta_block(transaction, &table.definition, block.id)?,
            });
        }
        let known = previous.map(AsRef::as_ref);
        let of_delta: Vec<_> = record
            .deleted
            .into_iter()
            .filter(|deleted| table.delta.iter().any(|block| block.id() == deleted.segment))
            .collect();
        table.deleted = self.deleted(transaction, table.definition.id, &of_delta, table.delta.iter(), known)?;
        Ok(table)
    }

    /// The deleted records of segments and delta blocks, those that did not change from `previous`.
    fn deleted<'s>(
        &self,
        transaction: &RoTxn<'_>,
        table: TableId,
        records: &[DeletedRecord],
        segments: impl Iterator<Item = &'s Arc<Segment>> + Clone,
        previous: Option<&TableSnapshot>,
    ) -> Result<BTreeMap<SegmentId, Arc<DeleteVector>>> {
        let mut loaded = BTreeMap::new();
        for record in records {
            let known = previous.and_then(|table| table.deleted.get(&record.segment));
            let deleted = match known.filter(|known| known.number() == record.number) {
                Some(known) => Arc::clone(known),
                None => {
                    let segment = segments.clone().find(|segment| segment.id() == record.segment).ok_or_else(|| {
                        let place = format!("deleted records of segment {} of table number {table}", record.segment);
                        Error::corrupt(place, "the table has no such segment")
                    })?;
                    Arc::new(DeleteVector::load(self.environment, transaction, table, record, segment)?)
                }
            };
            loaded.insert(record.segment, deleted);
        }
        Ok(loaded)
    }

    /// Opens a segment's files, or takes over those that are open in `known`.
    pub(crate) fn segment(
        &self,
        (table, name): (TableId, &Arc<str>),
        record: &SegmentRecord,
        dictionaries: &BTreeMap<ColumnId, Arc<Dictionary>>,
        known: &HashMap<SegmentId, &Arc<Segment>>,
    ) -> Result<Arc<Segment>> {
        let catalog = self.environment.generation();
        let path = || self.files.path(catalog, table, record.id).display().to_string();
        let mut versions = BTreeMap::new();
        for (column, version) in &record.dictionaries {
            // A dropped column's dictionary is not loaded: nothing reads its codes.
            let Some(dictionary) = dictionaries.get(column) else { continue };
            let found = dictionary
                .versions
                .get(version)
                .ok_or_else(|| Error::corrupt(path(), format!("dictionary version {version} is not loaded")))?;
            versions.insert(*column, Arc::clone(found));
        }
        if let Some(known) = known.get(&record.id) {
            let same = |(column, version): (&ColumnId, &Arc<DictionaryVersion>)| {
                known.dictionary(*column).is_some_and(|open| Arc::ptr_eq(open, version))
            };
            return Ok(if versions.iter().all(same) && known.table() == Some(name) {
                Arc::clone(known)
            } else {
                Arc::new(known.with_dictionaries(versions).of_table(name))
            });
        }
        let cache = Arc::clone(self.cache);
        let segment = self.files.open(catalog, (table, record.id), record.directory_checksum, versions, cache)?;
        if segment.rows() as u64 != record.rows {
            return Err(Error::corrupt(
                path(),
                format!("the file has {} records, the catalog says {}", segment.rows(), record.rows),
            ));
        }
        if record.parts.is_empty() {
            return Ok(Arc::new(segment.of_table(name)));
        }
        let mut others = Vec::with_capacity(record.parts.len());
        for part in &record.parts {
            let file = match known.values().find_map(|segment| segment.file(part.id)) {
                Some(file) => file,
                None => {
                    let (place, cache) = ((table, part.id), Arc::clone(self.cache));
                    self.files.open(catalog, place, part.directory_checksum, BTreeMap::new(), cache)?
                }
            };
            others.push((file, part.columns.clone()));
        }
        Ok(Arc::new(segment.join(others)?.of_table(name)))
    }

    /// Copies a delta block out of the map.
    pub(crate) fn delta_block(
        &self,
        transaction: &RoTxn<'_>,
        definition: &TableDefinition,
        block: SegmentId,
    ) -> Result<Arc<Segment>> {
        let (place, name) = (format!("delta block {block}"), Arc::from(definition.name.to_string()));
        let key = pair_key(definition.id, block);
        let image = values::get(self.environment, transaction, Name::Delta, &key)?
            .ok_or_else(|| Error::corrupt(place.clone(), "the table names this block, but the catalog lacks it"))?;
        Ok(Arc::new(Segment::from_image(Arc::from(image), block, &place, Arc::clone(self.cache))?.of_table(&name)))
    }

    /// The dictionaries of the live columns over all versions that `segments` name.
    fn dictionaries(
        &self,
        transaction: &RoTxn<'_>,
        definition: &TableDefinition,
        segments: &[(u64, SegmentRecord)],
        previous: Option<&TableSnapshot>,
    ) -> Result<BTreeMap<ColumnId, Arc<Dictionary>>> {
        let mut used: BTreeMap<ColumnId, BTreeSet<u32>> = BTreeMap::new();
        for (column, version) in segments.iter().flat_map(|(_, segment)| &segment.dictionaries) {
            used.entry(*column).or_default().insert(*version);
        }
        let mut loaded = BTreeMap::new();
        for (column, versions) in used {
            let Some(live) = definition.column_by_id(column) else { continue };
            let before = previous.and_then(|table| table.dictionaries.get(&column));
            if let Some(before) = before
                && before.versions.keys().eq(versions.iter())
            {
                loaded.insert(column, Arc::clone(before));
                continue;
            }
            let place = format!("dictionaries of column '{}'", live.name);
            let mut entries = Vec::new();
            for version in versions {
                let known = before.and_then(|dictionary| dictionary.versions.get(&version));
                let list = match known {
                    Some(known) => Arc::clone(&known.entries),
                    None => dictionaries::load(
                        self.environment,
                        transaction,
                        definition.id,
                        column,
                        version,
                        &live.logical_type,
                    )?,
                };
                entries.push((version, list));
            }
            loaded.insert(column, Arc::new(Dictionary::build(&place, entries)?));
        }
        Ok(loaded)
    }
}

/// Whether columns have the very same dictionaries.
fn same_dictionaries(a: &BTreeMap<ColumnId, Arc<Dictionary>>, b: &BTreeMap<ColumnId, Arc<Dictionary>>) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && Arc::ptr_eq(a.1, b.1))
}
