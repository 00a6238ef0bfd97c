//! A node of EXPLAIN's tree, and the statement that it is of.

use crate::sql::explain::ExplainOptions;
use std::time::Duration;

/// An operator: what it does, and what is known of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlanNode {
    /// In words.
    pub(crate) what: String,
    /// More of it, a line each: why it is not compiled, how a scan finds its records.
    pub(crate) notes: Vec<String>,
    /// Rows that it was expected to give.
    pub(crate) expected: Option<usize>,
    /// Rows that it gave.
    pub(crate) rows: Option<usize>,
    /// The time that it worked, its inputs' aside: of an operator of DataFusion's on all threads together, of a pipeline by the clock.
    pub(crate) time: Option<Duration>,
    /// Bytes that it read: of files where it read past the caches, else of columns in memory, about.
    pub(crate) bytes: Option<u64>,
    /// Bytes of memory that it held at most.
    pub(crate) memory: Option<usize>,
    /// The inputs of the operator, or the steps that it is made of.
    pub(crate) children: Vec<Self>,
}

impl PlanNode {
    /// A node of which no more is known than what it does.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// Changes it and all below.
    pub(crate) fn change(&mut self, how: &impl Fn(&mut Self)) {
        how(self);
        self.children.iter_mut().for_each(|child| child.change(how));
    }

    /// The node and all below it, in the order in which they are drawn.
    pub(crate) fn all(&self) -> Vec<&Self> {
        std::iter::once(self).chain(self.children.iter().flat_map(Self::all)).collect()
    }
}

/// A statement whose plan is told.
#[derive(Debug, Clone)]
pub(crate) struct ExplainedStatement {
    /// What it does.
    pub(crate) plan: PlanNode,
    /// The time until its plan was made.
    pub(crate) planning: Duration,
    /// What was seen of its run, if it has run.
    pub(crate) run: Option<ExplainedRun>,
    /// Settings that decide how it runs.
    pub(crate) settings: Vec<(String, String)>,
    /// Generated code that was asked for, by the name of its pipeline.
    pub(crate) code: Vec<(String, String)>,
}

/// A statement's run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExplainedRun {
    /// The time from the start of its plan to the end of its rows.
    pub(crate) running: Duration,
    /// The time that pipelines were compiled, which lies within it; other threads may have run them meanwhile.
    pub(crate) compiling: Duration,
    /// Bytes of memory that its operators held at most, all together.
    pub(crate) memory: usize,
}

impl ExplainedStatement {
    /// This statement without what the options leave out.
    pub(crate) fn of_options(mut self, options: &ExplainOptions) -> Self {
        let ExplainOptions { costs, timing, buffers, memory, .. } = *options;
        self.plan.change(&|node| {
            node.expected = node.expected.filter(|_| costs);
            node.time = node.time.filter(|_| timing);
            node.bytes = node.bytes.filter(|_| buffers);
            node.memory = node.memory.filter(|_| memory);
        });
        self
    }

    /// The time of all nodes together.
    pub(super) fn time(&self) -> Duration {
        self.plan.all().into_iter().filter_map(|node| node.time).sum()
    }

    /// The three nodes that took the longest, the slowest first, by their numbers in the order of [`PlanNode::all`].
    pub(super) fn slowest(&self) -> Vec<usize> {
        let nodes = self.plan.all();
        let mut timed: Vec<usize> = (0..nodes.len()).filter(|number| nodes[*number].time.is_some()).collect();
        timed.sort_by_key(|number| std::cmp::Reverse(nodes[*number].time));
        timed.truncate(3);
        timed
    }
}
