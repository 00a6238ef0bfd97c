//! A node of EXPLAIN's tree.

use std::time::Duration;

/// An operator: what it does, and what is known of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlanNode {
    /// In words.
    pub(super) what: String,
    /// That pipelines leave it to DataFusion, and why.
    pub(super) left: Option<String>,
    /// Rows that it was expected to give.
    pub(super) estimated: Option<usize>,
    /// Rows that it gave.
    pub(super) rows: Option<usize>,
    /// The time that it worked, its inputs' aside: of an operator of DataFusion's on all threads together, of a pipeline by the clock.
    pub(super) time: Option<Duration>,
    /// The inputs of the operator, or the steps that it is made of.
    pub(super) children: Vec<Self>,
}

impl PlanNode {
    /// A node of which no more is known than what it does.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// Changes it and all below.
    pub(super) fn change(&mut self, how: &impl Fn(&mut Self)) {
        how(self);
        self.children.iter_mut().for_each(|child| child.change(how));
    }

    /// The node and all below it, in the order in which they are drawn.
    pub(super) fn all(&self) -> Vec<&Self> {
        std::iter::once(self).chain(self.children.iter().flat_map(Self::all)).collect()
    }
}
