//! Records at work, a vector at a time: few enough that what is computed of them stays in the nearest caches.

use crate::{Error, Result};
use gingham_kernels::Isa;
use gingham_storage::decode::Selection;
use gingham_storage::model::ColumnView;
use gingham_storage::scan::integers;

/// Where a column of a pipeline's expressions lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    /// 0 is the pipeline's source, 1 what its first probe adds, and so on.
    pub input: usize,
    /// The column of that input, by position.
    pub column: usize,
}

/// Records of a vector. 1024 to 2048 measured best; the columns of a step are then 16 KB.
pub(crate) const VECTOR: usize = 2048;

/// Some records of a pipeline: of each input, which of its rows they have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vector<'m> {
    /// The source, then what each probe so far has added; one at least.
    pub(crate) inputs: &'m [VectorInput<'m>],
    pub(crate) isa: Isa,
}

/// Rows of one input, as many as the vector has records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectorInput<'m> {
    pub(crate) views: &'m [ColumnView],
    pub(crate) records: Records<'m>,
}

/// The records of a zone that a vector has.
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

    /// The row at a position of the vector.
    pub(crate) fn tid(self, position: usize) -> usize {
        match self {
            Self::Run { first, .. } => first + position,
            Self::Tids(tids) => tids[position] as usize,
        }
    }

    /// Appends the rows at some positions of the vector.
    pub(crate) fn select(self, isa: Isa, positions: &[u32], out: &mut Vec<u32>) {
        match self {
            Self::Run { first: 0, .. } => out.extend_from_slice(positions),
            Self::Run { first, .. } => out.extend(positions.iter().map(|position| first as u32 + position)),
            Self::Tids(tids) => gingham_kernels::lookup::copy(isa, tids, positions, out),
        }
    }
}

impl Vector<'_> {
    /// Records.
    pub(crate) fn len(&self) -> usize {
        self.inputs[0].records.len()
    }

    /// A column, and which of its rows the records have.
    pub(crate) fn column(&self, field: Field) -> Result<(&ColumnView, Records<'_>)> {
        let input = self.inputs.get(field.input);
        let found = input.and_then(|input| Some((input.views.get(field.column)?, input.records)));
        found.ok_or_else(|| Error::Internal(format!("a vector without {field:?}")))
    }

    /// The integers of a column, in place of what `out` had.
    pub(crate) fn integers(&self, field: Field, out: &mut Vec<i64>) -> Result<()> {
        out.clear();
        let (view, records) = self.column(field)?;
        let selection = match records {
            Records::Run { first, length } => Selection::Run(first..first + length),
            Records::Tids(tids) => Selection::Tids(tids),
        };
        Ok(integers(view, &selection, self.isa, out)?)
    }

    /// 1 where a column has a value, in place of what `out` had.
    pub(crate) fn valid(&self, field: Field, out: &mut Vec<i64>) -> Result<()> {
        out.clear();
        let (view, records) = self.column(field)?;
        match &view.validity {
            _ if view.is_null() => out.resize(records.len(), 0),
            None => out.resize(records.len(), 1),
            Some(validity) => out.extend((0..records.len()).map(|at| i64::from(validity.value(records.tid(at))))),
        }
        Ok(())
    }
}
