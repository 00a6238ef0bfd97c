//! What experiments may fix of how pipelines run.

pub use crate::plan::fixed::FixedStages;
