//! A query at work: pipeline after pipeline, morsel after morsel on the pool's threads. Each thread has states of its own;
//! the last one to end merges them, plans the next pipeline and starts it.

use crate::codegen::Spent;
use crate::codegen::cache::CodeCache;
use crate::data::memory::Memory;
use crate::data::relation::Relation;
use crate::data::rows::Rows;
use crate::operators::aggregate::{Ending, MorselGroups, States};
use crate::operators::gathered::{Chunk, Chunks, GatheredRows};
use crate::operators::join::JoinTable;
use crate::operators::join::TableChoice;
use crate::operators::order::SortKey;
use crate::operators::top::BestRows;
use crate::plan::pipeline_plan::{Build, PipelineEnd, PipelineInputs, PipelinePlan, ProbeStage};
use crate::plan::query::{Hint, Pipeline, Probe, Sink, Source};
use crate::plan::stages::{Probed, Stages};
use crate::program::computed::Computing;
use crate::run::morsels::{Enough, Morsels};
use crate::run::prepared::{Done, PipelineReport, PlannedPipeline, Prepared, QueryInputs, Report, ScanSource};
use crate::run::worker::{LocalSinkState, PipelineContext, PipelineWorker};
use crate::schedule::fair::Share;
use crate::schedule::helpers::Helpers;
use crate::schedule::pool::{Job, Pool};
use crate::{Error, JoinKind, Mode, Result};
use gingham_kernels::bits;
use gingham_kernels::key_table::Probing;
use gingham_storage::io::ReadTimes;
use gingham_storage::panics::{self, PanicPoint};
use gingham_storage::scan::TableScan;
use gingham_storage::{IntegerSet, Predicate, ValueClass};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a pipeline left.
#[derive(Debug, Clone, Default)]
struct PipelineOutput {
    relation: Option<Arc<Relation>>,
    /// A hash table of the rows by their keys, where later pipelines probe them.
    table: Option<Arc<JoinTable>>,
    /// A bit for each row that it marked.
    marks: Option<Arc<Vec<u64>>>,
}

/// A key table and the rows that it is over.
type Built = (Arc<JoinTable>, Arc<Relation>);

pub(crate) fn no_table(pipeline: usize) -> Error {
    Error::Internal(format!("a probe of pipeline {pipeline}, which leaves no table"))
}

/// A query at work.
pub(crate) struct QueryExecution {
    prepared: Arc<Prepared>,
    given: QueryInputs,
    pool: Arc<Pool>,
    /// Its share of the pool's threads.
    share: Arc<Share>,
    workers: usize,
    memory: Arc<dyn Memory>,
    stopped: Arc<AtomicBool>,
    /// By pipeline that has ended.
    left: Mutex<Vec<PipelineOutput>>,
    /// Rows of a pipeline that wait for those of the next, which come behind.
    waiting: Mutex<Option<(usize, Rows)>>,
    report: Mutex<Report>,
    done: Mutex<Option<Done>>,
}

/// When a pipeline began, and how it ran.
struct Began {
    start: Instant,
    ran: Mode,
    stages: usize,
    /// What the key table over its rows is to be.
    table: TableChoice,
    spent: Spent,
    /// What was chosen late, and the size that decided.
    chosen: Vec<(String, usize)>,
    /// Reads of its scan past the caches.
    reads: Option<ReadTimes>,
}

/// A pipeline at work.
struct PipelineExecution {
    run: Arc<QueryExecution>,
    number: usize,
    start: Instant,
    course: PipelineContext,
    morsels: Morsels,
    /// By build side whose keys its scan looks for, how many these are.
    looked_for: Vec<(String, usize)>,
    /// The next morsel that no thread has taken.
    next: AtomicUsize,
    /// What has come, where not all rows are wanted.
    enough: Option<Mutex<Enough>>,
    /// The best that have come, where the first in an order are, and the order in which morsels are taken then.
    best: Option<BestRows>,
    order: Option<Vec<usize>>,
    workers: Vec<Mutex<Option<PipelineWorker>>>,
    failure: Mutex<Option<Error>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl QueryExecution {
    /// A query that has not begun. `stopped` is set when nobody waits for its end any more.
    pub(crate) fn new(
        prepared: Arc<Prepared>,
        given: QueryInputs,
        pool: Arc<Pool>,
        workers: usize,
        memory: Arc<dyn Memory>,
        stopped: Arc<AtomicBool>,
        done: Done,
    ) -> Self {
        let (left, report, done) = (Mutex::default(), Mutex::default(), Mutex::new(Some(done)));
        let (share, workers, waiting) = (Arc::default(), workers.max(1), Mutex::default());
        Self { prepared, given, pool, share, workers, memory, stopped, left, waiting, report, done }
    }

    fn pipeline(&self, number: usize) -> &Pipeline {
        &self.prepared.query.pipelines[number]
    }

    /// Starts a pipeline; those whose records are none end at once.
    pub(crate) fn start(self: Arc<Self>, number: usize) {
        match PipelineExecution::new(&self, number) {
            Ok(stretch) if stretch.course.morsels == 0 => stretch.end(),
            Ok(stretch) => {
                let workers = stretch.workers.len();
                if let Err(error) = self.pool.start(Arc::new(stretch), &self.share, workers) {
                    self.give(Err(error));
                }
            }
            Err(error) => self.give(Err(error)),
        }
    }

    fn left(&self, number: usize) -> Result<PipelineOutput> {
        let left = lock(&self.left).get(number).cloned();
        left.ok_or_else(|| Error::Internal(format!("pipeline {number} has not ended")))
    }

    fn relation(&self, number: usize) -> Result<(Arc<Relation>, Option<Arc<JoinTable>>)> {
        let PipelineOutput { relation, table, .. } = self.left(number)?;
        let relation = relation.ok_or_else(|| Error::Internal(format!("pipeline {number} left no rows")))?;
        Ok((relation, table))
    }

    /// What a pipeline probes, where it is cut and how each table is probed.
    fn builds(&self, number: usize) -> Result<(Vec<Built>, Stages, Vec<Probing>)> {
        let Prepared { mode, fixed, most_rows, caches, .. } = &*self.prepared;
        let (mut builds, mut sizes) = (Vec::new(), Vec::new());
        for probe in self.pipeline(number).probes() {
            let (relation, table) = self.relation(probe.build)?;
            let table = table.ok_or_else(|| no_table(probe.build))?;
            sizes.push(Probed { bytes: table.bytes(), most_rows: most_rows.get(probe.build).copied().unwrap_or(0) });
            builds.push((table, relation));
        }
        let (stages, probing) = Stages::planned(*mode, &fixed.of(number), *caches, &sizes);
        Ok((builds, stages, probing))
    }

    /// The stages of a pipeline, planned anew when what is known differs from the last run.
    fn ready(&self, number: usize, given: PipelineInputs) -> Result<PlannedPipeline> {
        let mut known = lock(&self.prepared.known[number]);
        if let Some(known) = known.as_ref().filter(|known| known.plan.given == given) {
            return Ok(known.clone());
        }
        let pipeline = self.pipeline(number).with_parameters(&self.given.parameters)?;
        let plan = Arc::new(PipelinePlan::new(&pipeline, given)?);
        let code = Arc::new(CodeCache::new(&plan));
        if self.prepared.told == Some(number) {
            code.keep_text();
        }
        let planned = PlannedPipeline { plan, code };
        *known = Some(planned.clone());
        Ok(planned)
    }

    /// A scan without the records that are of no use, as far as a look at their codes tells and pays, and the share of records
    /// that this leaves, about. `looked_for` is told of the keys that do.
    fn with_filter(
        &self,
        scan: &Arc<TableScan>,
        hints: &[Hint],
        looked_for: &mut Vec<(String, usize)>,
    ) -> Result<(Arc<TableScan>, f64)> {
        let (mut parts, mut share) = (Vec::new(), 1.0);
        for hint in hints {
            let (relation, table) = self.relation(hint.build)?;
            let key = self.pipeline(hint.build).keys().and_then(|keys| keys.get(hint.key).copied());
            let column = scan.column(hint.column).and_then(|column| scan.table().definition.column_by_id(column));
            let (Some(key), Some(column), Some(_)) = (key, column, table) else { continue };
            // Codes of a dictionary are no values.
            if column.logical_type.class() != ValueClass::Integer || relation.rows > IntegerSet::MOST_KEYS {
                continue;
            }
            let distinct = scan.table().summary(column.id).map_or(f64::INFINITY, |summary| summary.distinct as f64);
            let (limits, _) = relation.facts[key];
            // Keys next to each other that are nearly as many as the column has values rule out next to nothing.
            let dense = (limits.max - limits.min) as f64 <= relation.rows as f64;
            if dense && !IntegerSet::rules_out_enough(relation.rows as f64, distinct) {
                continue;
            }
            if let Some(set) = relation.set(key).filter(|set| IntegerSet::rules_out_enough(set.len() as f64, distinct))
            {
                self.memory.grow(set.bytes())?;
                share *= set.len() as f64 / distinct;
                looked_for.push((format!("keys_of_{}", hint.build), set.len()));
                parts.push(Predicate::Among { column: column.id, set: Arc::new(set) });
            }
        }
        let narrowed = match parts.is_empty() {
            true => Arc::clone(scan),
            false => Arc::new(scan.with_filter(&Predicate::And(parts))?),
        };
        Ok((narrowed, share))
    }

    /// Ends the query.
    fn give(&self, result: Result<Rows>) {
        let done = lock(&self.done).take();
        if let Some(done) = done {
            let report = std::mem::take(&mut *lock(&self.report));
            done(result.map(|rows| (rows, report)));
        }
    }

    fn tell(&self, began: Began, rows: usize, table: Option<&JoinTable>) {
        let Began { start, ran, stages, spent, mut chosen, reads, .. } = began;
        let table = table.map(|table| {
            chosen.extend(table.ranges.numbers().map(|span| (format!("{}_span", table.name()), span as usize)));
            chosen.push((format!("{}_bytes", table.name()), table.bytes()));
            table.name()
        });
        let Spent { time: compile_time, bytes: code_bytes, loops, text: code } = spent;
        let time = start.elapsed();
        let report =
            PipelineReport { time, rows, table, ran, stages, loops, code_bytes, compile_time, chosen, reads, code };
        lock(&self.report).pipelines.push(report);
    }

    /// Goes on behind a pipeline that left these rows, and marks if it made any.
    fn leave(
        self: &Arc<Self>,
        number: usize,
        began: Began,
        rows: GatheredRows,
        marks: Option<Arc<Vec<u64>>>,
    ) -> Result<()> {
        let grow = |bytes| self.memory.grow(bytes);
        let helpers = Helpers::of(&self.pool, &self.share, self.workers);
        let own = rows.rows();
        let rows = match self.pipeline(number).behind {
            Some(first) => GatheredRows::Rows(vec![self.behind(first, rows.into_rows(grow, &helpers)?)?]),
            None => rows,
        };
        let next = self.prepared.query.pipelines.get(number + 1);
        let Some(next) = next else {
            let rows = rows.into_rows(grow, &helpers)?;
            self.tell(began, own, None);
            self.give(Ok(rows));
            return Ok(());
        };
        let mut left = PipelineOutput { marks, ..PipelineOutput::default() };
        if next.behind == Some(number) {
            *lock(&self.waiting) = Some((number, rows.into_rows(grow, &helpers)?));
        } else {
            let sorted = Pipeline::sorted(&self.prepared.query.pipelines, number);
            let rows = match sorted {
                Some(column) => {
                    GatheredRows::Rows(vec![self.sorted(rows.into_rows(grow, &helpers)?, column, &helpers)?])
                }
                None => rows,
            };
            let relation = rows.into_relation(grow, &helpers)?;
            if let Some(keys) = self.pipeline(number).keys() {
                let mut table = JoinTable::build(&relation, keys, (began.table, self.given.isa), &helpers)?;
                if let Some(column) = sorted {
                    table.sorted = relation.integers(column, self.given.isa)?;
                }
                self.memory.grow(table.bytes())?;
                left.table = Some(Arc::new(table));
            }
            left.relation = Some(Arc::new(relation));
        }
        self.tell(began, own, left.table.as_deref());
        lock(&self.left).push(left);
        Arc::clone(self).start(number + 1);
        Ok(())
    }

    /// Rows in the order of a column, NULLs behind all others.
    fn sorted(&self, rows: Rows, column: usize, helpers: &Helpers<'_>) -> Result<Rows> {
        self.memory.grow(rows.bytes() + rows.rows * size_of::<usize>() + Rows::bytes_to_sort(rows.rows))?;
        let key = SortKey { column, descending: false, nulls_first: false };
        let rows = Arc::new(rows);
        Ok(rows.take(&rows.sorted(&[key], true, helpers)?))
    }

    /// Rows of a pipeline that suffice; `None` when all are wanted. That is all of those that another one reads.
    fn enough(&self, number: usize) -> Option<usize> {
        let before = lock(&self.waiting).as_ref().map_or(0, |(_, rows)| rows.rows);
        self.given.enough.filter(|_| self.is_answer(number)).map(|enough| enough.saturating_sub(before))
    }

    /// True when nobody but the query's client reads the rows of a pipeline.
    fn is_answer(&self, number: usize) -> bool {
        let pipelines = &self.prepared.query.pipelines;
        (number + 1..pipelines.len()).all(|later| pipelines[later].behind == Some(later - 1))
    }

    /// A pipeline's rows behind those of another, which wait for them.
    fn behind(&self, first: usize, rows: Rows) -> Result<Rows> {
        match lock(&self.waiting).take() {
            Some((waiting, before)) if waiting == first => {
                self.memory.grow(before.bytes() + rows.bytes())?;
                before.followed_by(rows)
            }
            _ => Err(Error::Internal(format!("no rows of pipeline {first} to be behind"))),
        }
    }
}

impl PipelineExecution {
    fn new(run: &Arc<QueryExecution>, number: usize) -> Result<Self> {
        let start = Instant::now();
        let pipeline = run.pipeline(number);
        let (builds, stages, probing) = run.builds(number)?;
        let (mut predicate, mut looked_for, mut share) = (None, Vec::new(), 1.0);
        let (morsels, source, rows) = match pipeline.source {
            Source::Scan(scan) => {
                let ScanSource { scan, facts, numbers, predicate: own } =
                    run.given.scans.get(scan).ok_or_else(|| no_table(scan))?;
                predicate = own.clone().filter(|_| !stages.kernels && pipeline.computed.is_empty());
                let hints = if stages.key_sets { pipeline.hints.as_slice() } else { &[] };
                let (rows, whole) = (scan.table().rows(), predicate.is_some());
                let (scan, left) = run.with_filter(scan, hints, &mut looked_for)?;
                let scan = scan.for_run()?;
                share = left;
                (Morsels::Scan { scan, numbers: numbers.clone(), whole }, facts.clone(), rows)
            }
            Source::Given(rows) => {
                let none = || Error::Internal(format!("a query that is not given rows {rows}"));
                let relation = run.given.given.get(rows).cloned().ok_or_else(none)?;
                let (facts, rows) = (relation.facts.clone(), relation.rows as u64);
                (Morsels::Rows { relation, marks: None }, facts, rows)
            }
            Source::Rows(rows) => {
                let (relation, _) = run.relation(rows)?;
                let (facts, rows) = (relation.facts.clone(), relation.rows as u64);
                (Morsels::Rows { relation, marks: None }, facts, rows)
            }
            Source::Marked { rows, marks, marked } => {
                let (relation, _) = run.relation(rows)?;
                let marks = run.left(marks)?.marks.ok_or_else(|| no_table(marks))?;
                let (facts, rows) = (relation.facts.clone(), relation.rows as u64);
                (Morsels::Rows { relation, marks: Some((marks, marked)) }, facts, rows)
            }
        };
        let source = pipeline.with_computed(source);
        let computing = Computing::new(&pipeline.computed, &run.given.functions)?;
        let of = |((table, relation), probing): (&Built, Probing)| Build::of(relation, table, probing);
        let given: Vec<Build> = builds.iter().zip(probing).map(of).collect();
        let empty = |(((table, _), build), probe): ((&Built, &Build), &Probe)| match probe.kind {
            JoinKind::Inner | JoinKind::Semi => table.rows == 0,
            JoinKind::NotIn => build.has_nulls,
            _ => false,
        };
        let none_goes_on = builds.iter().zip(&given).zip(pipeline.probes()).any(empty);
        let parameters = run.given.parameters.clone();
        let likely = (rows as f64 * share) as u64;
        let given = PipelineInputs { source, rows, likely, builds: given, parameters, stages, predicate };
        let PlannedPipeline { plan: ready, code } = run.ready(number, given)?;
        let enough = run.enough(number).filter(|_| matches!(ready.end, PipelineEnd::Rows { .. }));
        let count = if none_goes_on || enough == Some(0) { 0 } else { morsels.count() };
        let part = run.given.morsels.clone().filter(|_| number == 0).unwrap_or(0..count);
        let (begin, count) = (part.start, part.end.min(count));
        let records = (0..ready.stages()).map(|_| AtomicUsize::new(0)).collect();
        let (mode, isa) = (run.prepared.mode, run.given.isa);
        let marks = builds.iter().map(|(_, relation)| Relation::marks(relation.views.len()));
        let marks = marks.collect::<Result<_>>()?;
        let (begun, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (memory, stopped) = (Arc::clone(&run.memory), Arc::clone(&run.stopped));
        let (place, windows) = (morsels.place(number), morsels.windows(&ready, count, run.prepared.caches)?);
        run.memory.grow(windows.as_ref().map_or(0, MorselGroups::bytes))?;
        let functions = run.given.functions.clone();
        let course = PipelineContext {
            functions,
            ready,
            compiled_before: code.spent().time,
            code,
            builds,
            marks,
            computing,
            windows,
            place,
            mode,
            isa,
            morsels: count,
            table_bytes: States::table_bytes(run.prepared.caches, run.workers),
            enough,
            begun,
            taken,
            records,
            memory,
            stopped,
        };
        let workers = (0..run.workers.clamp(1, count.saturating_sub(begin).max(1))).map(|_| Mutex::default()).collect();
        let (next, failure, run) = (AtomicUsize::new(begin), Mutex::default(), Arc::clone(run));
        let enough = enough.map(|wanted| Mutex::new(Enough::new(wanted)));
        let top = run.given.top.as_ref().filter(|_| run.is_answer(number));
        let best = top.and_then(|top| morsels.best_rows(top, run.pipeline(number)));
        let order = match (&best, &morsels) {
            (Some(best), Morsels::Scan { scan, .. }) => best.order(scan),
            _ => None,
        };
        Ok(Self { run, number, start, course, morsels, looked_for, next, enough, best, order, workers, failure })
    }

    fn morsel(&self, morsel: usize, flow: &mut PipelineWorker) -> Result<()> {
        panics::pass(PanicPoint::Morsel);
        let narrowed = match (&self.best, &self.morsels) {
            (Some(best), Morsels::Scan { scan, .. }) => best.with_filter(scan)?,
            _ => None,
        };
        let given = self.morsels.run(morsel, narrowed.as_deref(), &self.course, flow)?;
        if let Morsels::Scan { scan, .. } = &self.morsels {
            self.run.given.read.fetch_add(scan.records(morsel) as u64, Ordering::Relaxed);
        }
        if let (Some(best), PipelineEnd::Rows { columns, .. }, true) = (&self.best, &self.course.ready.end, given > 0) {
            flow.change_last(morsel, |chunk| best.kept(chunk, columns));
        }
        if let Some(enough) = &self.enough
            && lock(enough).with(morsel, given)
        {
            self.next.store(self.course.morsels, Ordering::Relaxed);
        }
        Ok(())
    }

    fn set_failure(&self, error: Error) {
        lock(&self.failure).get_or_insert(error);
        self.run.stopped.store(true, Ordering::Relaxed);
    }

    /// What all threads gathered, and the next pipeline.
    fn finish(&self) -> Result<()> {
        if let Some(error) = lock(&self.failure).take() {
            return Err(error);
        }
        if self.run.stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        panics::pass(PanicPoint::PipelineEnd);
        self.tell();
        let flows: Vec<PipelineWorker> = self.workers.iter().filter_map(|worker| lock(worker).take()).collect();
        let marks = self.marks(&flows);
        let ended = flows.into_iter().map(|flow| flow.ended);
        match (&self.course.ready.end, &self.run.pipeline(self.number).sink) {
            (PipelineEnd::Rows { columns, .. }, _) => {
                let mut chunks: Vec<(usize, Chunk)> = Vec::new();
                for ended in ended {
                    if let LocalSinkState::Rows { done, .. } = ended {
                        chunks.extend(done);
                    }
                }
                let rows = GatheredRows::Chunks(Chunks::new(chunks, columns.clone()));
                self.run.leave(self.number, self.began(), rows, marks)
            }
            (PipelineEnd::Aggregate { plan, array, having, .. }, Sink::Aggregate { columns, .. }) => {
                let states = ended.filter_map(|ended| match ended {
                    LocalSinkState::States(states) => Some(*states),
                    LocalSinkState::Rows { .. } | LocalSinkState::Marks => None,
                });
                let mut states: Vec<States> = states.collect();
                if states.is_empty() {
                    states.push(States::new(plan, *array));
                }
                let ending = Arc::new(Ending {
                    plan: Arc::clone(plan),
                    having: having.clone(),
                    columns: columns.clone(),
                    isa: self.course.isa,
                    place: self.course.place.clone(),
                    memory: Arc::clone(&self.run.memory),
                    stopped: Arc::clone(&self.run.stopped),
                });
                let helpers = Helpers::of(&self.run.pool, &self.run.share, self.run.workers);
                let rows = ending.rows(states, (&self.run.given.functions, &*self.run.memory), &helpers)?;
                self.run.leave(self.number, self.began(), GatheredRows::Rows(rows), marks)
            }
            (PipelineEnd::Marks, _) => {
                let marked = marks.as_ref().map_or(0, |marks| bits::count(self.course.isa, marks));
                self.run.tell(self.began(), marked, None);
                lock(&self.run.left).push(PipelineOutput { marks, ..PipelineOutput::default() });
                Arc::clone(&self.run).start(self.number + 1);
                Ok(())
            }
            (PipelineEnd::Aggregate { .. }, _) => Err(Error::Internal("an aggregation without columns".to_owned())),
        }
    }

    /// What the threads marked, if the pipeline marks rows.
    fn marks(&self, flows: &[PipelineWorker]) -> Option<Arc<Vec<u64>>> {
        self.course.ready.levels.iter().any(ProbeStage::marks).then(|| {
            let mut merged = self.course.no_marks();
            flows.iter().for_each(|flow| bits::or(&mut merged, &flow.marks));
            Arc::new(merged)
        })
    }

    /// How it ran so far.
    fn began(&self) -> Began {
        let PipelineContext { ready, code, mode, .. } = &self.course;
        let made = code.spent().loops > 0;
        let stages = ready.loops();
        let ran = match mode {
            Mode::Fused if stages > 1 => Mode::Staged,
            Mode::Staged | Mode::Vectorized if stages == 1 && !ready.given.stages.kernels => Mode::Fused,
            Mode::Auto if made => Mode::Staged,
            Mode::Auto => Mode::Interpreted,
            mode => *mode,
        };
        let mut chosen = self.looked_for.clone();
        if let PipelineEnd::Aggregate { plan, array, .. } = &ready.end
            && plan.groups() > 1
        {
            let way = match (&self.course.windows, array) {
                (Some(_), _) => "array_a_morsel",
                (None, true) => "array",
                (None, false) => "hash",
            };
            chosen.push(match plan.groups() {
                u64::MAX => (format!("groups_{way}_words"), plan.width()),
                groups => (format!("groups_{way}"), groups as usize),
            });
        }
        let table = ready.given.stages.table;
        let reads = match &self.morsels {
            Morsels::Scan { scan, .. } => scan.read_times(),
            Morsels::Rows { .. } => None,
        };
        Began { start: self.start, ran, stages, table, spent: code.spent(), chosen, reads }
    }

    fn tell(&self) {
        let mut report = lock(&self.run.report);
        report.records += self.course.taken.load(Ordering::Relaxed);
        let spent = self.course.code.spent();
        report.loops += spent.loops;
        report.code_bytes += spent.bytes;
        report.compile_time += spent.time;
        report.compiled_now += spent.time.saturating_sub(self.course.compiled_before);
    }
}

impl Job for PipelineExecution {
    fn step(&self, worker: usize) -> bool {
        if self.run.stopped.load(Ordering::Relaxed) {
            return false;
        }
        let morsel = self.next.fetch_add(1, Ordering::Relaxed);
        if morsel >= self.course.morsels {
            return false;
        }
        let morsel = self.order.as_ref().map_or(morsel, |order| order[morsel]);
        let mut own = lock(&self.workers[worker]);
        let result = match &mut *own {
            Some(flow) => self.morsel(morsel, flow),
            none => PipelineWorker::new(&self.course).and_then(|flow| self.morsel(morsel, none.insert(flow))),
        };
        result.map_err(|error| self.set_failure(error)).is_ok()
    }

    fn end(&self) {
        if let Err(error) = self.finish() {
            self.run.give(Err(error));
        }
    }

    fn fail(&self, error: Error) {
        self.set_failure(error);
    }
}
