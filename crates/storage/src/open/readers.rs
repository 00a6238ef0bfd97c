//! Who reads heap pages: what a reader sees is kept from being reused, so the store lists readers with their age.

use crate::Result;
use crate::lmdb::records;
use crate::open::shared::Store;
use crate::snapshot::pin::{Pin, Seen};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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
        let environment = self.environment()?;
        let transaction = environment.pin(Arc::clone(&reader) as _)?;
        Ok((Pin::new(Arc::new(transaction), environment), reader))
    }

    /// A pin of the current environment when the latest commit is `seen`, whose number is `commit`.
    pub(crate) fn pin_at(self: &Arc<Self>, (generation, transaction): Seen, commit: u64) -> Result<Option<Pin>> {
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
