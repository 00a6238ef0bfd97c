//! Execution of Gingham: pipelines over the codes of tables, run by threads of their own.
//!
//! The modules are layers: each imports from those above it in this table, with few exceptions that `cargo xtask tidy` counts.
//!
//! | module | what |
//! |---|---|
//! | `error` | the crate's error |
//! | `data` | rows between pipelines, vectors of records, numbers of strings |
//! | `schedule` | threads, and whose turn it is at them |
//! | `program` | expressions, and the steps that they become |
//! | `operators` | groups, key tables, orders; the interpreter |
//! | `codegen` | steps as machine code |
//! | `plan` | from a query to pipelines that are ready to run |
//! | `run` | a query at work |

mod codegen;
mod data;
mod error;
#[doc(hidden)]
pub mod lab;
mod operators;
mod plan;
mod program;
mod run;
mod schedule;
#[cfg(test)]
mod tests;

pub use data::limits::Limits;
pub use data::lookup_table::LookupTable;
pub use data::memory::Memory;
pub use data::relation::Relation;
pub use data::rows::{Column, Rows, Values};
pub use data::source::Field;
pub use data::strings::{InternedStrings, Reader};
pub use error::{Error, Result};
pub use operators::aggregate::{Aggregate, Aggregation, Finish, Function, Gathering, Moment, OutOfLine, Pair, Spread};
pub use operators::inequality::{Bound, Range};
pub use operators::join::JoinKind;
pub use operators::order::SortKey;
pub use operators::top::Top;
pub use plan::query::{Hint, Numbers, Pipeline, Probe, Query, Sink, Source, Step};
pub use program::computed::{Compute, Computed};
pub use program::expression::{Arithmetic, Comparison, Expression, FloatArithmetic};
pub use program::float::{float, ordered};
pub use program::mode::Mode;
pub use program::quotient::{divided, divided_wide};
pub use run::prepared::{PipelineReport, Prepared, QueryInputs, Report, ScanSource, Stopper};
pub use schedule::pool::Pool;
