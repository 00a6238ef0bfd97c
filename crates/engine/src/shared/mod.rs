//! Rows that a statement computes once and reads in several places: what a subquery's outer rows and their distinct values
//! are both made of, and queries of WITH.
//!
//! For DataFusion's rules such rows are a table, a leaf, whose plan they don't see. It is optimised when what is read of it is
//! known (`plan`), and run as readers ask; its rows are kept in memory, beyond the limit in files (`rows`), until the statement
//! ends. One reader alone gets the plan itself in the place of the rows (`settle`).
//!
//! | file | what |
//! |---|---|
//! | `table` | the rows as a table, and its readers |
//! | `settle` | which plans are worth it |
//! | `plan` | the plans are optimised, with the columns that are read |
//! | `exec` | the operator that reads |
//! | `rows` | the rows, made and kept |
//! | `runs` | which rows a run has |

mod exec;
mod plan;
mod rows;
mod runs;
mod settle;
mod table;

pub(crate) use exec::{KeepsPlans, SharedExec};
pub(crate) use plan::PlanShared;
pub(crate) use runs::SharedRuns;
pub(crate) use settle::{has_readers, settled};
pub(crate) use table::{SharedRows, reader, shared_by};
