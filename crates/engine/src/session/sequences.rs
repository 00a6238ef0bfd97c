//! Values of sequences, as a statement asks for them: of what the process has taken already, of a small commit of its own, or, within a
//! transaction, of that.

use crate::functions::waiting;
use crate::session::{Session, StatementContext, Use, did_you_mean};
use crate::settings::{SequenceReference, Sequences};
use crate::sql::sequence_names::names_in;
use crate::{Error, Result};
use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::{MemTable, TableProvider};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::store::{Store, WriteOptions};
use gingham_storage::write::Transaction;
use gingham_storage::{DEFAULT_SCHEMA, SequenceRecord, SqlState, TableName};
use std::sync::{Arc, Weak};

/// How the functions of a statement's plans reach sequences. It keeps nothing alive: plans may be kept, and it with them.
#[derive(Debug, Clone)]
pub(crate) struct SequenceAccess {
    session: Weak<Session>,
    transaction: Option<Weak<Use>>,
    options: WriteOptions,
    planned_only: bool,
}

/// A sequence and where it is kept.
pub(crate) struct FoundSequence {
    pub(crate) store: Arc<Store>,
    pub(crate) record: Arc<SequenceRecord>,
}

impl SequenceAccess {
    pub(super) fn new(session: &Arc<Session>, transaction: Option<&Arc<Use>>, options: WriteOptions) -> Self {
        let transaction = transaction.map(Arc::downgrade);
        Self { session: Arc::downgrade(session), transaction, options, planned_only: false }
    }

    fn session(&self) -> Result<Arc<Session>> {
        self.session.upgrade().ok_or_else(|| Error::Internal("the connection of a statement is gone".into()))
    }

    fn open(&self) -> Option<Arc<Use>> {
        self.transaction.as_ref()?.upgrade()
    }

    /// TEMP sequences' snapshot, then the database's, as the statement's transaction has left them, or the latest.
    fn snapshots(&self, session: &Session) -> Result<Vec<(Arc<Snapshot>, Arc<Store>)>> {
        let (open, main) = (self.open(), &session.engine.store);
        let mut all = Vec::with_capacity(2);
        if let Some(temp) = session.existing_temp_store() {
            let seen = match open.as_ref().filter(|open| open.has_turn(session, temp)) {
                Some(open) => open.temp_snapshot(temp)?,
                None => temp.snapshot()?,
            };
            all.push((seen, Arc::clone(temp)));
        }
        let seen = match open.as_ref().filter(|open| open.has_turn(session, main)) {
            Some(open) => open.snapshot(main, false)?,
            None => main.snapshot()?,
        };
        all.push((seen, Arc::clone(main)));
        Ok(all)
    }

    /// The sequence of that name or number.
    pub(crate) fn find(&self, reference: SequenceReference<'_>) -> Result<FoundSequence> {
        let session = self.session()?;
        let snapshots = self.snapshots(&session)?;
        let (found, shown) = match reference {
            SequenceReference::Number(number) => {
                let of = |(snapshot, store): &(Arc<Snapshot>, Arc<Store>)| {
                    let mut all = snapshot.sequences.values();
                    let record = all.find(|record| i64::try_from(record.definition.number) == Ok(number))?;
                    Some(FoundSequence { store: Arc::clone(store), record: Arc::clone(record) })
                };
                (snapshots.iter().find_map(of), number.to_string())
            }
            SequenceReference::Text(text) => {
                let mut parts = names_in(text)?;
                let table = parts.pop().unwrap_or_default();
                let schema = parts.pop();
                let name = TableName { schema: schema.clone().unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()), table };
                let main = &session.engine.store;
                let mut places = snapshots.iter().filter(|(_, store)| schema.is_none() || Arc::ptr_eq(store, main));
                let found = places.find_map(|(snapshot, store)| {
                    let record = snapshot.sequences.get(&name)?;
                    Some(FoundSequence { store: Arc::clone(store), record: Arc::clone(record) })
                });
                let other = snapshots
                    .iter()
                    .any(|(snapshot, _)| snapshot.has_table(&name) || snapshot.views.contains_key(&name));
                if found.is_none() && other {
                    return Err(Error::invalid(SqlState::WrongObjectType, format!("'{name}' is not a sequence")));
                }
                (found, name.to_string())
            }
        };
        found.ok_or_else(|| {
            Error::invalid(
                SqlState::UndefinedTable,
                format!("sequence '{shown}' does not exist; CREATE SEQUENCE makes one"),
            )
        })
    }

    /// Fails where a value may not be taken of a sequence of `store`, or set.
    fn require_writer(&self, store: &Arc<Store>, what: &str) -> Result<()> {
        let session = self.session()?;
        let is_temporary = !Arc::ptr_eq(store, &session.engine.store);
        if session.is_reader() || (!is_temporary && session.is_read_only()) {
            return Err(session.read_only(what));
        }
        Ok(())
    }

    /// Does `work` as part of the statement's transaction, when that has the turn to write, or else as a transaction of its own.
    fn write<R: Send + 'static>(
        &self,
        store: &Arc<Store>,
        work: impl FnOnce(&mut Transaction<'_>) -> gingham_storage::Result<R> + Send + 'static,
    ) -> Result<R> {
        let session = self.session()?;
        // One that has not written yet has no turn to write, and would keep others from it for a number.
        let open = self.open().filter(|open| open.has_turn(&session, store));
        waiting(|| match open {
            Some(open) => open.write(&session, store, &self.options, work),
            None => Ok(store.submit(&self.options, work)?),
        })
    }
}

impl Sequences for SequenceAccess {
    fn planned(&self) -> Arc<dyn Sequences> {
        Arc::new(Self { planned_only: true, ..self.clone() })
    }

    fn next(&self, reference: SequenceReference<'_>, wanted: usize) -> Result<Vec<i64>> {
        if wanted == 0 || self.planned_only {
            return Ok(vec![0; wanted]);
        }
        let FoundSequence { store, record } = self.find(reference)?;
        self.require_writer(&store, "nextval")?;
        let (number, wanted) = (record.definition.number, wanted as u64);
        let values = match store.numbers_at_hand(&record, wanted) {
            Some(values) => values,
            None => self.write(&store, move |transaction| transaction.take_numbers(number, wanted))?,
        };
        let session = self.session()?;
        if let Some(last) = values.last() {
            let mut got = session.sequence_values.got();
            got.values.insert(number, *last);
            got.last = Some(number);
        }
        Ok(values)
    }

    fn set(&self, reference: SequenceReference<'_>, last: i64, called: bool) -> Result<()> {
        let FoundSequence { store, record } = self.find(reference)?;
        let definition = &record.definition;
        if !(definition.least..=definition.most).contains(&last) {
            return Err(Error::invalid(
                SqlState::NumericValueOutOfRange,
                format!(
                    "setval: {last} is out of bounds for sequence '{}' ({} to {})",
                    definition.name, definition.least, definition.most
                ),
            ));
        }
        if self.planned_only {
            return Ok(());
        }
        self.require_writer(&store, "setval")?;
        let number = definition.number;
        self.write(&store, move |transaction| transaction.set_sequence(number, last, called))?;
        if called {
            self.session()?.sequence_values.got().values.insert(number, last);
        }
        Ok(())
    }

    fn current(&self, reference: SequenceReference<'_>) -> Result<i64> {
        let record = self.find(reference)?.record;
        let got = self.session()?.sequence_values.got().values.get(&record.definition.number).copied();
        got.ok_or_else(|| {
            let name = &record.definition.name;
            Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                format!("currval: this session has no value of sequence '{name}' yet; nextval gives one"),
            )
        })
    }

    fn last(&self) -> Result<i64> {
        let session = self.session()?;
        let got = session.sequence_values.got();
        let last = got.last.and_then(|number| Some((number, got.values.get(&number).copied()?)));
        drop(got);
        let there = |number: u64| {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            self.find(SequenceReference::Number(number)).is_ok()
        };
        last.filter(|(number, _)| there(*number)).map(|(_, value)| value).ok_or_else(|| {
            Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                "lastval: this session has no value of a sequence yet; nextval gives one",
            )
        })
    }

    fn of_column(&self, table: &str, column: &str) -> Result<Option<TableName>> {
        let session = self.session()?;
        let mut parts = names_in(table)?;
        let name = parts.pop().unwrap_or_default();
        let schema = parts.pop();
        let full = TableName { schema: schema.clone().unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()), table: name };
        for (snapshot, store) in self.snapshots(&session)? {
            let is_temporary = !Arc::ptr_eq(&store, &session.engine.store);
            let Some(definition) = snapshot.definition(&full).filter(|_| schema.is_none() || !is_temporary) else {
                continue;
            };
            let id = match definition.column(column) {
                Some(own) => own.id,
                None => {
                    let names = definition.columns.iter().map(|own| own.name.as_str());
                    let text = format!("column '{column}' does not exist in '{full}'{}", did_you_mean(column, names));
                    return Err(Error::invalid(SqlState::UndefinedColumn, text));
                }
            };
            let owned = |record: &&Arc<SequenceRecord>| {
                record.definition.owner.is_some_and(|owner| owner.table == definition.id && owner.column == id)
            };
            return Ok(snapshot.sequences.values().find(owned).map(|record| record.definition.name.clone()));
        }
        Err(Error::invalid(SqlState::UndefinedTable, format!("table '{full}' does not exist")))
    }
}

/// A sequence as a table of one row.
pub(super) fn table(record: &SequenceRecord, store: &Arc<Store>) -> Result<Arc<dyn TableProvider>> {
    let (last, left, called) = store.sequence_shown(record);
    let field = |name: &str, data_type| Field::new(name, data_type, false);
    let schema = Arc::new(Schema::new(vec![
        field("last_value", DataType::Int64),
        field("log_cnt", DataType::Int64),
        field("is_called", DataType::Boolean),
    ]));
    let left = i64::try_from(left).unwrap_or(i64::MAX);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![last])),
        Arc::new(Int64Array::from(vec![left])),
        Arc::new(BooleanArray::from(vec![called])),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}

impl StatementContext {
    /// TEMP tables' snapshot and store, then the database's.
    pub(crate) fn stores(&self) -> Vec<(&Arc<Snapshot>, &Arc<Store>)> {
        let temp = self.temp.as_ref().zip(self.session.existing_temp_store());
        temp.into_iter().chain([(&self.snapshot, &self.session.engine.store)]).collect()
    }

    /// The sequence that a reference means, `None` where there is none.
    pub(crate) fn find_sequence(
        &self,
        reference: &datafusion::common::TableReference,
    ) -> Result<Option<(Arc<SequenceRecord>, Arc<Store>)>> {
        let name = self.name(reference)?;
        let mut places = self.places(reference);
        Ok(places.find_map(|(snapshot, store)| Some((Arc::clone(snapshot.sequences.get(&name)?), Arc::clone(store)))))
    }
}
