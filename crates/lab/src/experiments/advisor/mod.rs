//! The advisor held against all that it could have proposed.
//!
//! | file | what |
//! |---|---|
//! | `workloads` | tables and statements of ten kinds |
//! | `exhaustive` | every candidate built and measured, beside what was proposed |

mod exhaustive;
mod workloads;

use crate::experiment::Experiment;

/// All of them, in the order in which they are shown.
pub const ALL: &[&Experiment] = &[&exhaustive::WORKLOADS];
