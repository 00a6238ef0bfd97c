//! Storage of Gingham: how tables lie on disk and in memory.
//!
//! The modules are layers: each imports only from those above it in this table (`cargo xtask tidy` checks it).
//!
//! | module | what |
//! |---|---|
//! | `sql_state` | kinds of mistakes, by SQLSTATE |
//! | `panics` | panics as errors, and where tests make them |
//! | `error` | the crate's error |
//! | `io` | files, LMDB's unsafe calls, the operating system, the memory limit |
//! | `model` | the vocabulary shared with the engine: types, tables, designs, predicates, dictionaries, column views |
//! | `encoding` | value <-> code |
//! | `decode` | column views -> Arrow arrays |
//! | `segment` | immutable segment files and delta images: writing, reading, the cache of their blocks |
//! | `pages` | heap pages as bytes and views: NSM, DSM, PAX |
//! | `lmdb` | the catalog's environment, values and records, its verifier, the database folder |
//! | `published` | published databases: their manifest, and how their files are read |
//! | `snapshot` | what a reader sees at one commit, heap readers with it |
//! | `scan` | predicates on codes, lookups, Arrow output |
//! | `open` | the state of an open database that readers and writers share |
//! | `write` | write transactions: rows, definitions, keys, indexes, heap writers |
//! | `maintenance` | merging, changes of layout, vacuum, check, backup, what is published |
//! | `lab` | what only experiments use |
//! | `store` | an open database: who may write, group commit, open transactions |
//! | `rescue` | what is sound of a damaged database, in a new one |

pub mod decode;
pub mod encoding;
mod error;
pub mod io;
#[doc(hidden)]
pub mod lab;
pub mod lmdb;
pub mod maintenance;
pub mod model;
pub mod open;
pub mod pages;
#[doc(hidden)]
pub mod panics;
pub mod published;
pub mod rescue;
pub mod scan;
pub mod segment;
pub mod snapshot;
mod sql_state;
pub mod store;
pub mod write;

pub use error::{Error, Result};
pub use io::{Caches, huge_buffer, huge_vec, huge_zeros};
pub use model::{
    CheckDefinition, ColumnDefinition, ColumnId, ColumnTest, DEFAULT_SCHEMA, Datum, Design, EncodingChoice, FloatBits,
    Generation, Group, IndexDefinition, IntegerSet, KeyDefinition, Layout, LogicalType, Packing, Predicate,
    RecordedIndex, ReferenceDefinition, SequenceDefinition, SequenceOwner, SequenceRecord, TableDefinition, TableId,
    TableName, Unit, ValueClass, type_name,
};
pub use sql_state::{Position, Problem, SqlState};
