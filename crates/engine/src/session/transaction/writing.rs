//! How a statement writes: as a transaction of its own, or as part of the session's.

use crate::session::transaction::SessionTransaction;
use crate::session::{CancelToken, Session, StatementContext, Use, blocking};
use crate::{Error, Result};
use gingham_storage::store::{Store, WriteOptions};
use gingham_storage::write::{Transaction, WrittenRows};
use gingham_storage::{SqlState, TableId};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// The savepoint before a statement that writes several times within a transaction: no statement can name it.
const STATEMENT: &str = "\0statement";

/// How a statement writes: as a transaction of its own, or as part of the session's.
#[derive(Debug, Clone)]
pub(crate) struct Writing {
    session: Arc<Session>,
    transaction: Option<Arc<Use>>,
    options: WriteOptions,
    cancel: CancelToken,
    /// The commit of the database that the statement reads.
    seen: u64,
}

impl Writing {
    pub(in crate::session) fn new(context: &StatementContext) -> Self {
        let (session, transaction) = (Arc::clone(&context.session), context.transaction.clone());
        let (options, cancel, seen) = (context.write_options(), context.cancel.clone(), context.snapshot.commit);
        Self { session, transaction, options, cancel, seen }
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
            Some(transaction) => transaction.part(&self.session, store, &self.options, self.seen)?.write(work),
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
            false => SessionTransaction::writing_temp(begun, Arc::clone(&self.snapshot)),
        };
        let entered = Arc::new(transaction).enter();
        let (session, cancel, tables) = (Arc::clone(&self.session), self.cancel.clone(), self.tables.clone());
        let mut context = Self::within(session, cancel, tables, Some(Arc::clone(&entered)), true)?;
        context.owns_files = self.owns_files;
        Ok((context, entered))
    }

    /// Does something that reads and writes several times, with the write lock from the start: all of it or, when it fails, nothing.
    pub(crate) async fn all_or_nothing<T, W>(
        &self,
        store: &Arc<Store>,
        work: impl FnOnce(StatementContext) -> W,
    ) -> Result<T>
    where
        W: Future<Output = Result<T>> + Send,
    {
        let Some(transaction) = self.transaction.clone() else {
            let (context, transaction) = self.as_writer(store).await?;
            let done = work(context).await?;
            blocking(move || transaction.commit()).await?;
            return Ok(done);
        };
        let (own, cancel) = (Arc::clone(&transaction), self.cancel.clone());
        blocking(move || own.savepoint(STATEMENT.to_owned(), &cancel)).await?;
        let done = work(self.clone()).await;
        let (failed, cancel) = (done.is_err(), self.cancel.clone());
        let ended = blocking(move || {
            if failed {
                transaction.back_to(STATEMENT, &cancel)?;
            }
            transaction.release(STATEMENT, &cancel)
        });
        let ended = ended.await;
        let done = done?;
        ended.map(|()| done)
    }

    /// Refuses a statement that can't be a part of a transaction.
    pub(crate) fn require_alone(&self, what: &str) -> Result<()> {
        match &self.transaction {
            None => Ok(()),
            Some(_) => Err(Error::invalid(
                SqlState::ActiveSqlTransaction,
                format!("{what} can't be part of a transaction; COMMIT or ROLLBACK, then run it alone"),
            )),
        }
    }
}
