//! Execution of Gingham: pipelines over the codes of tables, run by threads of their own.
//!
//! | file | what |
//! |---|---|
//! | `expression` | what is computed, as a planner writes it |
//! | `value_map` | functions by their results |
//! | `program/` | the same as steps over integers without NULLs |
//! | `aggregate/` | groups and their states |
//! | `source` | records of a morsel, a vector at a time |
//! | `interpret` | steps by loops over vectors |
//! | `codegen/` | steps as machine code |
//! | `pipeline` | a scan, a filter, an aggregation: morsel after morsel |
//! | `pool` | the threads |

mod aggregate;
mod codegen;
mod error;
mod expression;
mod interpret;
mod pipeline;
mod pool;
mod program;
mod source;
#[cfg(test)]
mod tests;
mod value_map;

pub use aggregate::{Aggregate, Aggregation, Function, Groups, Plan};
pub use error::{Error, Result};
pub use expression::{Arithmetic, Comparison, Expression, Limits};
pub use pipeline::{Memory, Mode, Pipeline, Report, Stopper};
pub use pool::Pool;
pub use value_map::ValueMap;
