//! `check`: LMDB's structure, every catalog value and what it refers to, every block of every segment.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::records::{SegmentRecord, TableRecord, id_of_key, pair_of_key, table_of_contents};
use crate::lmdb::{folder, records, values, verifier};
use crate::maintenance::report::CheckReport;
use crate::model::dictionary::Dictionary;
use crate::model::table::ViewDefinition;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::segment::reader::Segment;
use crate::snapshot::delete_vector::{DeleteVector, zone_of_key};
use crate::snapshot::dictionaries;
use crate::{ColumnId, Error, LogicalType, Result, TableId};
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
        let missing =
            |error: &Error| matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
        for _ in 1..ATTEMPTS {
            let report = self.check_once()?;
            // Another process may have replaced a segment since its record was read.
            if !self.is_read_only() || !report.errors.iter().any(missing) {
                return Ok(report);
            }
        }
        self.check_once()
    }

    fn check_once(self: &Arc<Self>) -> Result<CheckReport> {
        let mut report = CheckReport { notes: self.opening_notes.clone(), ..CheckReport::default() };
        let oddities;
        let segments = {
            // Nothing is committed by this process meanwhile; the segments' files are open when it goes on.
            let _turn = self.turn(&WriteOptions { lock_timeout: Some(PATIENCE), ..WriteOptions::default() })?;
            let walked = verifier::walk(&folder::catalog(self.path()), folder::trusted(self.path(), || true)?)?;
            report.verified += walked.pages;
            report.errors.extend(walked.errors);
            report.notes.extend(walked.notes);
            oddities = walked.oddities;
            if !report.errors.is_empty() {
                // The map of a damaged file must not be touched.
                return Ok(report);
            }
            let environment = self.environment()?;
            environment.read(|transaction| {
                Checking { store: self, environment: &environment, transaction, report: &mut report }.values()
            })?
        };
        if report.errors.is_empty() {
            self.check_indexes(&mut report)?;
        }
        report.errors.extend(oddities);
        for segment in segments {
            let zones: usize = segment.zones() * segment.columns().len();
            report.verified += zones as u64;
            report.errors.extend(segment.check());
        }
        Ok(report)
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
    /// Checks all values and opens all segments and delta blocks.
    fn values(&mut self) -> Result<Vec<Arc<Segment>>> {
        let Self { store, environment, transaction, .. } = *self;
        for name in Name::ALL.into_iter().filter(|name| *name != Name::Heap) {
            values::each_raw(environment, transaction, name, &[], |key, value| {
                let place =
                    || format!("{}, {}", folder::catalog(store.path()).display(), values::describe_key(name, key));
                self.report.verified += 1;
                if let Err(error) = values::unseal(name, key, value, place) {
                    self.report.errors.push(error);
                }
                Ok(())
            })?;
        }
        if !self.report.errors.is_empty() {
            return Ok(Vec::new());
        }
        records::state(environment, transaction)?;
        values::each(environment, transaction, Name::Views, &[], |key, payload| {
            if let Err(error) = values::parse_at::<ViewDefinition>(environment, Name::Views, key, payload) {
                self.report.errors.push(error);
            }
            Ok(())
        })?;
        let tables = records::tables(environment, transaction)?;
        let mut opened = Vec::new();
        let mut known = HashSet::new();
        for table in &tables {
            let segments = match records::segments(environment, transaction, table) {
                Ok(segments) => segments,
                Err(error) => {
                    self.report.errors.push(error);
                    continue;
                }
            };
            let id = table.definition.id;
            segments.iter().for_each(|(_, segment)| known.extend(segment.files().map(|file| (id, file))));
            opened.append(&mut self.table(table, &segments)?);
        }
        self.owners(&tables)?;
        self.pages(&tables)?;
        for orphan in folder::orphans(store.path(), &known)? {
            if !store.files.is_uncommitted(&orphan) {
                let note = format!("{} is named by no commit; the next open for writing removes it", orphan.display());
                self.report.notes.push(note);
            }
        }
        Ok(opened)
    }

    /// Opens what a table names.
    fn table(&mut self, table: &TableRecord, segments: &[(u64, SegmentRecord)]) -> Result<Vec<Arc<Segment>>> {
        let Self { store, environment, transaction, .. } = *self;
        let definition = &table.definition;
        let loader = store.loader(environment);
        let dictionaries = self.dictionaries(table, segments)?;
        let report = &mut *self.report;
        let mut own: Vec<Arc<Segment>> = Vec::with_capacity(segments.len() + table.delta.len());
        for (_, segment) in segments {
            match loader.segment(definition.id, segment, &dictionaries, &HashMap::new()) {
                Ok(segment) => own.push(segment),
                Err(error) => report.errors.push(error),
            }
        }
        for block in &table.delta {
            match loader.delta_block(transaction, definition, block.id) {
                Ok(segment) if segment.rows() as u64 == block.rows => own.push(segment),
                Ok(segment) => report.errors.push(Error::corrupt(
                    format!("delta block {} of table {}", block.id, definition.name),
                    format!("it has {} records, the table says {}", segment.rows(), block.rows),
                )),
                Err(error) => report.errors.push(error),
            }
        }
        for deleted in &table.deleted {
            let loaded = match own.iter().find(|segment| segment.id() == deleted.segment) {
                Some(segment) => {
                    DeleteVector::load(environment, transaction, definition.id, deleted, segment).map(drop)
                }
                // One that can't be opened is told already.
                None if segments.len() + table.delta.len() > own.len() => Ok(()),
                None => Err(Error::corrupt(
                    format!("deleted records of segment {} of table {}", deleted.segment, definition.name),
                    "the table has no such segment",
                )),
            };
            report.errors.extend(loaded.err());
        }
        Ok(own)
    }

    /// Loads every dictionary version that a table's segments name, live column or not.
    fn dictionaries(
        &mut self,
        table: &TableRecord,
        segments: &[(u64, SegmentRecord)],
    ) -> Result<BTreeMap<ColumnId, Arc<Dictionary>>> {
        let Self { environment, transaction, report, .. } = self;
        let definition = &table.definition;
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
                Err(error) => report.errors.push(error),
            }
        }
        let mut loaded = BTreeMap::new();
        for (column, versions) in lists {
            let place = format!("dictionaries of column {column} of table {}", definition.name);
            match Dictionary::build(&place, versions) {
                Ok(dictionary) => drop(loaded.insert(column, Arc::new(dictionary))),
                Err(error) => report.errors.push(error),
            }
        }
        Ok(loaded)
    }

    /// Values that belong to no table, and delta images and deleted records that no table names.
    fn owners(&mut self, tables: &[TableRecord]) -> Result<()> {
        let Self { environment, transaction, report, .. } = self;
        let tables: HashMap<TableId, &TableRecord> = tables.iter().map(|table| (table.definition.id, table)).collect();
        for name in [Name::Meta, Name::Tables, Name::Segments, Name::Dictionaries, Name::Delta, Name::Deleted] {
            values::each_raw(environment, transaction, name, &[], |key, _| {
                let (owner, second) = match name {
                    Name::Meta if table_of_contents(key).is_none() => return Ok(()),
                    Name::Meta => (table_of_contents(key), None),
                    Name::Tables => (id_of_key(key), None),
                    Name::Deleted => zone_of_key(key).map(|(table, segment, _)| (table, segment)).unzip(),
                    _ => (pair_of_key(key).map(|pair| pair.0), pair_of_key(key).map(|pair| pair.1)),
                };
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
