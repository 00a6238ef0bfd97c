//! A query at work.
//!
//! | file | what |
//! |---|---|
//! | `prepared` | a query that may run, what a run is given, what it tells |
//! | `query_execution` | pipeline after pipeline, morsel after morsel |
//! | `morsels` | the records that threads take |
//! | `worker`, `level` | one thread's way through a pipeline |

pub(crate) mod level;
pub(crate) mod morsels;
pub(crate) mod prepared;
pub(crate) mod query_execution;
pub(crate) mod worker;
