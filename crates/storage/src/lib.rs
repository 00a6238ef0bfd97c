//! Storage of Gingham: how tables lie on disk and in memory.
//!
//! | file | what |
//! |---|---|
//! | `types`, `datum`, `table`, `predicate`, `integer_set` | the vocabulary shared with the engine |
//! | `design` | a table's layouts, packings and encodings |
//! | `view`, `dictionary` | the column view: how any layout is read |
//! | `encoding/` | value <-> code |
//! | `segment/` | immutable segment files and delta images: writing and reading |
//! | `caches` | sizes of the processor's caches |
//! | `cache`, `memory` | blocks kept in memory, under one limit with the queries |
//! | `scan/` | predicates on codes, lookups, Arrow output |
//! | `heap/` | pages of records that are changed in place: NSM, DSM, PAX |
//! | `catalog/` | the LMDB catalog: snapshots, transactions, checks, backup |
//! | `io/` | what needs `unsafe` around LMDB and the operating system |

pub mod cache;
mod caches;
pub mod catalog;
mod datum;
pub mod design;
pub mod dictionary;
pub mod encoding;
mod error;
pub mod heap;
mod integer_set;
mod io;
pub mod memory;
mod predicate;
pub mod scan;
pub mod segment;
mod table;
mod types;
pub mod view;

pub use caches::Caches;
pub use datum::{Datum, FloatBits};
pub use design::{Design, EncodingChoice, Group, Layout, Packing};
pub use error::{Error, Result};
pub use integer_set::IntegerSet;
pub use io::{huge_buffer, huge_vec, huge_zeros};
pub use predicate::{ColumnTest, Predicate};
pub use table::{
    CheckDefinition, ColumnDefinition, ColumnId, DEFAULT_SCHEMA, IndexDefinition, KeyDefinition, ReferenceDefinition,
    TableDefinition, TableId, TableName,
};
pub use types::{LogicalType, Unit, ValueClass};
