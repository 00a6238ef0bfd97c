//! Files and mappings: what needs `unsafe` of LMDB and of the operating system, temporary folders, huge pages, sizes of caches,
//! files that lie elsewhere, and the one memory limit.

pub(crate) mod ahead;
pub(crate) mod caches;
pub(crate) mod direct;
pub(crate) mod huge;
pub(crate) mod kept_file;
pub(crate) mod lmdb;
pub(crate) mod memory;
pub(crate) mod pool;
pub(crate) mod reads;
pub(crate) mod remote;
pub(crate) mod system;
pub(crate) mod temporary;

pub use ahead::{ReadOptions, ReadTimes};
pub use caches::Caches;
pub use huge::{huge_buffer, huge_vec, huge_zeros};
pub use kept_file::{read_kept_file, write_kept_file};
pub use memory::MemoryBudget;
pub use remote::files::{RemoteFile, RemoteFiles};
pub use remote::folder::ChunkFolder;
pub use remote::ranged_reads::{RangeEnded, RangedReads};
pub use system::free_bytes;
