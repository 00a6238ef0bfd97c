//! BEGIN, COMMIT, ROLLBACK and savepoints.

use crate::session::{Outcome, Severity, Slot, StatementContext, Use, blocking};
use crate::sql::names::fold;
use crate::sql::names::unsupported;
use crate::statements::Statement;
use crate::statements::ddl::on_commit;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Statement as Sql, TransactionAccessMode, TransactionIsolationLevel, TransactionMode, TransactionModifier,
};
use gingham_storage::SqlState;
use std::sync::Arc;

/// Whether a statement ends the transaction, as one may that was rolled back already.
pub(crate) fn ends(statement: &Statement) -> bool {
    matches!(statement.tree(), Some(Sql::Commit { .. } | Sql::Rollback { savepoint: None, .. }))
}

/// Runs BEGIN or START TRANSACTION.
pub(crate) async fn begin(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let Sql::StartTransaction { modes, modifier, statements, exception, has_end_keyword, .. } = statement else {
        return Err(Error::Internal("not BEGIN".into()));
    };
    if !statements.is_empty() || exception.is_some() || has_end_keyword {
        return Err(unsupported("BEGIN … END as a block of statements".into()));
    }
    modes.iter().try_for_each(accept)?;
    let immediate = match modifier {
        None | Some(TransactionModifier::Deferred) => false,
        Some(TransactionModifier::Immediate) => true,
        Some(other) => return Err(unsupported(format!("BEGIN {other}"))),
    };
    let (session, began) = (Arc::clone(&context.session), Arc::clone(&context.snapshot));
    let (options, idle, cancel) = (context.write_options(), context.settings().idle_timeout, context.cancel.clone());
    let store = Arc::clone(&session.engine.store);
    let begin = move || session.begin_transaction(began, immediate.then_some(&options), idle, &cancel);
    if immediate {
        context.in_line(&store, begin).await?;
    } else {
        blocking(begin).await?;
    }
    Ok(Outcome::Done)
}

/// Refuses what a transaction does not do.
fn accept(mode: &TransactionMode) -> Result<()> {
    match mode {
        TransactionMode::IsolationLevel(TransactionIsolationLevel::Serializable) => Err(unsupported(
            "ISOLATION LEVEL SERIALIZABLE (transactions have snapshot isolation, REPEATABLE READ)".into(),
        )),
        // Those promise less.
        TransactionMode::IsolationLevel(_) | TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => Ok(()),
        TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => Err(unsupported("BEGIN READ ONLY".into())),
    }
}

/// Runs COMMIT or END.
pub(crate) async fn commit(context: &StatementContext, chain: bool) -> Result<Outcome> {
    refuse_chain("COMMIT", chain)?;
    context.cancel.commit_point()?;
    match context.session.leave_transaction() {
        Slot::None => {
            warn_of_none(context);
            Ok(Outcome::Done)
        }
        Slot::RolledBack(why) => Err(Error::RolledBack(why)),
        Slot::Open(transaction) => {
            let own = context.clone();
            blocking(move || {
                if let Err(error) = on_commit::before_commit(&own, &transaction) {
                    transaction.roll_back();
                    return Err(error);
                }
                transaction.commit()
            })
            .await?;
            Ok(Outcome::Done)
        }
    }
}

/// Runs ROLLBACK, to a savepoint or of all.
pub(crate) async fn roll_back(context: &StatementContext, chain: bool, savepoint: Option<String>) -> Result<Outcome> {
    refuse_chain("ROLLBACK", chain)?;
    if let Some(name) = savepoint {
        let (transaction, cancel) = (open(context, "roll back to a savepoint of")?, context.cancel.clone());
        blocking(move || transaction.back_to(&name, &cancel)).await?;
        return Ok(Outcome::Done);
    }
    context.cancel.commit_point()?;
    match context.session.leave_transaction() {
        Slot::None => warn_of_none(context),
        Slot::RolledBack(_) => {}
        Slot::Open(transaction) => {
            blocking(move || {
                transaction.roll_back();
                Ok(())
            })
            .await?;
        }
    }
    Ok(Outcome::Done)
}

/// Runs SAVEPOINT or RELEASE.
pub(crate) async fn savepoint(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let cancel = context.cancel.clone();
    match statement {
        Sql::Savepoint { name } => {
            let (transaction, name) = (open(context, "set a savepoint in")?, fold(&name));
            blocking(move || transaction.savepoint(name, &cancel)).await?;
        }
        Sql::ReleaseSavepoint { name } => {
            let (transaction, name) = (open(context, "release a savepoint of")?, fold(&name));
            blocking(move || transaction.release(&name, &cancel)).await?;
        }
        _ => return Err(Error::Internal("not SAVEPOINT".into())),
    }
    Ok(Outcome::Done)
}

fn open(context: &StatementContext, what: &str) -> Result<Arc<Use>> {
    context.transaction.clone().ok_or_else(|| none(what))
}

fn warn_of_none(context: &StatementContext) {
    let text = "there is no transaction in progress";
    context.say(Severity::Warning, SqlState::NoActiveSqlTransaction, text);
}

fn none(what: &str) -> Error {
    Error::invalid(SqlState::NoActiveSqlTransaction, format!("there is no transaction to {what}; BEGIN starts one"))
}

fn refuse_chain(verb: &str, chain: bool) -> Result<()> {
    if chain { Err(unsupported(format!("{verb} AND CHAIN"))) } else { Ok(()) }
}
