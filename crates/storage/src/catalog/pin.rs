//! Readers of heap pages: each holds a read transaction of LMDB's, a pin. What they see is kept from being reused, so the store
//! lists them with their age.

use crate::catalog::Store;
use crate::catalog::environment::{Environment, Name};
use crate::catalog::latest::Seen;
use crate::catalog::records;
use crate::io::lmdb::{Pinned, PinnedRun, Places, ReadPin};
use crate::{Error, Result};
use heed::{RoTxn, WithoutTls};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

/// A read transaction that lives as long as what is read from it, and the environment that it reads, which need not be the
/// current one: VACUUM may have put another in its place.
#[derive(Debug, Clone)]
pub(crate) struct Pin {
    // Dropped first: what the transaction keeps may be the store, with whose end the catalog's name is free again.
    environment: Arc<Environment>,
    transaction: Arc<RwLock<Held>>,
}

/// Who keeps a read transaction.
#[derive(Debug)]
enum Held {
    /// The pin and its copies.
    Here(Arc<ReadPin>),
    /// Those that it was lent to, while there are any.
    Lent(Weak<ReadPin>),
}

impl Pin {
    /// A pin of `environment`.
    pub(crate) fn new(transaction: Arc<ReadPin>, environment: Arc<Environment>) -> Self {
        Self { transaction: Arc::new(RwLock::new(Held::Here(transaction))), environment }
    }

    /// The transaction. Fails when it was lent and nobody has it any more: the query is over.
    fn transaction(&self) -> Result<Arc<ReadPin>> {
        match &*self.transaction.read().unwrap_or_else(PoisonError::into_inner) {
            Held::Here(transaction) => Ok(Arc::clone(transaction)),
            Held::Lent(transaction) => transaction.upgrade().ok_or(Error::Cancelled),
        }
    }

    /// Gives the transaction away: from here on it ends with what this gives, and the pin is of no use until [`Self::renew`].
    pub(super) fn lend(&self) -> Result<Arc<ReadPin>> {
        let transaction = self.transaction()?;
        *self.transaction.write().unwrap_or_else(PoisonError::into_inner) = Held::Lent(Arc::downgrade(&transaction));
        Ok(transaction)
    }

    /// The transaction that was lent, for one more to keep, or in its place what `begin` begins at the same commit; `None` when
    /// that gives none.
    pub(super) fn renew(&self, begin: impl FnOnce() -> Result<Option<Self>>) -> Result<Option<Arc<ReadPin>>> {
        let mut held = self.transaction.write().unwrap_or_else(PoisonError::into_inner);
        if let Held::Lent(lent) = &*held
            && let Some(transaction) = lent.upgrade()
        {
            return Ok(Some(transaction));
        }
        let Some(begun) = begin()? else { return Ok(None) };
        let transaction = begun.transaction()?;
        *held = Held::Lent(Arc::downgrade(&transaction));
        Ok(Some(transaction))
    }

    /// What it reads.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Reads within the transaction.
    pub(crate) fn read<R>(&self, work: impl FnOnce(&RoTxn<'_, WithoutTls>) -> Result<R>) -> Result<R> {
        self.transaction()?.read(work)
    }

    /// The commit that it sees, as LMDB counts.
    pub(super) fn seen(&self) -> Result<Seen> {
        Ok((self.environment.generation(), self.read(|transaction| Ok(transaction.id()))?))
    }

    /// The value under `key`, in place.
    pub(crate) fn get(&self, name: Name, key: &[u8]) -> Result<Option<Pinned>> {
        let values = self.environment.values(name)?;
        self.transaction()?.get(values, key).map_err(self.environment.failed("reading"))
    }

    /// The values under the keys from `first` to `last`, in place, each with what `number` makes of its key. They are not looked
    /// for again where `known`, of the same environment and keys, still holds.
    pub(crate) fn run(
        &self,
        name: Name,
        keys: [&[u8]; 2],
        number: impl Fn(&[u8]) -> u64,
        known: Option<Arc<Places>>,
    ) -> Result<PinnedRun> {
        let values = self.environment.values(name)?;
        let found = self.transaction()?.run(values, keys, number, known);
        found.map_err(self.environment.failed("reading"))
    }
}

/// The readers of a store: the commit that each sees, and when it began.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    next: u64,
    readers: BTreeMap<u64, (u64, Instant)>,
}

impl Readers {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a pin keeps: the store, and a place among its readers.
#[derive(Debug)]
struct Reader {
    store: Arc<Store>,
    number: u64,
}

impl Reader {
    /// Lists one, of which it is not known yet what it sees: nothing that is older than any commit.
    fn enter(store: &Arc<Store>) -> Self {
        let mut list = store.readers.list();
        let number = list.next;
        list.next += 1;
        list.readers.insert(number, (u64::MAX, Instant::now()));
        drop(list);
        Self { store: Arc::clone(store), number }
    }

    fn sees(&self, commit: u64) {
        if let Some((seen, _)) = self.store.readers.list().readers.get_mut(&self.number) {
            *seen = commit;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.store.readers.list().readers.remove(&self.number);
    }
}

impl Store {
    /// A pin of the current environment, and the commit that it sees. For as long as what is read under it lives, LMDB keeps what
    /// later commits replace.
    pub(crate) fn pin(self: &Arc<Self>) -> Result<(Pin, u64)> {
        let (pin, reader) = self.pin_as_reader()?;
        let commit = pin.read(|transaction| records::state(pin.environment(), transaction))?.commit;
        reader.sees(commit);
        Ok((pin, commit))
    }

    fn pin_as_reader(self: &Arc<Self>) -> Result<(Pin, Arc<Reader>)> {
        let reader = Arc::new(Reader::enter(self));
        Ok((self.environment()?.pin(Arc::clone(&reader) as _)?, reader))
    }

    /// A pin of the current environment when the latest commit is `seen`, whose number is `commit`.
    pub(super) fn pin_at(self: &Arc<Self>, (generation, transaction): Seen, commit: u64) -> Result<Option<Pin>> {
        let (pin, reader) = self.pin_as_reader()?;
        if pin.seen()? != (generation, transaction) {
            return Ok(None);
        }
        reader.sees(commit);
        Ok(Some(pin))
    }

    /// How long ago the oldest reader of heap pages began that sees the database as it was before a commit; `None` when there
    /// is none.
    pub fn oldest_reader(&self, before: u64) -> Option<Duration> {
        let list = self.readers.list();
        let begun = list.readers.values().filter(|(commit, _)| *commit < before).map(|(_, begun)| *begun).min();
        begun.map(|begun| begun.elapsed())
    }
}
