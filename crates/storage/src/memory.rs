//! The one memory limit that the block cache and the queries share; the cache gives way.

use std::sync::Arc;

/// Accounts for bytes held by queries and by the cache under one limit.
#[derive(Debug)]
pub struct MemoryBudget {
    _private: (),
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        let _ = limit;
        todo!()
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        todo!()
    }

    /// Changes the limit; the cache shrinks at once where it must.
    pub fn set_limit(&self, limit: usize) {
        let _ = limit;
        todo!()
    }

    /// Reserves `bytes` for a query, evicting cached blocks when needed; false when even that is not enough.
    pub fn try_reserve(&self, bytes: usize) -> bool {
        let _ = bytes;
        todo!()
    }

    /// Reserves `bytes` for a query unconditionally.
    pub fn reserve(&self, bytes: usize) {
        let _ = bytes;
        todo!()
    }

    /// Gives back what a query reserved.
    pub fn release(&self, bytes: usize) {
        let _ = bytes;
        todo!()
    }

    /// Bytes that queries hold.
    pub fn reserved(&self) -> usize {
        todo!()
    }

    /// Bytes that the cache holds.
    pub fn cached(&self) -> usize {
        todo!()
    }
}
