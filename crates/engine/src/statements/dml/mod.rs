//! Statements that write records.
//!
//! | file | what |
//! |---|---|
//! | `insert`, `values`, `conflict` | INSERT, its VALUES, ON CONFLICT |
//! | `columns`, `defaults` | the columns that are filled; DEFAULT as a value |
//! | `change/` | UPDATE and DELETE |
//! | `work` | what a statement does with its table, read anew where others came between |
//! | `merge/` | MERGE |
//! | `parts/` | statements of WITH that change records, and the one that they stand before |
//! | `generated` | values for identity columns and generated ones |
//! | `point/` | the one record that a unique key names, without planning |
//! | `ingest/`, `pipeline` | the one way of new records into a table, by lanes |

pub(crate) mod change;
pub(crate) mod columns;
pub(crate) mod conflict;
mod defaults;
pub(crate) mod generated;
pub(crate) mod ingest;
pub(crate) mod insert;
pub(crate) mod merge;
pub(crate) mod parts;
pub(crate) mod pipeline;
pub(crate) mod point;
pub(crate) mod values;
pub(crate) mod work;
