//! The write transaction: changes to definitions. Changes to data are in `append.rs`.
//!
//! Every change goes into LMDB's write transaction at once; what others see changes with its commit alone.

use crate::SqlState;
use crate::lmdb::environment::Environment;
use crate::lmdb::records;
use crate::lmdb::records::{DatabaseState, TableRecord};
use crate::open::latest::Known;
use crate::open::options::WriteOptions;
use crate::open::pending::WrittenFiles;
use crate::open::shared::Store;
use crate::snapshot::heap::overlay::WrittenPages;
use crate::snapshot::table_snapshot::{Snapshot, TableSnapshot};
use crate::write::dirty::Dirty;
use crate::write::rewrite::CheckedRows;
use crate::write::{heap_tables as heap, indexes};
use crate::{ColumnId, Error, LogicalType, Result, TableDefinition, TableId, TableName};
use heed::RwTxn;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, RwLockReadGuard};

/// A write transaction: changes to definitions and data, all or nothing.
pub struct Transaction<'store> {
    // LMDB's transaction ends before the gate opens.
    pub(crate) transaction: RwTxn<'store>,
    pub(crate) _gate: Option<RwLockReadGuard<'store, ()>>,
    pub(crate) store: &'store Arc<Store>,
    /// The current one for as long as the transaction lives: VACUUM needs the turn too.
    pub(crate) environment: &'store Arc<Environment>,
    /// The commit that it builds on.
    pub(crate) base: Arc<Snapshot>,
    /// Records as they were before this transaction, so that they need not be read; none within another one.
    pub(crate) known: Arc<Known>,
    /// Numbers that the database has given, this transaction's among them.
    pub(crate) state: DatabaseState,
    /// What it has changed in the catalog and among files.
    pub(crate) changes: Changes,
    /// What it has changed in heap pages.
    pub(crate) heap: HeapChanges,
    /// How it commits.
    pub(crate) durability: Durability,
    /// Records past which a delta is merged, where that is fixed.
    pub(crate) delta_rows: Option<u64>,
}

/// What a transaction has changed in the catalog and among the files of segments. The outer transaction takes it over from one
/// within it.
#[derive(Debug)]
pub(crate) struct Changes {
    /// What names stand for, once anybody has changed that; those of the commit before until then.
    pub(crate) names: Option<BTreeMap<TableName, NameEntry>>,
    /// Tables created or changed by this transaction alone.
    pub(crate) touched: HashSet<TableId>,
    /// The records of tables as this transaction, and those within it, have left them.
    pub(crate) records: HashMap<TableId, TableRecord>,
    /// Files made for this transaction; removed when it does not commit.
    pub(crate) made: WrittenFiles,
    /// Files that no segment names once it commits.
    pub(crate) replaced: Vec<PathBuf>,
    /// Whether there is anything to commit.
    pub(crate) changed: bool,
    /// Whether it has written so much that reading it again takes longer than a second sync.
    pub(crate) is_large: bool,
}

impl Changes {
    /// None yet. Names are those that an outer transaction has changed already; `made` keeps the files that will be made.
    fn none(names: Option<BTreeMap<TableName, NameEntry>>, made: WrittenFiles) -> Self {
        Self {
            names,
            touched: HashSet::new(),
            records: HashMap::new(),
            made,
            replaced: Vec::new(),
            changed: false,
            is_large: false,
        }
    }

    /// Adds what a transaction within this one has changed. Tables that it has touched are not this one's own.
    pub(crate) fn take_over(&mut self, inner: Self) {
        self.names = inner.names;
        self.records.extend(inner.records);
        self.made.absorb(inner.made);
        self.replaced.extend(inner.replaced);
        self.changed |= inner.changed;
        self.is_large |= inner.is_large;
    }
}

/// What a transaction has changed in heap pages.
#[derive(Debug)]
pub(crate) struct HeapChanges {
    /// Pages that it has written.
    pub(crate) pages: WrittenPages,
    /// What of them is in memory.
    pub(crate) dirty: Dirty,
    /// Set when a change to pages failed half way.
    pub(crate) broken: bool,
}

impl HeapChanges {
    /// None yet.
    fn none(store: &Store) -> Self {
        Self { pages: WrittenPages::default(), dirty: Dirty::new(&store.budget), broken: false }
    }
}

/// How a transaction commits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Durability {
    /// Whether a power loss may undo its commit.
    pub(crate) relaxed: bool,
    /// Whether the catalog's file is left as large as its commit makes it.
    pub(crate) keeps_size: bool,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameEntry {
    Table(TableId),
    View(u64),
    Sequence(u64),
}

impl NameEntry {
    /// What it is.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Table(_) => "a table",
            Self::View(_) => "a view",
            Self::Sequence(_) => "a sequence",
        }
    }

    /// The error that a name stands for something else than what is wanted.
    pub(crate) fn is_not(self, name: &TableName, wanted: &str) -> Error {
        Error::invalid(SqlState::WrongObjectType, format!("'{name}' is {}, not {wanted}", self.kind()))
    }
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("base", &self.base.commit).field("touched", &self.changes.touched).finish()
    }
}

impl<'store> Transaction<'store> {
    /// Begins on `base`, the latest commit; the caller has the turn in the line of writers.
    pub(crate) fn begin(
        store: &'store Arc<Store>,
        environment: &'store Arc<Environment>,
        base: Arc<Snapshot>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let (transaction, gate) = environment.write()?;
        let (mut state, known) = match store.state_before((environment.generation(), transaction.id())) {
            Some(before) => before,
            None => (records::state(environment, &transaction)?, Arc::default()),
        };
        state.commit += 1;
        state.transaction = transaction.id() as u64;
        Ok(Self {
            transaction,
            _gate: Some(gate),
            store,
            environment,
            base,
            known,
            state,
            changes: Changes::none(None, store.written_files()),
            heap: HeapChanges::none(store),
            durability: Durability { relaxed: options.relaxed, keeps_size: options.keeps_size },
            delta_rows: options.delta_rows,
        })
    }

    /// Begins one within this one, on top of what this one has changed.
    pub(crate) fn begin_nested(&mut self) -> Result<Transaction<'_>> {
        let (store, environment, mut state) = (self.store, self.environment, self.state.clone());
        state.commit += u64::from(self.changes.changed);
        let mut changes = Changes::none(self.changes.names.clone(), store.written_files());
        changes.is_large = self.changes.is_large;
        Ok(Transaction {
            transaction: environment.nested(&mut self.transaction)?,
            _gate: None,
            store,
            environment,
            base: Arc::clone(&self.base),
            known: Arc::default(),
            state,
            changes,
            heap: HeapChanges::none(store),
            durability: self.durability,
            delta_rows: self.delta_rows,
        })
    }

    /// Has the transaction committed though no table is another one after it.
    pub(crate) fn note_change(&mut self) {
        self.changes.changed = true;
    }

    /// The record of an existing table, as this transaction has changed it.
    pub(crate) fn record(&self, table: TableId) -> Result<TableRecord> {
        if let Some(record) = self.known.get(&table).filter(|_| !self.changes.touched.contains(&table)) {
            return Ok(TableRecord::clone(record));
        }
        records::existing(self.environment, &self.transaction, table)
    }

    /// Stores a changed record.
    pub(crate) fn put_record(&mut self, mut record: TableRecord) -> Result<()> {
        record.version = self.state.commit;
        let mut next = self.state.next_table.max(self.state.next_view);
        record.definition.number_parts(&mut next);
        self.state.next_table = self.state.next_table.max(next);
        self.changes.touched.insert(record.definition.id);
        self.changes.changed = true;
        records::put_table(self.environment, &mut self.transaction, &record)?;
        self.changes.records.insert(record.definition.id, record);
        Ok(())
    }

    /// A table with this transaction's changes.
    pub(crate) fn current(&self, table: TableId) -> Result<Arc<TableSnapshot>> {
        let base = self.base.table_by_id(table);
        match base {
            Some(base) if !self.changes.touched.contains(&table) => Ok(Arc::clone(base)),
            _ => {
                let record = self.record(table)?;
                let loader = self.store.loader(self.environment);
                Ok(Arc::new(loader.table(&self.transaction, record, base.map(Arc::as_ref))?))
            }
        }
    }

    /// Numbers of all tables, with this transaction's changes.
    pub(crate) fn table_ids(&self) -> Vec<TableId> {
        let Some(names) = &self.changes.names else {
            return self.base.definitions().map(|(_, definition)| definition.id).collect();
        };
        let table = |entry: &NameEntry| if let NameEntry::Table(id) = entry { Some(*id) } else { None };
        names.values().filter_map(table).collect()
    }

    /// What names stand for, to be changed: whoever changes what a snapshot tells of names, views or schemas asks for them.
    pub(crate) fn names_mut(&mut self) -> Result<&mut BTreeMap<TableName, NameEntry>> {
        let names = match self.changes.names.take() {
            Some(names) => names,
            None => {
                let tables = self.base.definitions();
                let mut names: BTreeMap<TableName, NameEntry> =
                    tables.map(|(name, definition)| (name.clone(), NameEntry::Table(definition.id))).collect();
                for (id, view) in records::views(self.environment, &self.transaction)? {
                    names.insert(view.name, NameEntry::View(id));
                }
                for sequence in self.sequences()? {
                    names.insert(sequence.definition.name, NameEntry::Sequence(sequence.definition.number));
                }
                names
            }
        };
        Ok(self.changes.names.insert(names))
    }

    /// What this transaction builds on: the latest committed state, or within another transaction what that has left so far
    /// (its own changes left out).
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// Whether it has changed anything so far.
    pub fn is_changed(&self) -> bool {
        self.changes.changed
    }

    /// Errors when something has that name.
    pub(crate) fn require_free(&mut self, name: &TableName) -> Result<()> {
        self.require_schema(&name.schema)?;
        match self.names_mut()?.get(name) {
            None => Ok(()),
            Some(NameEntry::Table(_)) => {
                Err(Error::invalid(SqlState::DuplicateTable, format!("table '{name}' exists already")))
            }
            Some(other) => {
                Err(Error::invalid(SqlState::DuplicateTable, format!("{} '{name}' exists already", other.kind())))
            }
        }
    }

    /// Creates a table; gives it its number. Errors when a table or view of that name exists.
    pub fn create_table(&mut self, mut definition: TableDefinition) -> Result<TableId> {
        self.require_free(&definition.name)?;
        definition.id = self.state.next_number();
        for reference in &mut definition.references {
            // A reference to the table itself is written before the table has a number.
            if reference.table == 0 {
                reference.table = definition.id;
            }
        }
        validate(&definition)?;
        for reference in definition.references.iter().filter(|reference| reference.table != definition.id) {
            self.record(reference.table)?;
        }
        let id = definition.id;
        let heap = definition.design.heap.map(|options| heap::new_record(&definition, options)).transpose()?;
        if heap.is_some() {
            indexes::add_key_indexes(&mut definition);
        }
        self.names_mut()?.insert(definition.name.clone(), NameEntry::Table(id));
        self.put_record(TableRecord {
            definition,
            version: 0,
            segments: 0,
            next_position: 1,
            next_dictionary: 1,
            delta: Vec::new(),
            deleted: Vec::new(),
            heap,
        })?;
        Ok(id)
    }

    fn table_named(&mut self, name: &TableName) -> Result<TableId> {
        match self.names_mut()?.get(name) {
            Some(NameEntry::Table(id)) => Ok(*id),
            Some(other) => Err(other.is_not(name, "a table")),
            None => Err(Error::invalid(SqlState::UndefinedTable, format!("table '{name}' does not exist"))),
        }
    }

    /// Drops a table. Errors when another table refers to it.
    pub fn drop_table(&mut self, name: &TableName) -> Result<()> {
        let id = self.table_named(name)?;
        self.refuse_when_referred(id, "dropped", |_| true)?;
        self.remove_table(name, id)
    }

    pub(crate) fn remove_table(&mut self, name: &TableName, id: TableId) -> Result<()> {
        let mut record = self.record(id)?;
        self.remove_rows(&mut record)?;
        records::remove_table(self.environment, &mut self.transaction, id)?;
        self.drop_sequences_of(id, None)?;
        self.names_mut()?.remove(name);
        self.changes.touched.insert(id);
        self.changes.changed = true;
        Ok(())
    }

    /// Errors when a table that `matters` other than `id` itself refers to `id`.
    pub(crate) fn refuse_when_referred(
        &self,
        id: TableId,
        done: &str,
        matters: impl Fn(&TableDefinition) -> bool,
    ) -> Result<()> {
        for other in self.table_ids().into_iter().filter(|other| *other != id) {
            let referrer = self.record(other)?.definition;
            if let Some(reference) = referrer.references.iter().find(|reference| reference.table == id)
                && matters(&referrer)
            {
                let text = format!(
                    "table '{}' can't be {done}: constraint '{}' of table '{}' refers to it",
                    self.record(id)?.definition.name,
                    reference.name,
                    referrer.name
                );
                return Err(Error::constraint(SqlState::DependentObjectsStillExist, text));
            }
        }
        Ok(())
    }

    /// Replaces the definition of a table: renamed, added or dropped columns. Data stays, so a new key, reference or NOT
    /// NULL is over columns that are new, whose one value must satisfy it; CHECK is the caller's to judge.
    pub fn alter_table(&mut self, definition: TableDefinition) -> Result<()> {
        self.alter_table_knowing(definition, &CheckedRows::default())
    }

    /// [`alter_table`](Self::alter_table) where some of what is new was found to hold already, in the state that this transaction
    /// builds on.
    pub fn alter_table_knowing(&mut self, definition: TableDefinition, verified: &CheckedRows) -> Result<()> {
        let (mut record, mut definition) = (self.record(definition.id)?, definition);
        validate(&definition)?;
        require_compatible(&record.definition, &definition, verified.not_null)?;
        self.require_new_constraints(&self.current(definition.id)?, &definition, &verified.constraints)?;
        self.refuse_dropped_referred_columns(&record.definition, &definition)?;
        let fills = match record.heap {
            Some(_) => self.reshape_pages(definition.id, &mut definition)?,
            None => Vec::new(),
        };
        record = self.record(definition.id)?;
        if definition.name != record.definition.name {
            self.require_free(&definition.name)?;
            self.names_mut()?.remove(&record.definition.name);
            self.names_mut()?.insert(definition.name.clone(), NameEntry::Table(definition.id));
        }
        record.definition = definition;
        let (id, after) = (record.definition.id, record.definition.clone());
        self.put_record(record)?;
        self.fill_relations(id, fills)?;
        self.drop_sequences_of(id, Some(&after))
    }

    /// Errors when a column that another table refers to is gone from `after`.
    pub(crate) fn refuse_dropped_referred_columns(
        &self,
        before: &TableDefinition,
        after: &TableDefinition,
    ) -> Result<()> {
        for other in self.table_ids() {
            let referrer = if other == after.id { after.clone() } else { self.record(other)?.definition };
            for reference in referrer.references.iter().filter(|reference| reference.table == after.id) {
                let missing = reference.referred.iter().find(|column| after.column_by_id(**column).is_none());
                if let Some(missing) = missing {
                    let name = before.column_by_id(*missing).map_or("?", |column| column.name.as_str());
                    let text = format!(
                        "column '{name}' of table '{}' can't be dropped: constraint '{}' of table '{}' refers to it",
                        before.name, reference.name, referrer.name
                    );
                    return Err(Error::constraint(SqlState::DependentObjectsStillExist, text));
                }
            }
        }
        Ok(())
    }

    /// A column definition with the next free number for `definition`.
    pub fn next_column(definition: &mut TableDefinition) -> ColumnId {
        let id = definition.next_column;
        definition.next_column += 1;
        id
    }
}

/// What must hold of every definition, whoever made it.
pub(crate) fn validate(definition: &TableDefinition) -> Result<()> {
    let fail = |text: String| {
        Err(Error::invalid(SqlState::InvalidParameterValue, format!("table '{}': {text}", definition.name)))
    };
    if definition.columns.is_empty() {
        return fail("a table needs at least one column".to_owned());
    }
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for column in &definition.columns {
        if !ids.insert(column.id) || column.id >= definition.next_column {
            return fail(format!("column '{}' has number {}, which is taken", column.name, column.id));
        }
        if !names.insert(column.name.as_str()) {
            return fail(format!("two columns are called '{}'", column.name));
        }
    }
    let keys = definition.keys.iter().map(|key| (&key.name, &key.columns));
    let references = definition.references.iter().map(|reference| (&reference.name, &reference.columns));
    for (name, columns) in keys.chain(references) {
        if columns.is_empty() || columns.iter().any(|column| !ids.contains(column)) {
            return fail(format!("constraint '{name}' names a column that the table does not have"));
        }
    }
    if definition.sort_by.iter().any(|column| !ids.contains(column)) {
        return fail("sort_by names a column that the table does not have".to_owned());
    }
    definition.design.validate(definition)
}

/// Whether values of a string type are values of another one, as they are kept.
fn widens(from: &LogicalType, to: &LogicalType) -> bool {
    match (from, to) {
        (LogicalType::Varchar(Some(_)), LogicalType::Varchar(None)) => true,
        (LogicalType::Varchar(Some(from)), LogicalType::Varchar(Some(to))) => from <= to,
        _ => false,
    }
}

/// What must hold between the definitions before and after an ALTER TABLE, since the records stay as they are.
fn require_compatible(before: &TableDefinition, after: &TableDefinition, not_null: bool) -> Result<()> {
    let refuse = |text: String| Err(Error::Unsupported(format!("table '{}': {text}", after.name)));
    for column in &after.columns {
        match before.column_by_id(column.id) {
            None if column.id < before.next_column => {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!(
                        "column '{}' of table '{}' takes number {}, which is used up",
                        column.name, after.name, column.id
                    ),
                ));
            }
            None => {}
            Some(old)
                if old.logical_type != column.logical_type && !widens(&old.logical_type, &column.logical_type) =>
            {
                return refuse(format!("the type of column '{}' can't change", column.name));
            }
            Some(old) if old.nullable && !column.nullable && !not_null => {
                return refuse(format!("column '{}' can't become NOT NULL", column.name));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
