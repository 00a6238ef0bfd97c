//! The records that a statement changes and what comes in their place: read by one query, whose partitions hand new records to
//! the lanes of a writer as those of INSERT do.

use crate::bind::{Beside, Instead};
use crate::session::{StatementContext, TargetTable, blocking};
use crate::sql::names::column_name;
use crate::statements::dml::change::beside::known_as;
use crate::statements::dml::change::held::{HeldRows, lock};
use crate::statements::dml::change::returning::select;
use crate::statements::dml::change::{RecordChange, beside};
use crate::statements::dml::columns::check_columns;
use crate::statements::dml::defaults::value_of;
use crate::statements::dml::ingest::Converter;
use crate::statements::dml::{generated, pipeline};
use crate::{Error, Result};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Field, Int64Type, Schema};
use datafusion::common::ParamValues;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, Ident, Query, SelectItem, SetExpr};
use gingham_storage::lmdb::RecordId;
use gingham_storage::scan::batch_bytes;
use gingham_storage::write::{NewValues, RowChange as Changed, TableWriter, WrittenRows};
use gingham_storage::{ColumnDefinition, ColumnId, Generation, SqlState, TableDefinition};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The records of a table that are to be changed.
pub(crate) struct FoundRecords {
    pub(crate) change: Changed,
    pub(crate) new: New,
    /// The columns that tables refer to, as far as the statement knew.
    pub(crate) referred: Vec<ColumnId>,
    /// Records that the statement changes.
    pub(crate) records: u64,
    /// What is held, of the memory limit.
    pub(crate) held: HeldRows,
}

/// What comes in the place of the records.
pub(crate) enum New {
    /// New records, or none.
    Rows(WrittenRows),
    /// The columns `read` of the records `ids`, of a table in heap pages.
    InPlace { read: Arc<TableDefinition>, ids: Vec<RecordId>, batches: Vec<RecordBatch> },
}

impl FoundRecords {
    /// Adds what another query found, and new records behind all.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.change.ids.append(&mut other.change.ids);
        self.change.ids.sort_unstable();
        self.change.referred.append(&mut other.change.referred);
        self.records += other.records;
        self.held.returned.append(&mut other.held.returned);
        self.held.others.push(other.held.reservation);
        if let (New::Rows(rows), New::Rows(others)) = (&mut self.new, other.new) {
            rows.absorb(others);
        }
        // The new ones are successors of some records at most.
        self.change.columns = None;
    }

    /// New records alone.
    pub(crate) fn of_new(
        context: &StatementContext,
        target: &TargetTable,
        new: New,
        records: u64,
        returned: Vec<RecordBatch>,
    ) -> Result<Self> {
        let mut held = HeldRows::new(context, "insert");
        held.keep_returned(returned)?;
        let referred = referred_columns(context, target);
        Ok(Self { change: Changed::default(), new, referred, records, held })
    }

    /// What a MERGE has found, and the tables beside its target; `None` where it takes a record twice.
    pub(crate) fn merged(mut held: HeldRows, new: New, referred: Vec<ColumnId>, beside: Vec<Beside>) -> Option<Self> {
        held.beside = beside;
        let mut ids = std::mem::take(&mut held.ids);
        ids.sort();
        let change = Changed { ids, referred: std::mem::take(&mut held.referred), ..Changed::default() };
        let (records, is_once) = (held.records, change.ids.is_sorted_by(|a, b| a < b));
        is_once.then_some(Self { change, new, referred, records, held })
    }

    /// Whether no new record comes in the place of those that go.
    pub(super) fn is_without_new(&self) -> bool {
        matches!(&self.new, New::Rows(rows) if rows.rows == 0)
    }

    /// The ids of the records that it changes.
    pub(crate) fn ids(&self) -> &[u64] {
        &self.change.ids
    }

    /// The rows that RETURNING is about, and the tables beside the one that changes whose columns they have too.
    pub(crate) fn take_returned(&mut self) -> (Vec<RecordBatch>, Vec<Beside>) {
        (std::mem::take(&mut self.held.returned), std::mem::take(&mut self.held.beside))
    }
}

/// Finds the records, and their new values as they are stored.
pub(crate) async fn find(
    context: &StatementContext,
    target: &TargetTable,
    change: &RecordChange,
    parameters: Option<ParamValues>,
) -> Result<FoundRecords> {
    let referred = referred_columns(context, target);
    let reading = ReadColumns::new(context, target, change, &referred, true)?;
    let alone = reading.alone;
    let found = match read(context, target, change, reading, parameters.clone()).await {
        // Whole records are written while they are read.
        Err(Error::OutOfMemory(_)) if alone => {
            let reading = ReadColumns::new(context, target, change, &referred, false)?;
            read(context, target, change, reading, parameters).await?
        }
        found => found?,
    };
    Ok(FoundRecords { referred, ..found })
}

/// Reads what `reading` says; which columns are referred to is left to the caller.
async fn read(
    context: &StatementContext,
    target: &TargetTable,
    change: &RecordChange,
    reading: ReadColumns,
    parameters: Option<ParamValues>,
) -> Result<FoundRecords> {
    let reading = Arc::new(reading);
    let (query, id) = reading.query(change, target)?;
    let table = Instead::Table(Arc::new(target.table.with_record_ids(id)));
    let instead = std::iter::once(table).chain(change.excluded.clone().map(Instead::Rows)).collect();
    let bound = context.bind_instead(*query, instead, change.verb, parameters).await?;
    let (plan, tables) = (bound.plan, bound.beside);
    reading.accept(&plan)?;
    let physical = context.physical_plan(plan).await?;
    let held = Arc::new(Mutex::new(HeldRows::new(context, change.verb)));
    let (work, into) = (Arc::clone(&reading), Arc::clone(&held));
    pipeline::each(context, physical, move |lane, batch| work.take(lane, &batch, &into)).await?;
    let held = Arc::into_inner(held).ok_or_else(|| Error::Internal("a lane of a change is still at work".into()))?;
    let reading = Arc::into_inner(reading).ok_or_else(|| Error::Internal("a writer is still at work".into()))?;
    let mut held = held.into_inner().unwrap_or_else(PoisonError::into_inner);
    if reading.beside {
        held.beside = tables;
    }
    if reading.alone {
        return write_alone(context, target, reading, held).await;
    }
    let columns = reading.changed();
    let read = Arc::clone(&reading.read);
    let new = match reading.writer {
        Some(writer) => New::Rows(blocking(move || Ok(writer.finish()?)).await?),
        None => {
            let (ids, batches) = (held.ids.clone(), std::mem::take(&mut held.batches));
            New::InPlace { read, ids, batches }
        }
    };
    let mut ids = std::mem::take(&mut held.ids);
    // Batches of ascending ids: a sort that merges runs is done soon.
    ids.sort();
    if !ids.is_sorted_by(|a, b| a < b) {
        return Err(taken_twice(target, change.verb, EQUAL_KEYS));
    }
    let records = ids.len() as u64;
    let change = Changed { ids, referred: std::mem::take(&mut held.referred), columns, ..Changed::default() };
    Ok(FoundRecords { change, new, referred: Vec::new(), records, held })
}

/// Writes the new values of columns that were read alone.
async fn write_alone(
    context: &StatementContext,
    target: &TargetTable,
    reading: ReadColumns,
    mut held: HeldRows,
) -> Result<FoundRecords> {
    let columns: Vec<ColumnId> = reading.read.columns.iter().map(|column| column.id).collect();
    let (ids, batches) = (std::mem::take(&mut held.ids), std::mem::take(&mut held.batches));
    let (records, referred) = (ids.len() as u64, Vec::new());
    if records == 0 {
        let (new, change) = (New::InPlace { read: reading.read, ids, batches }, Changed::default());
        return Ok(FoundRecords { change, new, referred, records, held });
    }
    // They are put in the order of their records.
    held.reservation.try_grow(batches.iter().map(batch_bytes).sum())?;
    let (store, table, own) = (Arc::clone(&target.store), Arc::clone(&target.table), columns.clone());
    let (threads, cancel) = (context.settings().threads, context.cancel.clone());
    let written = blocking(move || {
        let values = NewValues::new(own, ids, batches)?;
        if !values.ids().is_sorted_by(|a, b| a < b) {
            return Ok(None);
        }
        Ok(Some(store.write_values(&table, &values, threads, &|| !cancel.is_cancelled())?))
    });
    let written = written.await?.ok_or_else(|| Error::Internal("a record was read twice".into()))?;
    let change = Changed { ids: written.ids, columns: Some(columns), ..Changed::default() };
    Ok(FoundRecords { change, new: New::Rows(written.rows), referred, records, held })
}

/// Why MERGE finds a record twice.
pub(crate) const SEVERAL: &str = "several rows match one of its rows; make the condition choose one of them";

/// Why ON CONFLICT does.
const EQUAL_KEYS: &str = "two of the new rows have the same key, and each would change the record that has it";

pub(crate) fn taken_twice(target: &TargetTable, verb: &str, why: &str) -> Error {
    let table = &target.table.definition.name;
    Error::invalid(SqlState::CardinalityViolation, format!("{verb} of table '{table}': {why}"))
}

/// A name for the ids of a table's records that a query over it does not have.
pub(crate) fn record_id(query: &Query, definition: &TableDefinition) -> String {
    let (mut id, text) = ("record id".to_owned(), query.to_string());
    while text.contains(&id) || definition.column(&id).is_some() {
        id.push('_');
    }
    id
}

/// The columns of a table that others refer to, in the statement's snapshot.
pub(crate) fn referred_columns(context: &StatementContext, target: &TargetTable) -> Vec<ColumnId> {
    let kept = Arc::ptr_eq(&target.store, &context.session.engine.store);
    let snapshot = context.temp.as_ref().filter(|_| !kept).unwrap_or(&context.snapshot);
    snapshot.referred_columns(target.table.definition.id)
}

/// What a query reads of the records: new values, then old ones, then the ids, then the columns of other tables.
struct ReadColumns {
    /// The table with the columns whose new values are read: those that change, or all. Of DELETE none.
    read: Arc<TableDefinition>,
    converter: Option<Converter>,
    /// Whether the columns that change are read alone, and written when all of their values are known.
    alone: bool,
    /// Where new records go; `None` when they change in place, or their columns alone.
    writer: Option<TableWriter>,
    /// Columns whose old values are read: those that are referred to, or for RETURNING of DELETE all.
    old: Vec<ColumnDefinition>,
    /// Positions in `old` of those columns that are referred to.
    referred: Vec<usize>,
    /// RETURNING.
    returning: bool,
    /// RETURNING sees the columns of other tables: those behind the ids.
    beside: bool,
    /// A record that several rows match is taken with the first of them that comes, as PostgreSQL does.
    takes_first: bool,
    /// Records that other parts of the statement change.
    before: Option<Arc<HashSet<u64>>>,
    /// The columns that the assignments name, in their order.
    assigned: Vec<String>,
}

impl ReadColumns {
    /// `alone` says whether the columns that change may be read alone, where nothing else needs the others.
    fn new(
        context: &StatementContext,
        target: &TargetTable,
        change: &RecordChange,
        referred: &[ColumnId],
        alone: bool,
    ) -> Result<Self> {
        let definition = &target.table.definition;
        let assignments = change.assignments.iter();
        let names = assignments.map(|(ident, _)| column_name(definition, ident)).collect::<Result<Vec<String>>>()?;
        check_columns(definition, &names)?;
        let values = change.assignments.iter().map(|(_, value)| value);
        generated::refuse_assigned(definition, names.iter().zip(values), None)?;
        let is_generated = |column: &ColumnDefinition| matches!(column.generation, Some(Generation::Stored(_)));
        let assigned = |id: &ColumnId| {
            let column = definition.column_by_id(*id);
            column.is_some_and(|column| names.contains(&column.name) || is_generated(column))
        };
        let (deletes, returning) = (names.is_empty(), change.returning.is_some());
        let in_place = target.table.heap.is_some() && !deletes && !change.replaces;
        let constraints = definition.keys.iter().map(|key| &key.columns);
        let constraints = constraints.chain(definition.references.iter().map(|reference| &reference.columns));
        let constrained = constraints.flatten().chain(referred).any(assigned);
        // A CHECK may look at every column, a key or a reference at some.
        let generated = definition.columns.iter().any(is_generated);
        let others = returning || constrained || generated || !definition.checks.is_empty();
        let changed: Vec<ColumnId> = definition.columns.iter().map(|column| column.id).filter(assigned).collect();
        let alone = alone && !deletes && !change.replaces && !others && target.table.takes_values(&changed);
        let all = others || !(in_place || alone);
        let mut read = TableDefinition::clone(definition);
        read.columns.retain(|column| !deletes && (all || names.contains(&column.name)));
        let converter = if deletes { None } else { Some(Converter::new(&context.state, &read, None)?) };
        let is_old = |column: &&ColumnDefinition| {
            (deletes && returning) || (referred.contains(&column.id) && (deletes || referred.iter().any(assigned)))
        };
        let old: Vec<ColumnDefinition> = definition.columns.iter().filter(is_old).cloned().collect();
        let referred = (0..old.len()).filter(|at| referred.contains(&old[*at].id)).collect();
        let writer = if in_place || alone { None } else { Some(target.store.table_writer(&target.table)?) };
        let is_joined = change.from.len() > 1 || change.from.iter().any(|from| !from.joins.is_empty());
        let takes_first = is_joined && change.excluded.is_none();
        let beside = returning && takes_first;
        let (read, assigned, before) = (Arc::new(read), names, change.before.clone());
        Ok(Self { read, converter, alone, writer, old, referred, returning, beside, takes_first, before, assigned })
    }

    /// The columns that change; `None` for DELETE.
    fn changed(&self) -> Option<Vec<ColumnId>> {
        let column = |name: &String| Some(self.read.column(name)?.id);
        let own = self.read.columns.iter();
        let generated = own.filter(|column| matches!(column.generation, Some(Generation::Stored(_))));
        let all = self.assigned.iter().filter_map(column).chain(generated.map(|column| column.id));
        (!self.assigned.is_empty()).then(|| all.collect())
    }

    /// `SELECT x AS a, …, b AS "old b", …, t."record id" FROM t, … WHERE c`, and what it calls the ids of the records.
    fn query(&self, change: &RecordChange, target: &TargetTable) -> Result<(Box<Query>, String)> {
        let table = change.from.first().map(|from| known_as(&from.relation)).unwrap_or_default();
        let of_table = |name: &str| {
            let column = std::iter::once(Ident::with_quote('"', name));
            SqlExpr::CompoundIdentifier(table.iter().cloned().chain(column).collect())
        };
        let item = |expr, alias: &str| SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', alias) };
        let new = self.read.columns.iter().map(|column| {
            let mut given = self.assigned.iter().zip(&change.assignments);
            let given = given.find(|(name, _)| **name == column.name).map(|(_, (_, value))| value.clone());
            Ok(item(given.map_or_else(|| Ok(of_table(&column.name)), |value| value_of(value, column))?, &column.name))
        });
        let new = new.collect::<Result<Vec<_>>>()?;
        let mut prefix = "old ".to_owned();
        while self.read.columns.iter().any(|column| column.name.starts_with(&prefix)) {
            prefix.push('_');
        }
        let old = self.old.iter().map(|column| item(of_table(&column.name), &format!("{prefix}{}", column.name)));
        let mut items: Vec<SelectItem> = new.into_iter().chain(old).collect();
        let mut query = select(change.from.clone(), items.clone())?;
        if let SetExpr::Select(select) = &mut *query.body {
            select.selection = change.condition.clone();
        }
        query.with.clone_from(&change.with);
        crate::sql::ignored::refuse_ignored(&mut query)?;
        let id = record_id(&query, &target.table.definition);
        if let SetExpr::Select(select) = &mut *query.body {
            items.push(SelectItem::UnnamedExpr(of_table(&id)));
            items.extend(beside::items(&change.from).into_iter().filter(|_| self.beside));
            select.projection = items;
        }
        Ok((query, id))
    }

    /// Refuses values whose types don't convert.
    fn accept(&self, plan: &LogicalPlan) -> Result<()> {
        let Some(converter) = &self.converter else { return Ok(()) };
        let places: Vec<usize> = (0..self.read.columns.len()).collect();
        converter.accept(&plan.schema().as_arrow().project(&places)?)
    }

    /// Takes what the query gave: new records are written, or kept.
    fn take(&self, lane: usize, batch: &RecordBatch, held: &Mutex<HeldRows>) -> Result<()> {
        let new = self.read.columns.len();
        let at = new + self.old.len();
        let batch = &lock(held).wanted(batch, at, self.takes_first, self.before.as_deref())?;
        let ids = batch.column(at).as_primitive::<Int64Type>();
        let converted = match &self.converter {
            Some(converter) => Some(converter.convert(&batch.project(&(0..new).collect::<Vec<_>>())?)?),
            None => None,
        };
        let returned = match &converted {
            _ if !self.returning => None,
            Some(converted) => Some(converted.clone()),
            None => Some(self.old_of(batch, 0..self.old.len())?),
        };
        let returned = match returned {
            Some(rows) if self.beside => Some(beside::with_columns(&rows, batch, at + 1)?),
            other => other,
        };
        let referred = match self.referred.as_slice() {
            [] => None,
            places => Some(self.old_of(batch, places.iter().copied())?),
        };
        let kept = match (&self.writer, converted) {
            (Some(writer), Some(rows)) if rows.num_rows() > 0 => {
                writer.append(lane, rows)?;
                None
            }
            (Some(_), _) => None,
            (None, converted) => converted,
        };
        let bytes = [&kept, &returned, &referred].into_iter().flatten().map(batch_bytes);
        let bytes = bytes.sum::<usize>() + size_of::<u64>() * ids.len();
        let mut held = lock(held);
        held.reservation.try_grow(bytes)?;
        held.ids.extend(ids.values().iter().map(|id| *id as u64));
        held.batches.extend(kept);
        held.returned.extend(returned);
        held.referred.extend(referred);
        Ok(())
    }
}

impl ReadColumns {
    /// Some of the old columns that a query gave.
    fn old_of(&self, batch: &RecordBatch, places: impl Iterator<Item = usize>) -> Result<RecordBatch> {
        let new = self.read.columns.len();
        let column = |at: usize| {
            let column = &self.old[at];
            let field = Field::new(&column.name, column.logical_type.to_arrow(), column.nullable);
            (field, Arc::clone(batch.column(new + at)))
        };
        let (fields, arrays): (Vec<_>, Vec<_>) = places.map(column).unzip();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
    }
}
