//! Views of zones that are kept for who asks for the same again: a condition's parts that are about one column, and the output.

use crate::ColumnId;
use crate::model::view::ColumnView;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More than the columns of a query on all threads at a time.
const KEPT: usize = 32;

/// Views by zone and column, the one asked for last at the end.
#[derive(Debug, Default)]
pub(crate) struct KeptViews(Mutex<VecDeque<(usize, ColumnId, ColumnView)>>);

impl KeptViews {
    /// The view of a column in a zone.
    pub(crate) fn get(&self, zone: usize, column: ColumnId) -> Option<ColumnView> {
        let mut kept = self.kept();
        let known = kept.iter().position(|(of, id, _)| (*of, *id) == (zone, column))?;
        let known = kept.remove(known)?;
        let view = known.2.clone();
        kept.push_back(known);
        Some(view)
    }

    /// Keeps a view, in the place of the one not asked for longest.
    pub(crate) fn put(&self, zone: usize, column: ColumnId, view: &ColumnView) {
        let mut kept = self.kept();
        let dropped = if kept.len() >= KEPT { kept.pop_front() } else { None };
        kept.push_back((zone, column, view.clone()));
        drop(kept);
        drop(dropped);
    }

    /// Lets go of those of a zone.
    pub(crate) fn forget(&self, zone: usize) {
        self.kept().retain(|(of, ..)| *of != zone);
    }

    /// Lets go of all of them.
    pub(crate) fn clear(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(usize, ColumnId, ColumnView)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
