//! Work of a transaction on several threads: parts that are taken one after the other, and syncs of the files that they write, for which the
//! disk has its time meanwhile.

use crate::Result;
use crate::panics::{self, PanicPoint, guarded, joined};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

/// Files that are synced at a time while others are written, but for one more of each thread that writes: as many keep a disk busy, and
/// each has a thread.
const SYNCS: usize = 8;

/// Syncs that are under way.
pub(crate) struct RunningSyncs<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    running: Mutex<VecDeque<ScopedJoinHandle<'scope, Result<()>>>>,
}

impl<'scope, 'env> RunningSyncs<'scope, 'env> {
    /// None yet.
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, running: Mutex::default() }
    }

    /// Begins one. Where there are [`SYNCS`] of them, waits for the oldest, and fails when that has failed.
    pub(crate) fn begin(&self, sync: impl FnOnce() -> Result<()> + Send + 'scope) -> Result<()> {
        let oldest = {
            let mut running = self.running();
            if running.len() < SYNCS { None } else { running.pop_front() }
        };
        oldest.map_or(Ok(()), |sync| joined(sync.join()))?;
        let sync = move || {
            panics::pass(PanicPoint::Sync);
            sync()
        };
        self.running().push_back(self.scope.spawn(|| guarded(sync)));
        Ok(())
    }

    /// Waits for all of them; of several errors gives the first.
    pub(crate) fn end(self) -> Result<()> {
        let running = self.running.into_inner().unwrap_or_else(PoisonError::into_inner);
        running.into_iter().map(|sync| joined(sync.join())).fold(Ok(()), Result::and)
    }

    fn running(&self) -> MutexGuard<'_, VecDeque<ScopedJoinHandle<'scope, Result<()>>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does work of so many parts on at most `threads` threads; the results in their order.
pub(crate) fn side_by_side<R: Send>(
    threads: usize,
    parts: usize,
    work: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                return Ok(done);
            }
            let made = guarded(|| {
                panics::pass(PanicPoint::Part);
                work(part)
            });
            // After an error the others end at their next part.
            done.push((part, made.inspect_err(|_| next.store(parts, Ordering::Relaxed))?));
        }
    };
    let results: Vec<Result<Vec<(usize, R)>>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(parts)).map(|_| scope.spawn(some)).collect();
        let own = some();
        std::iter::once(own).chain(others.into_iter().map(|other| joined(other.join()))).collect()
    });
    let mut done: Vec<(usize, R)> = Vec::with_capacity(parts);
    for result in results {
        done.extend(result?);
    }
    done.sort_unstable_by_key(|(part, _)| *part);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn no_more_syncs_run_at_a_time_than_may() {
        let (running, most, ended) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let sync = || {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(2));
            running.fetch_sub(1, Ordering::SeqCst);
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        std::thread::scope(|scope| {
            let syncs = RunningSyncs::new(scope);
            // Each of two threads may take the last place at the same time.
            side_by_side(2, 100, |_| syncs.begin(sync)).unwrap();
            syncs.end().unwrap();
        });
        assert_eq!(ended.load(Ordering::SeqCst), 100);
        assert!(most.load(Ordering::SeqCst) <= SYNCS + 2, "{most:?} at a time");
    }

    #[test]
    fn a_sync_that_fails_is_told() {
        for failing in [0, 5, 99] {
            std::thread::scope(|scope| {
                let syncs = RunningSyncs::new(scope);
                let begin =
                    |number| syncs.begin(move || if number == failing { Err(Error::Cancelled) } else { Ok(()) });
                let begun = (0..100).try_for_each(begin);
                assert!(matches!(begun.and(syncs.end()), Err(Error::Cancelled)), "{failing}");
            });
        }
    }

    #[test]
    fn results_come_in_order_and_the_first_error_ends_all() {
        for threads in [1, 2, 7] {
            assert_eq!(side_by_side(threads, 50, Ok).unwrap(), (0..50).collect::<Vec<_>>());
            let begun = AtomicUsize::new(0);
            let failed = side_by_side(threads, 1000, |part| {
                begun.fetch_add(1, Ordering::Relaxed);
                if part == 10 { Err(Error::Cancelled) } else { Ok(()) }
            });
            assert!(matches!(failed, Err(Error::Cancelled)));
            assert!(begun.into_inner() < 1000 || threads > 1);
        }
    }
}
