//! Key tables: from the keys of one input's rows to their positions, made once the number of rows is known and then only
//! probed, by any number of threads (relaxed operator fusion paper, sections 3 and 4.3).
//!
//! | file | what |
//! |---|---|
//! | `hash_table` | ours: open addressing, entries of 16 bytes (8 for 32-bit keys), duplicates outside |
//! | `building` | the same, built by several threads |
//! | `dense_table` | an array over the codes of a small domain |
//! | `rof_table` | the paper's figure 7: status, key, payload, hash |
//! | `filter` | which keys can't be in a table, from one word per key |
//! | `duplicates` | positions of keys that several rows have; pairs of probe and build positions |
//! | `probe` | ways to find entries: prefetching, vertical vectorisation, whole vectors matched without branches |
//!
//! A probe has two steps, so that each is a tight loop and every kind of join shares the first. `locate` gives a **link**
//! for each key of a vector: [`NONE`], a build position, or where the key's duplicates lie. What follows depends on the
//! join: [`Duplicates::pairs`] turns links into pairs of positions, [`exists`] into a bit per key, and where each key has
//! at most one position the links are those positions.
//!
//! Entries hold numbers and no pointers: a table is as good in another place of memory, or on disk.

mod building;
mod dense_table;
mod duplicates;
mod filter;
mod hash_table;
mod pairs;
mod probe;
pub(crate) mod rof_table;

pub use building::Building;
pub use dense_table::DenseTable;
pub use duplicates::{Duplicates, LIST, MAX_ROWS, NONE};
pub use filter::Filter;
pub use hash_table::{Entry, HashTable};
pub use pairs::{Pairs, Resume};
pub use probe::Probing;

#[cfg(target_arch = "x86_64")]
pub(crate) use probe::{KeyLanes, Keys8, Keys16};

use crate::Isa;

/// A bit for each link, set where the key was found; bits past the last link are 0.
///
/// # Panics
/// When `out` has not one word for each 64 links.
pub fn exists(isa: Isa, links: &[u32], out: &mut [u64]) {
    crate::scan::range(isa, links, 0, NONE - 1, out);
}
