//! Transactions as the protocol has them, over those of the engine: the statements of one text, and those between two Syncs, are one
//! transaction, which nobody began; and one in which a statement has failed takes nothing but its end. In the engine a failed
//! statement is undone alone, and its transaction goes on.

use crate::backend::session::Session;
use crate::errors::{error, of_engine};
use gingham::{StatementKind, TransactionStatus};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::response::TransactionStatus as Told;

/// The protocol's part in the engine's transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransactionState {
    /// Whether the transaction was begun for statements that belong together, and ends with them.
    pub(super) is_implicit: bool,
    /// A statement in it has failed.
    pub(super) has_failed: bool,
    /// The transaction was rolled back since it stood still.
    stood_still: bool,
}

/// The way in which a statement is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admitted {
    /// It runs.
    Runs,
    /// It ends a transaction that nobody began, which is a warning.
    EndsNone,
    /// It is ROLLBACK that runs, in the place of COMMIT.
    RollsBack,
    /// It is BEGIN in a transaction that was begun already, which is the client's from now on.
    Adopts,
}

/// The code of what is asked of a transaction that stood still for too long.
const STOOD_STILL: &str = "25P03";

impl Session {
    /// What a statement of a kind is to the transaction, before it runs; one `is_alone` that needs no other around it. Begins a
    /// transaction where it needs one.
    pub(super) async fn admit(&self, kind: &StatementKind, is_alone: bool) -> PgWireResult<Admitted> {
        let state = self.transaction();
        if state.has_failed {
            return match kind {
                StatementKind::Commit => Ok(Admitted::RollsBack),
                StatementKind::Rollback | StatementKind::RollbackTo => Ok(Admitted::Runs),
                _ => Err(self.aborted()),
            };
        }
        if state.is_implicit {
            return match kind {
                StatementKind::Begin => {
                    self.change_transaction(|state| state.is_implicit = false);
                    Ok(Admitted::Adopts)
                }
                StatementKind::Commit | StatementKind::Rollback => Ok(Admitted::EndsNone),
                StatementKind::Savepoint | StatementKind::RollbackTo => {
                    Err(error("25P01", "savepoints are for transactions that BEGIN has begun"))
                }
                _ => Ok(Admitted::Runs),
            };
        }
        let is_of_transactions = matches!(kind, StatementKind::Begin | StatementKind::Commit | StatementKind::Rollback);
        if !is_alone && !is_of_transactions && self.connection.transaction_status() == TransactionStatus::None {
            self.run_text("BEGIN").await?;
            self.change_transaction(|state| state.is_implicit = true);
        }
        Ok(Admitted::Runs)
    }

    /// A statement of a kind has run.
    pub(super) fn has_run(&self, kind: &StatementKind) {
        let is_over = self.connection.transaction_status() == TransactionStatus::None;
        self.change_transaction(|state| {
            if is_over {
                *state = TransactionState::default();
            } else if *kind == StatementKind::RollbackTo {
                state.has_failed = false;
            }
        });
    }

    /// The error of a statement in a transaction that takes no more.
    pub(super) fn aborted(&self) -> PgWireError {
        match self.transaction().stood_still {
            true => error(
                STOOD_STILL,
                "the transaction stood still for too long and was rolled back: it takes nothing but ROLLBACK",
            ),
            false => error(
                "25P02",
                "the transaction has failed: it takes no statement but ROLLBACK, or ROLLBACK TO a savepoint",
            ),
        }
    }

    /// A statement has failed with a code: its transaction takes no more, or is undone when nobody began it.
    pub(super) async fn has_failed(&self, code: &str) {
        if self.transaction().is_implicit {
            // What can't be rolled back was rolled back before.
            drop(self.run_text("ROLLBACK").await);
        }
        let is_over = self.connection.transaction_status() == TransactionStatus::None;
        self.change_transaction(|state| {
            let stood_still = !is_over && (state.stood_still || code == STOOD_STILL);
            *state = TransactionState { is_implicit: false, has_failed: !is_over, stood_still };
        });
    }

    /// Ends the transaction that nobody began, if there is one.
    pub(super) async fn end_implicit(&self) -> PgWireResult<()> {
        if !self.transaction().is_implicit {
            return Ok(());
        }
        let ended = self.run_text("COMMIT").await;
        self.change_transaction(|state| *state = TransactionState::default());
        ended
    }

    /// What the client is told of the transaction.
    pub(super) fn told_status(&self) -> Told {
        match self.connection.transaction_status() {
            TransactionStatus::None => Told::Idle,
            TransactionStatus::Open if self.transaction().has_failed => Told::Error,
            TransactionStatus::Open => Told::Transaction,
            TransactionStatus::RolledBack => Told::Error,
        }
    }

    /// Runs a statement that gives nothing.
    pub(super) async fn run_text(&self, sql: &str) -> PgWireResult<()> {
        let ran = self.connection.query_async(sql).await;
        ran.map(drop).map_err(|error| of_engine(&error, None))
    }
}

/// `COMMIT …` as `ROLLBACK …`.
pub(super) fn as_rollback(sql: &str) -> String {
    let rest = sql.trim_start();
    let word = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    format!("ROLLBACK{}", &rest[word..])
}

/// The SET TRANSACTION that the modes of a BEGIN stand for; `None` where it has none.
pub(super) fn modes_of(begin: &str) -> Option<String> {
    let mut rest = begin.trim().trim_end_matches(';').trim_end();
    for word in ["BEGIN", "START", "TRANSACTION", "WORK"] {
        if rest.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word)) {
            rest = rest[word.len()..].trim_start();
        }
    }
    (!rest.is_empty()).then(|| format!("SET TRANSACTION {rest}"))
}

/// Whether an error ends the connection or is one of the socket, so that nothing is to be undone for it.
pub(super) fn ends_all(error: &PgWireError) -> bool {
    matches!(error, PgWireError::IoError(_)) || error.is_fatal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_modes_are_rewritten() {
        assert_eq!(as_rollback(" commit and chain"), "ROLLBACK and chain");
        assert_eq!(as_rollback("END;"), "ROLLBACK;");
        assert_eq!(modes_of("begin transaction;"), None);
        assert_eq!(modes_of("START TRANSACTION READ ONLY").as_deref(), Some("SET TRANSACTION READ ONLY"));
        assert_eq!(
            modes_of("BEGIN ISOLATION LEVEL SERIALIZABLE").as_deref(),
            Some("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        );
    }
}
