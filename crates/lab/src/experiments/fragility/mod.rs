//! The experiments of the runtime-fragility paper (Palatinus, Dittrich: "Runtime Fragility in Main Memory").
//!
//! The paper's micro-benchmark is compiled: `source` writes the loops in C and Rust, `toolchain` finds compilers and keeps what they make,
//! `setups` checks the programs, `program` runs them, `data` has what they read, `measured` makes them variants, `micro` lays the
//! benchmark out, and `lineitem` has TPC-H's queries. The other files have a figure or table each, or several that are computed from the same measurements.

mod data;
mod fig10;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod lineitem;
mod measured;
mod micro;
mod options;
mod program;
mod setups;
mod source;
mod sql;
mod strides;
#[cfg(test)]
mod tests;
mod toolchain;

use crate::experiment::Experiment;

/// All experiments of the paper: figures, then tables.
pub static ALL: &[&Experiment] = &[
    &fig3::FIG3,
    &fig4::FIG4,
    &fig5::FIG5,
    &fig6::FIG6,
    &strides::FIG8,
    &strides::FIG9,
    &fig10::FIG10,
    &fig4::TABLE3,
    &fig10::TABLE4,
    &options::OPTIONS,
    &sql::SQL,
];
