//! Results as JSON: docs/formats/lab.md says what each field means.

use super::Bench;
use super::findings::{Measured, Outcome, Point};
use serde_json::{Map, Value, json};

/// Version of the format.
const VERSION: u32 = 1;

/// The whole document.
pub fn document(bench: &Bench, outcomes: &[Outcome]) -> Value {
    json!({
        "format": "gingham-lab",
        "version": VERSION,
        "machine": machine(bench),
        "settings": {
            "mode": bench.settings.mode.name(),
            "budget_seconds": bench.settings.budget.as_secs_f64(),
            "threads": bench.settings.threads,
            "seed": bench.settings.seed,
        },
        "experiments": outcomes.iter().map(outcome_document).collect::<Vec<_>>(),
    })
}

fn machine(bench: &Bench) -> Value {
    let machine = &bench.machine;
    let read: Vec<Value> = bench
        .bandwidth
        .iter()
        .map(|found| json!({ "threads": found.threads, "bytes_per_second": found.bytes_per_second }))
        .collect();
    json!({
        "processor": machine.processor,
        "threads": machine.threads,
        "memory_bytes": known(machine.memory),
        "system": machine.system,
        "profile": machine.profile,
        "gingham": machine.version,
        "isa": machine.isa.name(),
        "cache_bytes": {
            "l1": machine.caches.l1, "l2": machine.caches.l2, "last": machine.caches.last, "known": machine.caches.known,
        },
        "clock": bench.clock.unit(),
        "clock_hertz": bench.clock.per_second(),
        "load_before": machine.load,
        "read_bandwidth": read,
    })
}

/// A number that is 0 where it is not known.
fn known(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

/// One experiment.
pub fn outcome_document(outcome: &Outcome) -> Value {
    let experiment = outcome.experiment;
    let factors: Vec<Value> = outcome
        .factors
        .iter()
        .map(|factor| json!({ "name": factor.name, "unit": factor.unit, "levels": factor.levels }))
        .collect();
    let claims: Vec<Value> = experiment
        .claims
        .iter()
        .zip(&outcome.judgements)
        .map(|(claim, judgement)| {
            json!({
                "id": claim.id, "text": claim.text, "place": claim.place, "ours": claim.ours,
                "verdict": judgement.verdict.name(), "evidence": judgement.evidence,
            })
        })
        .collect();
    let classes: Vec<Value> = experiment
        .figures
        .iter()
        .flat_map(|figure| outcome.classes(figure).into_iter().map(move |class| (figure.metric, class)))
        .map(|(metric, class)| {
            json!({
                "metric": metric, "at": class.at, "factor": class.factor, "best": class.best,
                "members": class.members, "corrected": class.corrected,
            })
        })
        .collect();
    json!({
        "name": experiment.name,
        "title": experiment.title,
        "place": experiment.place,
        "seconds": outcome.seconds,
        "huge_pages": outcome.huge_pages,
        "notes": outcome.notes,
        "factors": factors,
        "results": outcome.findings.points.iter().map(point).collect::<Vec<_>>(),
        "classes": classes,
        "claims": claims,
    })
}

fn point(point: &Point) -> Value {
    let metrics: Map<String, Value> =
        point.metrics.iter().map(|(name, measured)| ((*name).to_string(), metric(measured))).collect();
    json!({ "levels": point.levels, "facts": point.facts, "metrics": metrics })
}

/// An interval without bounds, of a single run, has null for its ends: JSON has no infinity.
fn metric(measured: &Measured) -> Value {
    let summary = &measured.summary;
    json!({
        "unit": measured.unit, "n": summary.n, "mean": summary.mean, "median": summary.median,
        "low": summary.interval.low, "high": summary.interval.high, "dropped": summary.dropped,
        "samples": measured.samples,
    })
}
