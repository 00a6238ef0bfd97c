//! UPDATE and DELETE.
//!
//! What is to be changed is found by a query: `UPDATE t SET a = x WHERE c` reads `SELECT x FROM t WHERE c`, in whose plan the
//! table gives the ids of its records too. So conditions are those of every query, subqueries and all, and the records are
//! known before the first one is written. They are written in one transaction, unless somebody has changed the table since
//! it was read; then it is read anew, while nobody else can write. Records of heap pages change in place; of other tables they are
//! deleted, and whole new ones go the way of every INSERT.
//!
//! | file | what |
//! |---|---|
//! | `assign` | SET |
//! | `find`, `held` | reading the records that go and what comes in their place |
//! | `pending` | what a statement is about to write, and writing it |
//! | `returning`, `beside` | RETURNING, and the other tables that it sees |

mod assign;
mod beside;
mod find;
mod held;
mod pending;
mod returning;

pub(crate) use crate::statements::dml::change::assign::assignments;
pub(crate) use crate::statements::dml::change::beside::with_columns;
pub(crate) use crate::statements::dml::change::find::{
    FoundRecords, New, SEVERAL, find, record_id, referred_columns, taken_twice,
};
pub(crate) use crate::statements::dml::change::held::{HeldRows, lock};
pub(crate) use crate::statements::dml::change::pending::{Pending, needs_steps, write_all};
pub(crate) use crate::statements::dml::change::returning::{Returned, Returning, from_table, is_merge_action, select};

use crate::session::{Outcome, StatementContext, TargetTable, blocking};
use crate::sql::names::unsupported;
use crate::statements::dml::conflict::Upsert;
use crate::statements::dml::merge::Merging;
use crate::statements::dml::point;
use crate::statements::writable;
use crate::{Error, Result};
use datafusion::catalog::TableProvider;
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::{
    Delete, Expr as SqlExpr, FromTable, Ident, ObjectName, TableFactor, TableWithJoins, Update, UpdateTableFromKind,
    With,
};
use std::collections::HashSet;
use std::sync::Arc;

/// What becomes of the records that a condition holds for.
#[derive(Debug, Clone)]
pub(crate) struct RecordChange {
    /// UPDATE or DELETE.
    pub(crate) verb: &'static str,
    /// The table's name.
    pub(crate) table: ObjectName,
    /// The table as the condition knows it, and what stands beside it there: in FROM or USING.
    pub(crate) from: Vec<TableWithJoins>,
    /// UPDATE: columns and their new values; none for DELETE.
    pub(crate) assignments: Vec<(Ident, SqlExpr)>,
    pub(crate) condition: Option<SqlExpr>,
    pub(crate) returning: Option<Returning>,
    /// What `excluded` stands for, of ON CONFLICT.
    pub(crate) excluded: Option<Arc<dyn TableProvider>>,
    /// Records are replaced, not changed in place: others are inserted with them.
    pub(crate) replaces: bool,
    /// The WITH before the statement.
    pub(crate) with: Option<With>,
    /// Records that other parts of the statement change, which stay as these leave them.
    pub(crate) before: Option<Arc<HashSet<u64>>>,
}

impl RecordChange {
    /// A change of the records of `from` for which a condition holds.
    pub(crate) fn of(verb: &'static str, table: ObjectName, from: Vec<TableWithJoins>) -> Self {
        let (assignments, condition, returning) = (Vec::new(), None, None);
        Self {
            verb,
            table,
            from,
            assignments,
            condition,
            returning,
            excluded: None,
            replaces: false,
            with: None,
            before: None,
        }
    }
}

/// What an UPDATE does.
pub(crate) fn update(statement: Update, with: Option<With>) -> Result<Work> {
    let Update {
        update_token: _,
        optimizer_hints,
        table,
        assignments,
        from,
        selection: condition,
        returning,
        output,
        or,
        order_by,
        limit,
    } = statement;
    refuse(
        "UPDATE",
        &[
            (!optimizer_hints.is_empty(), "optimizer hints"),
            (output.is_some(), "OUTPUT"),
            (or.is_some(), "OR …"),
            (!order_by.is_empty(), "ORDER BY"),
            (limit.is_some(), "LIMIT"),
        ],
    )?;
    let name = plain_table("UPDATE", &table)?;
    let assignments = crate::statements::dml::change::assignments(assignments)?;
    let returning = Returning::of(&table, returning, with.as_ref());
    let others = match from {
        None => Vec::new(),
        Some(UpdateTableFromKind::AfterSet(others)) => others,
        Some(UpdateTableFromKind::BeforeSet(_)) => return Err(unsupported("UPDATE with FROM before SET".into())),
    };
    let from = std::iter::once(table).chain(others).collect();
    let change = RecordChange { assignments, condition, returning, with, ..RecordChange::of("UPDATE", name, from) };
    Ok(Work::Change(Box::new(change)))
}

/// What a DELETE does.
pub(crate) fn delete(statement: Delete, with: Option<With>) -> Result<Work> {
    let Delete {
        delete_token: _,
        optimizer_hints,
        tables,
        from,
        using,
        selection: condition,
        returning,
        output,
        order_by,
        limit,
    } = statement;
    let (FromTable::WithFromKeyword(mut from) | FromTable::WithoutKeyword(mut from)) = from;
    refuse(
        "DELETE",
        &[
            (!optimizer_hints.is_empty(), "optimizer hints"),
            (!tables.is_empty() || from.len() != 1, "several tables"),
            (output.is_some(), "OUTPUT"),
            (!order_by.is_empty(), "ORDER BY"),
            (limit.is_some(), "LIMIT"),
        ],
    )?;
    let from = from.swap_remove(0);
    let name = plain_table("DELETE", &from)?;
    let returning = Returning::of(&from, returning, with.as_ref());
    let from = std::iter::once(from).chain(using.into_iter().flatten()).collect();
    let change = RecordChange { condition, returning, with, ..RecordChange::of("DELETE", name, from) };
    Ok(Work::Change(Box::new(change)))
}

pub(crate) fn refuse(verb: &str, clauses: &[(bool, &str)]) -> Result<()> {
    match clauses.iter().find(|(given, _)| *given) {
        Some((_, clause)) => Err(unsupported(format!("{verb} with {clause}"))),
        None => Ok(()),
    }
}

/// The name of the one table that a statement changes. An alias may not rename its columns: SET and RETURNING know them by the
/// names that the table gives them.
pub(crate) fn plain_table(verb: &str, table: &TableWithJoins) -> Result<ObjectName> {
    match &table.relation {
        TableFactor::Table { alias: Some(alias), .. } if !alias.columns.is_empty() => {
            Err(unsupported(format!("{verb} of a table whose alias names columns ({alias})")))
        }
        TableFactor::Table { name, args: None, with_hints, version: None, partitions, sample: None, .. }
            if table.joins.is_empty() && with_hints.is_empty() && partitions.is_empty() =>
        {
            Ok(name.clone())
        }
        _ => Err(unsupported(format!("{verb} of anything but one table"))),
    }
}

/// What is read anew when others have changed the table meanwhile.
pub(crate) enum Work {
    Change(Box<RecordChange>),
    Upsert(Box<Upsert>),
    Merge(Box<Merging>),
}

impl Work {
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Change(change) => change.verb,
            Self::Upsert(_) => "INSERT",
            Self::Merge(_) => "MERGE",
        }
    }

    pub(crate) fn table(&self) -> &ObjectName {
        match self {
            Self::Change(change) => &change.table,
            Self::Upsert(upsert) => &upsert.table,
            Self::Merge(merging) => &merging.table,
        }
    }

    fn returning(&self) -> Option<&Returning> {
        match self {
            Self::Change(change) => change.returning.as_ref(),
            Self::Upsert(upsert) => upsert.returning.as_ref(),
            Self::Merge(merging) => merging.returning.as_ref(),
        }
    }

    /// The same as a part of a statement that changes the table in other parts too: records are replaced, but for those that
    /// `before` names.
    pub(crate) fn beside_others(mut self, before: Arc<HashSet<u64>>) -> Self {
        match &mut self {
            Self::Change(change) => (change.replaces, change.before) = (true, Some(before)),
            Self::Upsert(upsert) => upsert.before = Some(before),
            Self::Merge(merging) => merging.before = Some(before),
        }
        self
    }

    async fn find(
        &self,
        context: &StatementContext,
        target: &TargetTable,
        parameters: Option<ParamValues>,
    ) -> Result<FoundRecords> {
        match self {
            Self::Change(change) => find(context, target, change, parameters).await,
            Self::Upsert(upsert) => upsert.find(context, target, parameters).await,
            Self::Merge(merging) => merging.find(context, target, parameters).await,
        }
    }

    /// What it is about to write, and what RETURNING answers.
    pub(crate) async fn pending(&self, context: &StatementContext, parameters: Option<ParamValues>) -> Result<Pending> {
        let target = writable(context, self.table(), self.verb())?;
        let mut found = self.find(context, &target, parameters.clone()).await?;
        let returned = match self.returning() {
            Some(returning) => {
                let (rows, tables) = found.take_returned();
                Some(returning.rows(context, &target, rows, tables, parameters).await?)
            }
            None => None,
        };
        Ok(Pending { target, found, returned })
    }
}

/// Finds what a statement changes, and writes it. When others have changed the table between the two, it is read again with the
/// write lock, so that nobody can.
pub(crate) async fn run(context: &StatementContext, work: Work, parameters: Option<ParamValues>) -> Result<Outcome> {
    let target = writable(context, work.table(), work.verb())?;
    if !context.is_planned_only()
        && let Work::Change(change) = &work
        && let Some(records) = point::change(context, &target, change, parameters.as_ref()).await?
    {
        return Ok(Outcome::Affected(records));
    }
    if let Some(outcome) = attempt(context, &work, parameters.clone()).await? {
        return Ok(outcome);
    }
    if context.transaction.is_some() {
        return Err(Error::Conflict(format!(
            "another statement of this connection has changed table '{}' meanwhile; run this one again",
            work.table()
        )));
    }
    let (context, transaction) = context.as_writer(&target.store).await?;
    let outcome = attempt(&context, &work, parameters).await?;
    let outcome = outcome.ok_or_else(|| Error::Internal("a table was changed by two at once".into()))?;
    blocking(move || transaction.commit()).await?;
    Ok(outcome)
}

/// Reads the table and writes the changes; `None` when others have changed it between the two.
async fn attempt(context: &StatementContext, work: &Work, parameters: Option<ParamValues>) -> Result<Option<Outcome>> {
    let Pending { target, found, returned } = work.pending(context, parameters).await?;
    let records = found.records;
    let is_written = write_all(context, vec![(target, found)]).await?;
    Ok(is_written.then(|| returned.map_or(Outcome::Affected(records), Returned::outcome)))
}
