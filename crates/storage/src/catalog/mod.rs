//! The catalog: one LMDB environment per database that makes segments, delta blocks, dictionaries and definitions
//! visible together, by its commit.

mod alter;
mod append;
mod backup;
mod check;
mod cuts;
mod dictionaries;
pub(crate) mod environment;
mod folder;
pub(crate) mod heap;
pub(crate) mod indexes;
pub(crate) mod keys;
mod load_snapshot;
mod merge;
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

pub use redesign::Watch;
pub use snapshot::{ColumnSummary, Snapshot, TableSnapshot, ViewDefinition};
pub use store::{CheckReport, OpenOptions, Store};
pub use summary::Summaries;
pub use table_writer::{TableWriter, WrittenRows};
pub use transaction::Transaction;
