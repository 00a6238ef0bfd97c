//! The experiments, by name.

mod advisor;
mod byteslice;
mod fragility;
#[cfg(test)]
mod made_up;
mod pax;
mod readopt;
mod rof;
mod select;
#[cfg(test)]
mod tests;

pub use select::{UnknownName, select};

use crate::experiment::Experiment;

/// Every experiment, in the order in which `lab list` shows them.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    [byteslice::ALL, pax::ALL, readopt::ALL, rof::ALL, fragility::ALL, advisor::ALL].into_iter().flatten().copied()
}
