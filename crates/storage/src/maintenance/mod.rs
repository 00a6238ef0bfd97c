//! Maintenance of a database: all that is done to it besides reading and writing records.
//!
//! | file | what |
//! |---|---|
//! | `merge` | OPTIMIZE: delta and small segments become full ones |
//! | `redesign`, `repage` | changes of layout: segments anew, and into heap pages or out of them |
//! | `vacuum` | the catalog's file without free pages |
//! | `check`, `check_pages`, `check_indexes` | every checksum, and what refers to what; heap pages and their indexes |
//! | `report` | what a check found |
//! | `backup` | a consistent copy while the database is in use |

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod check_indexes;
pub(crate) mod check_pages;
pub(crate) mod merge;
pub(crate) mod redesign;
pub(crate) mod repage;
pub(crate) mod report;
pub(crate) mod vacuum;

pub use redesign::Watch;
