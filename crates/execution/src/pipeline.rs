//! A pipeline: a scan, then the stages of an aggregation, morsel after morsel on the pool's threads. Each thread has
//! states of its own; the last one to end merges them.

use crate::aggregate::{Groups, Plan, States};
use crate::codegen::{Generator, Scratch};
use crate::interpret::Interpreter;
use crate::pool::{Job, Pool};
use crate::source::vectors;
use crate::{Error, Result};
use gingham_storage::scan::TableScan;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How the stages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Interpreted until it is known that many records come, then staged.
    Auto,
    /// By generated code.
    Staged,
    /// Step by step, without generated code.
    Interpreted,
}

/// Records below which making code takes longer than it saves: 100 to 300 µs a loop against a few ns a record.
const FEW_ROWS: usize = 100_000;

/// Who is asked before memory is taken.
pub trait Memory: Send + Sync {
    /// Takes so many bytes more; they are given back when the pipeline has ended. An error when they are too many.
    fn grow(&self, bytes: usize) -> Result<()>;
}

/// The stages of an aggregation over the records of a table. Code that a run made is there for the next.
#[derive(Debug)]
pub struct Pipeline {
    plan: Plan,
    mode: Mode,
    /// The states are an array, not a hash table.
    array: bool,
    generator: Generator,
}

/// What a pipeline did, for EXPLAIN ANALYZE.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Records that were aggregated, before the plan's own filter.
    pub records: usize,
    /// Loops that were compiled.
    pub loops: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Time that compiling took.
    pub compile_time: Duration,
}

/// Called with the end of a pipeline.
type Done = Box<dyn FnOnce(Result<(Groups, Report)>) + Send>;

/// Stops a pipeline when dropped.
#[derive(Debug)]
pub struct Stopper(Arc<AtomicBool>);

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Pipeline {
    /// An aggregation by `plan` of a table of `rows` records.
    pub fn new(plan: Plan, rows: u64, mode: Mode) -> Self {
        let array = States::is_array(&plan, rows);
        Self { plan, mode, array, generator: Generator::default() }
    }

    /// How the stages run.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// True when groups lie in an array over the keys' range, false when a hash table finds them.
    pub fn is_array(&self) -> bool {
        self.array
    }

    /// Runs it over the records of `scan` that qualify, whose columns are those of the plan, on at most `workers` threads,
    /// and gives the groups to `done`, on one of them. Dropping what this returns stops it.
    pub fn run(
        self: Arc<Self>,
        scan: Arc<TableScan>,
        pool: &Pool,
        workers: usize,
        memory: Box<dyn Memory>,
        done: impl FnOnce(Result<(Groups, Report)>) + Send + 'static,
    ) -> Result<Stopper> {
        let stopped = Arc::new(AtomicBool::new(false));
        let workers = workers.clamp(1, scan.morsels().max(1));
        let run = Run {
            next: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            records: AtomicUsize::new(0),
            workers: (0..workers).map(|_| Mutex::default()).collect(),
            failure: Mutex::default(),
            stopped: Arc::clone(&stopped),
            done: Mutex::new(Some(Box::new(done))),
            memory,
            scan,
            pipeline: self,
        };
        pool.start(Arc::new(run), workers)?;
        Ok(Stopper(stopped))
    }
}

/// A pipeline at work.
struct Run {
    pipeline: Arc<Pipeline>,
    scan: Arc<TableScan>,
    /// The next morsel that no thread has taken.
    next: AtomicUsize,
    /// Morsels, and records, that were aggregated.
    opened: AtomicUsize,
    records: AtomicUsize,
    workers: Vec<Mutex<Option<Worker>>>,
    failure: Mutex<Option<Error>>,
    stopped: Arc<AtomicBool>,
    done: Mutex<Option<Done>>,
    memory: Box<dyn Memory>,
}

/// What one thread has.
struct Worker {
    states: States,
    /// Bytes that were asked for.
    bytes: usize,
    interpreter: Interpreter,
    scratch: Scratch,
}

impl Run {
    fn worker(&self) -> Result<Worker> {
        let Pipeline { plan, array, .. } = &*self.pipeline;
        let bytes = if *array { (plan.groups() as usize + 1) * plan.state_bytes() } else { 0 };
        self.memory.grow(bytes)?;
        let states = States::new(plan, *array);
        Ok(Worker { states, bytes, interpreter: Interpreter::new(plan), scratch: Scratch::default() })
    }

    fn morsel(&self, morsel: usize, worker: &mut Worker) -> Result<()> {
        let Pipeline { plan, generator, .. } = &*self.pipeline;
        let Some(open) = self.scan.open(morsel)? else { return Ok(()) };
        let loops = match self.is_staged(open.qualifying()) {
            true => Some(generator.loops(plan, &open, worker.states.is_table())?),
            false => None,
        };
        for vector in vectors(&open, self.scan.isa()) {
            match &loops {
                Some(loops) => loops.aggregate(vector, &mut worker.states, &mut worker.scratch)?,
                None => worker.interpreter.aggregate(plan, vector, &mut worker.states)?,
            }
            self.charge(worker)?;
        }
        Ok(())
    }

    /// Whether a morsel of so many records is worth generated code: whether all will be many if the others are as this.
    fn is_staged(&self, records: usize) -> bool {
        let opened = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let records = self.records.fetch_add(records, Ordering::Relaxed) + records;
        match self.pipeline.mode {
            Mode::Staged => true,
            Mode::Interpreted => false,
            Mode::Auto => records / opened * self.scan.morsels() >= FEW_ROWS,
        }
    }

    /// Asks for what the states have grown by.
    fn charge(&self, worker: &mut Worker) -> Result<()> {
        let bytes = worker.states.bytes();
        if bytes > worker.bytes {
            self.memory.grow(bytes - worker.bytes)?;
            worker.bytes = bytes;
        }
        Ok(())
    }

    fn set_failure(&self, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// All threads' states as one, read.
    fn answer(&self) -> Result<(Groups, Report)> {
        if let Some(error) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let Pipeline { plan, array, generator, .. } = &*self.pipeline;
        let mut merged: Option<States> = None;
        for worker in &self.workers {
            let Some(worker) = worker.lock().unwrap_or_else(PoisonError::into_inner).take() else { continue };
            match &mut merged {
                None => merged = Some(worker.states),
                Some(merged) => merged.merge(plan, worker.states)?,
            }
        }
        let states = merged.unwrap_or_else(|| States::new(plan, *array));
        let place = format!("table {}", self.scan.table().definition.name);
        let groups = Groups::new(plan, &states, &place, |bytes| self.memory.grow(bytes))?;
        let spent = generator.spent();
        let report = Report {
            records: self.records.load(Ordering::Relaxed),
            loops: spent.loops,
            code_bytes: spent.bytes,
            compile_time: spent.time,
        };
        Ok((groups, report))
    }
}

impl Job for Run {
    fn step(&self, worker: usize) -> bool {
        if self.stopped.load(Ordering::Relaxed) {
            return false;
        }
        let morsel = self.next.fetch_add(1, Ordering::Relaxed);
        if morsel >= self.scan.morsels() {
            return false;
        }
        let mut own = self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &mut *own {
            Some(worker) => self.morsel(morsel, worker),
            none => self.worker().and_then(|worker| self.morsel(morsel, none.insert(worker))),
        };
        result.map_err(|error| self.set_failure(error)).is_ok()
    }

    fn end(&self) {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(done) = done {
            done(self.answer());
        }
    }

    fn fail(&self, error: Error) {
        self.set_failure(error);
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Staged => "staged",
            Self::Interpreted => "interpreted",
        })
    }
}
