//! BEGIN, COMMIT, ROLLBACK, SET TRANSACTION and savepoints.

use crate::session::{Outcome, SessionTransaction, Severity, Slot, StatementContext, Use, blocking};
use crate::settings::TransactionModes;
use crate::sql::names::fold;
use crate::sql::session::SessionStatement;
use crate::statements::Statement;
use crate::statements::ddl::on_commit;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::Statement as Sql;
use gingham_storage::SqlState;
use std::sync::Arc;

/// Whether a statement ends the transaction, as one may that was rolled back already.
pub(crate) fn ends(statement: &Statement) -> bool {
    matches!(statement, Statement::Session(own) if matches!(**own, SessionStatement::End { .. }))
}

/// Runs BEGIN or START TRANSACTION.
pub(crate) async fn begin(context: &StatementContext, immediate: bool, modes: TransactionModes) -> Result<Outcome> {
    if context.session.in_transaction() {
        let text = "there is already a transaction in progress";
        context.say(Severity::Warning, SqlState::ActiveSqlTransaction, text);
        return Ok(Outcome::Done);
    }
    let session = Arc::clone(&context.session);
    if immediate && session.is_reader() {
        return Err(session.read_only("BEGIN IMMEDIATE"));
    }
    let (options, cancel) = (context.write_options(), context.cancel.clone());
    let store = Arc::clone(&session.engine.store);
    let begin = move || session.begin_transaction(modes, immediate.then_some(&options), &cancel);
    if immediate {
        context.in_line(&store, begin).await?;
    } else {
        blocking(begin).await?;
    }
    Ok(Outcome::Done)
}

/// Runs SET TRANSACTION, or SET SESSION CHARACTERISTICS, which is about the transactions to come.
pub(crate) fn set_modes(context: &StatementContext, session: bool, modes: TransactionModes) -> Result<Outcome> {
    context.session.check_modes(modes)?;
    if session {
        let TransactionModes { isolation, read_only } = modes;
        if let Some(isolation) = isolation {
            context.session.set_in_transaction("default_transaction_isolation", Some(isolation.name()), false)?;
        }
        if let Some(read_only) = read_only {
            let value = if read_only { "on" } else { "off" };
            context.session.set_in_transaction("default_transaction_read_only", Some(value), false)?;
        }
        return Ok(Outcome::Done);
    }
    match &context.transaction {
        Some(open) => open.set_modes(modes)?,
        None => warn_of_none(context, "SET TRANSACTION has an effect within a transaction only"),
    }
    Ok(Outcome::Done)
}

/// Runs COMMIT or END.
pub(crate) async fn commit(context: &StatementContext, chain: bool) -> Result<Outcome> {
    let next = chained(context, chain)?;
    let held = context.session.cursors.hold(&context.cancel).await;
    context.cancel.commit_point()?;
    match context.session.leave_transaction() {
        Slot::None => warn_of_none(context, NONE),
        Slot::RolledBack(why) => {
            context.session.cursors.rolled_back();
            return Err(why);
        }
        Slot::Open(transaction) => {
            let ended = match held {
                Ok(()) => made_durable(context, &transaction).await,
                Err(error) => Err(error),
            };
            if let Err(error) = ended {
                undo(context, transaction).await?;
                return Err(error);
            }
            context.session.cursors.committed();
            let settings = transaction.settings().committed();
            context.session.give_back(settings)?;
        }
    }
    begin_next(context, next).await
}

async fn made_durable(context: &StatementContext, transaction: &Arc<SessionTransaction>) -> Result<()> {
    let (own, context) = (Arc::clone(transaction), context.clone());
    blocking(move || {
        on_commit::before_commit(&context, &own)?;
        own.commit()
    })
    .await
}

/// Undoes what a transaction has changed, in the session too.
async fn undo(context: &StatementContext, transaction: Arc<SessionTransaction>) -> Result<()> {
    let own = Arc::clone(&transaction);
    blocking(move || {
        own.roll_back();
        Ok(())
    })
    .await?;
    context.session.cursors.rolled_back();
    let settings = transaction.settings().rolled_back();
    context.session.give_back(settings)
}

/// Runs ROLLBACK of all.
pub(crate) async fn roll_back(context: &StatementContext, chain: bool) -> Result<Outcome> {
    let next = chained(context, chain)?;
    context.cancel.commit_point()?;
    match context.session.leave_transaction() {
        Slot::None => warn_of_none(context, NONE),
        Slot::RolledBack(_) => context.session.cursors.rolled_back(),
        Slot::Open(transaction) => undo(context, transaction).await?,
    }
    begin_next(context, next).await
}

/// How the transaction begins that follows with AND CHAIN: as the one that ends.
fn chained(context: &StatementContext, chain: bool) -> Result<Option<TransactionModes>> {
    if !chain {
        return Ok(None);
    }
    match context.session.open_transaction() {
        Some(open) => {
            Ok(Some(TransactionModes { isolation: Some(open.isolation()), read_only: Some(open.is_read_only()) }))
        }
        None if context.session.in_transaction() => Ok(Some(TransactionModes::default())),
        None => Err(none("end with AND CHAIN")),
    }
}

async fn begin_next(context: &StatementContext, next: Option<TransactionModes>) -> Result<Outcome> {
    if let Some(modes) = next {
        let (session, cancel) = (Arc::clone(&context.session), context.cancel.clone());
        blocking(move || session.begin_transaction(modes, None, &cancel)).await?;
    }
    Ok(Outcome::Done)
}

/// Runs ROLLBACK TO.
pub(crate) async fn back_to(context: &StatementContext, name: &str) -> Result<Outcome> {
    let (transaction, cancel) = (require_open(context, "ROLLBACK TO")?, context.cancel.clone());
    let (own, name) = (Arc::clone(&transaction), name.to_owned());
    let (settings, depth) = blocking(move || own.back_to(&name, &cancel)).await?;
    context.session.cursors.back_to(depth);
    context.session.give_back(settings)?;
    context.session.watch_idle()?;
    Ok(Outcome::Done)
}

/// Runs SAVEPOINT or RELEASE.
pub(crate) async fn savepoint(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let cancel = context.cancel.clone();
    match statement {
        Sql::Savepoint { name } => {
            let (transaction, name) = (require_open(context, "SAVEPOINT")?, fold(&name));
            blocking(move || transaction.savepoint(name, &cancel)).await?;
        }
        Sql::ReleaseSavepoint { name } => {
            let (transaction, name) = (require_open(context, "RELEASE")?, fold(&name));
            blocking(move || transaction.release(&name, &cancel)).await?;
        }
        _ => return Err(Error::Internal("not SAVEPOINT".into())),
    }
    Ok(Outcome::Done)
}

/// The transaction of a statement that makes no sense without one.
pub(crate) fn require_open(context: &StatementContext, statement: &str) -> Result<Arc<Use>> {
    context.transaction.clone().ok_or_else(|| none(&format!("run {statement} in")))
}

const NONE: &str = "there is no transaction in progress";

/// Warns that a statement has no effect without a transaction.
pub(crate) fn warn_of_none(context: &StatementContext, text: &str) {
    context.say(Severity::Warning, SqlState::NoActiveSqlTransaction, text);
}

fn none(what: &str) -> Error {
    Error::invalid(SqlState::NoActiveSqlTransaction, format!("there is no transaction to {what}; BEGIN starts one"))
}
