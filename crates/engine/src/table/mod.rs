//! Tables as DataFusion sees them: scans, filters on codes, statistics.
//!
//! | file | what |
//! |---|---|
//! | `provider` | a table: schema, keys, which filters it takes |
//! | `filter`, `column_test` | filters to predicates on codes |
//! | `dynamic` | filters that a join makes while the query runs |
//! | `scan_exec`, `stream` | the operator and the batches of its partitions |
//! | `statistics` | what the optimiser is told |
//! | `value` | constants between DataFusion and the storage |

mod column_test;
mod dynamic;
mod filter;
mod like;
mod provider;
mod scan_exec;
mod statistics;
mod stream;
mod value;

pub(crate) use provider::GinghamTable;
pub(crate) use value::{datum, scalar};
