//! Tables as DataFusion sees them: scans, filters on codes, statistics.
//!
//! | file | what |
//! |---|---|
//! | `provider` | a table: schema, keys, which filters it takes |
//! | `filter`, `column_test` | filters to predicates on codes |
//! | `dynamic` | filters that a join makes while the query runs |
//! | `join_keys` | the keys of a join as a set |
//! | `scan_exec`, `stream` | the operator and the batches of its partitions |
//! | `registered`, `registered_exec` | Arrow data of the program, and the operator that reads it |
//! | `reading` | what Arrow's types become in SQL |
//! | `count` | counting records without reading them |
//! | `statistics` | what the optimiser is told |
//! | `value` | constants between DataFusion and the storage |

mod column_test;
mod count;
mod dynamic;
mod filter;
mod join_keys;
mod like;
mod provider;
mod reading;
mod registered;
mod registered_exec;
mod scan_exec;
mod statistics;
mod stream;
mod value;

pub(crate) use count::{CountExec, CountOnCodes};
pub(crate) use dynamic::share_left_by_keys;
pub(crate) use join_keys::{GatherJoinKeys, JoinKeysExec};
pub(crate) use provider::{GinghamTable, Samples, is_stored};
pub use reading::readable;
pub(crate) use registered::RegisteredTable;
pub(crate) use registered_exec::RegisteredExec;
pub(crate) use scan_exec::{PartitionSource as ScanSource, ScanExec};
pub(crate) use value::{datum, scalar};
