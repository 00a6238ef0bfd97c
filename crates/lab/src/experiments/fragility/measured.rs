//! Loops of compiled programs as variants of experiments.

use super::data::MappedFile;
use super::program::{Answer, Program, SharedProgram};
use super::setups::SetUp;
use crate::experiment::{Bench, Error, Laps, Levels, Mode, Subject, Variant};
use crate::machine::{Clock, ProcessCounters, available_memory};
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of a layout: twice the last cache in quick runs, four times by default, the paper's 10 GB in full ones as far as memory goes.
pub fn layout_bytes(bench: &Bench) -> usize {
    const PAPER: usize = 10 << 30;
    let last = bench.machine.caches.last;
    match bench.settings.mode {
        Mode::Tiny => 300_000,
        Mode::Quick => 2 * last,
        Mode::Default => 4 * last,
        Mode::Full => {
            let room = available_memory().map_or(PAPER, |free| (free / 2) as usize);
            PAPER.min(room).max(4 * last)
        }
    }
}

/// Records of a layout, whole chunks of 2^16 of them outside of tests.
pub fn records(bench: &Bench, record_bytes: usize) -> usize {
    let all = layout_bytes(bench) / record_bytes;
    if bench.is_tiny() { all } else { all.next_multiple_of(1 << 16) }
}

/// Starts the programs of set-ups.
pub fn start(set_ups: &[SetUp]) -> Result<Vec<SharedProgram>, Error> {
    let start =
        |set_up: &SetUp| Program::start(&set_up.name, &set_up.program).map(|program| Rc::new(RefCell::new(program)));
    set_ups.iter().map(start).collect::<Result<_, _>>().map_err(Error::Data)
}

/// A loop of a program over a mapped layout.
pub struct MeasuredLoop {
    /// The program.
    pub program: SharedProgram,
    /// The loop's name.
    pub own: String,
    /// The layout, by the number that the program knows it by.
    pub slot: usize,
    /// Records, and those of a chunk.
    pub records: (usize, usize),
    /// The right answer.
    pub expected: i64,
    /// Kept for as long as the program may read it.
    pub file: Rc<MappedFile>,
    /// Counters of the program's events, where they are wanted and granted.
    pub counters: Option<SharedCounters>,
}

/// Counters of a program that variants share.
pub type SharedCounters = Rc<RefCell<ProcessCounters>>;

impl MeasuredLoop {
    /// A variant at some levels.
    pub fn variant(self, clock: Clock, levels: Levels) -> Variant {
        let (records, bytes) = (self.records.0 as f64, self.file.bytes as f64);
        let is_where_asked = self.file.is_where_asked;
        let found = Err("it has not run".to_owned());
        Variant {
            levels,
            units: (records, "record"),
            facts: vec![
                ("records", records),
                ("bytes", bytes),
                ("where_asked", if is_where_asked { 1.0 } else { 0.0 }),
            ],
            subject: Box::new(LoopRun { of: self, clock, found, counted: Vec::new() }),
        }
    }
}

/// Runs of a loop.
struct LoopRun {
    of: MeasuredLoop,
    clock: Clock,
    found: Result<Answer, String>,
    /// Events of the last run, by the name of their metric.
    counted: Vec<(&'static str, u64)>,
}

impl Subject for LoopRun {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        let MeasuredLoop { program, own, slot, records, counters, .. } = &self.of;
        let work = || program.borrow_mut().run(own, *slot, records.0, records.1);
        (self.found, self.counted) = match counters {
            Some(counters) => counters.borrow_mut().around(work),
            None => (work(), Vec::new()),
        };
    }

    fn check(&mut self) -> Result<(), String> {
        let found = self.found.clone()?.result;
        if found == self.of.expected { Ok(()) } else { Err(format!("{found}, {} expected", self.of.expected)) }
    }

    /// The paper's intervals are of five runs.
    fn least_runs(&self) -> usize {
        5
    }

    /// The program's own time: the lab's has the way there and back too.
    fn values(&self) -> Vec<(&'static str, f64)> {
        let Ok(found) = &self.found else { return Vec::new() };
        let records = self.of.records.0 as f64;
        let time = found.nanoseconds as f64 / 1e9 * self.clock.per_second() / records;
        let counted = self.counted.iter().map(|(event, count)| (*event, *count as f64 / records));
        [("loop", time)].into_iter().chain(counted).collect()
    }
}
