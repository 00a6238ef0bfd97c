//! DataFusion's memory pool over the one memory limit that queries share with the block cache.

use datafusion::common::human_readable_size;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use gingham_storage::memory::MemoryBudget;
use std::sync::Arc;

/// Grants memory while the limit allows it; the cache gives way first. Operators that can spill do so when refused.
#[derive(Debug)]
pub(crate) struct BudgetPool {
    budget: Arc<MemoryBudget>,
}

impl BudgetPool {
    /// A pool over `budget`.
    pub(crate) fn new(budget: Arc<MemoryBudget>) -> Self {
        Self { budget }
    }
}

impl std::fmt::Display for BudgetPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "gingham({})", human_readable_size(self.budget.limit()))
    }
}

impl MemoryPool for BudgetPool {
    fn name(&self) -> &str {
        "gingham"
    }

    fn grow(&self, _reservation: &MemoryReservation, additional: usize) {
        self.budget.reserve(additional);
    }

    fn shrink(&self, _reservation: &MemoryReservation, shrink: usize) {
        self.budget.release(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<(), DataFusionError> {
        if self.budget.try_reserve(additional) {
            return Ok(());
        }
        Err(DataFusionError::ResourcesExhausted(format!(
            "{} holds {} and needs {} more, while all queries hold {} of gingham.memory_limit = {}",
            reservation.consumer().name(),
            human_readable_size(reservation.size()),
            human_readable_size(additional),
            human_readable_size(self.budget.reserved()),
            human_readable_size(self.budget.limit()),
        )))
    }

    fn reserved(&self) -> usize {
        self.budget.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.budget.limit())
    }
}
