//! Changes of single records of heap tables, found by a key: what many clients wait for at a time. Those of a group are made in
//! one transaction without one of their own within it, and without a snapshot between them, since a change that is refused is so
//! before it has written anything. When one fails all the same, everything is undone, and each is done again for itself.

use crate::catalog::group::Work;
use crate::catalog::{Store, Transaction, WriteOptions};
use crate::heap::HeapWriter;
use crate::{Error, Result, TableId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// A change of a record.
pub(super) struct Point {
    table: TableId,
    change: Box<dyn Fn(&mut HeapWriter<'_, '_>) -> Result<()> + Send>,
}

impl Point {
    /// Makes it, in a transaction that is undone when that fails.
    pub(super) fn run(&self, transaction: &mut Transaction<'_>) -> Result<()> {
        transaction.heap(self.table, |heap| (self.change)(heap))
    }
}

impl Store {
    /// Runs `change` on a heap table as [`submit`](Self::submit) runs other work. It may be run more than once, of which the last
    /// counts. Gives up when `given_up` says so before it has begun.
    pub fn submit_point<R: Send + 'static>(
        self: &Arc<Self>,
        options: &WriteOptions,
        given_up: &dyn Fn() -> bool,
        table: TableId,
        change: impl Fn(&mut HeapWriter<'_, '_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let value = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&value);
        let change = Box::new(move |heap: &mut HeapWriter<'_, '_>| {
            let result = change(heap)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            Ok(())
        });
        self.wait_for(options, Work::Point(Point { table, change }), Some(given_up))?;
        let result = value.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(|| Error::InvalidInput("a transaction was committed that gave no result".into()))
    }

    /// Makes changes in one transaction; gives what became of its commit, or `None` when one of the changes failed and all are
    /// undone. The caller has the turn.
    pub(super) fn change_points(
        self: &Arc<Self>,
        mut points: Vec<&Point>,
        options: &WriteOptions,
    ) -> Option<Result<()>> {
        // Those of one table are made by one writer, in the order in which they came.
        points.sort_by_key(|point| point.table);
        let mut transaction = match self.begin_on(|store| store.snapshot(), options) {
            Ok(transaction) => transaction,
            Err(error) => return Some(Err(error)),
        };
        let changed = catch_unwind(AssertUnwindSafe(|| {
            points.chunk_by(|one, next| one.table == next.table).try_for_each(|same| {
                transaction.heap(same[0].table, |heap| {
                    same.iter().try_for_each(|point| {
                        (point.change)(heap)?;
                        // The next one finds its record by an entry.
                        heap.finish_indexes()
                    })
                })
            })
        }));
        matches!(changed, Ok(Ok(()))).then(|| transaction.commit())
    }
}
