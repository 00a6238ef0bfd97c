//! Results: what was measured at which levels, and how claims find it.

use super::Bench;
use super::design::{Experiment, Factor, Figure};
use super::judge::{Judgement, Verdict};
use crate::statistics::{Summary, best_class};
use crate::words::{counted, readable};
use std::collections::{BTreeMap, BTreeSet};

/// A sample of one metric.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What is counted, per what.
    pub unit: String,
    /// Values, one per run.
    pub samples: Vec<f64>,
    /// Their summary.
    pub summary: Summary,
}

impl Measured {
    /// Summarises `samples`.
    pub fn new(unit: String, samples: Vec<f64>) -> Self {
        let summary = Summary::of(&samples);
        Self { unit, samples, summary }
    }

    /// Summarises `samples` without looking for an outlier: their runs did different work.
    pub fn of_all(unit: String, samples: Vec<f64>) -> Self {
        let summary = Summary::of_all(&samples);
        Self { unit, samples, summary }
    }
}

/// What was found at one level of each factor.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// The levels.
    pub levels: BTreeMap<&'static str, String>,
    /// What was known before: rows, bytes, selectivity; or computed without measuring.
    pub facts: BTreeMap<&'static str, f64>,
    /// What was measured: `time`, parts of it, counts.
    pub metrics: BTreeMap<&'static str, Measured>,
}

impl Point {
    /// The level of a factor; empty when the point has none.
    pub fn level(&self, factor: &str) -> &str {
        self.levels.get(factor).map_or("", String::as_str)
    }

    /// The level of a factor as a number; NaN when it is none.
    pub fn number(&self, factor: &str) -> f64 {
        self.level(factor).parse().unwrap_or(f64::NAN)
    }

    /// The summary of the time.
    pub fn time(&self) -> Option<&Summary> {
        self.summary("time")
    }

    /// The summary of a metric.
    pub fn summary(&self, metric: &str) -> Option<&Summary> {
        self.metrics.get(metric).map(|measured| &measured.summary)
    }

    /// The levels of all factors but some, as text: what the point stands for where those are known.
    pub fn label(&self, without: &[&str]) -> String {
        let shown = self.levels.iter().filter(|(name, _)| !without.contains(name));
        shown.map(|(name, level)| format!("{name} {}", readable(level))).collect::<Vec<_>>().join(", ")
    }
}

/// All results of an experiment.
#[derive(Debug, Default)]
pub struct Findings {
    /// The points, in the order in which the design has them.
    pub points: Vec<Point>,
}

impl Findings {
    /// The points at all of `levels`.
    pub fn select<'a>(&'a self, levels: &'a [(&str, &str)]) -> impl Iterator<Item = &'a Point> {
        self.points.iter().filter(|point| levels.iter().all(|(factor, level)| point.level(factor) == *level))
    }

    /// The first point at all of `levels`.
    pub fn get<'a>(&'a self, levels: &'a [(&str, &str)]) -> Option<&'a Point> {
        self.select(levels).next()
    }

    /// The point that differs from `point` in the level of one factor only.
    pub fn beside(&self, point: &Point, factor: &str, level: &str) -> Option<&Point> {
        self.points.iter().find(|other| {
            other.level(factor) == level
                && other.levels.len() == point.levels.len()
                && other.levels.iter().all(|(name, of_other)| *name == factor || point.level(name) == of_other)
        })
    }
}

/// Which variants can't be told from the best, at one place of a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// The levels that the variants share.
    pub at: BTreeMap<&'static str, String>,
    /// The factor that they differ in.
    pub factor: &'static str,
    /// Its level of the smallest mean.
    pub best: String,
    /// All levels that the paper's rule can't tell from the best.
    pub members: Vec<String>,
    /// All that Welch's test with Holm's correction can't tell from it.
    pub corrected: Vec<String>,
}

/// The name of a metric in words.
pub(crate) fn metric_name(name: &str) -> String {
    name.trim_start_matches("found_").replace('_', " ")
}

/// An experiment that has run.
pub struct Outcome {
    /// What it was.
    pub experiment: &'static Experiment,
    /// Its factors as they were laid out.
    pub factors: Vec<Factor>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Its results.
    pub findings: Findings,
    /// The verdict on each claim, in the claims' order.
    pub judgements: Vec<Judgement>,
    /// Seconds that it took, set-up included.
    pub seconds: f64,
    /// Part of the memory that had huge pages: of the trial that had most, since small data asks for none.
    pub huge_pages: Option<f64>,
}

impl Outcome {
    /// The classes of the best of a figure: one for each panel and place of the horizontal axis.
    pub fn classes(&self, figure: &Figure) -> Vec<Class> {
        let shown: Vec<&Point> =
            self.findings.select(figure.only).filter(|point| point.summary(figure.metric).is_some()).collect();
        let place = |point: &Point| {
            let mut at = point.levels.clone();
            at.remove(figure.series);
            at
        };
        let places: BTreeSet<_> = shown.iter().map(|point| place(point)).collect();
        let class = |at: BTreeMap<&'static str, String>| {
            let rivals: Vec<&Point> = shown.iter().filter(|point| place(point) == at).copied().collect();
            let summaries: Vec<&Summary> = rivals.iter().filter_map(|point| point.summary(figure.metric)).collect();
            let found = best_class(&summaries).filter(|_| rivals.len() > 1)?;
            let named = |place: &usize| rivals[*place].level(figure.series).to_string();
            Some(Class {
                at,
                factor: figure.series,
                best: named(&found.best),
                members: found.members.iter().map(named).collect(),
                corrected: found.corrected.iter().map(named).collect(),
            })
        };
        places.into_iter().filter_map(class).collect()
    }

    /// The units of what was measured, in words: `time in TSC cycles per code`. Quotients have none.
    pub fn units(&self) -> String {
        let mut by_unit = BTreeMap::<&str, BTreeSet<&str>>::new();
        for (name, measured) in self.findings.points.iter().flat_map(|point| &point.metrics) {
            if !measured.unit.is_empty() && measured.unit != "ratio" {
                by_unit.entry(&measured.unit).or_default().insert(name);
            }
        }
        let words = |(unit, names): (&str, BTreeSet<&str>)| {
            let names: Vec<String> = names.into_iter().map(metric_name).collect();
            format!("{} in {unit}", names.join(", "))
        };
        by_unit.into_iter().map(words).collect::<Vec<_>>().join("; ")
    }

    /// How many claims have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.judgements.iter().filter(|judgement| judgement.verdict == verdict).count()
    }
}

/// How many claims hold, don't, and can't be told, in words.
pub fn tally(outcomes: &[Outcome]) -> String {
    let count = |verdict| outcomes.iter().map(|outcome| outcome.count(verdict)).sum::<usize>() as u64;
    let (holding, failing, unknown) = (count(Verdict::Holds), count(Verdict::Fails), count(Verdict::Unknown));
    let verb = |count, one, many| if count == 1 { one } else { many };
    format!(
        "{} {}, {failing} {}, {unknown} can't be told here",
        counted(holding, "claim"),
        verb(holding, "holds", "hold"),
        verb(failing, "doesn't", "don't"),
    )
}

/// What a claim is judged by.
pub struct Context<'a> {
    /// The experiment's own results.
    pub findings: &'a Findings,
    /// Experiments that ran before.
    pub earlier: &'a [Outcome],
    /// The machine and the settings.
    pub bench: &'a Bench,
}

impl<'a> Context<'a> {
    /// The results of an experiment that ran before.
    pub fn of(&self, name: &str) -> Option<&'a Findings> {
        self.earlier.iter().find(|outcome| outcome.experiment.name == name).map(|outcome| &outcome.findings)
    }
}
