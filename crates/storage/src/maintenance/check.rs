//! `check`: LMDB's structure, every catalog value and what it refers to, every block of every segment.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::folder::NamedFiles;
use crate::lmdb::records::{SegmentRecord, TableRecord, id_of_key, pair_of_key, sequence_of_key, table_of_contents};
use crate::lmdb::{folder, records, values, verifier};
use crate::maintenance::report::CheckReport;
use crate::model::dictionary::Dictionary;
use crate::model::sequence::SequenceRecord;
use crate::model::table::ViewDefinition;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::segment::reader::Segment;
use crate::snapshot::delete_vector::{DeleteVector, zone_of_key};
use crate::snapshot::dictionaries;
use crate::{ColumnId, Error, LogicalType, Result, TableId, TableName};
use heed::RoTxn;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// A check beside a writer of another process is repeated when a file went away meanwhile.
const ATTEMPTS: usize = 5;
/// How long a check waits for a transaction that writes.
const PATIENCE: Duration = Duration::from_secs(60);

impl Store {
    /// Verifies LMDB's structure, every catalog value, every block of every segment.
    pub fn check(self: &Arc<Self>) -> Result<CheckReport> {
        for _ in 1..ATTEMPTS {
            let (report, commit) = self.check_once()?;
            // Another process may have replaced a segment since its record was read.
            let is_final = |commit| Ok::<_, Error>(!self.is_read_only() || self.latest_commit()? == commit);
            if report.errors.is_empty() || commit.map_or(Ok(true), is_final)? {
                return Ok(report);
            }
        }
        Ok(self.check_once()?.0)
    }

    /// Checks once; gives the commit that it has seen, unless its pages are damaged.
    fn check_once(self: &Arc<Self>) -> Result<(CheckReport, Option<u64>)> {
        let mut report = CheckReport { notes: self.opening_notes.clone(), ..CheckReport::default() };
        let oddities;
        let (found, commit) = {
            // Nothing is committed by this process meanwhile; the segments' files are open when it goes on.
            let _turn = self.turn(&WriteOptions { lock_timeout: Some(PATIENCE), ..WriteOptions::default() })?;
            let walked = verifier::walk(self.environment()?.folder(), folder::trusted(self.path(), || true)?)?;
            report.verified += walked.pages;
            report.errors.extend(walked.errors);
            report.notes.extend(walked.notes);
            oddities = walked.oddities;
            if !report.errors.is_empty() {
                // The map of a damaged file must not be touched.
                return Ok((report, None));
            }
            let environment = self.environment()?;
            environment.read(|transaction| {
                let commit = records::state(&environment, transaction).ok().map(|state| state.commit);
                let mut checking =
                    Checking { store: self, environment: &environment, transaction, report: &mut report };
                let found = checking.values();
                Ok((checking.told(found)?.unwrap_or_default(), commit))
            })?
        };
        if found.pages_are_whole {
            let checked = self.check_indexes(&mut report);
            told(&mut report, checked)?;
            let checked = self.check_long_values(&mut report);
            told(&mut report, checked)?;
        }
        report.errors.extend(oddities);
        for (table, segment) in found.segments {
            let zones: usize = segment.zones() * segment.columns().len();
            report.verified += zones as u64;
            report.errors.extend(segment.check().into_iter().map(|error| error.in_table(&table)));
        }
        // Damage of a value is found where it is verified and again where it is needed.
        let mut known = HashSet::new();
        report.errors.retain(|error| known.insert(error.to_string()));
        Ok((report, commit))
    }
}

/// What a check of values leads to.
#[derive(Default)]
struct Found {
    /// Segments and delta blocks to read, with their tables.
    segments: Vec<(TableName, Arc<Segment>)>,
    /// Whether heap pages and indexes have no damage, so that indexes can be held against records.
    pages_are_whole: bool,
}

/// Adds the error that has ended a part of the check, when it tells of damage.
fn told<R>(report: &mut CheckReport, result: Result<R>) -> Result<Option<R>> {
    match result {
        Ok(result) => Ok(Some(result)),
        Err(error) if error.is_of_bytes() => {
            report.errors.push(error);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A check at work within one commit.
pub(crate) struct Checking<'c> {
    pub(crate) store: &'c Store,
    pub(crate) environment: &'c Environment,
    pub(crate) transaction: &'c RoTxn<'c>,
    pub(crate) report: &'c mut CheckReport,
}

impl Checking<'_> {
    fn told<R>(&mut self, result: Result<R>) -> Result<Option<R>> {
        told(self.report, result)
    }

    /// Checks all values and opens all segments and delta blocks.
    fn values(&mut self) -> Result<Found> {
        let Self { store, environment, transaction, .. } = *self;
        let mut damaged: Vec<(Name, Option<TableId>, Error)> = Vec::new();
        for name in Name::ALL.into_iter().filter(|name| *name != Name::Heap) {
            values::each_raw(environment, transaction, name, &[], |key, value| {
                self.report.verified += 1;
                if let Err(error) = values::unseal(name, key, value, || values::place(environment, name, key)) {
                    damaged.push((name, owner_of(name, key).0, error));
                }
                Ok(())
            })?;
        }
        let in_pages = |(name, ..): &(Name, Option<TableId>, Error)| matches!(name, Name::Meta | Name::Indexes);
        let mut pages_are_whole = !damaged.iter().any(in_pages);
        let tables = records::tables(environment, transaction);
        let names: HashMap<TableId, &TableName> =
            tables.iter().flatten().map(|table| (table.definition.id, &table.definition.name)).collect();
        for (_, owner, error) in damaged {
            let name = owner.and_then(|owner| names.get(&owner));
            self.report.errors.push(if let Some(name) = name { error.in_table(name) } else { error });
        }
        let tables = tables?;
        records::state(environment, transaction)?;
        values::each_raw(environment, transaction, Name::Views, &[], |key, value| {
            // What can't be unsealed is told already.
            if let Ok(payload) = values::unseal(Name::Views, key, value, String::new)
                && let Err(error) = values::parse_at::<ViewDefinition>(environment, Name::Views, key, payload)
            {
                self.report.errors.push(error);
            }
            Ok(())
        })?;
        let (mut opened, mut known) = (Vec::new(), NamedFiles::default());
        for table in &tables {
            let (id, name) = (table.definition.id, &table.definition.name);
            match records::segments(environment, transaction, table) {
                Ok(segments) => {
                    segments.iter().for_each(|(_, segment)| known.add(id, segment.files()));
                    opened.extend(self.table(table, &segments)?.into_iter().map(|segment| (name.clone(), segment)));
                }
                Err(error) => {
                    self.report.errors.push(error.in_table(name));
                    known.add_unknown(id);
                }
            }
        }
        self.owners(&tables)?;
        let before = self.report.errors.len();
        self.pages(&tables)?;
        pages_are_whole &= self.report.errors.len() == before;
        for orphan in folder::orphans(store.path(), &known)? {
            if !store.files.is_uncommitted(&orphan) {
                let note = format!("{} is named by no commit; the next open for writing removes it", orphan.display());
                self.report.notes.push(note);
            }
        }
        Ok(Found { segments: opened, pages_are_whole })
    }

    /// Opens what a table names.
    fn table(&mut self, table: &TableRecord, segments: &[(u64, SegmentRecord)]) -> Result<Vec<Arc<Segment>>> {
        let Self { store, environment, transaction, .. } = *self;
        let (definition, name) = (&table.definition, &table.definition.name);
        let text = Arc::from(name.to_string());
        let loader = store.loader(environment);
        let dictionaries = self.dictionaries(table, segments)?;
        let report = &mut *self.report;
        let mut own: Vec<Arc<Segment>> = Vec::with_capacity(segments.len() + table.delta.len());
        for (_, segment) in segments {
            let opened = dictionaries
                .as_ref()
                .map(|known| loader.segment((definition.id, &text), segment, known, &HashMap::new()));
            match opened {
                Some(Ok(segment)) => own.push(segment),
                // Each file for itself, so that each that can't be read is told.
                failed => {
                    let before = report.errors.len();
                    for (file, checksum) in segment.checksums() {
                        let (place, cache) = ((definition.id, file), Arc::clone(store.cache()));
                        let catalog = environment.generation();
                        match store.segment_files.open(catalog, place, checksum, BTreeMap::new(), cache) {
                            Ok(file) => own.push(Arc::new(file)),
                            Err(error) => report.errors.push(error.in_table(name)),
                        }
                    }
                    if let Some(Err(error)) = failed.filter(|_| report.errors.len() == before) {
                        report.errors.push(error.in_table(name));
                    }
                }
            }
        }
        for block in &table.delta {
            match loader.delta_block(transaction, definition, block.id) {
                Ok(segment) if segment.rows() as u64 == block.rows => own.push(segment),
                Ok(segment) => report.errors.push(Error::corrupt(
                    format!("table '{name}', delta block {}", block.id),
                    format!("it has {} records, the table says {}", segment.rows(), block.rows),
                )),
                Err(error) => report.errors.push(error.in_table(name)),
            }
        }
        for deleted in &table.deleted {
            let is_named = segments.iter().any(|(_, segment)| segment.id == deleted.segment)
                || table.delta.iter().any(|block| block.id == deleted.segment);
            let loaded = match own.iter().find(|segment| segment.id() == deleted.segment) {
                Some(segment) => {
                    DeleteVector::load(environment, transaction, definition.id, deleted, segment).map(drop)
                }
                // One that can't be opened is told already.
                None if is_named => Ok(()),
                None => Err(Error::corrupt(
                    format!("deleted records of segment {}", deleted.segment),
                    "the table has no such segment",
                )),
            };
            report.errors.extend(loaded.err().map(|error| error.in_table(name)));
        }
        Ok(own)
    }

    /// Loads every dictionary version that a table's segments name, live column or not; `None` when one is damaged.
    fn dictionaries(
        &mut self,
        table: &TableRecord,
        segments: &[(u64, SegmentRecord)],
    ) -> Result<Option<BTreeMap<ColumnId, Arc<Dictionary>>>> {
        let Self { environment, transaction, report, .. } = self;
        let (definition, mut whole) = (&table.definition, true);
        let used: BTreeSet<(ColumnId, u32)> =
            segments.iter().flat_map(|(_, segment)| segment.dictionaries.iter().copied()).collect();
        let stored = dictionaries::versions(environment, transaction, definition.id, None)?;
        for (column, version) in stored.iter().filter(|pair| !used.contains(pair)) {
            report.notes.push(format!(
                "dictionary version {version} of column {column} of table {} is not used",
                definition.name
            ));
        }
        let mut lists: BTreeMap<ColumnId, Vec<_>> = BTreeMap::new();
        for (column, version) in used {
            // The type of a dropped column is not kept; its entries are looked at as bytes.
            let logical_type =
                definition.column_by_id(column).map_or(LogicalType::Binary, |live| live.logical_type.clone());
            match dictionaries::load(environment, transaction, definition.id, column, version, &logical_type) {
                Ok(entries) => lists.entry(column).or_default().push((version, entries)),
                Err(error) => {
                    whole = false;
                    report.errors.push(error.in_table(&definition.name));
                }
            }
        }
        let mut loaded = BTreeMap::new();
        for (column, versions) in lists {
            match Dictionary::build(&format!("dictionaries of column {column}"), versions) {
                Ok(dictionary) => drop(loaded.insert(column, Arc::new(dictionary))),
                Err(error) => {
                    whole = false;
                    report.errors.push(error.in_table(&definition.name));
                }
            }
        }
        Ok(whole.then_some(loaded))
    }

    /// Values that belong to no table, and delta images and deleted records that no table names.
    fn owners(&mut self, tables: &[TableRecord]) -> Result<()> {
        let Self { environment, transaction, report, .. } = self;
        let tables: HashMap<TableId, &TableRecord> = tables.iter().map(|table| (table.definition.id, table)).collect();
        for name in [Name::Meta, Name::Tables, Name::Segments, Name::Dictionaries, Name::Delta, Name::Deleted] {
            values::each_raw(environment, transaction, name, &[], |key, value| {
                let (owner, second) = owner_of(name, key);
                if name == Name::Meta && sequence_of_key(key).is_some() {
                    let payload = values::unseal(name, key, value, || values::place(environment, name, key));
                    let parsed =
                        payload.and_then(|own| values::parse_at::<SequenceRecord>(environment, name, key, own));
                    report.errors.extend(parsed.err());
                }
                if name == Name::Meta && owner.is_none() {
                    return Ok(());
                }
                let owned = owner.and_then(|owner| tables.get(&owner)).is_some_and(|table| match name {
                    Name::Meta => table.heap.is_some(),
                    Name::Delta => table.delta.iter().any(|block| Some(block.id) == second),
                    Name::Deleted => table.deleted.iter().any(|deleted| Some(deleted.segment) == second),
                    _ => true,
                });
                if !owned {
                    report.errors.push(Error::corrupt(values::describe_key(name, key), "it belongs to no table"));
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The table in the key of a value, and the number behind it; none where a key has none.
fn owner_of(name: Name, key: &[u8]) -> (Option<TableId>, Option<u64>) {
    match name {
        Name::Meta => (table_of_contents(key), None),
        Name::Tables => (id_of_key(key), None),
        Name::Deleted => zone_of_key(key).map(|(table, segment, _)| (table, segment)).unzip(),
        Name::Segments | Name::Delta | Name::Dictionaries => pair_of_key(key).unzip(),
        _ => (None, None),
    }
}
