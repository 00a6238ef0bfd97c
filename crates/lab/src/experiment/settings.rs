//! How large, how long, on how many threads an experiment runs.

use super::{Counter, Error};
use crate::machine::{Bandwidth, Clock, Machine, available_memory, read_bandwidth};
use crate::tpch::TpchDatabase;
use gingham_kernels::Isa;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// How large the data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A few thousand rows: for tests of the answers. Its times mean nothing.
    Tiny,
    /// Twice the last cache, and fewer levels.
    Quick,
    /// Four times the last cache for every packing and width.
    Default,
    /// The paper's sizes, as far as memory goes.
    Full,
}

impl Mode {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }
}

/// What a user can choose.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How large.
    pub mode: Mode,
    /// Measuring time of one experiment, set-up not counted; counting under valgrind is part of it.
    pub budget: Duration,
    /// Threads of experiments that vary them, at most.
    pub threads: usize,
    /// Determines data and order.
    pub seed: u64,
    /// Folder of the files that some experiments read.
    pub data: Option<PathBuf>,
    /// How instructions and cache misses are counted where the processor grants no counters; `None`: not at all.
    pub counter: Option<Counter>,
}

impl Settings {
    /// The settings of a mode.
    pub fn of(mode: Mode) -> Self {
        let budget = match mode {
            Mode::Tiny => Duration::ZERO,
            Mode::Quick => Duration::from_secs(15),
            Mode::Default => Duration::from_secs(120),
            Mode::Full => Duration::from_secs(1800),
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { mode, budget, threads, seed: 1, data: None, counter: None }
    }
}

/// A machine with settings: what an experiment runs on.
#[derive(Debug)]
pub struct Bench {
    /// The settings.
    pub settings: Settings,
    /// The machine.
    pub machine: Machine,
    /// Its clock.
    pub clock: Clock,
    /// What [`Bench::probe`] measured.
    pub bandwidth: Vec<Bandwidth>,
    /// Columns for which memory was too short, since they were last told.
    cuts: RefCell<Vec<Cut>>,
    /// TPC-H, once an experiment has asked for it.
    tpch: RefCell<Option<Rc<TpchDatabase>>>,
}

/// A column that got fewer rows than were wanted.
#[derive(Debug, Clone, Copy)]
struct Cut {
    width: u8,
    rows: usize,
    wanted: usize,
}

/// How many rows a column has, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizing {
    /// So many that every packing is larger than the caches.
    Memory,
    /// So many that every packing fits the second cache.
    Cache,
}

impl Sizing {
    /// Its name as a level.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cache => "cache",
        }
    }
}

/// The paper's number of rows.
const PAPER_ROWS: usize = 1_000_000_000;
/// Rows in tests: some vectors of every kernel, and a rest of every kind.
const TINY_ROWS: usize = 2 * 512 + 357;
/// Rows of a run are a multiple of this where they are many, so that threads can share them evenly.
const STEP: usize = 512;

impl Bench {
    /// This machine under `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            machine: Machine::here(),
            clock: Clock::here(),
            bandwidth: Vec::new(),
            cuts: RefCell::default(),
            tpch: RefCell::default(),
        }
    }

    /// Measures how fast memory can be read, by each number of threads up to all.
    pub fn probe(&mut self) {
        let bytes = 4 * self.machine.caches.last;
        self.bandwidth = (1..=self.settings.threads).map(|threads| read_bandwidth(bytes, threads)).collect();
    }

    /// TPC-H at a scale: made when it is first asked for, and kept for the experiments that follow.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn tpch(&self, scale: f64) -> Result<Rc<TpchDatabase>, Error> {
        let mut known = self.tpch.borrow_mut();
        if let Some(known) = known.as_ref().filter(|known| known.scale() == scale) {
            return Ok(Rc::clone(known));
        }
        *known = None;
        let made = TpchDatabase::generate(scale, self.settings.threads);
        let made = Rc::new(made.map_err(|error| Error::Data(format!("TPC-H at scale {scale}: {error}")))?);
        *known = Some(Rc::clone(&made));
        Ok(made)
    }

    /// Bytes per second that all threads together read at best; `None` when it was not measured.
    pub fn most_bandwidth(&self) -> Option<f64> {
        self.bandwidth.iter().map(|found| found.bytes_per_second).max_by(f64::total_cmp)
    }

    /// The instruction set that is measured unless an experiment varies it.
    pub fn isa(&self) -> Isa {
        self.machine.isa
    }

    /// True in tests, where times mean nothing.
    pub fn is_tiny(&self) -> bool {
        self.settings.mode == Mode::Tiny
    }

    /// Widths to vary: all that the paper has, or in quick runs those on either side of where something changes.
    pub fn widths(&self) -> Vec<u8> {
        match self.settings.mode {
            Mode::Tiny => vec![1, 7, 8, 9, 12, 16, 17, 24, 31, 32],
            Mode::Quick => vec![4, 8, 9, 12, 16, 17, 21, 24, 25, 28, 32],
            Mode::Default | Mode::Full => (1..=32).collect(),
        }
    }

    /// Rows of a column of codes of `width` bits. In memory its smallest packing, of `width` bits a code, is still the
    /// mode's multiple of the last cache, or has the paper's rows; in cache its largest, native, takes half the second
    /// cache. `footprint` is the number of bytes per row that the whole trial holds at once. Where there is no memory for
    /// them, there are fewer rows, which [`Bench::told_cuts`] tells.
    pub fn rows(&self, sizing: Sizing, width: u8, footprint: f64) -> usize {
        let caches = self.machine.caches;
        let of_last = |times: usize| times * caches.last * 8 / usize::from(width);
        let wanted = match (self.settings.mode, sizing) {
            (Mode::Tiny, _) => return TINY_ROWS,
            (_, Sizing::Cache) => caches.l2 / 2 / usize::from(width.next_multiple_of(8).next_power_of_two() / 8),
            (Mode::Quick, Sizing::Memory) => of_last(2),
            (Mode::Default, Sizing::Memory) => of_last(4),
            (Mode::Full, Sizing::Memory) => PAPER_ROWS.max(of_last(4)),
        };
        // The rest of memory is the system's, the page cache's and that of buffers between set-up and run.
        let room = available_memory().map_or(usize::MAX, |bytes| (bytes as f64 * 0.7 / footprint) as usize);
        let rows = (wanted.min(room) / STEP * STEP).max(STEP);
        if room < wanted {
            self.cuts.borrow_mut().push(Cut { width, rows, wanted });
        }
        rows
    }

    /// What a reader must know of the columns that were cut since this was last asked; `None` when none was.
    pub(super) fn told_cuts(&self) -> Option<String> {
        let cuts = self.cuts.take();
        let part = |cut: &Cut| cut.rows as f64 / cut.wanted as f64;
        let Cut { width, rows, wanted } = *cuts.iter().min_by(|a, b| part(a).total_cmp(&part(b)))?;
        let columns = if cuts.len() == 1 { "one size was" } else { "sizes were" };
        Some(format!(
            "memory is short: {columns} cut, at {width} bits to {rows} rows of {wanted}, and nowhere by more; the fact rows of each \
             result is what it had"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_leave_or_fit_the_caches() {
        let bench = |mode| Bench::new(Settings::of(mode));
        for width in [1, 8, 12, 32] {
            let default = bench(Mode::Default);
            let bytes = default.rows(Sizing::Memory, width, 1e-9) * usize::from(width) / 8;
            assert!(bytes + 512 * 4 >= 4 * default.machine.caches.last, "{bytes} bytes at {width} bits");
            let rows = default.rows(Sizing::Cache, width, 1e-9);
            let native = usize::from(width).div_ceil(8).next_power_of_two();
            assert!(rows * native <= default.machine.caches.l2 / 2 && rows > 0);
            assert!(bench(Mode::Full).rows(Sizing::Memory, width, 1e-9) >= 999_999_488);
            assert_eq!(bench(Mode::Tiny).rows(Sizing::Memory, width, 1e9), TINY_ROWS);
        }
    }

    #[test]
    fn sizes_that_memory_cuts_are_told() {
        let bench = Bench::new(Settings::of(Mode::Default));
        let wanted = bench.rows(Sizing::Memory, 12, 1e-9);
        assert_eq!(bench.told_cuts(), None, "there was memory for all");
        // A petabyte per row leaves the least that there can be.
        assert_eq!(bench.rows(Sizing::Memory, 12, 1e15), STEP);
        assert_eq!(bench.rows(Sizing::Cache, 12, 1e15), STEP);
        let told = bench.told_cuts().unwrap();
        assert!(told.starts_with("memory is short: sizes were cut, at 12 bits to 512 rows of "), "{told}");
        let number = told.split("512 rows of ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        assert_eq!(number.parse::<usize>().unwrap() / STEP * STEP, wanted);
        assert_eq!(bench.told_cuts(), None, "told once");
    }
}
