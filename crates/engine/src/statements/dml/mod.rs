//! Statements that write records.
//!
//! | file | what |
//! |---|---|
//! | `insert`, `values`, `conflict` | INSERT, its VALUES, ON CONFLICT |
//! | `change/` | UPDATE and DELETE |
//! | `merge` | MERGE |
//! | `generated` | values for identity columns and generated ones |
//! | `point/` | the one record that a unique key names, without planning |
//! | `ingest/`, `pipeline` | the one way of new records into a table, by lanes |

pub(crate) mod change;
pub(crate) mod conflict;
pub(crate) mod generated;
pub(crate) mod ingest;
pub(crate) mod insert;
pub(crate) mod merge;
pub(crate) mod pipeline;
pub(crate) mod point;
pub(crate) mod values;
