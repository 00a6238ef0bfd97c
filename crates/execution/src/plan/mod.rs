//! From a query as a planner writes it to pipelines that are ready to run.
//!
//! | file | what |
//! |---|---|
//! | `query` | the query: pipelines, each of which ends before the next begins |
//! | `pipeline_plan` | a pipeline whose build sides are known |
//! | `stages`, `stage_id`, `fixed` | how a pipeline is cut into stages; their numbers; what an experiment fixes of that |
//! | `choices` | choices that wait for sizes, as EXPLAIN tells them |

pub(crate) mod choices;
pub(crate) mod fixed;
pub(crate) mod pipeline_plan;
pub(crate) mod query;
pub(crate) mod stage_id;
pub(crate) mod stages;
