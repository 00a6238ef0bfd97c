//! The state of an open database that its readers, its writers and those who maintain it share.
//!
//! | file | what |
//! |---|---|
//! | `shared` | the state: path, environment, memory limit, cache, open files |
//! | `registry` | one store per path and process |
//! | `current`, `latest` | the environment in use; the latest snapshot |
//! | `readers`, `leased` | read transactions of those who look at heap pages, for a query and between the runs of a plan |
//! | `writer_queue` | the queue of those who want to write |
//! | `options` | how a transaction writes |
//! | `pending` | segment files whose fate is open |
//! | `vacuums` | what is known of VACUUMs |

pub(crate) mod current;
pub(crate) mod latest;
pub(crate) mod leased;
pub(crate) mod options;
pub(crate) mod pending;
pub(crate) mod readers;
pub(crate) mod registry;
pub(crate) mod sequence_memory;
pub(crate) mod shared;
pub(crate) mod vacuums;
pub(crate) mod writer_queue;

pub use leased::{LeasedPages, ResumedPages};
pub use options::{Waited, WriteOptions};
pub use shared::Store;
