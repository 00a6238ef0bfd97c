//! The experiments of the relaxed operator fusion paper (Menon, Mowry, Pavlo: "Relaxed Operator Fusion for In-Memory
//! Databases: Making Compilation, Vectorization, and Prefetching Work Together At Last"), one file for each figure,
//! and three of ours: `tables` and `hash` on what the paper leaves open, `auto` on the planner. Figure 18, against other
//! systems, is benchmarks/: the lab has none of them.

mod auto;
mod breakdown;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig16;
mod fig17;
mod fig4;
mod fig9;
mod hash;
mod probes;
mod query;
mod tables;

use crate::experiment::Experiment;

/// All of them.
pub static ALL: &[&Experiment] = &[
    &fig4::FIG4,
    &fig9::FIG9,
    &fig10::FIG10,
    &fig11::FIG11,
    &fig12::FIG12,
    &fig13::FIG13,
    &fig14::FIG14,
    &fig15::FIG15,
    &fig16::FIG16,
    &fig17::FIG17,
    &tables::TABLES,
    &hash::HASH,
    &auto::AUTO,
];
