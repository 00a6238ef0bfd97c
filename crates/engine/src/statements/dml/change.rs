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

use crate::Result;
use crate::sql::names::unsupported;
use datafusion::catalog::TableProvider;
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
pub(crate) fn update(statement: Update, with: Option<With>) -> Result<RecordChange> {
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
    Ok(RecordChange { assignments, condition, returning, with, ..RecordChange::of("UPDATE", name, from) })
}

/// What a DELETE does.
pub(crate) fn delete(statement: Delete, with: Option<With>) -> Result<RecordChange> {
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
    Ok(RecordChange { condition, returning, with, ..RecordChange::of("DELETE", name, from) })
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
