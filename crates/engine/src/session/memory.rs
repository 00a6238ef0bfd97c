//! DataFusion's memory pool over the one memory limit that queries share with the block cache.
//!
//! Operators that can spill share, in equal parts, a third of what the others leave: so each spills in time, and the rest
//! is left to the merges of their sorted runs, which can't spill and need up to twice as much as the runs themselves.
//!
//! Rows on their way between partitions are counted, and never refused. What moves them would write them to disk, and in
//! DataFusion 55 its readers then wait for a file that nobody fills, for ever (DataFusion's issue 24883). They are few: who
//! fills the queues waits while each of them has rows.

use datafusion::common::human_readable_size;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use gingham_storage::io::MemoryBudget;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the names of operators that hand rows to other partitions start with.
const BETWEEN_PARTITIONS: &str = "RepartitionExec";

/// The beginning of the names of joins that look at all pairs of rows.
const OF_ALL_PAIRS: &str = "NestedLoopJoin";

/// Grants memory while the limit allows it; the cache gives way first.
#[derive(Debug)]
pub(crate) struct BudgetPool {
    budget: Arc<MemoryBudget>,
    shares: Mutex<Shares>,
}

#[derive(Debug, Default)]
struct Shares {
    /// Operators at work that can spill.
    spillers: usize,
    /// Bytes that they hold.
    spillable: usize,
}

impl BudgetPool {
    /// A pool over `budget`.
    pub(crate) fn new(budget: Arc<MemoryBudget>) -> Self {
        Self { budget, shares: Mutex::default() }
    }

    fn shares(&self) -> MutexGuard<'_, Shares> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusal(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionError {
        let name = reservation.consumer().name();
        let also =
            if name.starts_with(OF_ALL_PAIRS) { ", or join by an equality: all of one side is kept" } else { "" };
        DataFusionError::ResourcesExhausted(format!(
            "{name} holds {} and needs {} more, while all queries hold {} of gingham.memory_limit = {}; SET gingham.memory_limit to more{also}",
            human_readable_size(reservation.size()),
            human_readable_size(additional),
            human_readable_size(self.budget.reserved()),
            human_readable_size(self.budget.limit()),
        ))
    }
}

fn is_between_partitions(consumer: &MemoryConsumer) -> bool {
    consumer.name().starts_with(BETWEEN_PARTITIONS)
}

/// Whether it writes to disk what it is refused memory for, and so gets a share.
fn spills(consumer: &MemoryConsumer) -> bool {
    consumer.can_spill() && !is_between_partitions(consumer)
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

    fn register(&self, consumer: &MemoryConsumer) {
        if spills(consumer) {
            self.shares().spillers += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if spills(consumer) {
            self.shares().spillers -= 1;
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        if spills(reservation.consumer()) {
            self.shares().spillable += additional;
        }
        self.budget.reserve(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        if spills(reservation.consumer()) {
            self.shares().spillable -= shrink;
        }
        self.budget.release(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<(), DataFusionError> {
        if is_between_partitions(reservation.consumer()) {
            self.budget.reserve(additional);
            return Ok(());
        }
        if !spills(reservation.consumer()) {
            let granted = self.budget.try_reserve(additional);
            return if granted { Ok(()) } else { Err(self.refusal(reservation, additional)) };
        }
        let mut shares = self.shares();
        let others = self.budget.reserved().saturating_sub(shares.spillable);
        let share = self.budget.limit().saturating_sub(others) / 3 / shares.spillers.max(1);
        if reservation.size() + additional > share || !self.budget.try_reserve(additional) {
            return Err(self.refusal(reservation, additional));
        }
        shares.spillable += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.budget.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.budget.limit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spilling_operators_share_what_the_others_leave() {
        let pool: Arc<dyn MemoryPool> = Arc::new(BudgetPool::new(MemoryBudget::new(14 << 20)));
        let fixed = MemoryConsumer::new("join").register(&pool);
        let first = MemoryConsumer::new("sort").with_can_spill(true).register(&pool);
        let second = MemoryConsumer::new("group").with_can_spill(true).register(&pool);
        fixed.try_grow(2 << 20).unwrap();
        first.try_grow(2 << 20).unwrap();
        let error = first.try_grow(1).unwrap_err().to_string();
        assert!(error.contains("sort holds 2.0 MB and needs 1.0 B more"), "{error}");
        second.try_grow(2 << 20).unwrap();
        fixed.try_grow(8 << 20).unwrap();
        assert!(fixed.try_grow(1).is_err(), "all is taken");
        drop(second);
        fixed.shrink(8 << 20);
        first.try_grow(2 << 20).unwrap();
        drop((first, fixed));
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn rows_between_partitions_are_counted_and_never_refused() {
        let pool: Arc<dyn MemoryPool> = Arc::new(BudgetPool::new(MemoryBudget::new(1 << 20)));
        let moved = MemoryConsumer::new("RepartitionExec[0]").with_can_spill(true).register(&pool);
        moved.try_grow(2 << 20).unwrap();
        assert_eq!(pool.reserved(), 2 << 20);
        assert!(MemoryConsumer::new("join").register(&pool).try_grow(1).is_err());
        drop(moved);
        assert_eq!(pool.reserved(), 0);
    }
}
