//! Readers of heap pages: each holds a read transaction of LMDB's, a pin. What they see is kept from being reused, so the store
//! lists them with their age.

use crate::io::lmdb::{Pinned, PinnedRun, Places, ReadPin};
use crate::lmdb::environment::{Environment, Name};
use crate::{Error, Result};
use heed::{RoTxn, WithoutTls};
use std::sync::{Arc, PoisonError, RwLock, Weak};

/// A commit as LMDB counts: the number of the environment, and of the commit in it.
pub(crate) type Seen = (u64, usize);

/// A read transaction that lives as long as what is read from it, and the environment that it reads, which need not be the
/// current one: VACUUM may have put another in its place.
#[derive(Debug, Clone)]
pub(crate) struct Pin {
    // Dropped first: what the transaction keeps may be the store, with whose end the catalog's name is free again.
    environment: Arc<Environment>,
    transaction: Arc<RwLock<PinOwner>>,
}

/// Who keeps a read transaction.
#[derive(Debug)]
enum PinOwner {
    /// The pin and its copies.
    Here(Arc<ReadPin>),
    /// Those that it was lent to, while there are any.
    Lent(Weak<ReadPin>),
}

impl Pin {
    /// A pin of `environment`.
    pub(crate) fn new(transaction: Arc<ReadPin>, environment: Arc<Environment>) -> Self {
        Self { transaction: Arc::new(RwLock::new(PinOwner::Here(transaction))), environment }
    }

    /// The transaction. Fails when it was lent and nobody has it any more: the query is over.
    fn transaction(&self) -> Result<Arc<ReadPin>> {
        match &*self.transaction.read().unwrap_or_else(PoisonError::into_inner) {
            PinOwner::Here(transaction) => Ok(Arc::clone(transaction)),
            PinOwner::Lent(transaction) => transaction.upgrade().ok_or(Error::Cancelled),
        }
    }

    /// Gives the transaction away: from here on it ends with what this gives, and the pin is of no use until [`Self::renew`].
    pub(crate) fn lend(&self) -> Result<Arc<ReadPin>> {
        let transaction = self.transaction()?;
        *self.transaction.write().unwrap_or_else(PoisonError::into_inner) =
            PinOwner::Lent(Arc::downgrade(&transaction));
        Ok(transaction)
    }

    /// The transaction that was lent, for one more to keep, or in its place what `begin` begins at the same commit; `None` when
    /// that gives none.
    pub(crate) fn renew(&self, begin: impl FnOnce() -> Result<Option<Self>>) -> Result<Option<Arc<ReadPin>>> {
        let mut held = self.transaction.write().unwrap_or_else(PoisonError::into_inner);
        if let PinOwner::Lent(lent) = &*held
            && let Some(transaction) = lent.upgrade()
        {
            return Ok(Some(transaction));
        }
        let Some(begun) = begin()? else { return Ok(None) };
        let transaction = begun.transaction()?;
        *held = PinOwner::Lent(Arc::downgrade(&transaction));
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
    pub(crate) fn seen(&self) -> Result<Seen> {
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
