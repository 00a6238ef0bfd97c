//! Work that threads share behind a pipeline's last morsel: putting columns together, building a key table. Whoever has it to do
//! does most of it; threads of the pool that come by take pieces of it. A piece waits for nothing, so that waiting for the last
//! ones is waiting for work that is being done.

use crate::schedule::fair::Share;
use crate::schedule::pool::{Job, Pool};
use crate::{Error, Result};
use gingham_storage::panics::{self, PanicPoint, caught};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Rows, counted once a column, from which on a thread's help is worth its being called.
const FEW: usize = 1 << 16;

/// Those who may help.
pub(crate) struct Helpers<'p> {
    /// The pool with the query's share of it; nobody helps without.
    pool: Option<(&'p Pool, &'p Arc<Share>)>,
    workers: usize,
}

/// Pieces of work, of which each gives something.
struct Together<T, M> {
    make: M,
    pieces: usize,
    /// The next piece that nobody has taken.
    next: AtomicUsize,
    made: Mutex<Made<T>>,
    /// No piece is under way any more.
    done: Condvar,
}

struct Made<T> {
    under_way: usize,
    pieces: Vec<Option<T>>,
    /// Why one is missing that another thread had taken.
    failure: Option<Error>,
}

/// A piece that is under way, which ends in any case.
struct Piece<'t, T, M>(&'t Together<T, M>);

impl<'p> Helpers<'p> {
    /// At most `workers` threads of a pool, for the query with this share.
    pub(crate) fn of(pool: &'p Pool, share: &'p Arc<Share>, workers: usize) -> Self {
        Self { pool: Some((pool, share)), workers }
    }

    /// Nobody.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { pool: None, workers: 1 }
    }

    /// How many threads work of so many rows is for.
    pub(crate) fn threads(&self, rows: usize) -> usize {
        self.workers.min(rows / FEW).max(1)
    }

    /// What `make` makes of each number below `pieces`, by as many as `threads` threads.
    pub(crate) fn each<T, M>(&self, pieces: usize, threads: usize, make: M) -> Result<Vec<T>>
    where
        T: Send + 'static,
        M: Fn(usize) -> T + Send + Sync + 'static,
    {
        let Some((pool, share)) = self.pool.filter(|_| threads.min(pieces) > 1) else {
            return Ok((0..pieces).map(make).collect());
        };
        let made = Made { under_way: 0, pieces: (0..pieces).map(|_| None).collect(), failure: None };
        let work = Together { make, pieces, next: AtomicUsize::new(0), made: Mutex::new(made), done: Condvar::new() };
        let work = Arc::new(work);
        pool.start(Arc::clone(&work) as Arc<dyn Job>, share, threads.min(pieces) - 1)?;
        while work.piece() {}
        let mut made = work.made();
        while made.under_way > 0 {
            made = work.done.wait(made).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(failure) = made.failure.take() {
            return Err(failure);
        }
        let pieces: Option<Vec<T>> = std::mem::take(&mut made.pieces).into_iter().collect();
        pieces.ok_or_else(|| Error::Internal("a piece of a pipeline's end that nobody made".to_owned()))
    }
}

impl Pool {
    /// What `make` makes of each number below `pieces`, by the caller and as many as `workers` threads with it.
    ///
    /// # Errors
    /// When a thread has failed.
    pub fn each<T, M>(&self, pieces: usize, workers: usize, make: M) -> Result<Vec<T>>
    where
        T: Send + 'static,
        M: Fn(usize) -> T + Send + Sync + 'static,
    {
        Helpers::of(self, &Arc::default(), workers).each(pieces, workers, make)
    }
}

impl<T, M: Fn(usize) -> T> Together<T, M> {
    fn made(&self) -> MutexGuard<'_, Made<T>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a piece; false when there was none.
    fn piece(&self) -> bool {
        let piece = Piece::begin(self);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.pieces {
            return false;
        }
        let made = caught(|| {
            panics::pass(PanicPoint::Piece);
            (self.make)(number)
        });
        // Before the piece ends, at which somebody may look for what came of it.
        let mut all = piece.0.made();
        match made {
            Ok(made) => all.pieces[number] = Some(made),
            Err(panic) => {
                all.failure.get_or_insert(panic.into());
                self.next.store(self.pieces, Ordering::Relaxed);
            }
        }
        true
    }
}

impl<'t, T, M: Fn(usize) -> T> Piece<'t, T, M> {
    fn begin(work: &'t Together<T, M>) -> Self {
        work.made().under_way += 1;
        Self(work)
    }
}

impl<T, M> Drop for Piece<'_, T, M> {
    fn drop(&mut self) {
        let mut made = self.0.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.under_way -= 1;
        if made.under_way == 0 {
            self.0.done.notify_all();
        }
    }
}

impl<T: Send, M: Fn(usize) -> T + Send + Sync> Job for Together<T, M> {
    fn step(&self, _: usize) -> bool {
        self.piece()
    }

    fn end(&self) {}

    fn fail(&self, error: Error) {
        self.made().failure.get_or_insert(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_is_made_once_in_its_place() {
        let (pool, share) = (Pool::new(), Arc::default());
        for workers in [1, 2, 7] {
            let helpers = Helpers::of(&pool, &share, workers);
            assert_eq!(helpers.threads(1 << 30), workers);
            assert_eq!(helpers.threads(5), 1);
            for pieces in [0, 1, 2, 100] {
                let made = helpers.each(pieces, workers, |piece| piece * 3).unwrap();
                assert!(made.into_iter().eq((0..pieces).map(|piece| piece * 3)), "{workers}, {pieces}");
            }
        }
    }

    #[test]
    fn a_piece_that_panics_elsewhere_is_missed() {
        let (pool, share) = (Pool::new(), Arc::default());
        let own = std::thread::current().id();
        let make = move |_| {
            assert_eq!(std::thread::current().id(), own, "no luck");
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        // Until another thread comes by.
        let error = loop {
            if let Err(error) = Helpers::of(&pool, &share, 2).each(50, 2, make) {
                break error.to_string();
            }
        };
        assert!(error.contains("no luck") && error.contains("helpers.rs:"), "{error}");
        let again = Helpers::of(&pool, &share, 2).each(50, 2, |piece| piece).unwrap();
        assert_eq!(again.len(), 50);
    }
}
