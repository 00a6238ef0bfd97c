//! The rows that are expected of pipelines, for EXPLAIN: those of the operator that a pipeline stands in the place of.
//!
//! Pipelines keep no operator that they were made of, but both read inputs. So a pipeline's operator is the topmost one below which are
//! the pipeline's inputs, and no others. Of several pipelines with the same inputs the last is meant.

use crate::compile::exec::CompiledExec;
use crate::compile::explained::expected_rows;
use datafusion::physical_plan::ExecutionPlan;
use gingham_execution::{Pipeline, Source};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Numbers of inputs: scans, and behind them what gives rows.
type InputNumbers = BTreeSet<usize>;

impl CompiledExec {
    /// By pipeline the rows that it is expected to leave; `None` where it is not known.
    pub(super) fn expected_of_pipelines(&self) -> Vec<Option<usize>> {
        let (inputs, scans) = self.planned_inputs();
        let mut read: Vec<InputNumbers> = Vec::new();
        for pipeline in &self.query().pipelines {
            let own = inputs_of(pipeline, &read, scans);
            read.push(own);
        }
        let is_last = |number: usize| !read[number + 1..].contains(&read[number]);
        let expected = |number: usize| topmost(self.fallback(), &inputs, &read[number]);
        (0..read.len()).map(|number| is_last(number).then(|| expected(number)).flatten()).collect()
    }
}

/// The inputs that a pipeline's rows are made of, where `before` are those of the pipelines before it.
fn inputs_of(pipeline: &Pipeline, before: &[InputNumbers], scans: usize) -> InputNumbers {
    let mut read = match pipeline.source {
        Source::Scan(scan) => InputNumbers::from([scan]),
        Source::Given(rows) => InputNumbers::from([scans + rows]),
        Source::Rows(rows) => before[rows].clone(),
        Source::Marked { rows, marks, .. } => before[rows].union(&before[marks]).copied().collect(),
    };
    let others = pipeline.probes().map(|probe| probe.build).chain(pipeline.behind);
    read.extend(others.flat_map(|other| before[other].iter().copied()));
    read
}

/// The rows expected of the topmost operator that has exactly these inputs below it.
fn topmost(plan: &Arc<dyn ExecutionPlan>, inputs: &[Arc<dyn ExecutionPlan>], wanted: &InputNumbers) -> Option<usize> {
    match inputs_below(plan, inputs) {
        Some(below) if below == *wanted => return expected_rows(plan.as_ref()),
        Some(below) if !below.is_superset(wanted) => return None,
        _ => {}
    }
    plan.children().into_iter().find_map(|child| topmost(child, inputs, wanted))
}

/// The inputs below an operator; `None` when there is another leaf.
fn inputs_below(plan: &Arc<dyn ExecutionPlan>, inputs: &[Arc<dyn ExecutionPlan>]) -> Option<InputNumbers> {
    if let Some(number) = inputs.iter().position(|input| Arc::ptr_eq(input, plan)) {
        return Some(InputNumbers::from([number]));
    }
    let children = plan.children();
    if children.is_empty() {
        return None;
    }
    let below = children.into_iter().map(|child| inputs_below(child, inputs));
    below.collect::<Option<Vec<_>>>().map(|all| all.into_iter().flatten().collect())
}
