//! Transactions over statements: what a session reads and writes between BEGIN and COMMIT.
//!
//! A transaction reads the database as it was at BEGIN. The first statement that writes takes the write lock, which fails
//! when others have committed meanwhile; from then on the transaction reads its own changes too. TEMP tables are in a store of
//! their own, in which the transaction has a part of its own.

use crate::session::{CancelToken, Engine, Session, StatementContext, blocking};
use crate::{Error, Result};
use chrono::{DateTime, Utc};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::store::{OpenTransaction, SAVEPOINTS, Store, WriteOptions};
use gingham_storage::write::{Transaction, WrittenRows};
use gingham_storage::{SqlState, TableId};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// What a session is in.
#[derive(Debug, Default)]
pub(crate) enum Slot {
    /// Each statement is a transaction of its own.
    #[default]
    None,
    /// Between BEGIN and COMMIT.
    Open(Arc<SessionTransaction>),
    /// A statement failed and everything was rolled back; the text says why.
    RolledBack(String),
}

/// Whether a connection is in a transaction.
///
/// ```
/// use gingham::{Database, TransactionStatus};
///
/// let connection = Database::in_memory()?.connect();
/// assert_eq!(connection.transaction_status(), TransactionStatus::None);
/// connection.execute("BEGIN")?;
/// assert_eq!(connection.transaction_status(), TransactionStatus::Open);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Each statement is a transaction of its own.
    None,
    /// Between BEGIN and COMMIT.
    Open,
    /// It was rolled back, and takes no statement but the one that ends it.
    RolledBack,
}

/// A transaction over statements. Dropping it rolls it back.
#[derive(Debug)]
pub(crate) struct SessionTransaction {
    /// The database at BEGIN.
    began: Arc<Snapshot>,
    /// The part that writes the database, once there is one; the other is for TEMP tables.
    main: OnceLock<OpenTransaction>,
    temp: OnceLock<OpenTransaction>,
    /// Locked while a part begins.
    progress: Mutex<Progress>,
    usage: Mutex<InUse>,
    /// When it began.
    pub(crate) since: Instant,
    /// The moment at which it began, which is `now()` of all of its statements.
    pub(crate) moment: DateTime<Utc>,
}

#[derive(Debug, Default)]
struct Progress {
    /// Savepoints, each known to both parts by its place.
    savepoints: Vec<String>,
    /// COMMIT or ROLLBACK has come: a statement that is late must not begin a part that nobody would end.
    ended: bool,
}

#[derive(Debug)]
struct InUse {
    statements: usize,
    /// The last one's end.
    idle_since: Instant,
}

/// A statement's part in a transaction.
#[derive(Debug)]
pub(crate) struct Use(Arc<SessionTransaction>);

impl Drop for Use {
    fn drop(&mut self) {
        let mut usage = self.0.in_use();
        usage.statements -= 1;
        usage.idle_since = Instant::now();
    }
}

impl std::ops::Deref for Use {
    type Target = SessionTransaction;

    fn deref(&self) -> &SessionTransaction {
        &self.0
    }
}

impl SessionTransaction {
    fn new(began: Arc<Snapshot>) -> Self {
        let usage = Mutex::new(InUse { statements: 0, idle_since: Instant::now() });
        let (main, temp) = (OnceLock::new(), OnceLock::new());
        Self { began, main, temp, progress: Mutex::default(), usage, since: Instant::now(), moment: Utc::now() }
    }

    /// One that has the write lock of the database from the start.
    fn writing(begun: OpenTransaction) -> Self {
        let began = begun.snapshot();
        Self { main: OnceLock::from(begun), ..Self::new(began) }
    }

    /// A statement begins in it.
    pub(super) fn enter(self: &Arc<Self>) -> Arc<Use> {
        self.in_use().statements += 1;
        Arc::new(Use(Arc::clone(self)))
    }

    fn in_use(&self) -> MutexGuard<'_, InUse> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether COMMIT or ROLLBACK has come; results may still be read from it then.
    fn has_ended(&self) -> bool {
        // Somebody who holds the lock for long waits for the write lock.
        self.progress.try_lock().is_ok_and(|progress| progress.ended)
    }

    /// How long no statement has been in it.
    pub(crate) fn idle(&self) -> Duration {
        let usage = self.in_use();
        if usage.statements > 0 { Duration::ZERO } else { usage.idle_since.elapsed() }
    }

    /// Whether it has the write lock.
    pub(crate) fn writes(&self) -> bool {
        self.main.get().is_some()
    }

    /// Whether it has the write lock of `store`, the database or the session's TEMP tables.
    pub(crate) fn has_turn(&self, session: &Session, store: &Arc<Store>) -> bool {
        self.begun(session, store).get().is_some()
    }

    fn begun(&self, session: &Session, store: &Arc<Store>) -> &OnceLock<OpenTransaction> {
        if Arc::ptr_eq(store, &session.engine.store) { &self.main } else { &self.temp }
    }

    /// The database as the transaction's next statement sees it.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.main.get().map_or_else(|| Arc::clone(&self.began), OpenTransaction::snapshot)
    }

    /// TEMP tables as the transaction's next statement sees them.
    pub(crate) fn temp_snapshot(&self, store: &Arc<Store>) -> Result<Arc<Snapshot>> {
        match self.temp.get() {
            Some(part) => Ok(part.snapshot()),
            None => Ok(store.pinned()?),
        }
    }

    /// The part that writes `store`; begins it when there is none. Blocks.
    fn part(&self, session: &Session, store: &Arc<Store>, options: &WriteOptions) -> Result<&OpenTransaction> {
        let main = Arc::ptr_eq(store, &session.engine.store);
        let part = self.begun(session, store);
        let progress = self.live()?;
        if part.get().is_none() {
            let begun = store.begin(options, main.then_some(self.began.commit))?;
            for _ in &progress.savepoints {
                begun.savepoint()?;
            }
            drop(part.set(begun));
        }
        part.get().ok_or_else(|| Error::Internal("a transaction that was just begun".into()))
    }

    /// Runs `work` on `store` as a part of the transaction. Blocks.
    pub(crate) fn write<R: Send + 'static>(
        &self,
        session: &Session,
        store: &Arc<Store>,
        options: &WriteOptions,
        work: impl FnOnce(&mut Transaction<'_>) -> gingham_storage::Result<R> + Send + 'static,
    ) -> Result<R> {
        Ok(self.part(session, store, options)?.write(work)?)
    }

    fn parts(&self) -> impl Iterator<Item = &OpenTransaction> {
        [&self.main, &self.temp].into_iter().filter_map(OnceLock::get)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transaction's progress. Fails in a transaction that has failed, and after its end.
    fn live(&self) -> Result<MutexGuard<'_, Progress>> {
        let progress = self.progress();
        match progress.ended {
            false => Ok(progress),
            true => Err(Error::RolledBack(
                "the transaction ended before this statement did, which has changed nothing; run it again".into(),
            )),
        }
    }

    /// SAVEPOINT. Blocks, as do the others; none of them does anything once `cancel` has come.
    pub(crate) fn savepoint(&self, name: String, cancel: &CancelToken) -> Result<()> {
        let mut progress = self.live()?;
        if progress.savepoints.len() >= SAVEPOINTS {
            return Err(Error::invalid(
                SqlState::ProgramLimitExceeded,
                format!("a transaction has at most {SAVEPOINTS} savepoints at a time; RELEASE some"),
            ));
        }
        cancel.commit_point()?;
        for part in self.parts() {
            part.savepoint()?;
        }
        progress.savepoints.push(name);
        Ok(())
    }

    /// ROLLBACK TO.
    pub(crate) fn back_to(&self, name: &str, cancel: &CancelToken) -> Result<()> {
        let mut progress = self.live()?;
        let place = place(&progress.savepoints, name)?;
        cancel.commit_point()?;
        self.parts().try_for_each(|part| part.back_to(place))?;
        progress.savepoints.truncate(place + 1);
        Ok(())
    }

    /// RELEASE.
    pub(crate) fn release(&self, name: &str, cancel: &CancelToken) -> Result<()> {
        let mut progress = self.live()?;
        let place = place(&progress.savepoints, name)?;
        cancel.commit_point()?;
        self.parts().try_for_each(|part| part.release(place))?;
        progress.savepoints.truncate(place);
        Ok(())
    }

    /// COMMIT: TEMP tables first, so that an error always means that the database is as it was.
    pub(crate) fn commit(&self) -> Result<()> {
        self.progress().ended = true;
        for part in [&self.temp, &self.main].into_iter().filter_map(OnceLock::get) {
            if let Err(error) = part.commit() {
                self.roll_back();
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// ROLLBACK.
    pub(crate) fn roll_back(&self) {
        self.progress().ended = true;
        self.parts().for_each(OpenTransaction::roll_back);
    }
}

/// The place of the last savepoint of that name.
fn place(savepoints: &[String], name: &str) -> Result<usize> {
    savepoints.iter().rposition(|known| known == name).ok_or_else(|| {
        Error::invalid(SqlState::InvalidSavepoint, format!("savepoint '{name}' does not exist in this transaction"))
    })
}

impl Session {
    fn slot(&self) -> MutexGuard<'_, Slot> {
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
    pub(super) fn enter_transaction(&self) -> (Option<Arc<Use>>, Option<Error>) {
        match &*self.slot() {
            Slot::None => (None, None),
            Slot::Open(transaction) => (Some(transaction.enter()), None),
            Slot::RolledBack(why) => (None, Some(Error::RolledBack(why.clone()))),
        }
    }

    /// BEGIN, at `began`; `immediate` takes the write lock at once. Nothing is begun once `cancel` has come. Blocks.
    pub(crate) fn begin_transaction(
        self: &Arc<Self>,
        began: Arc<Snapshot>,
        immediate: Option<&WriteOptions>,
        idle: Option<Duration>,
        cancel: &CancelToken,
    ) -> Result<()> {
        let open = || {
            Error::invalid(SqlState::ActiveSqlTransaction, "a transaction is open already; COMMIT or ROLLBACK it first")
        };
        if self.in_transaction() {
            return Err(open());
        }
        let transaction = match immediate {
            None => SessionTransaction::new(began),
            Some(options) => SessionTransaction::writing(self.engine.store.begin(options, None)?),
        };
        let transaction = Arc::new(transaction);
        let mut slot = self.slot();
        if !matches!(*slot, Slot::None) {
            return Err(open());
        }
        cancel.commit_point()?;
        *slot = Slot::Open(Arc::clone(&transaction));
        drop(slot);
        self.engine.note_transaction(&transaction);
        if let Some(limit) = idle {
            let watched = (Arc::downgrade(self), Arc::downgrade(&transaction));
            self.engine.handle()?.spawn(end_when_idle(watched, limit));
        }
        Ok(())
    }

    /// Ends the transaction: gives what the session was in.
    pub(crate) fn leave_transaction(&self) -> Slot {
        std::mem::take(&mut self.slot())
    }

    /// Rolls back a transaction in which no statement has been for `limit`; else tells how long to wait before the next look.
    fn end_idle(&self, transaction: &Arc<SessionTransaction>, limit: Duration) -> Option<Duration> {
        let mut slot = self.slot();
        match &*slot {
            Slot::Open(open) if Arc::ptr_eq(open, transaction) => {}
            _ => return None,
        }
        if let Some(left) = limit.checked_sub(transaction.idle()).filter(|left| !left.is_zero()) {
            return Some(left);
        }
        *slot = Slot::RolledBack(format!(
            "the transaction was rolled back: no statement came for {} s (gingham.idle_in_transaction_timeout); \
             ROLLBACK, then begin anew",
            limit.as_secs_f64()
        ));
        None
    }
}

/// Rolls a transaction back once it has been idle for `limit`.
async fn end_when_idle((session, transaction): (Weak<Session>, Weak<SessionTransaction>), limit: Duration) {
    let mut wait = limit;
    loop {
        tokio::time::sleep(wait).await;
        let Some((session, transaction)) = session.upgrade().zip(transaction.upgrade()) else { return };
        let Some(left) = session.end_idle(&transaction, limit) else {
            // Its changes are undone where the last one lets go of it, which may block for a moment.
            let ended = blocking(move || {
                drop((session, transaction));
                Ok(())
            });
            drop(ended.await);
            return;
        };
        wait = left;
    }
}

/// How a statement writes: as a transaction of its own, or as part of the session's.
#[derive(Debug, Clone)]
pub(crate) struct Writing {
    session: Arc<Session>,
    transaction: Option<Arc<Use>>,
    options: WriteOptions,
    cancel: CancelToken,
}

impl Writing {
    pub(super) fn new(context: &StatementContext) -> Self {
        let (session, transaction) = (Arc::clone(&context.session), context.transaction.clone());
        Self { session, transaction, options: context.write_options(), cancel: context.cancel.clone() }
    }

    /// Runs `work` on `store`: all of it is done or, when it fails or was cancelled before its end, nothing. Blocks.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        store: &Arc<Store>,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        // Our error travels beside the store's, which has an error type of its own.
        let failed = Arc::new(Mutex::new(None));
        let (aside, cancel) = (Arc::clone(&failed), self.cancel.clone());
        let work = move |transaction: &mut Transaction<'_>| {
            let result = work(transaction).and_then(|result| {
                // Work that has found others' changes is done once more, and can be cancelled then.
                if transaction.is_changed() {
                    cancel.commit_point()?
                } else {
                    cancel.check()?
                }
                Ok(result)
            });
            result.map_err(|error| {
                *aside.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                gingham_storage::Error::Cancelled
            })
        };
        let result = match &self.transaction {
            None => store.submit(&self.options, work),
            Some(transaction) => transaction.part(&self.session, store, &self.options)?.write(work),
        };
        let own = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        own.map_or_else(|| Ok(result?), Err)
    }

    /// Makes new records part of the table that `place` gives, which it may create. Many of them for heap pages, outside of a
    /// transaction, are committed in batches before they are visible; `place` is run twice then, the first time in vain. Blocks.
    pub(crate) fn load(
        &self,
        store: &Arc<Store>,
        rows: WrittenRows,
        place: impl Fn(&mut Transaction<'_>) -> Result<TableId> + Send + 'static,
    ) -> Result<()> {
        if self.transaction.is_some() || !store.takes_portions(&rows) {
            return self.run(store, move |transaction| {
                let table = place(transaction)?;
                Ok(transaction.append(table, rows)?)
            });
        }
        // As in `run`.
        let failed = RefCell::new(None);
        let aside = |error: Error| {
            *failed.borrow_mut() = Some(error);
            gingham_storage::Error::Cancelled
        };
        let result = store.append_in_portions(
            &self.options,
            rows,
            &|transaction| place(transaction).map_err(aside),
            &|| self.cancel.check().map_err(aside),
            &|| self.cancel.commit_point().map_err(aside),
        );
        failed.into_inner().map_or_else(|| Ok(result?), Err)
    }
}

impl StatementContext {
    /// This statement in a transaction of its own that has the write lock of `store`, so that nobody changes what it reads. It is
    /// to be ended by [`SessionTransaction::commit`].
    pub(crate) async fn as_writer(&self, store: &Arc<Store>) -> Result<(Self, Arc<Use>)> {
        let main = Arc::ptr_eq(store, &self.session.engine.store);
        let (own, options) = (Arc::clone(store), self.write_options());
        let begun = self.in_line(store, move || Ok(own.begin(&options, None)?)).await?;
        let transaction = match main {
            true => SessionTransaction::writing(begun),
            false => {
                SessionTransaction { temp: OnceLock::from(begun), ..SessionTransaction::new(self.snapshot.clone()) }
            }
        };
        let entered = Arc::new(transaction).enter();
        let (session, cancel, tables) = (Arc::clone(&self.session), self.cancel.clone(), self.tables.clone());
        let context = Self::within(session, cancel, tables, Some(Arc::clone(&entered)))?;
        Ok((context, entered))
    }

    /// Refuses a statement that can't be a part of a transaction.
    pub(crate) fn require_alone(&self, what: &str) -> Result<()> {
        match &self.transaction {
            None => Ok(()),
            Some(_) => Err(Error::Unsupported(format!(
                "{what} can't be part of a transaction; COMMIT or ROLLBACK, then run it alone"
            ))),
        }
    }
}

impl Engine {
    /// Keeps a transaction on the list of those that are open.
    fn note_transaction(&self, transaction: &Arc<SessionTransaction>) {
        let mut open = self.transactions.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|known| known.strong_count() > 0);
        open.push(Arc::downgrade(transaction));
    }

    /// The transactions that are open, the oldest first.
    pub(crate) fn open_transactions(&self) -> Vec<Arc<SessionTransaction>> {
        let open = self.transactions.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().filter_map(Weak::upgrade).filter(|transaction| !transaction.has_ended()).collect()
    }
}
