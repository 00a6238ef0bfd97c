//! An open database.
//!
//! | file | what |
//! |---|---|
//! | `facade` | opening, reading, writing |
//! | `group`, `point_updates` | group commit, and changes of single records in it |
//! | `published` | a published database opened |
//! | `nested`, `open_transaction` | a statement within a transaction; transactions that stay open |

pub(crate) mod facade;
pub(crate) mod group;
pub(crate) mod nested;
pub(crate) mod open_transaction;
pub(crate) mod point_updates;
pub(crate) mod published;

pub use crate::maintenance::report::CheckReport;
pub use crate::open::{Store, Waited, WriteOptions};
pub use facade::OpenOptions;
pub use open_transaction::{OpenTransaction, SAVEPOINTS};
pub use point_updates::SentChange;
