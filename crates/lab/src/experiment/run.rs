//! Runs experiments: sets a trial up, warms every variant up and checks its answer, then measures in rounds. A round runs
//! every variant once, in an order of its own, so that a disturbance or a drift of the machine hits no variant more than
//! the others; every answer is checked. Rounds end when all intervals are narrow or the time is spent.

use super::design::{Experiment, Factor, Laps, Trial, Variant};
use super::findings::{Context, Findings, Measured, Outcome, Point};
use super::{Bench, Error, counting};
use crate::machine::{Counters, huge_page_share};
use crate::random::Random;
use crate::statistics::Summary;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Rounds after which intervals may be found narrow.
const SURE_ROUNDS: usize = 5;
/// Rounds at most.
const MOST_ROUNDS: usize = 100;
/// An interval of times is narrow when its radius is no more than this part of the mean.
const NARROW: f64 = 0.01;
/// How narrow intervals must be for what runs find besides their time, which no disturbance of the machine widens.
const NARROW_FOUND: f64 = 0.001;
/// A sample takes at least this long; a shorter run is repeated within the sample. The clock's own cost is then below a
/// part in ten thousand.
const SAMPLE: Duration = Duration::from_millis(1);

/// Told how a run goes on.
pub trait Progress {
    /// An experiment begins, with so many trials.
    fn begin(&self, experiment: &Experiment, trials: usize);
    /// What is being done now.
    fn note(&self, text: &str);
    /// A trial is done.
    fn advance(&self);
    /// The experiment is done.
    fn finish(&self, outcome: &Outcome);
}

impl Progress for () {
    fn begin(&self, _experiment: &Experiment, _blocks: usize) {}
    fn note(&self, _text: &str) {}
    fn advance(&self) {}
    fn finish(&self, _outcome: &Outcome) {}
}

/// Runs `experiments` in their order, those that others use already in front of them.
///
/// # Errors
/// At the first wrong answer, and when data or memory is missing.
pub fn run(experiments: &[&'static Experiment], bench: &Bench, progress: &dyn Progress) -> Result<Vec<Outcome>, Error> {
    let mut outcomes = Vec::new();
    for experiment in experiments {
        let outcome = run_one(experiment, bench, &outcomes, progress)?;
        progress.finish(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn run_one(
    experiment: &'static Experiment,
    bench: &Bench,
    earlier: &[Outcome],
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    let start = Instant::now();
    let design = (experiment.design)(bench)?;
    let mut random = Random::named(bench.settings.seed, experiment.name);
    let mut order: Vec<(usize, Trial)> = design.trials.into_iter().enumerate().collect();
    random.shuffle(&mut order);
    progress.begin(experiment, order.len());

    let left = design.enough.map_or(bench.settings.budget, |enough| enough.min(bench.settings.budget));
    let mut runner = Runner { experiment, bench, random, counters: Counters::open(), left };
    let mut counted = None;
    if runner.counters.is_none() {
        progress.note("counting");
        let start = Instant::now();
        counted = counting::take(experiment, bench);
        runner.left = runner.left.saturating_sub(start.elapsed());
    }
    let mut done: Vec<(usize, Vec<Point>)> = Vec::new();
    let mut huge_pages: Option<f64> = None;
    let trials = order.len();
    for (number, (place, trial)) in order.into_iter().enumerate() {
        progress.note(&trial.name);
        let variants = (trial.setup)(bench)?;
        huge_pages = huge_page_share().into_iter().chain(huge_pages).max_by(f64::total_cmp);
        done.push((place, runner.trial(variants, trials - number)?));
        progress.advance();
    }
    done.sort_by_key(|(place, _)| *place);
    let measured = done.into_iter().flat_map(|(_, points)| points);
    let mut findings = Findings { points: measured.chain(design.found).collect() };
    let mut notes = design.notes;
    notes.extend(bench.told_cuts());
    notes.extend(counted.map(|counted| counted.add(&mut findings)));
    if let Some(derive) = experiment.derive {
        findings.points = derive(&Context { findings: &findings, earlier, bench });
    }
    let context = Context { findings: &findings, earlier, bench };
    let judgements = experiment.claims.iter().map(|claim| (claim.judge)(&context)).collect();
    let mut factors = design.factors;
    factors.iter_mut().filter(|factor| factor.levels.is_empty()).for_each(|factor| factor.take_levels(&findings));
    let seconds = start.elapsed().as_secs_f64();
    Ok(Outcome { experiment, factors, notes, findings, judgements, seconds, huge_pages })
}

impl Factor {
    /// Takes the levels that results have, in the order in which they come.
    fn take_levels(&mut self, findings: &Findings) {
        for point in &findings.points {
            let level = point.level(self.name);
            if !level.is_empty() && !self.levels.iter().any(|known| known == level) {
                self.levels.push(level.to_owned());
            }
        }
    }
}

/// What the trials of one experiment share while they run.
struct Runner<'a> {
    experiment: &'static Experiment,
    bench: &'a Bench,
    random: Random,
    counters: Option<Counters>,
    /// Measuring time that is left.
    left: Duration,
}

/// A variant with its samples.
struct Sampled {
    variant: Variant,
    /// Runs of one sample.
    repeats: u32,
    /// Samples by metric.
    samples: BTreeMap<&'static str, Vec<f64>>,
}

impl Runner<'_> {
    /// Measures the variants of a trial, of which so many are left with this one; they share what time is left.
    fn trial(&mut self, variants: Vec<Variant>, trials_left: usize) -> Result<Vec<Point>, Error> {
        let mut all = Vec::with_capacity(variants.len());
        for variant in variants {
            let mut sampled = Sampled { variant, repeats: 1, samples: BTreeMap::new() };
            let elapsed = self.sample(&mut sampled)?;
            // The first run warmed up, and does not count.
            sampled.samples.clear();
            let short = SAMPLE.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
            if !self.bench.is_tiny() {
                sampled.repeats = short.ceil().clamp(1.0, 1e6) as u32;
            }
            all.push(sampled);
        }
        let start = Instant::now();
        let share = self.left / trials_left.max(1) as u32;
        let mut order: Vec<usize> = (0..all.len()).collect();
        let runs = all.iter().filter_map(|sampled| sampled.variant.subject.runs()).max();
        let least = all.iter().map(|sampled| sampled.variant.subject.least_runs()).max();
        let least = least.filter(|_| !self.bench.is_tiny()).unwrap_or(1);
        for round in 0..runs.unwrap_or(MOST_ROUNDS) {
            let narrow = round >= SURE_ROUNDS && all.iter().all(Sampled::is_narrow);
            if runs.is_none() && round >= least && (narrow || start.elapsed() >= share) {
                break;
            }
            self.random.shuffle(&mut order);
            for place in &order {
                self.sample(&mut all[*place])?;
            }
        }
        self.left = self.left.saturating_sub(start.elapsed());
        let unit = self.bench.clock.unit();
        Ok(all.into_iter().map(|sampled| sampled.into_point(unit)).collect())
    }

    /// Takes one sample, checks the answer, and returns the time of it all.
    fn sample(&mut self, sampled: &mut Sampled) -> Result<Duration, Error> {
        let clock = self.bench.clock;
        let (repeats, subject) = (sampled.repeats, &mut sampled.variant.subject);
        subject.prepare();
        let mut laps = Laps::start(clock);
        let mut elapsed = Duration::ZERO;
        let mut ticks = 0;
        let mut work = || {
            let start = Instant::now();
            laps = Laps::start(clock);
            let first = clock.now();
            for _ in 0..repeats {
                subject.run(&mut laps);
            }
            ticks = clock.now() - first;
            elapsed = start.elapsed();
        };
        let counts = match &mut self.counters {
            Some(counters) => counters.around(work),
            None => {
                work();
                None
            }
        };
        subject.check().map_err(|detail| Error::WrongAnswer {
            experiment: self.experiment.name,
            variant: sampled.variant.name(),
            detail,
        })?;
        let units = sampled.variant.units.0 * f64::from(repeats);
        let values = sampled.variant.subject.values();
        let mut add = |metric, value| sampled.samples.entry(metric).or_default().push(value);
        add("time", ticks as f64 / units);
        laps.times().iter().for_each(|(part, time)| add(part, *time as f64 / units));
        if let Some(counts) = counts {
            add("instructions", counts.instructions as f64 / units);
            add("cache_misses", counts.cache_misses as f64 / units);
        }
        values.into_iter().for_each(|(metric, value)| add(metric, value));
        Ok(elapsed)
    }
}

impl Variant {
    /// Its levels as text.
    pub fn name(&self) -> String {
        let levels = self.levels.iter().map(|(factor, level)| format!("{factor} {level}"));
        levels.collect::<Vec<_>>().join(", ")
    }
}

impl Sampled {
    /// Judged by what the runs find where they find something, and by their time otherwise.
    fn is_narrow(&self) -> bool {
        let narrow = |samples: &Vec<f64>, part| Summary::of(samples).relative_margin() <= part;
        match self.samples.iter().find(|(metric, _)| metric.starts_with("found_")) {
            Some((_, found)) => narrow(found, NARROW_FOUND),
            None => self.samples.get("time").is_some_and(|times| narrow(times, NARROW)),
        }
    }

    fn into_point(self, clock_unit: &str) -> Point {
        let per = self.variant.units.1;
        let unit = |metric: &str| match metric {
            "instructions" | "cache_misses" => format!("{metric} per {per}").replace('_', " "),
            metric if metric.starts_with("found_") => String::new(),
            _ => format!("{clock_unit} per {per}"),
        };
        let measured = if self.variant.subject.runs().is_some() { Measured::of_all } else { Measured::new };
        let metrics = self.samples.into_iter().map(|(metric, samples)| (metric, measured(unit(metric), samples)));
        Point {
            levels: self.variant.levels.into_iter().collect(),
            facts: self.variant.facts.into_iter().collect(),
            metrics: metrics.collect(),
        }
    }
}
