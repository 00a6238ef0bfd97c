//! From DataFusion's physical plans to compiled pipelines: which parts are taken, and the operator that runs them.
//!
//! | file | what |
//! |---|---|
//! | `rule` | the physical rule that replaces what is supported |
//! | `subtree` | aggregation over filters and projections over a scan -> one plan |
//! | `translate` | physical expressions -> expressions over integers |
//! | `value_map` | any expression over one column -> its results by value |
//! | `exec` | `CompiledExec`, the operator |
//! | `results` | groups -> Arrow arrays |

mod exec;
mod results;
mod rule;
mod subtree;
mod translate;
mod value_map;

pub(crate) use exec::CompiledExec;
pub(crate) use rule::CompilePipelines;
