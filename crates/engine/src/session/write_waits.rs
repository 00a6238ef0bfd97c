//! Statements in the line of those who want to write. Waiting for the turn blocks a thread, and so does what a statement does that
//! has the turn: were all threads taken by those who wait, nobody could go on. So a part of the threads is for those who wait, and
//! who comes when all of these are taken waits without one.

use crate::session::{StatementContext, blocking};
use crate::{Error, Result};
use gingham_storage::store::{Store, WriteOptions};
use std::sync::Arc;
use std::time::Instant;

impl StatementContext {
    /// Runs `work`, which blocks and may wait for the write lock of `store`, off the threads that drive queries. The wait for a
    /// thread and that for the turn, by [`write_options`](Self::write_options), together take `gingham.lock_timeout` at most.
    pub(crate) async fn in_line<R: Send + 'static>(
        &self,
        store: &Arc<Store>,
        work: impl FnOnce() -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.in_line_by(store, &self.write_options(), work).await
    }

    /// As [`in_line`](Self::in_line), waiting as `options` say.
    pub(super) async fn in_line_by<R: Send + 'static>(
        &self,
        store: &Arc<Store>,
        options: &WriteOptions,
        work: impl FnOnce() -> Result<R> + Send + 'static,
    ) -> Result<R> {
        if let Some(explaining) = &self.explaining {
            explaining.writes()?;
        }
        if self.session.is_reader() {
            return Err(self.session.read_only("a write"));
        }
        if self.transaction.as_ref().is_some_and(|transaction| transaction.has_turn(&self.session, store)) {
            return blocking(work).await;
        }
        let begun = Instant::now();
        let place = Arc::clone(&self.session.engine.waiting).acquire_owned();
        let place = match options.patience() {
            Some(limit) => tokio::time::timeout(limit, place).await.map_err(|_| Error::from(options.waited()))?,
            None => place.await,
        };
        self.waited.add(begun.elapsed());
        blocking(move || {
            let _place = place;
            work()
        })
        .await
    }
}
