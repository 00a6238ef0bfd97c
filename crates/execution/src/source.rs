//! Records of a morsel, a vector at a time: few enough that what is computed of them stays in the nearest caches.

use gingham_kernels::Isa;
use gingham_storage::scan::{OpenMorsel, Selection, integers};
use gingham_storage::view::ColumnView;
use std::ops::Range;

/// Records of a vector. 1024 to 2048 measured best; the columns of a step are then 16 KB.
pub(crate) const VECTOR: usize = 2048;

/// Qualifying records of one morsel, at most [`VECTOR`] of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vector<'m> {
    pub(crate) views: &'m [ColumnView],
    pub(crate) records: Records<'m>,
    pub(crate) isa: Isa,
}

/// Which records of the zone.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Records<'m> {
    /// As many from the first on.
    Run { first: usize, length: usize },
    /// These.
    Tids(&'m [u32]),
}

impl Records<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Run { length, .. } => length,
            Self::Tids(tids) => tids.len(),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The record at a position of the vector.
    pub(crate) fn tid(self, position: usize) -> usize {
        match self {
            Self::Run { first, .. } => first + position,
            Self::Tids(tids) => tids[position] as usize,
        }
    }
}

/// The vectors of a morsel.
pub(crate) fn vectors(morsel: &OpenMorsel, isa: Isa) -> impl Iterator<Item = Vector<'_>> {
    let part = move |part: Range<usize>| match &morsel.tids {
        None => Records::Run { first: part.start, length: part.len() },
        Some(tids) => Records::Tids(&tids[part]),
    };
    let rows = morsel.qualifying();
    let starts = (0..rows).step_by(VECTOR);
    starts.map(move |start| Vector { views: &morsel.views, records: part(start..rows.min(start + VECTOR)), isa })
}

impl Vector<'_> {
    /// The integers of a column, in place of what `out` had.
    pub(crate) fn integers(&self, column: usize, out: &mut Vec<i64>) -> crate::Result<()> {
        out.clear();
        let selection = match self.records {
            Records::Run { first, length } => Selection::Run(first..first + length),
            Records::Tids(tids) => Selection::Tids(tids),
        };
        Ok(integers(&self.views[column], &selection, self.isa, out)?)
    }

    /// 1 where a column has a value, in place of what `out` had.
    pub(crate) fn valid(&self, column: usize, out: &mut Vec<i64>) {
        out.clear();
        let view = &self.views[column];
        match &view.validity {
            _ if view.is_null() => out.resize(self.records.len(), 0),
            None => out.resize(self.records.len(), 1),
            Some(validity) => {
                out.extend((0..self.records.len()).map(|at| i64::from(validity.value(self.records.tid(at)))));
            }
        }
    }
}
