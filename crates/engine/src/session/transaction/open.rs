//! An open transaction over statements, and its parts: one in the database, one among TEMP tables.

use crate::session::advisory_locks::HeldLocks;
use crate::session::transaction::read_set::ReadSet;
use crate::session::{CancelToken, Engine, GivenBack, Session, SettingChange, SettingChanges};
use crate::settings::{IsolationLevel, TransactionModes};
use crate::{Error, Result};
use chrono::{DateTime, Utc};
use gingham_storage::SqlState;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::store::{OpenTransaction, SAVEPOINTS, Store, WriteOptions};
use gingham_storage::write::Transaction;
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
    /// Everything was rolled back before COMMIT or ROLLBACK came; the error says why.
    RolledBack(Error),
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
    modes: Mutex<Modes>,
    /// The database before its first statement, which REPEATABLE READ sees until it writes.
    pinned: OnceLock<Arc<Snapshot>>,
    /// What it has read before it writes.
    reads: Arc<ReadSet>,
    /// Advisory locks that end with it.
    pub(in crate::session) advisory: HeldLocks,
    /// The settings that it has changed.
    settings: Mutex<SettingChanges>,
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

/// What a transaction is, as far as a statement can change it.
#[derive(Debug)]
struct Modes {
    isolation: IsolationLevel,
    read_only: bool,
    /// A statement has read or written, after which the level stays.
    has_begun: bool,
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
    pub(super) fn new(isolation: IsolationLevel, read_only: bool) -> Self {
        let usage = Mutex::new(InUse { statements: 0, idle_since: Instant::now() });
        Self {
            modes: Mutex::new(Modes { isolation, read_only, has_begun: false }),
            pinned: OnceLock::new(),
            reads: Arc::default(),
            advisory: HeldLocks::default(),
            settings: Mutex::default(),
            main: OnceLock::new(),
            temp: OnceLock::new(),
            progress: Mutex::default(),
            usage,
            since: Instant::now(),
            moment: Utc::now(),
        }
    }

    /// One that has the write lock of the database from the start.
    pub(super) fn writing(begun: OpenTransaction) -> Self {
        Self { main: OnceLock::from(begun), ..Self::new(IsolationLevel::RepeatableRead, false) }
    }

    /// One that has the write lock of the TEMP tables from the start, and reads `pinned` of the database.
    pub(super) fn writing_temp(begun: OpenTransaction, pinned: Arc<Snapshot>) -> Self {
        let own = Self::new(IsolationLevel::RepeatableRead, false);
        Self { temp: OnceLock::from(begun), pinned: OnceLock::from(pinned), ..own }
    }

    fn modes(&self) -> MutexGuard<'_, Modes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it sees of others.
    pub(crate) fn isolation(&self) -> IsolationLevel {
        self.modes().isolation
    }

    /// Whether it may not write.
    pub(crate) fn is_read_only(&self) -> bool {
        self.modes().read_only
    }

    /// SET TRANSACTION. The level, and the way back to writing, stay as they are once a statement has read.
    pub(crate) fn set_modes(&self, wanted: TransactionModes) -> Result<()> {
        let mut modes = self.modes();
        let late = |what: &str| {
            let text = format!("SET TRANSACTION {what} comes before the first statement of the transaction");
            Err(Error::invalid(SqlState::ActiveSqlTransaction, text))
        };
        if wanted.isolation.is_some_and(|level| modes.has_begun && level != modes.isolation) {
            return late("ISOLATION LEVEL");
        }
        if wanted.read_only == Some(false) && modes.read_only && modes.has_begun {
            return late("READ WRITE");
        }
        modes.isolation = wanted.isolation.unwrap_or(modes.isolation);
        modes.read_only = wanted.read_only.unwrap_or(modes.read_only);
        Ok(())
    }

    /// The settings that it has changed.
    pub(crate) fn settings(&self) -> MutexGuard<'_, SettingChanges> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a setting that was changed in it.
    pub(crate) fn note_setting(&self, change: SettingChange, local: bool) {
        let depth = self.progress().savepoints.len();
        self.settings().note(change, local, depth);
    }

    /// Where it notes what it reads; `None` once it writes, when nobody else can change it any more.
    pub(in crate::session) fn reads(&self) -> Option<Arc<ReadSet>> {
        (!self.writes() && self.isolation() == IsolationLevel::RepeatableRead).then(|| Arc::clone(&self.reads))
    }

    /// A statement begins in it.
    pub(in crate::session) fn enter(self: &Arc<Self>) -> Arc<Use> {
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

    /// The database as the transaction's next statement sees it, which `reads` it, or else only changes the session.
    pub(in crate::session) fn snapshot(&self, store: &Arc<Store>, reads: bool) -> Result<Arc<Snapshot>> {
        if reads {
            self.modes().has_begun = true;
        }
        if let Some(main) = self.main.get() {
            return Ok(main.snapshot());
        }
        if self.isolation() == IsolationLevel::ReadCommitted {
            return Ok(store.pinned()?);
        }
        if let Some(pinned) = self.pinned.get() {
            return Ok(Arc::clone(pinned));
        }
        let latest = store.pinned()?;
        Ok(if reads { Arc::clone(self.pinned.get_or_init(|| latest)) } else { latest })
    }

    /// Takes the turn to write the database, and goes on from the newest commit. Fails where others have changed what it has read.
    /// Blocks.
    pub(in crate::session) fn take_turn(&self, store: &Arc<Store>, options: &WriteOptions) -> Result<()> {
        let progress = self.live()?;
        if self.main.get().is_some() {
            return Ok(());
        }
        let begun = store.begin(options, None)?;
        if let Some(pinned) = self.pinned.get()
            && let Some(changed) = self.reads.changed(pinned, &begun.snapshot())
        {
            begun.roll_back();
            return Err(Error::Conflict(format!(
                "another transaction has changed {changed} since this one read it; roll back and do it again"
            )));
        }
        self.set_part(&self.main, begun, &progress)
    }

    /// Makes what was begun a part of the transaction, with its savepoints.
    fn set_part(&self, part: &OnceLock<OpenTransaction>, begun: OpenTransaction, progress: &Progress) -> Result<()> {
        for _ in &progress.savepoints {
            begun.savepoint()?;
        }
        drop(part.set(begun));
        Ok(())
    }

    /// TEMP tables as the transaction's next statement sees them.
    pub(crate) fn temp_snapshot(&self, store: &Arc<Store>) -> Result<Arc<Snapshot>> {
        match self.temp.get() {
            Some(part) => Ok(part.snapshot()),
            None => Ok(store.pinned()?),
        }
    }

    /// The part that writes `store`; begins it when there is none, which fails when others have committed since commit `seen` of the
    /// database, which the statement reads. Blocks.
    pub(super) fn part(
        &self,
        session: &Session,
        store: &Arc<Store>,
        options: &WriteOptions,
        seen: u64,
    ) -> Result<&OpenTransaction> {
        let main = Arc::ptr_eq(store, &session.engine.store);
        let part = self.begun(session, store);
        let progress = self.live()?;
        if part.get().is_none() {
            self.set_part(part, store.begin(options, main.then_some(seen))?, &progress)?;
        }
        part.get().ok_or_else(|| Error::Internal("a transaction that was just begun".into()))
    }

    /// Runs `work` on `store`, which it has the turn to write, as a part of the transaction. Blocks.
    pub(crate) fn write<R: Send + 'static>(
        &self,
        session: &Session,
        store: &Arc<Store>,
        options: &WriteOptions,
        work: impl FnOnce(&mut Transaction<'_>) -> gingham_storage::Result<R> + Send + 'static,
    ) -> Result<R> {
        Ok(self.part(session, store, options, 0)?.write(work)?)
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

    /// The number of savepoints that are open.
    pub(crate) fn savepoints(&self) -> usize {
        self.progress().savepoints.len()
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

    /// ROLLBACK TO; gives the settings that are to have their values of then, and the number of savepoints that are left.
    pub(crate) fn back_to(&self, name: &str, cancel: &CancelToken) -> Result<(GivenBack, usize)> {
        let mut progress = self.live()?;
        let place = place(&progress.savepoints, name)?;
        cancel.commit_point()?;
        self.parts().try_for_each(|part| part.back_to(place))?;
        progress.savepoints.truncate(place + 1);
        Ok((self.settings().back_to(place), place + 1))
    }

    /// RELEASE.
    pub(crate) fn release(&self, name: &str, cancel: &CancelToken) -> Result<()> {
        let mut progress = self.live()?;
        let place = place(&progress.savepoints, name)?;
        cancel.commit_point()?;
        self.parts().try_for_each(|part| part.release(place))?;
        progress.savepoints.truncate(place);
        self.settings().release(place);
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

impl Engine {
    /// Keeps a transaction on the list of those that are open.
    pub(super) fn note_transaction(&self, transaction: &Arc<SessionTransaction>) {
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
