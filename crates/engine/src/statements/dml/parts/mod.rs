//! Statements of WITH that change records: `WITH gone AS (DELETE … RETURNING *) INSERT INTO archive SELECT * FROM gone`.
//!
//! All parts of such a statement read the database as it was before it, and each runs once, whether anything reads its rows or not.
//! They are read one after the other: the rows of RETURNING become a table of the statement, which those behind find under the
//! part's name. What all of them change is written at the end, in one transaction. A record that two parts would change is
//! changed by the first.
//!
//! | file | what |
//! |---|---|
//! | `known` | the queries of the WITH as those behind them see them |

mod known;

pub(crate) use known::{KnownQueries, numbered};

use crate::session::{Outcome, StatementContext, TargetTable, blocking};
use crate::sql::ignored::{apart, has_changes, refuse_ignored};
use crate::sql::names::unsupported;
use crate::statements::dml::change::{FoundRecords, New, Pending, Returned, needs_steps, write_all};
use crate::statements::dml::insert::{InsertedRows, Inserting};
use crate::statements::dml::work::Work;
use crate::statements::dml::{change, insert, merge};
use crate::statements::writable;
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::{
    Delete, FromTable, ObjectName, Query, SetExpr, Statement as Sql, TableFactor, TableObject, With,
};
use gingham_storage::TableId;
use std::collections::HashSet;
use std::sync::Arc;

/// Whether a query of a statement's WITH changes records.
pub(crate) fn changes_in_with(statement: &Sql) -> bool {
    matches!(statement, Sql::Query(query) if has_changes(query.with.as_ref()))
}

/// Runs a statement whose WITH changes records.
pub(crate) async fn run(
    context: &StatementContext,
    statement: Sql,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let Sql::Query(query) = statement else { return Err(Error::Internal("a WITH stands before a query".into())) };
    let targets = changed(context, &query)?;
    if context.transaction.is_some() || !needs_steps(&targets) {
        if let Some(outcome) = attempt(context, &query, parameters.clone()).await? {
            return Ok(outcome);
        }
        if context.transaction.is_some() {
            let text =
                "another statement of this connection has changed a table of this one meanwhile; run this one again";
            return Err(Error::Conflict(text.to_owned()));
        }
    }
    let (context, transaction) = context.as_writer(&first(context, targets)?.store).await?;
    let outcome = attempt(&context, &query, parameters).await?;
    let outcome = outcome.ok_or_else(|| Error::Internal("a table was changed by two at once".into()))?;
    blocking(move || transaction.commit()).await?;
    Ok(outcome)
}

/// The rows that a query returns which changes records; others may not have changed its tables meanwhile, since `context` has the
/// turn to write.
pub(crate) async fn rows(
    context: &StatementContext,
    query: &Query,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let outcome = attempt(context, query, parameters).await?;
    outcome.ok_or_else(|| Error::Internal("a table was changed by two at once".into()))
}

/// The table that a query changes whose store is to be locked before it is run: one of the database, if there is one.
pub(crate) fn first_target(context: &StatementContext, query: &Query) -> Result<TargetTable> {
    first(context, changed(context, query)?)
}

fn first(context: &StatementContext, mut targets: Vec<TargetTable>) -> Result<TargetTable> {
    let kept = &context.session.engine.store;
    let place = targets.iter().position(|target| Arc::ptr_eq(&target.store, kept)).unwrap_or(0);
    match targets.is_empty() {
        true => Err(Error::Internal("a statement changes no table".into())),
        false => Ok(targets.swap_remove(place)),
    }
}

/// The tables that the parts of a statement change, each as often as one does.
fn changed(context: &StatementContext, query: &Query) -> Result<Vec<TargetTable>> {
    let of_with = query.with.iter().flat_map(|with| &with.cte_tables).map(|own| own.query.as_ref());
    let mut tables = Vec::new();
    for part in of_with.chain([query]) {
        let (SetExpr::Insert(statement)
        | SetExpr::Update(statement)
        | SetExpr::Delete(statement)
        | SetExpr::Merge(statement)) = part.body.as_ref()
        else {
            continue;
        };
        let (name, verb) = target(statement)?;
        tables.push(writable(context, name, verb)?);
    }
    Ok(tables)
}

/// The table that a statement changes, and what it does.
fn target<'s>(statement: &'s Sql) -> Result<(&'s ObjectName, &'static str)> {
    let named = |table: &'s TableFactor, verb| match table {
        TableFactor::Table { name, .. } => Ok((name, verb)),
        _ => Err(unsupported(format!("{verb} of anything but one table"))),
    };
    match statement {
        Sql::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => Ok((name, "INSERT")),
            _ => Err(unsupported("INSERT INTO a function or a query".into())),
        },
        Sql::Update(update) => named(&update.table.relation, "UPDATE"),
        Sql::Merge(merge) => named(&merge.table, "MERGE"),
        Sql::Delete(Delete { from: FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from), .. }) => {
            let one = from.first().ok_or_else(|| unsupported("DELETE of no table".into()))?;
            named(&one.relation, "DELETE")
        }
        other => Err(unsupported(format!("{other} in WITH"))),
    }
}

/// What the parts have found so far, of each table that they change.
struct Found<'c> {
    changes: Vec<(TargetTable, FoundRecords)>,
    /// The tables that they change, each as often as one does.
    changed: Vec<TargetTable>,
    context: &'c StatementContext,
}

fn is_same(own: &TargetTable, other: &TargetTable) -> bool {
    let id = |target: &TargetTable| -> TableId { target.table.definition.id };
    Arc::ptr_eq(&own.store, &other.store) && id(own) == id(other)
}

impl Found<'_> {
    /// The ids of the records of a table that are changed already; `None` for a table that one part alone changes.
    fn before(&self, target: &TargetTable) -> Option<Arc<HashSet<u64>>> {
        if self.changed.iter().filter(|other| is_same(other, target)).count() < 2 {
            return None;
        }
        let own = self.changes.iter().find(|(other, _)| is_same(other, target));
        Some(Arc::new(own.map(|(_, found)| found.ids().iter().copied().collect()).unwrap_or_default()))
    }

    /// Reads a part, and keeps what it changes. Returns the number of its records and the answer of its RETURNING.
    async fn part(
        &mut self,
        here: &StatementContext,
        statement: Sql,
        with: Option<With>,
        parameters: Option<ParamValues>,
    ) -> Result<(u64, Option<Returned>)> {
        let (name, verb) = target(&statement)?;
        let before = self.before(&writable(self.context, name, verb)?);
        let work = match statement {
            Sql::Update(update) => Work::Change(Box::new(change::update(update, with)?)),
            Sql::Delete(delete) => Work::Change(Box::new(change::delete(delete, with)?)),
            Sql::Merge(merging) => Work::Merge(Box::new(merge::merging(merging, with)?)),
            Sql::Insert(inserting) => match insert::read(here, inserting, with, parameters.clone()).await? {
                Inserting::Upsert(upsert) => Work::Upsert(upsert),
                Inserting::Rows(rows) => {
                    let InsertedRows { target, ingest, returned } = *rows;
                    let written = blocking(move || ingest.written()).await?;
                    let records = written.rows;
                    let found = FoundRecords::of_new(here, &target, New::Rows(written), records, Vec::new())?;
                    self.keep(target, found);
                    return Ok((records, returned));
                }
            },
            other => return Err(unsupported(format!("{other} in WITH"))),
        };
        let work = match before {
            Some(before) => work.beside_others(before),
            None => work,
        };
        let Pending { target, found, returned } = work.pending(here, parameters).await?;
        let records = found.records;
        self.keep(target, found);
        Ok((records, returned))
    }

    fn keep(&mut self, target: TargetTable, found: FoundRecords) {
        match self.changes.iter_mut().find(|(other, _)| is_same(other, &target)) {
            Some((_, own)) => own.absorb(found),
            None => self.changes.push((target, found)),
        }
    }
}

/// Reads all parts and writes what they change; `None` when others have changed a table meanwhile.
async fn attempt(
    context: &StatementContext,
    query: &Query,
    parameters: Option<ParamValues>,
) -> Result<Option<Outcome>> {
    let mut known = KnownQueries::of(context, query)?;
    let mut found = Found { changes: Vec::new(), changed: changed(context, query)?, context };
    for place in known.order() {
        let (here, with) = (known.context(), known.before(place));
        match known.statement(place) {
            Some(statement) => {
                let (_, returned) = found.part(&here, statement, with, parameters.clone()).await?;
                known.put(place, returned)?;
            }
            None if known.is_shared(place) => {
                let mut own = known.rows_of(place)?;
                refuse_ignored(&mut own)?;
                let bound = here.bind(own, parameters.clone()).await?;
                let rows = Returned::all(bound.columns.give(here.rows(bound.plan).await?)).await?;
                known.put(place, Some(rows))?;
            }
            None => {}
        }
    }
    let here = known.context();
    let last = Query { with: known.all(), ..query.clone() };
    let (records, returned) = match apart(Sql::Query(Box::new(last))) {
        (Sql::Query(mut last), _) => {
            refuse_ignored(&mut last)?;
            let bound = here.bind(*last, parameters).await?;
            (0, Some(Returned::all(bound.columns.give(here.rows(bound.plan).await?)).await?))
        }
        (change, with) => found.part(&here, change, with, parameters).await?,
    };
    let is_written = write_all(context, found.changes).await?;
    Ok(is_written.then(|| returned.map_or(Outcome::Affected(records), Returned::outcome)))
}
