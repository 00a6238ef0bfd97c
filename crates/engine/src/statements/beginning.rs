//! What a statement needs of the session's transaction before it sees anything: whether it writes the database.

use crate::Result;
use crate::session::{Beginning, Session};
use crate::sql::define::Define;
use crate::sql::ignored::{changes, has_changes};
use crate::sql::names::fold;
use crate::sql::parse::Statement;
use crate::sql::session::SessionStatement;
use crate::statements::{reads, row_locks};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{FromTable, ObjectName, SetExpr, Statement as Sql, TableFactor, TableObject};
use gingham_storage::{DEFAULT_SCHEMA, TableName};

/// What a statement needs; one that locks records is searched for the clauses that say so.
pub(crate) fn beginning(session: &Session, statement: &mut Statement) -> Result<Beginning> {
    if row_locks::may_lock(statement)
        && let Some(locks) = row_locks::find(statement)?
    {
        return Ok(Beginning::Locks { nowait: locks.nowait, skips: locks.skips });
    }
    Ok(match statement {
        Statement::Session(own) => match own.as_ref() {
            SessionStatement::Lock { nowait, .. } => Beginning::Locks { nowait: *nowait, skips: false },
            SessionStatement::Declare(_) => Beginning::Reads,
            _ => Beginning::OfSession,
        },
        other if writes(session, other) => Beginning::Writes,
        _ => Beginning::Reads,
    })
}

/// Whether a statement writes the database, and not only what the session alone sees.
pub(crate) fn writes(session: &Session, statement: &Statement) -> bool {
    match statement {
        Statement::Sql(statement) => match statement.as_ref() {
            DataFusionStatement::Statement(tree) => sql_writes(session, tree),
            DataFusionStatement::Explain(explain) => {
                explain.options.analyze && {
                    let inner = Statement::Sql(explain.statement.clone());
                    writes(session, &inner)
                }
            }
            DataFusionStatement::CopyTo(copy) => reads::changes(&copy.source),
            DataFusionStatement::CreateExternalTable(_) | DataFusionStatement::Reset(_) => false,
        },
        Statement::Define(own) => !matches!(**own, Define::CreateSequence { temporary: true, .. }),
        Statement::Explain(explain) => explain.options.analyze && writes(session, &explain.statement),
        Statement::CopyFrom(copy) => !is_own(session, &copy.table),
        Statement::CopyOut(copy) => reads::changes(&copy.source),
        Statement::AlterDesign(_) | Statement::Summarize(_) | Statement::Refused(_) => false,
        Statement::Session(own) => matches!(**own, SessionStatement::Lock { .. }),
    }
}

fn sql_writes(session: &Session, statement: &Sql) -> bool {
    match statement {
        Sql::Query(query) if has_changes(query.with.as_ref()) => true,
        Sql::Query(query) if changes(query) => match &*query.body {
            SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
                sql_writes(session, inner)
            }
            _ => true,
        },
        Sql::Query(_)
        | Sql::Explain { .. }
        | Sql::ExplainTable { .. }
        | Sql::ShowCreate { .. }
        | Sql::ShowFunctions { .. }
        | Sql::ShowTables { .. }
        | Sql::ShowColumns { .. }
        | Sql::Prepare { .. }
        | Sql::Execute { .. }
        | Sql::Deallocate { .. }
        | Sql::Savepoint { .. }
        | Sql::ReleaseSavepoint { .. }
        | Sql::Rollback { .. }
        // They are refused within a transaction, and need no turn before they say so.
        | Sql::Vacuum(_)
        | Sql::OptimizeTable { .. } => false,
        Sql::CreateTable(table) => !table.temporary,
        Sql::CreateView(view) => !view.temporary,
        Sql::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => !is_own(session, name),
            _ => true,
        },
        Sql::Update(update) => !is_own_factor(session, &update.table.relation),
        Sql::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            !from.first().is_some_and(|from| is_own_factor(session, &from.relation))
        }
        Sql::Merge(merge) => !is_own_factor(session, &merge.table),
        Sql::AlterTable(alter) => !is_own(session, &alter.name),
        Sql::Truncate(truncate) => !truncate.table_names.iter().all(|table| is_own(session, &table.name)),
        Sql::Drop { names, .. } => !names.iter().all(|name| is_own(session, name)),
        Sql::CreateIndex(index) => !is_own(session, &index.table_name),
        _ => true,
    }
}

fn is_own_factor(session: &Session, table: &TableFactor) -> bool {
    matches!(table, TableFactor::Table { name, .. } if is_own(session, name))
}

/// Whether a name means a TEMP table, or another that the session alone has. Where that can't be told, the turn is taken, which does no
/// harm but wait.
fn is_own(session: &Session, name: &ObjectName) -> bool {
    let [part] = name.0.as_slice() else { return false };
    let Some(ident) = part.as_ident() else { return false };
    let name = TableName { schema: DEFAULT_SCHEMA.to_owned(), table: fold(ident) };
    session.has_own(&name).unwrap_or(false)
}
