//! The catalog as LMDB keeps it: one environment per database, whose commits make segments, delta blocks, pages,
//! dictionaries and definitions visible together.
//!
//! | file | what |
//! |---|---|
//! | `environment` | the environment, its databases, short read transactions, growth of the map |
//! | `values` | the envelope of a value: version, checksum, payload |
//! | `records`, `heap_record` | what the values say, and the keys that they lie under |
//! | `heap_keys`, `index_entries` | keys of heap pages; entries of indexes |
//! | `walker/` | the catalog verifier: pages of LMDB's own tree, and the checksum of a commit |
//! | `folder` | the database folder: its parts, who may write it, which files are left over |

pub(crate) mod environment;
pub(crate) mod folder;
pub(crate) mod heap_keys;
pub(crate) mod heap_record;
pub(crate) mod index_entries;
pub(crate) mod records;
pub(crate) mod values;
pub(crate) mod verifier;

pub use heap_record::{HeapRecord, RecordId};
