//! Made-up results, by which tests see that each claim of an experiment can hold, can fail, and can be left open.

use crate::experiment::{Bench, Context, Experiment, Findings, Measured, Mode, Outcome, Point, Settings, Verdict};

/// A result at some levels: each metric with this mean, and samples very close to it.
pub fn point(levels: &[(&'static str, &str)], metrics: &[(&'static str, f64)]) -> Point {
    let levels = levels.iter().map(|(factor, level)| (*factor, (*level).to_owned()));
    let measured = |mean: f64| Measured::of_all(String::new(), [0.999, 1.0, 1.001].map(|part| part * mean).into());
    Point {
        levels: levels.collect(),
        metrics: metrics.iter().map(|(name, mean)| (*name, measured(*mean))).collect(),
        ..Point::default()
    }
}

/// An experiment that has run and found this.
pub fn outcome(experiment: &'static Experiment, points: Vec<Point>) -> Outcome {
    Outcome {
        experiment,
        factors: Vec::new(),
        notes: Vec::new(),
        findings: Findings { points },
        judgements: Vec::new(),
        seconds: 0.0,
        huge_pages: None,
    }
}

/// Judges the claims of an experiment that has found `points`, after others; where it derives its results, `points` are what it had
/// measured itself.
pub fn verdicts(
    experiment: &'static Experiment,
    points: Vec<Point>,
    earlier: &[Outcome],
) -> Vec<(&'static str, Verdict, String)> {
    let bench = Bench::new(Settings::of(Mode::Tiny));
    let mut findings = Findings { points };
    if let Some(derive) = experiment.derive {
        findings = Findings { points: derive(&Context { findings: &findings, earlier, bench: &bench }) };
    }
    let context = Context { findings: &findings, earlier, bench: &bench };
    let judge = |claim: &crate::experiment::Claim| {
        let judgement = (claim.judge)(&context);
        (claim.id, judgement.verdict, judgement.evidence)
    };
    experiment.claims.iter().map(judge).collect()
}

/// Holds every claim of an experiment against one verdict; those of `except` aside.
pub fn all_are(
    verdict: Verdict,
    experiment: &'static Experiment,
    points: Vec<Point>,
    earlier: &[Outcome],
    except: &[&str],
) {
    for (id, found, evidence) in verdicts(experiment, points, earlier) {
        if !except.contains(&id) {
            assert_eq!(found, verdict, "{id}: {evidence}");
        }
    }
}

/// Every claim is open where nothing was measured.
pub fn all_are_open_without_results(experiment: &'static Experiment, except: &[&str]) {
    all_are(Verdict::Unknown, experiment, Vec::new(), &[], except);
}
