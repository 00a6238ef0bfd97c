//! WITH RECURSIVE as an operator of ours. DataFusion's takes one reader of the round before in the whole of a step, builds the
//! tables of a step's joins anew with each round, and is a plan that it can't see past.
//!
//! The first part of the UNION is the first round; each step reads the round before and makes the next one, until one has no
//! rows. Rows are given on as they are made. A plan is planned once: a run of it takes a copy of the step, whose readers look at
//! the run's own round, and each round resets what has a state but for the build sides of joins that read no round. UNION
//! looks each row up in one hash table over all rounds.
//!
//! | file | what |
//! |---|---|
//! | `node` | the logical node, in the place of DataFusion's, and its planning |
//! | `exec` | the operator |
//! | `run` | a run of it, round by round |
//! | `round` | the rows of a round, and the operator that reads them |
//! | `distinct` | the rows of UNION |
//! | `step` | a step from round to round |
//! | `builds` | the rule that chooses the sides of joins in a step |

mod builds;
mod distinct;
mod exec;
mod node;
mod round;
mod run;
mod step;

pub(crate) use builds::BuildOnce;
pub(crate) use exec::RecursionExec;
pub(crate) use node::{OwnPlanner, Recursions};
pub(crate) use round::RoundExec;
