//! The transaction of a session: begun, and ended by its statements.

use crate::session::transaction::{SessionTransaction, Slot, TransactionStatus, Use};
use crate::session::{CancelToken, Session};
use crate::settings::{IsolationLevel, TransactionModes};
use crate::{Error, Result};
use gingham_storage::SqlState;
use gingham_storage::store::WriteOptions;
use std::sync::{Arc, MutexGuard, PoisonError};

impl Session {
    pub(super) fn slot(&self) -> MutexGuard<'_, Slot> {
        self.transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of the session's transaction, for those who only look.
    pub(crate) fn transaction_status(&self) -> TransactionStatus {
        match *self.slot() {
            Slot::None => TransactionStatus::None,
            Slot::Open(_) => TransactionStatus::Open,
            Slot::RolledBack(_) => TransactionStatus::RolledBack,
        }
    }

    /// Whether the session is between BEGIN and COMMIT.
    pub(crate) fn in_transaction(&self) -> bool {
        self.transaction_status() != TransactionStatus::None
    }

    /// Whether that is the session's transaction.
    pub(crate) fn is_in(&self, transaction: &Arc<SessionTransaction>) -> bool {
        matches!(&*self.slot(), Slot::Open(open) if Arc::ptr_eq(open, transaction))
    }

    /// The part that a statement which begins now has in the transaction, or the error for one that can't have any.
    pub(in crate::session) fn enter_transaction(&self) -> (Option<Arc<Use>>, Option<Error>) {
        match &*self.slot() {
            Slot::None => (None, None),
            Slot::Open(transaction) => (Some(transaction.enter()), None),
            Slot::RolledBack(why) => (None, Some(why.clone())),
        }
    }

    /// The transaction between BEGIN and COMMIT.
    pub(crate) fn open_transaction(&self) -> Option<Arc<SessionTransaction>> {
        match &*self.slot() {
            Slot::Open(transaction) => Some(Arc::clone(transaction)),
            Slot::None | Slot::RolledBack(_) => None,
        }
    }

    /// What the transaction, or one that begins, sees of others.
    pub(crate) fn isolation(&self) -> IsolationLevel {
        self.open_transaction().map_or_else(|| self.default_isolation(), |open| open.isolation())
    }

    /// Whether statements may not write now.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_reader() || self.open_transaction().map_or_else(|| self.default_read_only(), |open| open.is_read_only())
    }

    /// SET; what is changed within a transaction goes when that is rolled back, and with its end when it is `local`.
    pub(crate) fn set_in_transaction(self: &Arc<Self>, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let open = self.open_transaction();
        if local && open.is_none() {
            // As PostgreSQL: it would end with the statement.
            self.shown_setting(name)?;
            return Ok(());
        }
        self.check_setting(name, value)?;
        let change = self.change_setting(name, value)?;
        if let Some(open) = open {
            open.note_setting(change, local);
            self.watch_idle()?;
        }
        Ok(())
    }

    /// BEGIN; `immediate` takes the write lock at once. Nothing is begun once `cancel` has come. Blocks.
    pub(crate) fn begin_transaction(
        self: &Arc<Self>,
        modes: TransactionModes,
        immediate: Option<&WriteOptions>,
        cancel: &CancelToken,
    ) -> Result<()> {
        let open = || {
            Error::invalid(SqlState::ActiveSqlTransaction, "a transaction is open already; COMMIT or ROLLBACK it first")
        };
        if self.in_transaction() {
            return Err(open());
        }
        self.check_modes(modes)?;
        let isolation = modes.isolation.unwrap_or_else(|| self.default_isolation());
        let read_only = modes.read_only.unwrap_or_else(|| self.is_reader() || self.default_read_only());
        let transaction = SessionTransaction::new(isolation, read_only);
        if let Some(options) = immediate {
            transaction.take_turn(&self.engine.store, options)?;
        }
        let transaction = Arc::new(transaction);
        let mut slot = self.slot();
        if !matches!(*slot, Slot::None) {
            return Err(open());
        }
        cancel.commit_point()?;
        *slot = Slot::Open(Arc::clone(&transaction));
        drop(slot);
        self.engine.note_transaction(&transaction);
        self.watch_idle()
    }

    /// Ends the transaction: gives what the session was in.
    pub(crate) fn leave_transaction(&self) -> Slot {
        std::mem::take(&mut self.slot())
    }
}
