//! Statements in the line of those who want to write. Waiting for the turn blocks a thread, and so does what a statement does that
//! has the turn: were all threads taken by those who wait, nobody could go on. So a part of the threads is for those who wait, and
//! who comes when all of these are taken waits without one.

use crate::session::{StatementContext, blocking};
use crate::{Error, Result};
use gingham_storage::catalog::Store;
use std::sync::Arc;

impl StatementContext {
    /// Runs `work`, which blocks and may wait for the turn to write `store`, off the threads that drive queries. Waits for a
    /// thread for `gingham.lock_timeout` at most; `work` may wait for the turn as long again.
    pub(crate) async fn in_line<R: Send + 'static>(
        &self,
        store: &Arc<Store>,
        work: impl FnOnce() -> Result<R> + Send + 'static,
    ) -> Result<R> {
        if self.transaction.as_ref().is_some_and(|transaction| transaction.has_turn(&self.session, store)) {
            return blocking(work).await;
        }
        let options = self.settings().write_options();
        let place = Arc::clone(&self.session.engine.waiting).acquire_owned();
        let place = match options.lock_timeout {
            Some(limit) => tokio::time::timeout(limit, place).await.map_err(|_| Error::from(options.waited()))?,
            None => place.await,
        };
        blocking(move || {
            let _place = place;
            work()
        })
        .await
    }
}
