//! Numbers of a pipeline's stages, by which the records that come to them are counted: two for each level, which ends in a
//! key's number and may have a condition on its matches, then the last stage and those beside it.

/// One stage of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StageId(usize);

impl StageId {
    /// The stage of a level that computes the number by which a table is probed, or that filters.
    pub(crate) fn number(level: usize) -> Self {
        Self(2 * level)
    }

    /// The stage of a level that looks at its matches.
    pub(crate) fn condition(level: usize) -> Self {
        Self(2 * level + 1)
    }

    /// The last stage, behind so many levels.
    pub(crate) fn end(levels: usize) -> Self {
        Self(2 * levels)
    }

    /// A stage beside this last one, which computes what an aggregate needs apart from the others.
    pub(crate) fn beside(self, number: usize) -> Self {
        Self(self.0 + 1 + number)
    }

    /// Its place among the stages of its pipeline, from 0.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}
