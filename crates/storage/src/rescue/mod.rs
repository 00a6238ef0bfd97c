//! A new database with what is sound of a damaged one.
//!
//! The damaged catalog is never used through LMDB's map: its pages are read one by one (crate::lmdb::verifier::salvage), and the values
//! that prove themselves go into a new catalog. Then each table is looked at: what it names and the new database lacks is taken out of it,
//! and it is listed as one that has lost records, or as lost. What is told to be whole has all records of the commit that was read
//! (docs/decisions/0066-rescue.md).
//!
//! | file | what |
//! |---|---|
//! | `report` | what came of it |
//! | `facade` | the way from the damaged database to the new one |
//! | `copy` | the catalog's values and the files of segments |
//! | `names` | what tables were called whose definitions are lost |
//! | `columns` | tables in segments and delta blocks |
//! | `heap` | tables in heap pages, and their indexes |

mod columns;
mod copy;
mod facade;
mod heap;
mod names;
mod report;

pub use facade::rescue;
pub use report::{LostTable, PartialTable, RescueReport};
