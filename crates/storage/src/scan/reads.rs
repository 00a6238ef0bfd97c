//! The state of a scan's run that reads past the caches.

use crate::io::ahead::ReadAhead;
use crate::io::memory::MemoryBudget;
use hashbrown::HashMap;
use std::sync::Arc;

/// The reads of one run of a scan.
#[derive(Debug)]
pub(super) struct ScanReads {
    /// Reads that are under way.
    pub(super) ahead: Arc<ReadAhead>,
    /// The files, by the number of their opening.
    pub(super) files: HashMap<u64, usize>,
    /// The account of memory.
    pub(super) budget: Arc<MemoryBudget>,
}

/// Memory that a morsel's columns take while it is worked on, as the budget knows it.
#[derive(Debug)]
pub(crate) struct MorselMemory {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl MorselMemory {
    /// Accounts for so many bytes, whatever the limit.
    pub(super) fn new(budget: &Arc<MemoryBudget>, bytes: usize) -> Self {
        budget.reserve(bytes);
        Self { budget: Arc::clone(budget), bytes }
    }
}

impl Drop for MorselMemory {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}
