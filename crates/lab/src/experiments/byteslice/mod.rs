//! The experiments of the ByteSlice paper (Feng, Lo, Kao, Xu: "ByteSlice: Pushing the Envelop of Main Memory Data
//! Processing with a New Storage Layout"), one file for each figure or table; those that differ in a constant share one.

mod expect;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig22;
mod fig8;
mod fig9;
mod grid;
mod lookup;
mod option2;
mod order;
mod query;
mod s512;
mod scan;
mod table1;
mod table2;
mod tpch_queries;

use crate::experiment::Experiment;

/// All of them: figures, then tables, then what the paper only predicts, rejects or leaves for later.
pub static ALL: &[&Experiment] = &[
    &fig8::FIG8,
    &fig9::FIG9,
    &fig10::FIG10,
    &fig11::FIG11,
    &fig12::FIG12,
    &fig13::FIG13,
    &fig14::FIG14,
    &fig15::FIG15,
    &grid::FIG16,
    &grid::FIG17,
    &grid::FIG18,
    &fig12::FIG19,
    &fig14::FIG20,
    &fig14::FIG21,
    &fig22::FIG22,
    &table1::TABLE1,
    &table2::TABLE2,
    &s512::S512,
    &option2::OPTION2,
    &order::SORT,
    &order::PARTITION,
    &order::MERGE,
    &order::SEARCH,
];
