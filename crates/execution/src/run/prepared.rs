//! A query that may run, what a run of it is given, and what it tells.

use crate::codegen::cache::CodeCache;
use crate::data::relation;
use crate::data::relation::{ColumnBounds, Relation};
use crate::data::rows::Rows;
use crate::operators::join::{KeyRanges, TableKind};
use crate::operators::top::Top;
use crate::plan::choices;
use crate::plan::fixed::FixedStages;
use crate::plan::pipeline_plan::{Build, PipelineInputs, PipelinePlan};
use crate::plan::query::{Query, Source};
use crate::plan::stages::Stages;
use crate::program::computed::Compute;
use crate::run::query_execution::{QueryExecution, no_table};
use crate::schedule::pool::Pool;
use crate::{Error, Expression, Limits, Memory, Mode, Result};
use gingham_kernels::Isa;
use gingham_kernels::key_table::Probing;
use gingham_storage::io::ReadTimes;
use gingham_storage::scan::TableScan;
use gingham_storage::{Caches, ColumnId};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A scan that a query reads.
#[derive(Debug, Clone)]
pub struct ScanSource {
    /// Its records.
    pub scan: Arc<TableScan>,
    /// For each of its columns, the range of its integers, and whether some are NULL.
    pub facts: Vec<(Limits, bool)>,
    /// Behind its columns are more: the numbers of the records, each but for those in which a column is NULL.
    pub numbers: Vec<Option<ColumnId>>,
    /// The scan's predicate over its columns, where a stage may evaluate it in the place of kernels.
    pub predicate: Option<Expression>,
}

/// What a run of a query is given.
#[derive(Debug, Clone)]
pub struct QueryInputs {
    /// By their numbers.
    pub scans: Vec<ScanSource>,
    /// Rows that others made, by their numbers.
    pub given: Vec<Arc<Relation>>,
    /// Values of the query's parameters, by their numbers; `None` is NULL.
    pub parameters: Vec<Option<i128>>,
    /// What computes columns, by their numbers.
    pub functions: Vec<Arc<dyn Compute>>,
    /// Rows that suffice, the first ones of all; there may come more. `None` when all are wanted.
    pub enough: Option<usize>,
    /// The rows of the last pipeline that suffice; there may come more. `None` when all are wanted, or any.
    pub top: Option<Top>,
    /// The morsels of the first pipeline's scan that are wanted; `None` when all are wanted.
    pub morsels: Option<Range<usize>>,
    /// The instruction set of its kernels.
    pub isa: Isa,
    /// The records of scans that were read are added here as the run goes on.
    pub read: Arc<AtomicU64>,
}

/// A pipeline's plan, and the code that was made for it.
#[derive(Debug, Clone)]
pub(crate) struct PlannedPipeline {
    pub(crate) plan: Arc<PipelinePlan>,
    pub(crate) code: Arc<CodeCache>,
}

/// A query that may run, again and again. Code that a run made is there for the next.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) query: Query,
    pub(crate) mode: Mode,
    pub(crate) fixed: FixedStages,
    /// By pipeline, how it was planned last, and the code for that.
    pub(crate) known: Vec<Mutex<Option<PlannedPipeline>>>,
    /// By pipeline, rows that it leaves at most, as far as that is known before a run.
    pub(crate) most_rows: Vec<u64>,
    /// What choices go by.
    pub(crate) caches: Caches,
    /// The pipeline whose code is told.
    pub(crate) told: Option<usize>,
    choices: Vec<String>,
}

/// What a query did, for EXPLAIN ANALYZE.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Records that the stages were given.
    pub records: usize,
    /// Loops that were compiled.
    pub loops: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Time that compiling took, of this run and earlier ones.
    pub compile_time: Duration,
    /// The part of it that was this run's: threads that ran the query meanwhile did not wait for it.
    pub compiled_now: Duration,
    /// Bytes of memory that the query held at most, as far as who runs it says so.
    pub memory: usize,
    /// By pipeline, the last one's included.
    pub pipelines: Vec<PipelineReport>,
}

impl Report {
    /// Adds what another run of the same query did.
    pub fn add(&mut self, other: Self) {
        self.records += other.records;
        self.loops = self.loops.max(other.loops);
        self.code_bytes = self.code_bytes.max(other.code_bytes);
        self.compile_time = self.compile_time.max(other.compile_time);
        self.compiled_now += other.compiled_now;
        self.memory = self.memory.max(other.memory);
        if self.pipelines.is_empty() {
            self.pipelines = other.pipelines;
            return;
        }
        for (own, other) in self.pipelines.iter_mut().zip(other.pipelines) {
            let (time, rows) = (own.time + other.time, own.rows + other.rows);
            // Of one scan, whose times go on from run to run.
            let reads = other.reads.or(own.reads.take());
            *own = PipelineReport { time, rows, reads, ..other };
        }
    }
}

/// What a pipeline did.
#[derive(Debug, Clone)]
pub struct PipelineReport {
    /// From its planning to the end of what was made of its rows.
    pub time: Duration,
    /// Rows that it left; records of a build side that it marked.
    pub rows: usize,
    /// The kind of key table over its rows, if they are probed.
    pub table: Option<&'static str>,
    /// How it ran.
    pub ran: Mode,
    /// Its stages.
    pub stages: usize,
    /// Loops that were compiled for it, by its own runs and earlier ones.
    pub loops: usize,
    /// Bytes of their machine code.
    pub code_bytes: usize,
    /// Time that compiling them took.
    pub compile_time: Duration,
    /// What was chosen late, and the size that decided.
    pub chosen: Vec<(String, usize)>,
    /// Reads of its scan past the caches; `None` when there were none.
    pub reads: Option<ReadTimes>,
    /// The code in two forms, Cranelift's and the machine's, where it was asked for.
    pub code: String,
}

/// Called with the end of a query.
pub(crate) type Done = Box<dyn FnOnce(Result<(Rows, Report)>) + Send>;

/// Stops a query when dropped.
#[derive(Debug)]
pub struct Stopper(Arc<AtomicBool>);

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Prepared {
    /// A query over scans and external input whose columns have these facts, at most so many records each; `caches` are what
    /// choices go by. Fails when it can't run: for an expression over 128 bits, keys and values between stages over 64, keys
    /// together and the range of an argument of MIN or MAX over 63.
    pub fn new(
        query: Query,
        mode: Mode,
        caches: Caches,
        scans: &[(Vec<(Limits, bool)>, u64)],
        given: &[(Vec<(Limits, bool)>, u64)],
    ) -> Result<Self> {
        let mut left: Vec<(Vec<ColumnBounds>, u64)> = Vec::new();
        let mut choices: Vec<String> = choices::of_mode(mode).into_iter().collect();
        for (number, pipeline) in query.pipelines.iter().enumerate() {
            let (source, rows) = match pipeline.source {
                Source::Scan(scan) => scans.get(scan).cloned(),
                Source::Given(rows) => given.get(rows).cloned(),
                Source::Rows(rows) | Source::Marked { rows, .. } => left.get(rows).cloned(),
            }
            .ok_or_else(|| Error::Internal(format!("a pipeline without its source {:?}", pipeline.source)))?;
            let source = pipeline.with_computed(source);
            let builds = pipeline.probes().map(|probe| {
                let (facts, rows) = left.get(probe.build).ok_or_else(|| no_table(probe.build))?;
                let build = &query.pipelines[probe.build];
                let keys = build.keys().ok_or_else(|| no_table(probe.build))?;
                let most = if build.has_unique_keys() { 1 } else { *rows };
                let probing = Probing::Match;
                let ranges = KeyRanges::new(keys.iter().map(|key| facts[*key]))?;
                let (is_empty, has_nulls, table) = (false, false, TableKind::Dense);
                let (facts, most_matches, longest) = (facts.clone(), most, most);
                Ok(Build { facts, ranges, most_matches, is_empty, has_nulls, longest, table, probing })
            });
            let builds = builds.collect::<Result<Vec<_>>>()?;
            let stages = Stages::of(mode, builds.len());
            let given =
                PipelineInputs { source, rows, likely: rows, builds, parameters: Vec::new(), stages, predicate: None };
            let ready = PipelinePlan::new(pipeline, given.clone())?;
            let mut own = (given.left(pipeline)?, rows);
            if let Some(first) = pipeline.behind {
                let (facts, rows) = left.get(first).ok_or_else(|| no_table(first))?;
                own = (relation::of_either(facts, &own.0), rows.saturating_add(own.1));
            }
            let open = choices::of_pipeline(pipeline, &ready.end, &own.0, caches)?;
            choices.extend(open.iter().map(|choice| format!("choice of {number}: {choice}")));
            left.push(own);
        }
        let known = query.pipelines.iter().map(|_| Mutex::default()).collect();
        let most_rows = left.into_iter().map(|(_, rows)| rows).collect();
        Ok(Self { query, mode, fixed: FixedStages::default(), known, most_rows, caches, told: None, choices })
    }

    /// This query with stages that an experiment fixes. Code is made for all of them, however few records come.
    pub fn with_stages(self, fixed: FixedStages) -> Self {
        let mode = if fixed.is_empty() || self.mode != Mode::Auto { self.mode } else { Mode::Staged };
        Self { mode, fixed, ..self }
    }

    /// This query, whose run reports the code of a pipeline.
    pub fn telling(self, pipeline: Option<usize>) -> Self {
        Self { told: pipeline, ..self }
    }

    /// What is decided only when sizes are known, and by which condition: a line each.
    pub fn choices(&self) -> &[String] {
        &self.choices
    }

    /// The pipelines.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// How stages run.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Runs it, and gives the rows to `done`, on one of the pool's threads. Dropping what this returns stops it.
    pub fn run(
        self: Arc<Self>,
        given: QueryInputs,
        pool: &Arc<Pool>,
        workers: usize,
        memory: Arc<dyn Memory>,
        done: impl FnOnce(Result<(Rows, Report)>) + Send + 'static,
    ) -> Stopper {
        let stopped = Arc::new(AtomicBool::new(false));
        let run =
            QueryExecution::new(self, given, Arc::clone(pool), workers, memory, Arc::clone(&stopped), Box::new(done));
        Arc::new(run).start(0);
        Stopper(stopped)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Fused => "fused",
            Self::Staged => "staged",
            Self::Vectorized => "vectorized",
            Self::Interpreted => "interpreted",
        })
    }
}
