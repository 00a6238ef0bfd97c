//! The experiments of the relaxed operator fusion paper (Menon, Mowry, Pavlo: "Relaxed Operator Fusion for In-Memory
//! Databases: Making Compilation, Vectorization, and Prefetching Work Together At Last"), one file for each figure.

mod fig4;

use crate::experiment::Experiment;

/// All of them.
pub static ALL: &[&Experiment] = &[&fig4::FIG4];
