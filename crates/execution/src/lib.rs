//! Execution of Gingham: pipelines over the codes of tables, run by threads of their own.
//!
//! | file | what |
//! |---|---|
//! | `query` | what a planner writes: pipelines of steps |
//! | `expression` | what is computed, as it writes it |
//! | `value_map` | functions by their results |
//! | `computed` | functions that someone else knows, as columns of a source |
//! | `strings` | numbers for strings |
//! | `program/` | the same as steps over integers without NULLs |
//! | `stages`, `fixed` | where a pipeline is cut, as data; what an experiment fixes of it |
//! | `stage` | a part of a pipeline that is one loop: a filter and what is handed on |
//! | `ready` | the stages of a pipeline, planned just before it runs |
//! | `aggregate/` | groups and their states |
//! | `join` | key tables over rows, and the numbers that probe them |
//! | `range` | matches that lie next to each other in an order |
//! | `order` | rows in an order |
//! | `top` | the first of them, when no more are wanted |
//! | `rows`, `gathered`, `relation` | what a pipeline leaves, what its threads have of it, and the same as input of the next |
//! | `source` | records, a vector at a time |
//! | `interpret` | steps by loops over vectors |
//! | `codegen/` | steps as machine code |
//! | `trial` | which of both is faster |
//! | `flow`, `level` | one thread's way through a pipeline, and through one of its probes |
//! | `choices` | what is decided late, for EXPLAIN |
//! | `prepared` | a query that may run, what a run is given and what it tells |
//! | `morsels` | the records that threads take at once |
//! | `run` | pipeline after pipeline, morsel after morsel |
//! | `pool`, `turns` | the threads, and whose turn it is |
//! | `helpers` | what they share behind a pipeline's last morsel |
//! | `quotient` | quotients, rounded as decimals are |

mod aggregate;
mod choices;
mod codegen;
mod computed;
mod error;
mod expression;
mod fixed;
mod float;
mod flow;
mod gathered;
mod helpers;
mod interpret;
mod join;
mod level;
mod morsels;
mod order;
mod pool;
mod prepared;
mod program;
mod query;
mod quotient;
mod range;
mod ready;
mod relation;
mod rows;
mod run;
mod source;
mod stage;
mod stages;
mod strings;
#[cfg(test)]
mod tests;
mod top;
mod trial;
mod turns;
mod value_map;

pub use aggregate::{Aggregate, Aggregation, Apart, Finish, Function, Gathering, Moment, Spread};
pub use computed::{Compute, Computed};
pub use error::{Error, Result};
pub use expression::{Arithmetic, Comparison, Expression, FloatArithmetic, Limits};
pub use fixed::FixedStages;
pub use float::{float, ordered};
pub use join::JoinKind;
pub use order::SortKey;
pub use pool::Pool;
pub use prepared::{Input, Memory, Mode, PipelineReport, Prepared, Report, ScanSource, Stopper};
pub use query::{Hint, Numbers, Pipeline, Probe, Query, Sink, Source, Step};
pub use quotient::{divided, divided_wide};
pub use range::{Bound, Range};
pub use relation::Relation;
pub use rows::{Column, Rows, Values};
pub use stage::Field;
pub use strings::{Reader, Strings};
pub use top::Top;
pub use value_map::ValueMap;
