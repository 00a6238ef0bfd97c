//! The catalog: one LMDB environment per database that makes segments, delta blocks, dictionaries and definitions
//! visible together, by its commit.

mod alter;
mod append;
mod backup;
mod change;
mod check;
mod cuts;
mod delete;
pub(crate) mod deleted;
mod dictionaries;
pub(crate) mod environment;
mod folder;
mod group;
pub(crate) mod heap;
mod keys;
mod line;
mod load_snapshot;
mod merge;
mod nested;
mod open_transaction;
mod pending;
mod ranges;
pub(crate) mod records;
mod redesign;
mod registry;
mod repage;
mod rows;
mod snapshot;
mod sorted;
mod store;
mod summary;
mod table_writer;
mod transaction;
pub(crate) mod values;
mod walker;

pub use change::Change;
pub use deleted::Deleted;
pub use keys::Conflicts;
pub use group::WriteOptions;
pub use open_transaction::OpenTransaction;
pub use redesign::Watch;
pub use snapshot::{ColumnSummary, Snapshot, TableSnapshot, ViewDefinition};
pub use store::{CheckReport, OpenOptions, Store};
pub use summary::Summaries;
pub use table_writer::{TableWriter, WrittenRows};
pub use transaction::Transaction;
