//! Where delta-coded pages may be read on in the middle: a page of narrow differences has the records of several zones, and each
//! zone would sum up all of those before it.

use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A page of a file: its group, and its number there.
pub(crate) type PageKey = (usize, usize);

/// A place in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResumePoint {
    /// Entries before it, at least one.
    pub entry: usize,
    /// Bit at which the next entry starts.
    pub bit: usize,
    /// The number of the entry before.
    pub number: u64,
}

/// The places that are known of a file's pages: ends of the zones that were read. A few dozen bytes for each zone of a delta-coded group.
#[derive(Debug, Default)]
pub(crate) struct ResumePoints {
    pages: Mutex<HashMap<PageKey, BTreeMap<usize, ResumePoint>>>,
}

impl ResumePoints {
    /// The last place that is known of a page with at most so many entries before it.
    pub fn before(&self, page: PageKey, entry: usize) -> Option<ResumePoint> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        Some(*pages.get(&page)?.range(..=entry).next_back()?.1)
    }

    /// Notes a place of a page.
    pub fn note(&self, page: PageKey, point: ResumePoint) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.entry(page).or_default().insert(point.entry, point);
    }
}
