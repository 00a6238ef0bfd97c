//! Order-preserving dictionaries with versions.
//!
//! A dictionary belongs to a column. A version is a sorted list of distinct byte strings; codes are positions in it. A
//! segment names the version that its codes refer to and is never rewritten when other values arrive: a later segment
//! brings its own version. The newest dictionary is the union of all versions in use, and a monotone array leads from
//! each version's codes to the newest, so joins and groups can compare codes of different segments.

use arrow::array::{Array, ArrayRef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One sorted list of distinct entries.
#[derive(Debug)]
pub struct DictionaryVersion {
    /// Number within the column, from 1.
    pub version: u32,
    /// The entries, strictly ascending bytewise, without NULLs; of the column's Arrow type (Utf8View or BinaryView).
    pub entries: ArrayRef,
    /// For each entry its code in the column's newest dictionary: strictly ascending.
    pub newest: Arc<[u32]>,
}

/// All versions of one column in use by a snapshot.
#[derive(Debug)]
pub struct Dictionary {
    /// Union of all versions' entries, strictly ascending.
    pub newest: ArrayRef,
    /// By number.
    pub versions: BTreeMap<u32, Arc<DictionaryVersion>>,
}

impl Dictionary {
    /// Entries of the union: the exact number of distinct values in coded segments.
    pub fn distinct(&self) -> usize {
        self.newest.len()
    }
}
