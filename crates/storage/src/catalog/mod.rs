//! The catalog: one LMDB environment per database that makes segments, delta blocks, dictionaries and definitions
//! visible together, by its commit.

mod snapshot;
mod store;
mod summary;
mod transaction;

pub use snapshot::{ColumnSummary, Snapshot, TableSnapshot, ViewDefinition};
pub use store::{CheckReport, OpenOptions, Store};
pub use summary::Summaries;
pub use transaction::{TableWriter, Transaction, WrittenRows};
