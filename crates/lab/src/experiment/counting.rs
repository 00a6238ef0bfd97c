//! Instructions and cache misses of the variants of an experiment, counted by valgrind's callgrind where the processor
//! does not let us.
//!
//! The lab starts its own program again under valgrind. There each variant of the experiment is set up, run and checked
//! as it is when it is measured, only smaller, and [`counted_run`] is the function whose calls are counted. A line per
//! variant on standard output says which calls were whose.

use super::design::{Experiment, Laps, Subject, Variant};
use super::findings::{Findings, Measured, Point};
use super::{Bench, Error};
use crate::machine::callgrind::{Events, Hierarchy, SMALL};
use crate::machine::{Clock, Counts, callgrind};
use crate::words;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// What is counted, as metrics.
const METRICS: [&str; 2] = ["instructions", "cache_misses"];
/// Counted runs of a variant: they differ in where its data lies in the simulated caches, if at all.
const RUNS: usize = 3;

/// How the lab's program is started to count: it calls [`count`] with the experiment whose name is added.
#[derive(Debug, Clone)]
pub struct Counter {
    /// The program.
    pub program: PathBuf,
    /// What comes before the name.
    pub arguments: Vec<OsString>,
}

/// Runs a variant once: what valgrind is told to count.
#[inline(never)]
fn counted_run(subject: &mut dyn Subject, laps: &mut Laps) {
    subject.run(laps);
}

/// Runs the variants of an experiment to have them counted, and writes a line for each. `bench` is made smaller.
///
/// # Errors
/// At the first wrong answer, and when data or memory is missing.
pub fn count(experiment: &'static Experiment, mut bench: Bench, out: &mut dyn Write) -> Result<(), Error> {
    bench.machine.caches = callgrind::SIMULATED;
    for trial in (experiment.design)(&bench)?.trials {
        for variant in (trial.setup)(&bench)? {
            let line = count_variant(experiment, bench.clock, variant)?;
            writeln!(out, "{line}").map_err(|error| Error::Data(format!("writing what was counted: {error}")))?;
        }
    }
    Ok(())
}

fn count_variant(experiment: &'static Experiment, clock: Clock, mut variant: Variant) -> Result<Value, Error> {
    for run in 0..=RUNS {
        let mut laps = Laps::start(clock);
        variant.subject.prepare();
        match run {
            // Warms up.
            0 => variant.subject.run(&mut laps),
            _ => counted_run(variant.subject.as_mut(), &mut laps),
        }
        variant.subject.check().map_err(|detail| Error::WrongAnswer {
            experiment: experiment.name,
            variant: variant.name(),
            detail,
        })?;
    }
    let levels: BTreeMap<&str, &String> = variant.levels.iter().map(|(factor, level)| (*factor, level)).collect();
    Ok(json!({ "levels": levels, "units": variant.units.0, "per": variant.units.1 }))
}

/// What was counted of an experiment's variants, or why nothing was.
pub(super) struct Counted {
    wanted: Vec<&'static str>,
    /// How valgrind names its version, and the variants' counts.
    found: Result<(String, Vec<CountedLine>), String>,
}

/// Counts what an experiment's figures want and the processor does not count; `None` when nothing is wanted. It takes no
/// more than the measuring time.
pub(super) fn take(experiment: &Experiment, bench: &Bench) -> Option<Counted> {
    let wanted = |metric: &&str| experiment.figures.iter().any(|figure| figure.metric == *metric);
    let wanted: Vec<&'static str> = METRICS.into_iter().filter(wanted).collect();
    let counter = bench.settings.counter.as_ref()?;
    if wanted.is_empty() {
        return None;
    }
    let missing =
        "the processor's counters are not granted here, and valgrind, which would count them, is not installed";
    let found = callgrind::version().ok_or_else(|| missing.to_owned()).and_then(|version| {
        let limit = bench.settings.budget;
        run(experiment, counter, limit).map(|lines| (version, lines))
    });
    Some(Counted { wanted, found })
}

impl Counted {
    /// Adds it to the experiment's results. Returns what a reader must know of it.
    pub(super) fn add(self, findings: &mut Findings) -> String {
        let what = self.wanted.join(" and ").replace('_', " ");
        let added = self.found.and_then(|(version, lines)| {
            let counted = merge(&lines, &self.wanted, &mut findings.points)?;
            Ok((version, counted))
        });
        match added {
            Ok((version, counted)) => format!(
                "{what}: not this processor's but callgrind's ({version}), of {} as AVX2 code over fewer rows and \
                 with caches of {} and {} KiB; there is no prefetching",
                words::counted(counted as u64, "variant"),
                callgrind::SIMULATED.l1 >> 10,
                callgrind::SIMULATED.last >> 10
            ),
            Err(reason) => format!("{what}: not available; {reason}"),
        }
    }
}

/// What the child says of a variant, and its counts.
type CountedLine = (Value, Vec<Counts>);

/// The variants that a child says it has run, and their counts.
fn run(experiment: &Experiment, counter: &Counter, limit: Duration) -> Result<Vec<CountedLine>, String> {
    let lines = simulate(experiment.name, counter, &SMALL, limit)?;
    let counts = |events: Vec<Events>| events.iter().map(Events::counts).collect::<Result<_, _>>();
    lines.into_iter().map(|(line, events)| Ok((line, counts(events)?))).collect()
}

/// Has the variants of an experiment run by this program under callgrind with these caches. Returns what the child says of each,
/// which are its levels, units and what these are called, and what was counted of its runs.
pub fn simulate(
    experiment: &str,
    counter: &Counter,
    caches: &Hierarchy,
    limit: Duration,
) -> Result<Vec<(Value, Vec<Events>)>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for what was counted: {error}"))?;
    let mut arguments = counter.arguments.clone();
    arguments.push(experiment.into());
    let function = std::any::type_name_of_val(&counted_run);
    let found = callgrind::run(&counter.program, &arguments, (function, caches), folder.path(), limit)?;
    pair(&found.output, &found.events)
}

/// Each line with its runs' counts.
fn pair<T: Clone>(output: &str, counts: &[T]) -> Result<Vec<(Value, Vec<T>)>, String> {
    let (runs, rest) = counts.as_chunks::<RUNS>();
    let lines: Vec<&str> = output.lines().filter(|line| line.starts_with('{')).collect();
    if lines.len() != runs.len() || !rest.is_empty() {
        return Err(format!("valgrind counted {} calls where {} variants have {RUNS} each", counts.len(), lines.len()));
    }
    let line = |(line, runs): (&&str, &[T; RUNS])| {
        let line = serde_json::from_str(line).map_err(|error| format!("a line of what was counted: {error}"))?;
        Ok((line, runs.to_vec()))
    };
    lines.iter().zip(runs).map(line).collect()
}

/// Adds the counts to the points of the same levels; returns to how many.
fn merge(lines: &[CountedLine], wanted: &[&'static str], points: &mut [Point]) -> Result<usize, String> {
    let mut counted = 0;
    for (line, counts) in lines {
        let units = line["units"].as_f64().filter(|units| *units > 0.0).ok_or("a variant without units")?;
        let per = line["per"].as_str().ok_or("a variant without units")?;
        let at = |point: &Point| {
            let known = |(factor, level): (&&'static str, &String)| line["levels"][*factor].as_str() == Some(level);
            line["levels"].as_object().is_some_and(|levels| levels.len() == point.levels.len())
                && point.levels.iter().all(known)
        };
        let Some(point) = points.iter_mut().find(|point| at(point)) else { continue };
        counted += 1;
        for metric in wanted {
            let number = |counts: &Counts| match *metric {
                "instructions" => counts.instructions,
                _ => counts.cache_misses,
            };
            let samples = counts.iter().map(|counts| number(counts) as f64 / units).collect();
            let unit = format!("{} per {per} (callgrind)", metric.replace('_', " "));
            point.metrics.insert(metric, Measured::new(unit, samples));
        }
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Mode, Settings};
    use crate::experiments::select;

    /// The lines of an experiment at its smallest, as its program would write them under valgrind.
    fn lines(name: &str) -> (&'static Experiment, String) {
        let experiment = select(&[name.to_owned()]).unwrap()[0];
        let mut out = Vec::new();
        count(experiment, Bench::new(Settings::of(Mode::Tiny)), &mut out).unwrap();
        (experiment, String::from_utf8(out).unwrap())
    }

    #[test]
    fn counts_come_to_the_variants_that_were_counted() {
        let (experiment, output) = lines("byteslice.fig12");
        let variants = output.lines().count();
        // Like real counts, those of a variant's runs are about the same, and more for later ones.
        let counts: Vec<Counts> = (0..variants * RUNS)
            .map(|run| Counts { instructions: 1000 + 10 * (run / RUNS) as u64, cache_misses: (run / RUNS) as u64 })
            .collect();
        let bench = Bench::new(Settings::of(Mode::Tiny));
        let mut points: Vec<Point> = Vec::new();
        for trial in (experiment.design)(&bench).unwrap().trials {
            for variant in (trial.setup)(&bench).unwrap() {
                points.push(Point { levels: variant.levels.into_iter().collect(), ..Point::default() });
            }
        }
        // A variant that the simulated processor does not have, and one that is measured nowhere else.
        points.insert(0, Point { levels: [("way", "unheard of".to_owned())].into(), ..Point::default() });
        let last = points.pop().unwrap();
        let lines = pair(&output, &counts).unwrap();
        let counted = merge(&lines, &["cache_misses"], &mut points).unwrap();
        assert_eq!((counted, points.len()), (variants - 1, variants));
        assert!(points[0].metrics.is_empty());
        for (number, point) in points[1..].iter().enumerate() {
            let measured = &point.metrics["cache_misses"];
            let rows = lines[number].0["units"].as_f64().unwrap();
            assert_eq!(measured.samples, [number as f64 / rows; RUNS]);
            assert_eq!((measured.unit.as_str(), point.metrics.len()), ("cache misses per tuple (callgrind)", 1));
        }
        assert!(last.metrics.is_empty());
    }

    #[test]
    fn calls_without_a_variant_are_an_error() {
        let (_, output) = lines("byteslice.fig12");
        let error = pair(&output, &[Counts { instructions: 1, cache_misses: 1 }; 2]).unwrap_err();
        assert!(error.starts_with("valgrind counted 2 calls where "), "{error}");
        let error = pair("{broken", &[Counts { instructions: 1, cache_misses: 1 }; RUNS]).unwrap_err();
        assert!(error.starts_with("a line of what was counted: "), "{error}");
    }

    #[test]
    fn what_can_not_be_counted_is_said_and_no_metric() {
        let mut settings = Settings::of(Mode::Tiny);
        let experiment = select(&["byteslice.fig12".to_owned()]).unwrap()[0];
        let mut findings = Findings { points: vec![Point::default()] };
        assert!(take(experiment, &Bench::new(settings.clone())).is_none(), "nobody asked");
        settings.counter = Some(Counter { program: "/no/such/program".into(), arguments: Vec::new() });
        settings.budget = Duration::from_secs(60);
        let note = take(experiment, &Bench::new(settings.clone())).unwrap().add(&mut findings);
        assert!(note.starts_with("cache misses: not available; "), "{note}");
        assert!(findings.points[0].metrics.is_empty());
        let other = select(&["byteslice.fig11".to_owned()]).unwrap()[0];
        assert!(take(other, &Bench::new(settings)).is_none(), "nothing of it is counted");
    }
}
