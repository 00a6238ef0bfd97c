//! The experiments of the read-optimized paper (Holloway, DeWitt: "Read-Optimized Databases, In Depth"), a file for each figure
//! or table; those that differ in their table alone share one.
//!
//! `tables` has the paper's tables, `stored` has them in dense pages, `queries` draws its queries, `scan` has its scanners with `forced`
//! selectivity, `measured` makes them variants, `balance` derives their times on another disk, `grid` lays most figures out, and `expect` has what claims share.

mod balance;
mod expect;
mod fig10;
mod fig2;
mod fig3;
mod fig4;
mod fig7;
mod fig9;
mod forced;
mod grid;
mod measured;
mod queries;
mod scan;
mod sizes;
mod sql;
mod stored;
mod tables;
#[cfg(test)]
mod tests;

use crate::experiment::Experiment;

/// All experiments of the paper: figures, then tables.
pub static ALL: &[&Experiment] = &[
    &fig2::FIG2,
    &fig3::FIG3,
    &fig4::FIG4,
    &fig4::FIG5,
    &fig4::FIG6,
    &fig7::FIG7,
    &fig4::FIG8,
    &fig9::FIG9,
    &fig10::FIG10,
    &sizes::TABLE1,
    &sizes::TABLE2,
    &sql::SQL,
];
