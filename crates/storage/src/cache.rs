//! The cache of segment blocks in their native form.

use crate::memory::MemoryBudget;
use std::sync::Arc;

/// Blocks kept in memory, least recently used first to go.
#[derive(Debug)]
pub struct BlockCache {
    _private: (),
}

impl BlockCache {
    /// A cache that accounts to `budget`.
    pub fn new(budget: Arc<MemoryBudget>) -> Arc<Self> {
        let _ = budget;
        todo!()
    }
}
