//! The framework on experiments whose truth is known, since they do nothing but count.

use super::*;
use crate::statistics::{Interval, Summary};
use std::cell::RefCell;
use std::rc::Rc;

fn bench() -> Bench {
    Bench::new(Settings::of(Mode::Tiny))
}

/// Writes its name into a log, and finds the number that it is told to.
struct Logger {
    name: &'static str,
    log: Rc<RefCell<Vec<&'static str>>>,
    wrong: bool,
}

impl Subject for Logger {
    fn prepare(&mut self) {
        self.log.borrow_mut().push("prepare");
    }

    fn run(&mut self, laps: &mut Laps) {
        self.log.borrow_mut().push(self.name);
        laps.lap("first");
        laps.lap("second");
    }

    fn check(&mut self) -> Result<(), String> {
        if self.wrong { Err("7 bits differ".to_string()) } else { Ok(()) }
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        vec![("found_length", self.name.len() as f64)]
    }
}

thread_local! {
    static LOG: Rc<RefCell<Vec<&'static str>>> = Rc::default();
}

fn logger(name: &'static str, wrong: bool) -> Variant {
    let subject = Logger { name, log: LOG.with(Rc::clone), wrong };
    Variant {
        levels: levels(&[("name", &name)]),
        units: (4.0, "code"),
        facts: vec![("rows", 4.0)],
        subject: Box::new(subject),
    }
}

fn trial(names: &'static [&'static str], wrong: bool) -> Trial {
    Trial {
        name: names.join(" "),
        setup: Box::new(move |_| Ok(names.iter().map(|name| logger(name, wrong)).collect())),
    }
}

fn design(_: &Bench) -> Result<Design, Error> {
    Ok(Design {
        factors: vec![Factor::new("name", "", ["a", "bb", "c"])],
        trials: vec![trial(&["a", "bb"], false), trial(&["c"], false)],
        notes: vec!["a note".to_string()],
        ..Design::default()
    })
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "test.length",
        text: "bb is longer than a",
        place: "nowhere",
        ours: Some("longer means longer"),
        judge: |context| {
            let length = |name| {
                let levels = [("name", name)];
                context.findings.get(&levels).and_then(|point| point.summary("found_length")).map(|length| length.mean)
            };
            let met = length("bb") > length("a");
            Expectation::judge(vec![Expectation::plain("bb", "2 against 1", met)])
        },
    },
    Claim { id: "test.none", text: "", place: "", ours: None, judge: |_| Expectation::judge(Vec::new()) },
];

static GOOD: Experiment = Experiment {
    name: "test.good",
    title: "Names",
    place: "nowhere",
    about: "Counts letters.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Length",
        kind: FigureKind::Bars,
        x: "name",
        series: "name",
        panels: &[],
        metric: "found_length",
        axis: "letters",
        only: &[],
    }],
    claims: &CLAIMS,
};

static BAD: Experiment = Experiment {
    name: "test.bad",
    design: |_| Ok(Design { trials: vec![trial(&["a"], true)], ..Design::default() }),
    claims: &[],
    figures: &[],
    ..GOOD
};

#[test]
fn every_variant_is_prepared_run_checked_and_found_in_the_designs_order() {
    LOG.with(|log| log.borrow_mut().clear());
    let outcomes = run(&[&GOOD], &bench(), &()).unwrap();
    let log = LOG.with(|log| log.borrow().clone());
    assert!(log.iter().step_by(2).all(|entry| *entry == "prepare"), "{log:?}");
    // A warm-up and one round each.
    assert!(["a", "bb", "c"].iter().all(|name| log.iter().filter(|entry| entry == &name).count() == 2), "{log:?}");
    let found = &outcomes[0].findings;
    let names: Vec<_> = found.points.iter().map(|point| point.level("name")).collect();
    assert_eq!(names, ["a", "bb", "c"]);
    let metrics: Vec<_> = found.points[0].metrics.iter().map(|(name, found)| (*name, found.unit.as_str())).collect();
    let time = format!("{} per code", bench().clock.unit());
    let parts = [("first", time.as_str()), ("found_length", ""), ("second", &time), ("time", &time)];
    let without_counters: Vec<_> =
        metrics.into_iter().filter(|(_, unit)| !unit.contains("tions") && !unit.contains("misses")).collect();
    assert_eq!(without_counters, parts);
}

#[test]
fn a_wrong_answer_ends_the_run_and_is_named() {
    let error = run(&[&GOOD, &BAD], &bench(), &()).err().expect("a wrong answer");
    assert_eq!(error.to_string(), "test.bad: wrong answer of name a: 7 bits differ");
}

#[test]
fn rounds_are_interleaved_in_changing_order() {
    let mut settings = Settings::of(Mode::Quick);
    settings.budget = std::time::Duration::from_millis(200);
    static MANY: Experiment = Experiment {
        name: "test.many",
        design: |_| Ok(Design { trials: vec![trial(&["a", "b", "c", "d"], false)], ..Design::default() }),
        claims: &[],
        figures: &[],
        ..GOOD
    };
    LOG.with(|log| log.borrow_mut().clear());
    run(&[&MANY], &Bench::new(settings), &()).unwrap();
    let mut samples: Vec<&str> = Vec::new();
    // Runs of one sample follow each other after one "prepare".
    LOG.with(|log| {
        for pair in log.borrow().windows(2) {
            if pair[0] == "prepare" {
                samples.push(pair[1]);
            }
        }
    });
    let rounds: Vec<&[&str]> = samples[4..].chunks(4).collect();
    assert!(rounds.len() >= 3);
    for round in &rounds {
        let mut names = round.to_vec();
        names.sort_unstable();
        assert_eq!(names, ["a", "b", "c", "d"]);
    }
    assert!(rounds.windows(2).any(|pair| pair[0] != pair[1]), "{rounds:?}");
}

#[test]
fn the_document_has_what_the_format_says() {
    let mut bench = bench();
    bench.bandwidth = vec![crate::machine::Bandwidth { threads: 1, bytes_per_second: 1e9 }];
    let outcomes = run(&[&GOOD], &bench, &()).unwrap();
    let document = document(&bench, &outcomes);
    assert_eq!((document["format"].as_str(), document["version"].as_u64()), (Some("gingham-lab"), Some(1)));
    assert_eq!(document["machine"]["read_bandwidth"][0]["threads"], 1);
    let experiment = &document["experiments"][0];
    assert_eq!(experiment["name"], "test.good");
    assert_eq!(experiment["results"][1]["levels"]["name"], "bb");
    assert_eq!(experiment["results"][1]["facts"]["rows"], 4.0);
    let length = &experiment["results"][1]["metrics"]["found_length"];
    assert!(length["mean"] == 2.0 && length["n"] == 1 && length["high"].is_null() && length["samples"][0] == 2.0);
    assert_eq!(experiment["classes"][0]["best"], "a");
    let claims = &experiment["claims"];
    assert_eq!((claims[0]["verdict"].as_str(), claims[1]["verdict"].as_str()), (Some("holds"), Some("unknown")));
    assert_eq!(claims[0]["ours"], "longer means longer");
}

/// Names of all fields, with the path to each; elements of a list share theirs.
fn fields(value: &serde_json::Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
    // Members that a run is free to name, and to leave out: levels, facts and metrics.
    let last = path.rsplit('.').next().unwrap_or_default();
    match value {
        serde_json::Value::Object(_) if ["levels", "facts", "at"].contains(&last) => {}
        serde_json::Value::Object(members) => members.iter().for_each(|(name, member)| {
            let path = if last == "metrics" { format!("{path}.*") } else { format!("{path}.{name}") };
            found.insert(path.clone());
            fields(member, &path, found);
        }),
        serde_json::Value::Array(elements) => elements.iter().for_each(|element| fields(element, path, found)),
        _ => {}
    }
}

#[test]
fn documents_of_version_1_have_the_fields_that_todays_have() {
    let old: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/compat/lab-v1.json")).expect("a JSON document");
    assert_eq!((old["format"].as_str(), old["version"].as_u64()), (Some("gingham-lab"), Some(1)));
    let time = &old["experiments"][0]["results"][0]["metrics"]["time"];
    let (low, mean, high) = (time["low"].as_f64(), time["mean"].as_f64(), time["high"].as_f64());
    assert!(low < mean && mean < high, "{time}");
    let samples = time["samples"].as_array().expect("samples").len();
    assert_eq!(time["n"].as_u64().map(|n| n + u64::from(!time["dropped"].is_null())), Some(samples as u64));
    let mut bench = bench();
    bench.bandwidth = vec![crate::machine::Bandwidth { threads: 1, bytes_per_second: 1e9 }];
    let today = document(&bench, &run(&[&GOOD], &bench, &()).unwrap());
    let (mut in_old, mut in_today) = (Default::default(), Default::default());
    fields(&old, "", &mut in_old);
    fields(&today, "", &mut in_today);
    assert_eq!(in_old, in_today, "a field came or went: raise the version (CONTRIBUTING.md, Changing a format)");
}

fn summary(mean: f64, deviation: f64) -> Summary {
    let interval = Interval::of_mean(mean, deviation, 10);
    Summary { n: 10, mean, median: mean, deviation, interval, dropped: None }
}

#[test]
fn expectations_are_met_refuted_or_open() {
    let (ten, eleven, wide) = (summary(10.0, 0.1), summary(11.0, 0.1), summary(10.5, 3.0));
    let verdict = |expectation| Expectation::judge(vec![expectation]).verdict;
    assert_eq!(verdict(Expectation::less("", &ten, &eleven, 1.0)), Verdict::Holds);
    assert_eq!(verdict(Expectation::less("", &eleven, &ten, 1.0)), Verdict::Fails);
    assert_eq!(verdict(Expectation::less("", &eleven, &ten, 1.2)), Verdict::Holds);
    assert_eq!(verdict(Expectation::less("", &ten, &wide, 1.0)), Verdict::Unknown);
    assert_eq!(verdict(Expectation::below("", &ten, 10.5)), Verdict::Holds);
    assert_eq!(verdict(Expectation::below("", &ten, 9.0)), Verdict::Fails);
    assert_eq!(verdict(Expectation::below("", &wide, 10.0)), Verdict::Unknown);
    assert_eq!(verdict(Expectation::above("", &ten, 9.0)), Verdict::Holds);
    assert_eq!(verdict(Expectation::above("", &ten, 10.5)), Verdict::Fails);
    assert_eq!(verdict(Expectation::near("", &ten, 10.05, 0.2)), Verdict::Holds);
    assert_eq!(verdict(Expectation::near("", &ten, 11.0, 0.2)), Verdict::Fails);
    assert_eq!(verdict(Expectation::near("", &wide, 10.5, 0.2)), Verdict::Unknown);
    assert_eq!(verdict(Expectation::alike("", &ten, &eleven, 1.2)), Verdict::Holds);
    assert_eq!(verdict(Expectation::alike("", &ten, &eleven, 1.05)), Verdict::Fails);
    assert_eq!(verdict(Expectation::alike("", &ten, &wide, 1.05)), Verdict::Unknown);
    assert_eq!(verdict(Expectation::smaller_quotient("", (&ten, &eleven), (&eleven, &ten))), Verdict::Holds);
    assert_eq!(verdict(Expectation::smaller_quotient("", (&eleven, &ten), (&ten, &eleven))), Verdict::Fails);
    assert_eq!(verdict(Expectation::smaller_quotient("", (&wide, &ten), (&ten, &wide))), Verdict::Unknown);
    let alike = |a, b, factor| verdict(Expectation::alike_quotients("", a, b, factor));
    assert_eq!(alike((&ten, &eleven), (&eleven, &ten), 1.3), Verdict::Holds);
    assert_eq!(alike((&ten, &eleven), (&eleven, &ten), 1.05), Verdict::Fails);
    assert_eq!(alike((&wide, &ten), (&ten, &wide), 1.05), Verdict::Unknown);
}

#[test]
fn a_claim_needs_all_its_expectations() {
    let (ten, eleven, wide) = (summary(10.0, 0.1), summary(11.0, 0.1), summary(10.5, 3.0));
    let met = || Expectation::less("k = 8", &ten, &eleven, 1.0);
    let open = || Expectation::less("k = 9", &ten, &wide, 1.0);
    let refuted = || Expectation::less("k = 10", &eleven, &ten, 1.0);
    assert_eq!(Expectation::judge(vec![met(), met()]).verdict, Verdict::Holds);
    assert_eq!(Expectation::judge(vec![met(), open()]).verdict, Verdict::Unknown);
    let judgement = Expectation::judge(vec![met(), open(), refuted()]);
    assert_eq!(judgement.verdict, Verdict::Fails);
    assert_eq!(
        judgement.evidence,
        "1 of 3 as expected (1 by Welch's test with Holm's correction); against it: k = 10 (11.00 against 10.00); \
         open: k = 9 (10.00 against 10.50); for it: k = 8 (10.00 against 11.00)"
    );
}

#[test]
fn lines_are_fitted() {
    let (slope, intercept, explained) = linear_fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]);
    assert!((slope - 2.0).abs() < 1e-12 && (intercept - 1.0).abs() < 1e-12 && (explained - 1.0).abs() < 1e-12);
    let (_, _, explained) = linear_fit(&[(0.0, 1.0), (1.0, -1.0), (2.0, 1.0), (3.0, -1.0)]);
    assert!(explained < 0.3);
}
