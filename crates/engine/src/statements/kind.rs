//! What a front end has to know of a statement before it runs it: whether it begins or ends a transaction, can't be in one, or is about a
//! stream.

use crate::sql::copy::CopyPlace;
use crate::sql::names::fold;
use crate::sql::parse::Statement;
use crate::sql::session::SessionStatement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

/// The kind of a statement, as far as whoever runs it has to know.
///
/// ```
/// use gingham::{Connection, StatementKind};
///
/// assert_eq!(Connection::statement_kind("START TRANSACTION READ ONLY")?, StatementKind::Begin);
/// assert_eq!(Connection::statement_kind("ROLLBACK TO SAVEPOINT s")?, StatementKind::RollbackTo);
/// assert_eq!(Connection::statement_kind("SELECT 1")?, StatementKind::Other);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// BEGIN and START TRANSACTION.
    Begin,
    /// COMMIT and END.
    Commit,
    /// ROLLBACK and ABORT of the whole transaction.
    Rollback,
    /// ROLLBACK TO a savepoint.
    RollbackTo,
    /// SAVEPOINT and RELEASE.
    Savepoint,
    /// One that can't be part of a transaction: VACUUM, OPTIMIZE, REFRESH, ALTER TABLE … SET of a layout.
    Alone,
    /// COPY … FROM STDIN.
    CopyIn,
    /// COPY … TO STDOUT.
    CopyOut,
    /// DEALLOCATE of a prepared statement, or of all for `None`.
    Deallocate(Option<String>),
    /// DISCARD ALL.
    DiscardAll,
    /// Any other.
    Other,
}

/// The kind of a statement.
pub(crate) fn kind(statement: &Statement) -> StatementKind {
    match statement {
        Statement::Session(own) => of_session(own),
        Statement::CopyFrom(copy) if copy.from == CopyPlace::Stream => StatementKind::CopyIn,
        Statement::CopyOut(_) => StatementKind::CopyOut,
        Statement::AlterDesign(_) => StatementKind::Alone,
        other => other.tree().map_or(StatementKind::Other, of_sql),
    }
}

fn of_session(statement: &SessionStatement) -> StatementKind {
    match statement {
        SessionStatement::Begin { .. } => StatementKind::Begin,
        SessionStatement::End { commit: true, .. } => StatementKind::Commit,
        SessionStatement::End { commit: false, .. } => StatementKind::Rollback,
        SessionStatement::Discard(what) if what.is_all() => StatementKind::DiscardAll,
        SessionStatement::Analyze(analyze) if analyze.vacuum => StatementKind::Alone,
        SessionStatement::Refresh => StatementKind::Alone,
        _ => StatementKind::Other,
    }
}

fn of_sql(statement: &Sql) -> StatementKind {
    match statement {
        Sql::Rollback { savepoint: Some(_), .. } => StatementKind::RollbackTo,
        Sql::Savepoint { .. } | Sql::ReleaseSavepoint { .. } => StatementKind::Savepoint,
        Sql::Vacuum(_) | Sql::OptimizeTable { .. } => StatementKind::Alone,
        Sql::Deallocate { name, .. } if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") => {
            StatementKind::Deallocate(None)
        }
        Sql::Deallocate { name, .. } => StatementKind::Deallocate(Some(fold(name))),
        _ => StatementKind::Other,
    }
}
