//! The experiments of the PAX paper (Ailamaki, DeWitt, Hill: "Data Page Layouts for Relational Databases on Deep Memory
//! Hierarchies"), a file for each figure or table; those that differ in a constant share one.
//!
//! `scan` has the paper's own operators, `relation` its R, `loads` TPC-H in heap pages, `tpch` the queries by these operators and
//! `sql` through SQL, `simulated` the processors that it measured.

mod expect;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig8;
mod loads;
mod misses;
mod points;
mod relation;
mod scan;
mod simulated;
mod space;
mod sql;
mod table1;
mod tpch;

use crate::experiment::Experiment;

/// All of them: figures, then tables, then what the paper only tells.
pub static ALL: &[&Experiment] = &[
    &misses::FIG6,
    &misses::FIG7,
    &fig8::FIG8,
    &misses::FIG9,
    &fig10::FIG10,
    &fig11::FIG11,
    &fig12::FIG12,
    &fig13::FIG13,
    &misses::FIG14,
    &table1::TABLE1,
    &fig11::TABLE2,
    &points::POINTS,
    &space::SPACE,
];
