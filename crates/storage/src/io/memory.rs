//! The one memory limit that the block cache and the queries share; the cache gives way.
//!
//! Two counters under one lock: what queries reserved and what cached columns occupy. A cached column is charged from
//! its making to the moment its memory is freed, also while it is evicted but still read, so the counters never
//! promise memory that is still in use. No lock of the cache is ever taken while the counters' lock is held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A cache that gives way to queries.
pub(crate) trait Evict: std::fmt::Debug + Send + Sync {
    /// Frees at least `bytes` if it can; gives the bytes that it has freed, or will have once their readers are done.
    fn evict(&self, bytes: usize) -> usize;
}

/// Accounts for bytes held by queries and by the cache under one limit.
#[derive(Debug)]
pub struct MemoryBudget {
    counters: Mutex<Counters>,
    caches: Mutex<Vec<Weak<dyn Evict>>>,
}

#[derive(Debug)]
struct Counters {
    limit: usize,
    reserved: usize,
    cached: usize,
}

impl Counters {
    /// Bytes by which the limit would be passed after `more`.
    fn excess(&self, more: usize) -> usize {
        self.reserved.saturating_add(self.cached).saturating_add(more).saturating_sub(self.limit)
    }
}

/// Bytes of the cache's share, given back when dropped.
#[derive(Debug)]
pub(crate) struct CacheCharge {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl Drop for CacheCharge {
    fn drop(&mut self) {
        self.budget.lock().cached -= self.bytes;
    }
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            counters: Mutex::new(Counters { limit, reserved: 0, cached: 0 }),
            caches: Mutex::new(Vec::new()),
        })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.lock().limit
    }

    /// Changes the limit; the cache shrinks at once where it must.
    pub fn set_limit(&self, limit: usize) {
        let excess = {
            let mut counters = self.lock();
            counters.limit = limit;
            counters.excess(0)
        };
        self.evict(excess);
    }

    /// Reserves `bytes` for a query, evicting cached blocks when needed; false when even that is not enough.
    pub fn try_reserve(&self, bytes: usize) -> bool {
        self.grow(bytes, |counters| counters.reserved += bytes)
    }

    /// Reserves `bytes` for a query unconditionally.
    pub fn reserve(&self, bytes: usize) {
        let excess = {
            let mut counters = self.lock();
            counters.reserved = counters.reserved.saturating_add(bytes);
            counters.excess(0)
        };
        self.evict(excess);
    }

    /// Gives back what a query reserved.
    pub fn release(&self, bytes: usize) {
        let mut counters = self.lock();
        counters.reserved = counters.reserved.saturating_sub(bytes);
    }

    /// Bytes that queries hold.
    pub fn reserved(&self) -> usize {
        self.lock().reserved
    }

    /// Bytes that the cache holds, with evicted columns that are still being read.
    pub fn cached(&self) -> usize {
        self.lock().cached
    }

    /// Takes `bytes` for a cached column, evicting others when needed; `None` when they can't be had.
    pub(crate) fn charge(self: &Arc<Self>, bytes: usize) -> Option<CacheCharge> {
        self.grow(bytes, |counters| counters.cached += bytes).then(|| CacheCharge { budget: Arc::clone(self), bytes })
    }

    /// Makes `cache` one of those that give way.
    pub(crate) fn register(&self, cache: &Arc<impl Evict + 'static>) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        caches.retain(|cache| cache.strong_count() > 0);
        let cache: Weak<dyn Evict> = Arc::downgrade(&(Arc::clone(cache) as Arc<dyn Evict>));
        caches.push(cache);
    }

    /// Applies `take` once `more` bytes fit, evicting as long as that frees anything.
    fn grow(&self, more: usize, take: impl Fn(&mut Counters)) -> bool {
        loop {
            let excess = {
                let mut counters = self.lock();
                let excess = counters.excess(more);
                if excess == 0 {
                    take(&mut counters);
                    return true;
                }
                if more > counters.limit {
                    return false;
                }
                excess
            };
            if self.evict(excess) == 0 {
                return false;
            }
        }
    }

    /// Asks the caches to free `bytes`; returns what they freed.
    fn evict(&self, bytes: usize) -> usize {
        if bytes == 0 {
            return 0;
        }
        let caches: Vec<_> = {
            let caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
            caches.iter().filter_map(Weak::upgrade).collect()
        };
        let mut freed = 0;
        for cache in caches {
            if freed < bytes {
                freed += cache.evict(bytes - freed);
            }
        }
        freed
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_stay_under_the_limit() {
        let budget = MemoryBudget::new(100);
        assert!(budget.try_reserve(60));
        assert!(!budget.try_reserve(41));
        assert!(budget.try_reserve(40));
        budget.release(50);
        assert_eq!(budget.reserved(), 50);
        budget.reserve(500);
        assert_eq!(budget.reserved(), 550);
        assert!(!budget.try_reserve(0) || budget.limit() >= 550);
    }

    #[test]
    fn a_charge_is_given_back_when_dropped() {
        let budget = MemoryBudget::new(100);
        let charge = budget.charge(80).unwrap();
        assert_eq!(budget.cached(), 80);
        assert!(budget.charge(21).is_none());
        assert!(!budget.try_reserve(21));
        drop(charge);
        assert_eq!(budget.cached(), 0);
        assert!(budget.try_reserve(100));
    }
}
