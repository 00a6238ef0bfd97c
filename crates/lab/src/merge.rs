//! Results of several machines as one: the machine becomes a factor, and each claim has a verdict from each.
//!
//! Only results of the same version, seed and mode are put together; what differs is named.

use crate::experiment::{Experiment, Factor, Figure, Findings, Judgement, Measured, Outcome, Point, Verdict};
use crate::experiments::all;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Why results can't be put together.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MergeError {
    /// A file is no result of the lab, or a damaged one.
    #[error("{file}: {detail}")]
    Damaged {
        /// The file.
        file: String,
        /// The fault.
        detail: String,
    },
    /// Two files differ in what must be the same.
    #[error("{file}: {what} {found}, but {first} has {expected}; run the lab on both with the same")]
    Differs {
        /// The file.
        file: String,
        /// The part that differs: version, seed, mode.
        what: &'static str,
        /// The value in this file.
        found: String,
        /// The first file.
        first: String,
        /// The value in the first file.
        expected: String,
    },
    /// Fewer than two files.
    #[error("results of at least two machines are needed; {0} given")]
    TooFew(usize),
}

/// The name of the factor that is added.
pub const MACHINE: &str = "machine";

/// Results of several machines.
pub struct Merged {
    /// The machines, in the order of their files: each one's name and what is known of it.
    pub machines: Vec<(String, Value)>,
    /// The settings that all share.
    pub settings: Value,
    /// The experiments that any of them ran.
    pub experiments: Vec<MergedExperiment>,
}

/// One experiment on several machines.
pub struct MergedExperiment {
    /// The results of all, as those of one.
    pub outcome: Outcome,
    /// For each claim the verdict of each machine that has one.
    pub verdicts: Vec<(ClaimText, Vec<(String, Judgement)>)>,
}

/// The words of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimText {
    /// The claim's name.
    pub id: String,
    /// The claim.
    pub text: String,
    /// Where the paper says it.
    pub place: String,
}

/// Puts results together, given as names and contents of files.
///
/// # Errors
/// When a file is no result of the lab, or differs from the first in version, seed or mode.
pub fn merge(files: &[(String, String)]) -> Result<Merged, MergeError> {
    if files.len() < 2 {
        return Err(MergeError::TooFew(files.len()));
    }
    let mut documents = Vec::new();
    for (file, text) in files {
        documents.push((file.as_str(), parse(file, text)?));
    }
    let (first, expected) = &documents[0];
    for (file, document) in &documents[1..] {
        for (what, path) in SAME {
            let (found, expected) = (document.pointer(path), expected.pointer(path));
            if found != expected {
                let shown = |value: Option<&Value>| {
                    value.map_or("nothing".to_owned(), |value| value.to_string().replace('"', ""))
                };
                return Err(MergeError::Differs {
                    file: (*file).to_owned(),
                    what,
                    found: shown(found),
                    first: (*first).to_owned(),
                    expected: shown(expected),
                });
            }
        }
    }
    let names = machine_names(&documents);
    let machines = names.iter().cloned().zip(documents.iter().map(|(_, document)| document["machine"].clone()));
    let mut experiments = Vec::new();
    for experiment in all() {
        let of = |(place, (file, document)): (usize, &(&str, Value))| {
            let own = document["experiments"].as_array()?.iter().find(|own| own["name"] == experiment.name)?.clone();
            Some((names[place].clone(), (*file).to_owned(), own))
        };
        let parts: Vec<(String, String, Value)> = documents.iter().enumerate().filter_map(of).collect();
        if !parts.is_empty() {
            experiments.push(merged(experiment, &parts)?);
        }
    }
    Ok(Merged { machines: machines.collect(), settings: expected["settings"].clone(), experiments })
}

/// The parts that must be the same in all files, and where they stand.
const SAME: [(&str, &str); 5] = [
    ("format", "/format"),
    ("format version", "/version"),
    ("version of Gingham", "/machine/gingham"),
    ("seed", "/settings/seed"),
    ("mode", "/settings/mode"),
];

fn damaged(file: &str, detail: impl Into<String>) -> MergeError {
    MergeError::Damaged { file: file.to_owned(), detail: detail.into() }
}

fn parse(file: &str, text: &str) -> Result<Value, MergeError> {
    let document: Value = serde_json::from_str(text).map_err(|error| damaged(file, format!("no JSON: {error}")))?;
    if document["format"] != "gingham-lab" || !document["experiments"].is_array() {
        return Err(damaged(file, "these are no results of `gingham lab run --json`"));
    }
    Ok(document)
}

/// Processors' names; with their file where two are the same.
fn machine_names(documents: &[(&str, Value)]) -> Vec<String> {
    let processor =
        |document: &Value| document["machine"]["processor"].as_str().unwrap_or("unknown processor").to_owned();
    let all: Vec<String> = documents.iter().map(|(_, document)| processor(document)).collect();
    let name = |(processor, (file, _)): (&String, &(&str, Value))| {
        let is_alone = all.iter().filter(|other| *other == processor).count() == 1;
        if is_alone { processor.clone() } else { format!("{processor} ({file})") }
    };
    all.iter().zip(documents).map(name).collect()
}

/// A text that lives as long as the program, each only once: names of factors and metrics are of this kind.
fn kept(text: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(text) {
        return known;
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    known.insert(new);
    new
}

fn merged(experiment: &'static Experiment, parts: &[(String, String, Value)]) -> Result<MergedExperiment, MergeError> {
    let (mut factors, mut points, mut notes) = (Vec::<Factor>::new(), Vec::new(), Vec::new());
    let mut verdicts: Vec<(ClaimText, Vec<(String, Judgement)>)> = Vec::new();
    for (machine, file, part) in parts {
        let failed = |what: &str| damaged(file, format!("{}: {what}", experiment.name));
        for factor in part["factors"].as_array().ok_or_else(|| failed("no factors"))? {
            add_factor(&mut factors, factor).ok_or_else(|| failed("a factor without name and levels"))?;
        }
        for result in part["results"].as_array().ok_or_else(|| failed("no results"))? {
            points.push(point(result, machine).ok_or_else(|| failed("a result without levels, facts and metrics"))?);
        }
        let own = part["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        notes.extend(own.map(|note| format!("{machine}: {note}")));
        for claim in part["claims"].as_array().ok_or_else(|| failed("no claims"))? {
            let (text, judgement) = verdict(claim).ok_or_else(|| failed("a claim without verdict"))?;
            match verdicts.iter_mut().find(|(known, _)| known.id == text.id) {
                Some((_, of)) => of.push((machine.clone(), judgement)),
                None => verdicts.push((text, vec![(machine.clone(), judgement)])),
            }
        }
    }
    factors.push(Factor::new(MACHINE, "", parts.iter().map(|(machine, _, _)| machine)));
    let outcome = Outcome {
        experiment: by_machine(experiment),
        factors,
        notes,
        findings: Findings { points },
        judgements: Vec::new(),
        seconds: parts.iter().filter_map(|(_, _, part)| part["seconds"].as_f64()).sum(),
        huge_pages: None,
    };
    Ok(MergedExperiment { outcome, verdicts })
}

/// The experiment with a panel for each machine in its figures; its claims are judged already.
fn by_machine(experiment: &'static Experiment) -> &'static Experiment {
    let figure = |figure: &Figure| {
        let panels: Vec<&'static str> = figure.panels.iter().copied().chain([MACHINE]).collect();
        Figure { panels: panels.leak(), ..*figure }
    };
    let figures: Vec<Figure> = experiment.figures.iter().map(figure).collect();
    // One of each kind for the rest of the program, which ends when the results are written.
    Box::leak(Box::new(Experiment { figures: figures.leak(), claims: &[], ..*experiment }))
}

fn add_factor(factors: &mut Vec<Factor>, value: &Value) -> Option<()> {
    let name = value["name"].as_str()?;
    let levels = value["levels"].as_array()?.iter().map(|level| Some(level.as_str()?.to_owned()));
    let levels: Vec<String> = levels.collect::<Option<_>>()?;
    match factors.iter_mut().find(|known| known.name == name) {
        Some(known) => {
            let new: Vec<String> = levels.into_iter().filter(|level| !known.levels.contains(level)).collect();
            known.levels.extend(new);
        }
        None => factors.push(Factor::new(kept(name), kept(value["unit"].as_str().unwrap_or("")), levels)),
    }
    Some(())
}

fn point(value: &Value, machine: &str) -> Option<Point> {
    let mut levels: BTreeMap<&'static str, String> = BTreeMap::new();
    for (factor, level) in value["levels"].as_object()? {
        levels.insert(kept(factor), level.as_str()?.to_owned());
    }
    levels.insert(MACHINE, machine.to_owned());
    let facts = value["facts"].as_object()?.iter();
    let facts = facts.map(|(name, fact)| (kept(name), fact.as_f64().unwrap_or(f64::NAN))).collect();
    let mut metrics = BTreeMap::new();
    for (name, metric) in value["metrics"].as_object()? {
        let samples: Vec<f64> = metric["samples"].as_array()?.iter().filter_map(Value::as_f64).collect();
        let unit = metric["unit"].as_str()?.to_owned();
        // Where all values count, none was dropped.
        let measured =
            if metric["dropped"].is_null() { Measured::of_all(unit, samples) } else { Measured::new(unit, samples) };
        metrics.insert(kept(name), measured);
    }
    Some(Point { levels, facts, metrics })
}

fn verdict(claim: &Value) -> Option<(ClaimText, Judgement)> {
    let text = |field: &str| Some(claim[field].as_str()?.to_owned());
    let verdict = match claim["verdict"].as_str()? {
        "holds" => Verdict::Holds,
        "fails" => Verdict::Fails,
        "unknown" => Verdict::Unknown,
        _ => return None,
    };
    let evidence = text("evidence")?;
    Some((ClaimText { id: text("id")?, text: text("text")?, place: text("place")? }, Judgement { verdict, evidence }))
}

impl Merged {
    /// All of it as JSON (docs/formats/lab.md).
    pub fn document(&self) -> Value {
        let machines: Vec<Value> =
            self.machines.iter().map(|(name, machine)| json!({ "name": name, "machine": machine })).collect();
        json!({
            "format": "gingham-lab-merged",
            "version": 1,
            "settings": self.settings,
            "machines": machines,
            "experiments": self.experiments.iter().map(MergedExperiment::document).collect::<Vec<_>>(),
        })
    }
}

impl MergedExperiment {
    fn document(&self) -> Value {
        let claim = |(text, verdicts): &(ClaimText, Vec<(String, Judgement)>)| {
            let of = |(machine, judgement): &(String, Judgement)| {
                (machine.clone(), json!({ "verdict": judgement.verdict.name(), "evidence": judgement.evidence }))
            };
            let verdicts: Map<String, Value> = verdicts.iter().map(of).collect();
            json!({ "id": text.id, "text": text.text, "place": text.place, "machines": verdicts })
        };
        let mut document = crate::experiment::outcome_document(&self.outcome);
        document["claims"] = self.verdicts.iter().map(claim).collect();
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Bench, Mode, Settings, document, run};
    use crate::experiments::select;

    /// Results of a run of two small experiments, on a machine of that name.
    fn results(processor: &str) -> Value {
        let mut bench = Bench::new(Settings::of(Mode::Tiny));
        bench.machine.processor = processor.to_owned();
        let names = ["fragility.fig3".to_owned(), "fragility.table4".to_owned()];
        document(&bench, &run(&select(&names).unwrap(), &bench, &()).unwrap())
    }

    fn files(documents: &[&Value]) -> Vec<(String, String)> {
        documents.iter().enumerate().map(|(place, document)| (format!("{place}.json"), document.to_string())).collect()
    }

    #[test]
    fn machines_become_a_factor() {
        let (a, b) = (results("Alpha"), results("Beta"));
        let merged = merge(&files(&[&a, &b])).unwrap();
        assert_eq!(merged.machines.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["Alpha", "Beta"]);
        let fig3 = &merged.experiments[0];
        assert_eq!((merged.experiments.len(), fig3.outcome.experiment.name), (2, "fragility.fig3"));
        assert_eq!(fig3.outcome.findings.points.len(), 16);
        let of_beta = [("layout", "A"), ("end", "low"), ("by", "by the formula"), (MACHINE, "Beta")];
        let low = fig3.outcome.findings.get(&of_beta).and_then(|point| point.summary("found_seconds"));
        assert!((low.unwrap().mean - 1.45).abs() < 0.01);
        assert_eq!(fig3.verdicts.len(), 2);
        assert!(fig3.verdicts.iter().all(|(_, of)| of.len() == 2 && of[0].1 == of[1].1));
        let document = merged.document();
        assert_eq!(document["experiments"][0]["claims"][0]["machines"]["Alpha"]["verdict"], "fails");
        assert_eq!(document["experiments"][0]["results"].as_array().map(Vec::len), Some(16));
        let page = crate::report::merged_html(&merged);
        assert!(page.contains("Alpha") && page.contains("machine Beta") && page.matches("class=\"rows").count() >= 4);
        // Two of one kind are told apart by their files.
        let twins = merge(&files(&[&a, &a])).unwrap();
        assert_eq!(twins.machines[1].0, "Alpha (1.json)");
    }

    #[test]
    fn results_of_earlier_builds_are_read() {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/compat/lab-v1.json")).unwrap();
        let merged = merge(&[("a".to_owned(), text.clone()), ("b".to_owned(), text)]).unwrap();
        let points: usize = merged.experiments.iter().map(|of| of.outcome.findings.points.len()).sum();
        assert!(points > 0 && points.is_multiple_of(2), "{points} results of two machines");
    }

    #[test]
    fn what_differs_is_named() {
        let a = results("Alpha");
        let refused = |path: &str, value: Value| {
            let mut other = a.clone();
            *other.pointer_mut(path).unwrap() = value;
            merge(&files(&[&a, &other])).err().unwrap().to_string()
        };
        assert_eq!(
            refused("/settings/seed", json!(7)),
            "1.json: seed 7, but 0.json has 1; run the lab on both with the same"
        );
        assert!(refused("/settings/mode", json!("full")).starts_with("1.json: mode full, but 0.json has tiny"));
        assert!(refused("/machine/gingham", json!("9.9")).starts_with("1.json: version of Gingham 9.9, but"));
        assert!(refused("/version", json!(2)).starts_with("1.json: format version 2, but 0.json has 1"));
        assert_eq!(refused("/experiments", json!(3)), "1.json: these are no results of `gingham lab run --json`");
        assert_eq!(refused("/experiments/0/results", json!({})), "1.json: fragility.fig3: no results");
        assert_eq!(merge(&files(&[&a])).err(), Some(MergeError::TooFew(1)));
        let cut = merge(&[("a".into(), a.to_string()), ("b".into(), "{".into())]).err().unwrap().to_string();
        assert!(cut.starts_with("b: no JSON: "), "{cut}");
    }
}
