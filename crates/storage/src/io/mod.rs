//! What needs `unsafe` in files and mappings of the catalog: LMDB environments and questions to the operating system.

pub(crate) mod lmdb;
pub(crate) mod system;
