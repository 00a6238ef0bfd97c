//! The pipelines of a `CompiledExec` in plain words, for EXPLAIN's tree: their steps by the names of the columns that these look at.

use crate::compile::exec::CompiledExec;
use crate::table::ScanExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use gingham_execution::{Expression, Field, Finish, JoinKind, Pipeline, PipelineReport, Probe, Sink, Source, Step};
use std::cell::RefCell;

/// A pipeline, and what was seen of it if it has run.
#[derive(Debug)]
pub(crate) struct ExplainedPipeline {
    /// The steps that a record takes, in order.
    pub(crate) steps: Vec<ExplainedStep>,
    /// Rows that it is expected to leave.
    pub(crate) expected: Option<usize>,
    /// What was seen of it; `None` before it has run.
    pub(crate) seen: Option<PipelineReport>,
}

/// A step of a pipeline.
#[derive(Debug, Default)]
pub(crate) struct ExplainedStep {
    /// What it does, in words.
    pub(crate) what: String,
    /// More of it, a line each.
    pub(crate) notes: Vec<String>,
    /// Rows that are expected of it.
    pub(crate) expected: Option<usize>,
    /// Bytes that it reads, about.
    pub(crate) bytes: Option<u64>,
}

impl From<String> for ExplainedStep {
    fn from(what: String) -> Self {
        Self { what, ..Self::default() }
    }
}

/// The rows that an operator is expected to give.
pub(crate) fn expected_rows(plan: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new()).ok()?;
    statistics.num_rows.get_value().copied()
}

/// The names of what pipelines leave, by pipeline and column; `None` for what is computed.
type Names = Vec<Vec<Option<String>>>;

impl CompiledExec {
    /// The pipelines of this operator, in the order in which they run.
    pub(crate) fn explained(&self) -> Vec<ExplainedPipeline> {
        let query = self.query();
        let mut seen = self.report().into_iter().flat_map(|report| report.pipelines);
        let (mut names, mut explained) = (Names::new(), Vec::with_capacity(query.pipelines.len()));
        for (pipeline, expected) in query.pipelines.iter().zip(self.expected_of_pipelines()) {
            let own = NamedPipeline { exec: self, pipeline, before: &names };
            explained.push(ExplainedPipeline { steps: own.steps(), expected, seen: seen.next() });
            let left = own.left();
            names.push(left);
        }
        explained
    }
}

/// A pipeline whose columns have names.
struct NamedPipeline<'p> {
    exec: &'p CompiledExec,
    pipeline: &'p Pipeline,
    before: &'p Names,
}

impl NamedPipeline<'_> {
    fn steps(&self) -> Vec<ExplainedStep> {
        let Pipeline { source, computed, steps, sink, behind, .. } = self.pipeline;
        let mut all = vec![self.source(*source)];
        if !computed.is_empty() {
            let expressions = computed.iter().filter_map(|computed| self.exec.evaluated(computed.function));
            all.push(format!("evaluate row by row {}", expressions.collect::<Vec<_>>().join(", ")).into());
        }
        all.extend(steps.iter().map(|step| match step {
            Step::Filter(condition) => format!("filter by {}", self.columns([condition])).into(),
            Step::Probe(probe) => self.probe(probe).into(),
        }));
        all.push(self.sink(sink).into());
        all.extend(behind.map(|first| format!("rows come behind those of pipeline {first}").into()));
        all
    }

    fn source(&self, source: Source) -> ExplainedStep {
        let what = match source {
            Source::Scan(scan) => return self.scan(scan),
            Source::Given(_) => "rows of DataFusion's operators".to_owned(),
            Source::Rows(rows) => format!("rows of pipeline {rows}"),
            Source::Marked { rows, marks, marked } => {
                let not = if marked { "" } else { "not " };
                format!("rows of pipeline {rows} that pipeline {marks} has {not}marked")
            }
        };
        what.into()
    }

    fn scan(&self, number: usize) -> ExplainedStep {
        let scan = self.exec.input(number).and_then(|input| input.downcast_ref::<ScanExec>());
        let (Some(scan), Some((run, columns))) = (scan, self.exec.scanned(number)) else {
            return "scan".to_owned().into();
        };
        let (notes, bytes) = (scan.way_in_words(run), scan.bytes_of_columns(columns));
        ExplainedStep { what: scan.in_words(), notes, expected: expected_rows(scan), bytes }
    }

    fn probe(&self, probe: &Probe) -> String {
        let what = match probe.kind {
            JoinKind::Inner => "join",
            JoinKind::Left => "left join",
            JoinKind::Full => "full join",
            JoinKind::Semi => "keep what has a match",
            JoinKind::Anti => "keep what has no match",
            JoinKind::NotIn => "keep what is NOT IN",
            JoinKind::Mark => "say what has a match",
        };
        let conditional = if probe.condition.is_some() { ", with a condition" } else { "" };
        let on = match probe.keys.as_slice() {
            [] if probe.range.is_some() => " a range of".to_owned(),
            [] => " all of".to_owned(),
            keys => format!(" by {} in", self.columns(keys)),
        };
        format!("{what}{on} pipeline {}{conditional}", probe.build)
    }

    fn sink(&self, sink: &Sink) -> String {
        match sink {
            Sink::Rows { keys: None, .. } => "gather rows".to_owned(),
            Sink::Rows { keys: Some(keys), .. } => format!("build a key table{}", self.keys(keys)),
            Sink::Aggregate { aggregation, keys, having, .. } => {
                let having = if having.is_some() { ", with a condition on groups" } else { "" };
                let build = keys.as_ref().map_or_else(String::new, |keys| format!("; a key table{}", self.keys(keys)));
                let called = aggregation.aggregates.len() + aggregation.apart.len();
                let s = if called == 1 { "" } else { "s" };
                let values = if called == 0 { String::new() } else { format!(": {called} aggregate{s}") };
                match aggregation.keys.as_slice() {
                    [] => format!("one group{values}{having}{build}"),
                    keys => format!("group by {}{values}{having}{build}", self.columns(keys)),
                }
            }
            Sink::Marks(probe) => format!("mark by {} in pipeline {}", self.columns(&probe.keys), probe.build),
        }
    }

    fn keys(&self, keys: &[usize]) -> String {
        let left = self.left();
        let names: Vec<_> = keys.iter().filter_map(|key| left.get(*key)?.clone()).collect();
        if names.len() < keys.len() || keys.is_empty() { String::new() } else { format!(" by {}", names.join(", ")) }
    }

    /// The columns that expressions look at, each once.
    fn columns<'e>(&self, expressions: impl IntoIterator<Item = &'e Expression>) -> String {
        let found = RefCell::new(Vec::<String>::new());
        for expression in expressions {
            expression.with_leaves(&|leaf| {
                if let Expression::Column(column) = leaf {
                    let name = self.name(*column).unwrap_or_else(|| "what is computed".to_owned());
                    let mut found = found.borrow_mut();
                    if !found.contains(&name) {
                        found.push(name);
                    }
                }
                leaf.clone()
            });
        }
        let found = found.into_inner();
        if found.is_empty() { "a constant".to_owned() } else { found.join(", ") }
    }

    /// The name of a column of the pipeline's expressions.
    fn name(&self, column: usize) -> Option<String> {
        let Field { input, column } = *self.pipeline.fields.get(column)?;
        if let Some(probe) = input.checked_sub(1) {
            return self.before.get(self.pipeline.probes().nth(probe)?.build)?.get(column)?.clone();
        }
        let names = match self.pipeline.source {
            Source::Scan(scan) => self.exec.scanned_names(scan),
            Source::Given(_) => return None,
            Source::Rows(rows) | Source::Marked { rows, .. } => self.before.get(rows)?.clone(),
        };
        match names.get(column) {
            Some(name) => name.clone(),
            None => self.exec.evaluated(self.pipeline.computed.get(column - names.len())?.function),
        }
    }

    /// The names of the columns of its rows.
    fn left(&self) -> Vec<Option<String>> {
        let name = |expression: &Expression| match expression {
            Expression::Column(column) => self.name(*column),
            _ => None,
        };
        match &self.pipeline.sink {
            Sink::Rows { columns, .. } => columns.iter().map(name).collect(),
            Sink::Aggregate { aggregation, columns, .. } => {
                let key = |column: &Finish| match column {
                    Finish::Key(key) => aggregation.keys.get(*key).and_then(name),
                    _ => None,
                };
                columns.iter().map(key).collect()
            }
            Sink::Marks(_) => Vec::new(),
        }
    }
}
