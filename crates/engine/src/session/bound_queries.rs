//! Queries with parameters that are kept as they were bound, for when they come again with other values.
//!
//! They go with the snapshot of the tables that they name, as plans do (`plans`).

use crate::bind::BoundQuery;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most queries that are kept with a snapshot; the one not used for longest goes first.
const QUERIES: usize = 64;

/// The queries that are kept with one snapshot, the one used last at the end.
#[derive(Debug, Default)]
pub(super) struct BoundQueries(Mutex<VecDeque<KeptQuery>>);

#[derive(Debug)]
struct KeptQuery {
    text: Arc<str>,
    /// Number of the settings it was bound under.
    settings: u64,
    bound: BoundQuery,
    /// Its bytes, about, of the memory limit.
    _held: MemoryReservation,
}

impl BoundQueries {
    fn kept(&self) -> MutexGuard<'_, VecDeque<KeptQuery>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The query of a text under the settings of that number.
    pub(super) fn find(&self, text: &str, settings: u64) -> Option<BoundQuery> {
        let mut kept = self.kept();
        let at = kept.iter().position(|own| own.settings == settings && *own.text == *text)?;
        let own = kept.remove(at)?;
        let bound = own.bound.clone();
        kept.push_back(own);
        Some(bound)
    }

    /// Keeps a query that takes about `bytes`, where there is room.
    pub(super) fn keep(
        &self,
        text: &Arc<str>,
        settings: u64,
        bound: &BoundQuery,
        (bytes, pool): (usize, &Arc<dyn MemoryPool>),
    ) {
        let mut kept = self.kept();
        kept.retain(|own| own.settings != settings || *own.text != **text);
        while kept.len() >= QUERIES {
            kept.pop_front();
        }
        let held = MemoryConsumer::new("bound queries").register(pool);
        if held.try_grow(bytes).is_ok() {
            kept.push_back(KeptQuery { text: Arc::clone(text), settings, bound: bound.clone(), _held: held });
        }
    }
}
