//! UPDATE and DELETE of the one record that a unique key names. Alone, outside of a transaction, they are made on the thread
//! that asks for them, with those that others wait for meanwhile (`Store::submit_point`): a change of threads takes about as
//! long as all of the rest but the disk.

use crate::session::{CancelToken, Execution, Session, StatementContext, StatementTables, TargetTable};
use crate::sql::names::fold;
use crate::statements::dml::change::RecordChange;
use crate::statements::dml::point::{IndexLookup, constant_of, fitting, is_offered, key_of, plain_name};
use crate::statements::{Statement, write};
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, Delete, Expr as SqlExpr, FromTable, Statement as Sql, TableWithJoins,
    Update,
};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::store::{Store, WriteOptions};
use gingham_storage::write::HeapWriter;
use gingham_storage::{ColumnDefinition, Datum, LogicalType, TableDefinition};
use std::sync::Arc;

/// What becomes of a record.
#[derive(Debug, Clone)]
pub(crate) struct PointChange {
    /// The table as it was when the statement was read.
    definition: Arc<TableDefinition>,
    key: IndexLookup,
    /// The places of the columns that an UPDATE changes, and their new values; none for DELETE.
    changes: Vec<(usize, NewValue)>,
}

/// How it went.
enum Applied {
    /// So many records were changed.
    Records(u64),
    /// Nothing was written: the usual way has to say what becomes of it.
    Otherwise,
    /// Nothing was written: the statement was cancelled.
    Cancelled,
}

/// An UPDATE or DELETE that may be one of one record.
struct Plain<'s> {
    from: &'s TableWithJoins,
    assignments: Vec<(String, &'s SqlExpr)>,
    condition: &'s SqlExpr,
}

/// An UPDATE or DELETE of one record, alone.
pub(crate) enum AloneChange {
    /// The table has no such record: there is nothing to write, and no reason to wait for the turn.
    InVain,
    /// There is something to do.
    Change(PointChange),
}

/// The UPDATE or DELETE of one record that a statement is, outside of a transaction; `None` for what goes the usual way.
pub(crate) fn alone(
    session: &Session,
    tables: &StatementTables,
    statement: &Statement,
    parameters: Option<&ParamValues>,
) -> Result<Option<AloneChange>> {
    let Some(Plain { from, assignments, condition }) = plain(statement) else { return Ok(None) };
    let Some(name) = plain_name(from) else { return Ok(None) };
    if !is_offered(session, tables, &name)? {
        return Ok(None);
    }
    let Some(table) = session.pinned_table(&name)? else { return Ok(None) };
    let Some(change) = PointChange::of(&table, condition, &assignments, parameters) else { return Ok(None) };
    // What is read of the pages would keep others' commits from using room again, so that the table is let go here.
    Ok(Some(if change.is_in_vain(&table)? { AloneChange::InVain } else { AloneChange::Change(change) }))
}

/// Changes one record by its key as part of a statement that goes the usual way, in the session's transaction when there is one.
pub(crate) async fn change(
    context: &StatementContext,
    target: &TargetTable,
    change: &RecordChange,
    parameters: Option<&ParamValues>,
) -> Result<Option<u64>> {
    let ([from], None, None) = (change.from.as_slice(), &change.returning, &change.excluded) else { return Ok(None) };
    let settings = context.settings();
    if settings.execution == Execution::DataFusion || plain_name(from).is_none() {
        return Ok(None);
    }
    let Some(condition) = &change.condition else { return Ok(None) };
    let assignments: Vec<(String, &SqlExpr)> =
        change.assignments.iter().map(|(ident, value)| (fold(ident), value)).collect();
    let found = PointChange::of(&target.table, condition, &assignments, parameters);
    let Some(change) = found else { return Ok(None) };
    let waits = context.transaction.as_ref().is_none_or(|transaction| !transaction.writes());
    if waits && change.is_in_vain(&target.table)? {
        return Ok(Some(0));
    }
    if context.transaction.is_none() {
        let (store, options, cancel) = (Arc::clone(&target.store), context.write_options(), context.cancel.clone());
        return context.in_line(&target.store, move || change.submit(&store, &options, &cancel)).await;
    }
    let cancel = context.cancel.clone();
    write(context, &target.store, move |transaction| {
        let applied = transaction.heap(change.definition.id, |heap| change.apply(heap, &cancel))?;
        applied.records()
    })
    .await
}

/// The parts of a statement that is UPDATE or DELETE and has no clause but SET and WHERE.
fn plain(statement: &Statement) -> Option<Plain<'_>> {
    match statement.tree()? {
        Sql::Update(Update {
            update_token: _,
            optimizer_hints,
            table,
            assignments,
            from: None,
            selection: Some(condition),
            returning: None,
            output: None,
            or: None,
            order_by,
            limit: None,
        }) if optimizer_hints.is_empty() && order_by.is_empty() => {
            let assignments = assignments.iter().map(assigned).collect::<Option<Vec<_>>>()?;
            Some(Plain { from: table, assignments, condition })
        }
        Sql::Delete(Delete {
            delete_token: _,
            optimizer_hints,
            tables,
            from: FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from),
            using: None,
            selection: Some(condition),
            returning: None,
            output: None,
            order_by,
            limit: None,
        }) if optimizer_hints.is_empty() && tables.is_empty() && order_by.is_empty() => match from.as_slice() {
            [from] => Some(Plain { from, assignments: Vec::new(), condition }),
            _ => None,
        },
        _ => None,
    }
}

/// Column and value of `a = x`.
fn assigned(assignment: &Assignment) -> Option<(String, &SqlExpr)> {
    match &assignment.target {
        AssignmentTarget::ColumnName(name) => match name.0.as_slice() {
            [part] => Some((fold(part.as_ident()?), &assignment.value)),
            _ => None,
        },
        AssignmentTarget::Tuple(_) => None,
    }
}

impl PointChange {
    /// `None` for what is not about one record of a table in heap pages, or not plainly so.
    fn of(
        table: &TableSnapshot,
        condition: &SqlExpr,
        assignments: &[(String, &SqlExpr)],
        parameters: Option<&ParamValues>,
    ) -> Option<Self> {
        table.heap.as_ref()?;
        let mut columns = table.definition.columns.iter();
        if !assignments.is_empty() && columns.any(|column| column.generation.is_some()) {
            return None;
        }
        let changes = new_values(&table.definition, assignments, parameters)?;
        let key = key_of(table, condition, parameters)?;
        Some(Self { definition: Arc::clone(&table.definition), key, changes })
    }

    /// Whether there is nothing to write, and so no reason to wait for the turn: the table has no such record.
    fn is_in_vain(&self, table: &TableSnapshot) -> Result<bool> {
        match &table.pages {
            Some(pages) => Ok(pages.record_by_key(&self.key.index, &self.key.values, &[])?.is_none()),
            None => Ok(false),
        }
    }

    /// Makes the change at once unless it is cancelled. Returns the number of records changed; `None` for what goes the usual way. Blocks.
    pub(crate) fn make(self, session: &Session, cancel: &CancelToken) -> Result<Option<u64>> {
        let options = session.with_settings(|settings| settings.write_options());
        self.submit(&session.engine.store, &options, cancel)
    }

    /// As [`make`](Self::make), for asynchronous code: no thread waits for it.
    pub(crate) async fn send(self, session: &Session, cancel: CancelToken) -> Result<Option<u64>> {
        let options = session.with_settings(|settings| settings.write_options());
        let (table, store) = (self.definition.id, &session.engine.store);
        let (mut sent, must_lead) = store.send_point(&options, table, move |heap| self.apply(heap, &cancel))?;
        if must_lead {
            let store = Arc::clone(store);
            drop(session.engine.handle()?.spawn_blocking(move || store.lead()));
        }
        let Some(patience) = options.patience() else { return sent.await?.records() };
        match tokio::time::timeout(patience, &mut sent).await {
            Ok(applied) => applied?.records(),
            Err(_) if sent.withdraw(options.waited()) => Err(options.waited().into()),
            // Somebody is at it.
            Err(_) => sent.await?.records(),
        }
    }

    /// Makes the change in a transaction of its own, or of several that are alike.
    fn submit(self, store: &Arc<Store>, options: &WriteOptions, cancel: &CancelToken) -> Result<Option<u64>> {
        let (table, own) = (self.definition.id, cancel.clone());
        let given_up = || cancel.is_cancelled();
        store.submit_point(options, &given_up, table, move |heap| self.apply(heap, &own))?.records()
    }

    /// Makes the change unless it is cancelled. What can't be done here is known before the first byte is written.
    fn apply(&self, heap: &mut HeapWriter<'_, '_>, cancel: &CancelToken) -> gingham_storage::Result<Applied> {
        let deletes = self.changes.is_empty();
        if *heap.definition() != *self.definition || deletes && heap.is_referred_to() {
            return Ok(Applied::Otherwise);
        }
        let wanted: Vec<usize> = self.changes.iter().filter_map(|(_, new)| new.reads()).collect();
        let found = heap.record_by_key(&self.key.index, &self.key.values, &wanted)?;
        let Some((id, read)) = found else { return Ok(Applied::Records(0)) };
        let mut read = read.into_iter();
        let value = |(at, new): &(usize, NewValue)| {
            let column = &self.definition.columns[*at];
            Some((column.id, new.of(new.reads().and_then(|_| read.next()), column)?))
        };
        let Some(values) = self.changes.iter().map(value).collect::<Option<Vec<_>>>() else {
            return Ok(Applied::Otherwise);
        };
        if cancel.commit_point().is_err() {
            return Ok(Applied::Cancelled);
        }
        match deletes {
            true => heap.delete(id).map(drop)?,
            false => heap.update(id, &values).map(drop)?,
        }
        Ok(Applied::Records(1))
    }
}

impl Applied {
    /// The number of records; `None` when the usual way has to tell it.
    fn records(self) -> Result<Option<u64>> {
        match self {
            Self::Records(records) => Ok(Some(records)),
            Self::Otherwise => Ok(None),
            Self::Cancelled => Err(Error::Cancelled),
        }
    }
}

/// The places of the columns that an UPDATE changes, and what they become. None of them is one that a constraint is on.
fn new_values(
    definition: &TableDefinition,
    assignments: &[(String, &SqlExpr)],
    parameters: Option<&ParamValues>,
) -> Option<Vec<(usize, NewValue)>> {
    if !assignments.is_empty() && !definition.checks.is_empty() {
        return None;
    }
    let keys = definition.keys.iter().flat_map(|key| &key.columns);
    let references = definition.references.iter().flat_map(|reference| &reference.columns);
    let unique = definition.indexes.iter().filter(|index| index.unique).flat_map(|index| &index.columns);
    let constrained: Vec<u32> = keys.chain(references).chain(unique).copied().collect();
    let mut changes: Vec<(usize, NewValue)> = Vec::with_capacity(assignments.len());
    for (name, expr) in assignments {
        let at = definition.columns.iter().position(|column| column.name == *name)?;
        let column = &definition.columns[at];
        if constrained.contains(&column.id) || changes.iter().any(|(known, _)| *known == at) {
            return None;
        }
        changes.push((at, new_value(definition, column, expr, parameters)?));
    }
    Some(changes)
}

/// What a column becomes.
#[derive(Debug, Clone)]
enum NewValue {
    /// A constant.
    Constant(Datum),
    /// The value of the column at a place, and so much more.
    Plus(usize, i128),
}

/// The new value of a column: a constant, or an integer column and a constant added or taken away.
fn new_value(
    definition: &TableDefinition,
    column: &ColumnDefinition,
    expr: &SqlExpr,
    parameters: Option<&ParamValues>,
) -> Option<NewValue> {
    if let SqlExpr::BinaryOp { left, op, right } = expr {
        let SqlExpr::Identifier(ident) = &**left else { return None };
        let name = fold(ident);
        let at = definition.columns.iter().position(|column| column.name == name)?;
        let amount = match constant_of(right, &definition.columns[at], parameters)? {
            Datum::Integer(amount) => amount,
            _ => return None,
        };
        let own = &definition.columns[at].logical_type;
        if !matches!(own, LogicalType::Int(_)) || *own != column.logical_type {
            return None;
        }
        return match op {
            BinaryOperator::Plus => Some(NewValue::Plus(at, amount)),
            BinaryOperator::Minus => Some(NewValue::Plus(at, -amount)),
            _ => None,
        };
    }
    let value = constant_of(expr, column, parameters)?;
    let fits = match (&value, &column.logical_type) {
        (Datum::Null, _) => column.nullable,
        (Datum::Bytes(_), LogicalType::Varchar(None) | LogicalType::Binary) => true,
        (Datum::Bytes(bytes), LogicalType::Varchar(Some(most))) => bytes.len() <= *most as usize,
        (Datum::Bytes(_), _) => false,
        _ => true,
    };
    fits.then_some(NewValue::Constant(value))
}

impl NewValue {
    /// The place of the column that it is computed from.
    fn reads(&self) -> Option<usize> {
        match self {
            Self::Constant(_) => None,
            Self::Plus(at, _) => Some(*at),
        }
    }

    /// The value for a record that has `read` there; `None` when it leaves the column's type, as its sum may on the way.
    fn of(&self, read: Option<Datum>, column: &ColumnDefinition) -> Option<Datum> {
        match (self, read) {
            (Self::Constant(value), _) => Some(value.clone()),
            (Self::Plus(_, amount), Some(Datum::Integer(value))) => fitting(value + amount, &column.logical_type),
            (Self::Plus(..), _) => None,
        }
    }
}
