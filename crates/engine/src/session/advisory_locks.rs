//! Advisory locks: numbers that programs lock so that they agree with each other, and that mean nothing to the database. A
//! session has its locks until it gives them back or ends; those of a transaction end with that. They are of the process that
//! has the database open: two that read it do not see each other's.

use crate::functions::waiting;
use crate::postgres::{AdvisoryKey, AdvisoryRequest};
use crate::session::cancel::CancelToken;
use crate::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait goes on before it looks whether it was cancelled.
const NAP: Duration = Duration::from_millis(10);

/// The advisory locks of a database that somebody has.
#[derive(Debug, Default)]
pub(crate) struct AdvisoryLocks {
    taken: Mutex<HashMap<AdvisoryKey, Vec<Holder>>>,
    freed: Condvar,
}

/// Who has a lock, and how often.
#[derive(Debug)]
struct Holder {
    owner: usize,
    shared: bool,
    times: usize,
}

/// A lock that somebody has once. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct AdvisoryLock {
    locks: Arc<AdvisoryLocks>,
    key: AdvisoryKey,
    owner: usize,
    shared: bool,
}

impl Drop for AdvisoryLock {
    fn drop(&mut self) {
        let mut taken = self.locks.taken();
        let Some(holders) = taken.get_mut(&self.key) else { return };
        for holder in holders.iter_mut().filter(|own| own.owner == self.owner && own.shared == self.shared) {
            holder.times -= 1;
        }
        holders.retain(|own| own.times > 0);
        if holders.is_empty() {
            taken.remove(&self.key);
        }
        self.locks.freed.notify_all();
    }
}

impl AdvisoryLocks {
    fn taken(&self) -> MutexGuard<'_, HashMap<AdvisoryKey, Vec<Holder>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless another owner has it in a way that does not go with this one.
    pub(crate) fn attempt(self: &Arc<Self>, owner: usize, request: AdvisoryRequest) -> Option<AdvisoryLock> {
        let AdvisoryRequest { key, shared, of_transaction: _ } = request;
        let mut taken = self.taken();
        let holders = taken.entry(key).or_default();
        if holders.iter().any(|other| other.owner != owner && !(shared && other.shared)) {
            return None;
        }
        match holders.iter_mut().find(|own| own.owner == owner && own.shared == shared) {
            Some(own) => own.times += 1,
            None => holders.push(Holder { owner, shared, times: 1 }),
        }
        Some(AdvisoryLock { locks: Arc::clone(self), key, owner, shared })
    }

    /// The lock, once others have given it back: an error after `limit`, or when the statement is cancelled. Blocks.
    pub(crate) fn wait(
        self: &Arc<Self>,
        owner: usize,
        request: AdvisoryRequest,
        limit: Option<Duration>,
        cancel: &CancelToken,
    ) -> Result<AdvisoryLock> {
        let start = Instant::now();
        waiting(|| {
            loop {
                if let Some(lock) = self.attempt(owner, request) {
                    return Ok(lock);
                }
                cancel.check()?;
                if limit.is_some_and(|limit| start.elapsed() >= limit) {
                    let text = format!(
                        "another session has had the advisory lock for {} ms (lock_timeout)",
                        start.elapsed().as_millis()
                    );
                    return Err(Error::LockTimeout(text));
                }
                let taken = self.taken();
                drop(self.freed.wait_timeout(taken, NAP).unwrap_or_else(PoisonError::into_inner));
            }
        })
    }
}

/// The locks of a session, a transaction or a statement.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks(Mutex<Vec<AdvisoryLock>>);

impl HeldLocks {
    fn all(&self) -> MutexGuard<'_, Vec<AdvisoryLock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a lock.
    pub(crate) fn keep(&self, lock: AdvisoryLock) {
        self.all().push(lock);
    }

    /// Gives a lock back once; `false` where it is not there.
    pub(crate) fn give_back(&self, request: AdvisoryRequest) -> bool {
        let mut all = self.all();
        let found = all.iter().rposition(|own| own.key == request.key && own.shared == request.shared);
        found.map(|at| all.remove(at)).is_some()
    }

    /// Gives all of them back.
    pub(crate) fn give_all_back(&self) {
        self.all().clear();
    }
}
