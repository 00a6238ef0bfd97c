//! Waiting within a function, whose threads drive queries.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does what may wait: another thread takes over the queries that this one drives.
pub(crate) fn waiting<R>(work: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
