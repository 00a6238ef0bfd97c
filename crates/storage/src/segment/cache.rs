//! The cache of segment blocks in their native form.
//!
//! The unit is one column group of one segment: one region, filled zone by zone as zones are first read. A second-chance
//! clock chooses what goes; one that is being read is passed over, since dropping it would free nothing. When the
//! budget has no room, readers load their zone for themselves and the cache stays out of the way.

use crate::Result;
use crate::io::memory::{Evict, MemoryBudget};
use crate::segment::region::{ZoneParts, ZonedRegion};
use arrow::buffer::BooleanBuffer;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One region of a column group in memory; what is known of a zone are the validity bits of each of its columns, when they have
/// NULLs there.
pub(crate) type GroupMemory = ZonedRegion<Vec<Option<BooleanBuffer>>>;

/// Key of a group: number of its open segment within the process, and its place there.
pub(crate) type CacheKey = (u64, usize);

/// Blocks kept in memory, least recently used first to go.
#[derive(Debug)]
pub struct BlockCache {
    budget: Arc<MemoryBudget>,
    groups: Mutex<Groups>,
}

#[derive(Debug, Default)]
struct Groups {
    entries: HashMap<CacheKey, CachedGroup>,
    clock: VecDeque<CacheKey>,
}

#[derive(Debug)]
struct CachedGroup {
    memory: Arc<GroupMemory>,
    bytes: usize,
    used: bool,
}

impl BlockCache {
    /// A cache that accounts to `budget`.
    pub fn new(budget: Arc<MemoryBudget>) -> Arc<Self> {
        let cache = Arc::new(Self { budget, groups: Mutex::default() });
        cache.budget.register(&cache);
        cache
    }

    /// The account of its memory.
    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// The group of that key, made when it is not here, with `zones`; `None` when its bytes don't fit.
    pub(crate) fn group(
        &self,
        key: CacheKey,
        zones: impl FnOnce() -> Vec<ZoneParts>,
    ) -> Result<Option<Arc<GroupMemory>>> {
        if let Some(entry) = self.lock().entries.get_mut(&key) {
            entry.used = true;
            return Ok(Some(Arc::clone(&entry.memory)));
        }
        let zones = zones();
        let bytes = GroupMemory::size(&zones);
        let Some(charge) = self.budget.charge(bytes) else { return Ok(None) };
        let memory = Arc::new(GroupMemory::new(zones, Some(charge))?);
        let mut groups = self.lock();
        if let Some(entry) = groups.entries.get(&key) {
            let theirs = Arc::clone(&entry.memory);
            drop(groups);
            return Ok(Some(theirs));
        }
        groups.entries.insert(key, CachedGroup { memory: Arc::clone(&memory), bytes, used: false });
        groups.clock.push_back(key);
        Ok(Some(memory))
    }

    /// Whether a zone of the group of that key is here.
    pub(crate) fn has(&self, key: CacheKey, zone: usize) -> bool {
        self.lock().entries.get(&key).is_some_and(|entry| entry.memory.is_filled(zone))
    }

    /// Forgets the first `groups` groups of a segment that is closed.
    pub(crate) fn forget(&self, segment: u64, groups: usize) {
        let mut held = self.lock();
        let gone: Vec<_> = (0..groups).filter_map(|group| held.entries.remove(&(segment, group))).collect();
        if !gone.is_empty() {
            held.clock.retain(|key| key.0 != segment);
        }
        drop(held);
        drop(gone);
    }

    fn lock(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evict for BlockCache {
    /// Frees at least `bytes` where that is possible; returns what was freed.
    fn evict(&self, bytes: usize) -> usize {
        let mut victims = Vec::new();
        let mut freed = 0;
        let mut groups = self.lock();
        for _ in 0..2 * groups.clock.len() {
            if freed >= bytes {
                break;
            }
            let Some(key) = groups.clock.pop_front() else { break };
            let Some(entry) = groups.entries.get_mut(&key) else { continue };
            if entry.used || Arc::strong_count(&entry.memory) > 1 {
                entry.used = false;
                groups.clock.push_back(key);
            } else if let Some(entry) = groups.entries.remove(&key) {
                freed += entry.bytes;
                victims.push(entry);
            }
        }
        drop(groups);
        drop(victims);
        freed
    }
}
