//! A client's session: the engine's connection, and what the protocol adds to it.

use crate::backend::Out;
use crate::backend::copy::ClientCopy;
use crate::backend::transaction::TransactionState;
use crate::errors::{fatal, notice};
use crate::server::{CancelKey, Server};
use crate::statement_log::{Beginning, LoggedStatement};
use futures::SinkExt;
use gingham::{Connection, ScalarValue, StatementKind, TransactionStatus};
use pgwire::api::store::PortalStore;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::startup::ParameterStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::sleep;

/// The settings that a client is told at the start, and whenever they change.
const REPORTED: [&str; 13] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// A client's session.
pub(super) struct Session {
    pub(super) connection: Connection,
    transaction: Mutex<TransactionState>,
    /// The settings as the client was told them, and the number that they had then.
    told: Mutex<(Option<u64>, BTreeMap<&'static str, String>)>,
    /// COPY from the client, while it sends.
    pub(super) copy: tokio::sync::Mutex<Option<ClientCopy>>,
    /// The names of the statements that the client has parsed.
    statements: Mutex<BTreeSet<String>>,
    /// Names of those that a statement has dropped since.
    dropped: Mutex<Vec<String>>,
    /// Who has it may cancel.
    pub(super) key: CancelKey,
    server: Arc<Server>,
}

impl Session {
    pub(super) fn new(connection: Connection, key: CancelKey, server: Arc<Server>) -> Self {
        let (transaction, told, copy, statements, dropped) = Default::default();
        Self { connection, transaction, told, copy, statements, dropped, key, server }
    }

    /// A statement begins, which is written down.
    pub(super) fn begin<'s>(&'s self, sql: &'s str, values: &'s [ScalarValue]) -> LoggedStatement<'s> {
        self.server.log.begin(&self.connection, sql, values)
    }

    /// A statement goes on that has begun before.
    pub(super) fn go_on<'s>(&'s self, beginning: Beginning, sql: &'s str) -> LoggedStatement<'s> {
        self.server.log.go_on(beginning, &self.connection, sql, &[])
    }

    pub(super) fn transaction(&self) -> TransactionState {
        *self.transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change_transaction(&self, change: impl FnOnce(&mut TransactionState)) {
        change(&mut self.transaction.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The names of the statements that the client has parsed.
    pub(super) fn statements(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the statements that DEALLOCATE names, where the client has parsed them, and those that DISCARD ALL is about. The tag of a
    /// DEALLOCATE that is done by it; the engine does the others.
    pub(super) fn deallocated(&self, kind: &StatementKind) -> Option<String> {
        let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        match kind {
            StatementKind::Deallocate(Some(name)) if self.statements().remove(name) => {
                dropped.push(name.clone());
                Some("DEALLOCATE".to_owned())
            }
            StatementKind::Deallocate(None) | StatementKind::DiscardAll => {
                dropped.extend(std::mem::take(&mut *self.statements()));
                None
            }
            _ => None,
        }
    }

    /// Takes from pgwire's store what statements have dropped.
    pub(super) fn forget(&self, store: &impl PortalStore) {
        let dropped = std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        dropped.iter().for_each(|name| store.rm_statement(name));
    }

    /// Settings that the client has not been told as they are now.
    pub(super) fn untold_settings(&self) -> Vec<(&'static str, String)> {
        let number = self.connection.settings_number();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.0 == Some(number) {
            return Vec::new();
        }
        told.0 = Some(number);
        let mut untold = Vec::new();
        for name in REPORTED {
            let Ok(value) = self.connection.setting(name) else { continue };
            if told.1.get(name) != Some(&value) {
                told.1.insert(name, value.clone());
                untold.push((name, value));
            }
        }
        untold
    }

    /// Tells what was said besides a result: notices, and settings that have changed.
    pub(super) async fn tell(&self, out: Out<'_>) -> PgWireResult<()> {
        for said in self.connection.notices().take() {
            out.feed(notice(&said)).await?;
        }
        for (name, value) in self.untold_settings() {
            out.feed(Answer::ParameterStatus(ParameterStatus::new(name.into(), value))).await?;
        }
        Ok(())
    }

    /// Waits until somebody ends the session.
    pub(super) async fn is_terminated(&self) -> PgWireError {
        self.connection.terminated().await;
        fatal("57P01", "the session was ended by an administrator (pg_terminate_backend)".into())
    }

    /// Waits until nothing has come for as long as `idle_session_timeout` says.
    pub(super) async fn is_idle_too_long(&self) -> PgWireError {
        let is_apart = self.connection.transaction_status() == TransactionStatus::None;
        let Some(limit) = self.connection.idle_session_timeout().filter(|_| is_apart) else { return pending().await };
        sleep(limit).await;
        let text = format!("the session was idle for longer than {} s (idle_session_timeout)", limit.as_secs_f64());
        fatal("57P05", text)
    }
}
