//! What needs `unsafe` in files and mappings of the catalog: LMDB environments and questions to the
//! operating system; and the asking for huge pages.

mod huge;
pub(crate) mod lmdb;
pub(crate) mod system;

pub use huge::{huge_buffer, huge_vec, huge_zeros};
