//! Kernels that only experiments use: variants of the papers' methods beside those that the engine chose.

pub use crate::key_table::rof_table::RofTable;
pub use crate::packing::byteslice::{order, variants};
