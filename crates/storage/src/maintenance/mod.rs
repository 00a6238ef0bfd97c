//! Maintenance of a database: all that is done to it besides reading and writing records.
//!
//! | file | what |
//! |---|---|
//! | `merge` | OPTIMIZE: delta and small segments become full ones |
//! | `layout_rewrite`, `page_rewrite` | changes of layout: segments anew, and into heap pages or out of them |
//! | `vacuum` | the catalog's file without free pages |
//! | `check`, `check_pages`, `check_indexes`, `check_records` | every checksum, and what refers to what; heap pages, their indexes and long values |
//! | `report` | what a check found |
//! | `backup` | a consistent copy while the database is in use |
//! | `publish` | what a publication sends |

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod check_indexes;
pub(crate) mod check_pages;
pub(crate) mod check_records;
pub(crate) mod layout_rewrite;
pub(crate) mod merge;
pub(crate) mod page_rewrite;
pub(crate) mod publish;
pub(crate) mod report;
pub(crate) mod vacuum;

pub use layout_rewrite::Watch;
pub use publish::{Publication, PublicationFile, checksum};
