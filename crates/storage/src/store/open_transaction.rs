//! A transaction that stays open from one statement to the next. LMDB's belongs to one thread, which has the turn in the line
//! of writers until the end, and does what it is told: statements as transactions within, savepoints as levels of these.

use crate::SqlState;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::panics::{self, PanicPoint, guarded, joined};
use crate::snapshot::table_snapshot::Snapshot;
use crate::store::nested::Follows;
use crate::write::transaction::Transaction;
use crate::{Error, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Most savepoints of a transaction at a time.
pub const SAVEPOINTS: usize = 64;
/// Stack of the thread: as deep as those that run statements.
const STACK_BYTES: usize = 8 << 20;

/// A write transaction that several statements are part of, one after the other. Dropping it undoes them all.
#[derive(Debug)]
pub struct OpenTransaction {
    orders: Sender<Order>,
    thread: Mutex<Option<JoinHandle<Result<()>>>>,
    now: Mutex<Now>,
    /// Held by the one who gives an order, until it is known what came of it.
    ordering: Mutex<()>,
}

/// What the transaction has come to.
#[derive(Debug)]
struct Now {
    snapshot: Arc<Snapshot>,
    /// The state at each savepoint.
    before: Vec<Arc<Snapshot>>,
}

/// What the thread is told.
enum Order {
    Write(StatementWork),
    Savepoint(SyncSender<()>),
    /// Back to the state at the savepoint of that level, which stays.
    BackTo(usize, SyncSender<()>),
    /// The savepoint of that level, and those behind it, are no more.
    Release(usize, SyncSender<()>),
    Commit,
    RollBack,
}

/// A statement; it tells its sender how it ended.
type StatementWork = Box<dyn FnOnce(&mut Transaction<'_>) + Send>;

/// Why a level ends with its changes kept.
enum End {
    Release(usize, SyncSender<()>),
    Commit,
}

/// Why a level ends with its changes undone.
enum Undo {
    BackTo(usize, SyncSender<()>),
    All(Error),
}

impl Store {
    /// Begins a transaction that stays open. When `on` is given and others have committed since commit `on`, it is a
    /// [`Error::Conflict`]. Blocks while another writer is at work.
    pub fn begin(self: &Arc<Self>, options: &WriteOptions, on: Option<u64>) -> Result<OpenTransaction> {
        let (orders, told) = channel();
        let (ready, begun) = sync_channel(1);
        let (store, options) = (Arc::clone(self), options.clone());
        let thread = std::thread::Builder::new()
            .name("gingham-transaction".into())
            .stack_size(STACK_BYTES)
            .spawn(move || guarded(|| store.hold_open(&options, on, &ready, &told)))
            .map_err(Error::io("starting a thread for", self.path()))?;
        match begun.recv() {
            Ok(snapshot) => {
                let now = Mutex::new(Now { snapshot, before: Vec::new() });
                let thread = Mutex::new(Some(thread));
                Ok(OpenTransaction { orders, thread, now, ordering: Mutex::default() })
            }
            Err(_) => Err(joined(thread.join()).err().unwrap_or_else(gone)),
        }
    }

    /// The thread's life.
    fn hold_open(
        self: Arc<Self>,
        options: &WriteOptions,
        on: Option<u64>,
        ready: &SyncSender<Arc<Snapshot>>,
        told: &Receiver<Order>,
    ) -> Result<()> {
        let _turn = self.turn(options)?;
        let environment = self.environment()?;
        let mut transaction = self.begin_writing(&environment, options)?;
        if on.is_some_and(|on| on != transaction.base.commit) {
            return Err(Error::Conflict(
                "another transaction has committed since this one began to read; roll back and do it again".into(),
            ));
        }
        // Who asked may be gone; then there will be no orders.
        drop(ready.send(Arc::clone(&transaction.base)));
        match level(&mut transaction, 0, told) {
            Ok(_) => transaction.commit(),
            Err(Undo::All(error)) => Err(error),
            Err(Undo::BackTo(..)) => Err(gone()),
        }
    }
}

/// Does what is told until the transaction, or the level of a savepoint, ends.
fn level(transaction: &mut Transaction<'_>, depth: usize, told: &Receiver<Order>) -> Result<End, Undo> {
    loop {
        let order = told.recv();
        panics::pass(PanicPoint::OpenTransaction);
        match order {
            Ok(Order::Write(work)) => work(transaction),
            Ok(Order::Savepoint(done)) => {
                if let Some(end) = levels_above(transaction, depth, told, done)? {
                    return Ok(end);
                }
            }
            Ok(Order::BackTo(to, done)) => return Err(Undo::BackTo(to, done)),
            Ok(Order::Release(to, done)) => return Ok(End::Release(to, done)),
            Ok(Order::Commit) => return Ok(End::Commit),
            Ok(Order::RollBack) | Err(_) => return Err(Undo::All(gone())),
        }
    }
}

/// What follows a savepoint, as often as it is gone back to; `None` when the level below it goes on.
fn levels_above(
    transaction: &mut Transaction<'_>,
    depth: usize,
    told: &Receiver<Order>,
    mut done: SyncSender<()>,
) -> Result<Option<End>, Undo> {
    loop {
        let _ = done.send(());
        let mut undone = None;
        let ended = transaction.nested(Follows::Others, |inner| {
            level(inner, depth + 1, told).map_err(|undo| {
                undone = Some((undo, inner.state.clone()));
                Error::Cancelled
            })
        });
        let undone = undone.map(|(undo, spent)| {
            transaction.pass_over(&spent);
            undo
        });
        match (ended, undone) {
            (_, Some(Undo::BackTo(to, again))) if to == depth => done = again,
            (_, Some(undo)) => return Err(undo),
            (Ok(End::Release(to, done)), _) if to == depth => {
                let _ = done.send(());
                return Ok(None);
            }
            (Ok(end), _) => return Ok(Some(end)),
            (Err(error), None) => return Err(Undo::All(error)),
        }
    }
}

impl OpenTransaction {
    /// The state with the transaction's changes so far.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.now().snapshot)
    }

    /// Runs `work` within the transaction: all of it or, when it fails, nothing.
    pub fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let (answer, answered) = sync_channel(1);
        let ordering = self.ordering();
        self.order(Order::Write(Box::new(move |transaction| {
            let result = guarded(|| transaction.nested(Follows::Others, work));
            drop(answer.send((result, Arc::clone(&transaction.base))));
        })))?;
        let (result, snapshot) = answered.recv().map_err(|_| self.broken())?;
        self.now().snapshot = snapshot;
        drop(ordering);
        result
    }

    /// Sets a savepoint, and gives its number, from 0.
    pub fn savepoint(&self) -> Result<usize> {
        let _ordering = self.ordering();
        let number = self.now().before.len();
        if number >= SAVEPOINTS {
            return Err(Error::invalid(
                SqlState::ProgramLimitExceeded,
                format!("a transaction has at most {SAVEPOINTS} savepoints at a time; RELEASE some"),
            ));
        }
        self.wait_for(Order::Savepoint)?;
        let mut now = self.now();
        let snapshot = Arc::clone(&now.snapshot);
        now.before.push(snapshot);
        Ok(number)
    }

    /// Undoes what was done since a savepoint, which stays; those behind it are no more.
    pub fn back_to(&self, savepoint: usize) -> Result<()> {
        let _ordering = self.ordering();
        let before = self.now().before.get(savepoint).cloned().ok_or_else(no_savepoint)?;
        self.wait_for(|done| Order::BackTo(savepoint, done))?;
        let mut now = self.now();
        now.before.truncate(savepoint + 1);
        now.snapshot = before;
        Ok(())
    }

    /// Gives up a savepoint and those behind it; what was done since stays.
    pub fn release(&self, savepoint: usize) -> Result<()> {
        let _ordering = self.ordering();
        self.now().before.get(savepoint).ok_or_else(no_savepoint)?;
        self.wait_for(|done| Order::Release(savepoint, done))?;
        self.now().before.truncate(savepoint);
        Ok(())
    }

    /// Makes all changes visible and durable. The transaction has ended then, as it has when this fails.
    pub fn commit(&self) -> Result<()> {
        let _ordering = self.ordering();
        self.order(Order::Commit)?;
        self.end().unwrap_or_else(|| Err(gone()))
    }

    /// Undoes all changes. The transaction has ended then.
    pub fn roll_back(&self) {
        let _ordering = self.ordering();
        // When nobody hears of it, it has ended before.
        if self.order(Order::RollBack).is_ok() {
            drop(self.end());
        }
    }

    /// Waits for the thread's end.
    fn end(&self) -> Option<Result<()>> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread.map(|thread| joined(thread.join()))
    }

    /// Why the thread takes no orders: whoever meets its end first is told of its failure.
    fn broken(&self) -> Error {
        self.end().and_then(Result::err).unwrap_or_else(gone)
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ordering(&self) -> MutexGuard<'_, ()> {
        self.ordering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, order: Order) -> Result<()> {
        self.orders.send(order).map_err(|_| self.broken())
    }

    fn wait_for(&self, order: impl FnOnce(SyncSender<()>) -> Order) -> Result<()> {
        let (done, ended) = sync_channel(1);
        self.order(order(done))?;
        ended.recv().map_err(|_| self.broken())
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        self.roll_back();
    }
}

fn gone() -> Error {
    Error::RolledBack("the transaction was rolled back".into())
}

fn no_savepoint() -> Error {
    Error::invalid(SqlState::InvalidSavepoint, "there is no such savepoint")
}
