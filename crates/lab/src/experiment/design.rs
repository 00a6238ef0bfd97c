//! The parts of an experiment.

use super::findings::{Context, Point};
use super::judge::Judgement;
use super::{Bench, Error};
use crate::machine::Clock;
use std::time::Duration;

/// An experiment: everything that is known of it before it runs.
pub struct Experiment {
    /// Its name: the paper's, a dot, the figure's.
    pub name: &'static str,
    /// What it is about, in a line.
    pub title: &'static str,
    /// Where in the paper it stands.
    pub place: &'static str,
    /// What is done and measured here.
    pub about: &'static str,
    /// Experiments whose results this one computes with; they run before it.
    pub uses: &'static [&'static str],
    /// Lays it out for a bench.
    pub design: fn(&Bench) -> Result<Design, Error>,
    /// Results that are computed from others and not measured.
    pub derive: Option<fn(&Context<'_>) -> Vec<Point>>,
    /// How its results are drawn.
    pub figures: &'static [Figure],
    /// What the paper says of them.
    pub claims: &'static [Claim],
}

/// Factors with the levels that this bench has, and the work.
#[derive(Default)]
pub struct Design {
    /// What is varied.
    pub factors: Vec<Factor>,
    /// The work. Trials run in random order.
    pub trials: Vec<Trial>,
    /// What a reader must know of this layout: sizes that were cut, parts that are left out.
    pub notes: Vec<String>,
    /// Results that a simulated processor gave already.
    pub found: Vec<Point>,
    /// Measuring time that is enough for it, where that is less than the settings'.
    pub enough: Option<Duration>,
}

/// Something that is varied.
#[derive(Debug, Clone)]
pub struct Factor {
    /// Its name.
    pub name: &'static str,
    /// The unit of its levels, where they are numbers.
    pub unit: &'static str,
    /// Its levels, in the order in which they are shown; those that results have where none are known before.
    pub levels: Vec<String>,
}

impl Factor {
    /// A factor with `levels`.
    pub fn new<T: ToString>(name: &'static str, unit: &'static str, levels: impl IntoIterator<Item = T>) -> Self {
        Self { name, unit, levels: levels.into_iter().map(|level| level.to_string()).collect() }
    }
}

/// One level for each of some factors, by the factors' names.
pub type Levels = Vec<(&'static str, String)>;

/// Levels from pairs of anything that can be printed.
pub fn levels(pairs: &[(&'static str, &dyn ToString)]) -> Levels {
    pairs.iter().map(|(name, level)| (*name, level.to_string())).collect()
}

/// Variants that share their data. They are in memory together, and their runs are interleaved in random order, so that a
/// disturbance of the machine hits all of them; variants of different trials are not protected so.
pub struct Trial {
    /// What is shown while it runs.
    pub name: String,
    /// Makes the data and the variants. Its time counts for nothing.
    #[expect(clippy::type_complexity, reason = "a name for it would hide what a trial is")]
    pub setup: Box<dyn FnOnce(&Bench) -> Result<Vec<Variant>, Error>>,
}

/// One way of doing the work, at one level of each factor.
pub struct Variant {
    /// The levels.
    pub levels: Levels,
    /// Units of work in one run, and what they are called: results are per unit.
    pub units: (f64, &'static str),
    /// What else is known of it: bytes, selectivity.
    pub facts: Vec<(&'static str, f64)>,
    /// The work.
    pub subject: Box<dyn Subject>,
}

/// Work that is measured, and its oracle.
pub trait Subject {
    /// Before each sample, not timed: makes it impossible that an earlier run's answer passes for this one's.
    fn prepare(&mut self);

    /// The work: timed as a whole, and in parts where it ends laps.
    fn run(&mut self, laps: &mut Laps);

    /// Compares the answer of the last run with the oracle's; an error says what differs.
    fn check(&mut self) -> Result<(), String>;

    /// What the last run found besides its time, by the name of the metric.
    fn values(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// How many runs there are, where each does other work: then all of them count, and no value is an outlier. `None` where runs
    /// repeat the same work until its time is known well enough.
    fn runs(&self) -> Option<usize> {
        None
    }

    /// How many runs there are at least, whatever the budget says: an interval of fewer is too wide to tell anything.
    fn least_runs(&self) -> usize {
        3
    }
}

/// Times of the parts of a run.
#[derive(Debug)]
pub struct Laps {
    clock: Clock,
    last: u64,
    times: Vec<(&'static str, u64)>,
}

impl Laps {
    /// Starts.
    pub fn start(clock: Clock) -> Self {
        Self { clock, last: clock.now(), times: Vec::new() }
    }

    /// Counts the time since the start or the last lap for the part `name`.
    pub fn lap(&mut self, name: &'static str) {
        let now = self.clock.now();
        let elapsed = now - self.last;
        self.last = now;
        match self.times.iter_mut().find(|(known, _)| *known == name) {
            Some((_, time)) => *time += elapsed,
            None => self.times.push((name, elapsed)),
        }
    }

    /// Time of each part, in the clock's units.
    pub(super) fn times(&self) -> &[(&'static str, u64)] {
        &self.times
    }
}

/// What a paper says of the results.
pub struct Claim {
    /// Its name: the experiment's figure, a dot, a word.
    pub id: &'static str,
    /// The claim, in our words.
    pub text: &'static str,
    /// Where the paper says it.
    pub place: &'static str,
    /// Thresholds that the paper leaves open and we have set.
    pub ours: Option<&'static str>,
    /// Whether the results say so too.
    pub judge: fn(&Context<'_>) -> Judgement,
}

/// A figure of the report.
pub struct Figure {
    /// Its title.
    pub title: &'static str,
    /// How it is drawn.
    pub kind: FigureKind,
    /// Factor of the horizontal axis.
    pub x: &'static str,
    /// Factor that lines or bars of one colour stand for.
    pub series: &'static str,
    /// Factors that have a panel per level.
    pub panels: &'static [&'static str],
    /// The metric of the vertical axis.
    pub metric: &'static str,
    /// What the vertical axis is called.
    pub axis: &'static str,
    /// Only results at these levels are shown.
    pub only: &'static [(&'static str, &'static str)],
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// Lines over a factor whose levels are numbers.
    Lines,
    /// Lines over a logarithmic vertical axis.
    LogLines,
    /// Lines over a factor whose levels are numbers, with whiskers of one standard deviation either way.
    DeviationLines,
    /// Lines over the powers of two that a factor's levels are.
    PowerLines,
    /// Groups of bars.
    Bars,
    /// For each level of a factor a box of the medians of all results there: smallest, quartiles, largest, as overheads over the
    /// panel's smallest.
    Boxes,
}
