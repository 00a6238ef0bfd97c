//! Every experiment at a tiny size: all its oracles, and that what it says of itself holds together.

use super::{all, select};
use crate::experiment::{Bench, FigureKind, Mode, Outcome, Settings, document, run};
use std::collections::BTreeSet;

fn run_tiny() -> (Bench, Vec<Outcome>) {
    let bench = Bench::new(Settings::of(Mode::Tiny));
    let experiments = select(&["all".to_string()]).unwrap();
    let outcomes = run(&experiments, &bench, &()).unwrap_or_else(|error| panic!("{error}"));
    (bench, outcomes)
}

#[test]
fn every_answer_of_every_experiment_is_right() {
    let (bench, outcomes) = run_tiny();
    assert_eq!(outcomes.len(), all().count());
    for outcome in &outcomes {
        let name = outcome.experiment.name;
        assert_eq!(outcome.judgements.len(), outcome.experiment.claims.len());
        assert!(!outcome.findings.points.is_empty() || !outcome.notes.is_empty(), "{name} found nothing");
        check_levels(outcome);
        for figure in outcome.experiment.figures {
            let factors = [figure.x, figure.series].into_iter().chain(figure.panels.iter().copied());
            let factors = factors.chain(figure.only.iter().map(|(factor, _)| *factor));
            for factor in factors {
                let known = outcome.factors.iter().any(|known| known.name == factor);
                assert!(known || outcome.findings.points.is_empty(), "{name}: figure over the unknown factor {factor}");
            }
        }
    }
    let page = crate::report::html(&bench, &outcomes);
    for tag in ["svg", "div", "table"] {
        assert_eq!(page.matches(&format!("<{tag}")).count(), page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(page.matches("<figure>").count() >= outcomes.len() && page.contains("fig9.half_cycle"));
    // Every line of every figure has its key.
    for outcome in outcomes.iter().filter(|outcome| !outcome.findings.points.is_empty()) {
        for figure in outcome
            .experiment
            .figures
            .iter()
            .filter(|figure| figure.metric == "time" && figure.kind != FigureKind::Boxes)
        {
            let series = outcome.factors.iter().find(|factor| factor.name == figure.series).unwrap();
            for level in &series.levels {
                let key = format!(">{}</span>", crate::plot::escaped(&crate::words::readable(level)));
                assert!(page.contains(&key), "{}: no key of {level}", outcome.experiment.name);
            }
        }
    }
    assert!(!page.contains("src=") && !page.contains("href=") && !page.contains("@import") && !page.contains("NaN"));
    assert!(!page.contains("width:-") && !page.contains("%;width:inf"), "nothing has a negative length");
    assert!(!page.contains(">1 claims") && !page.contains(", 1 runs)"), "one is no plural");

    let document = document(&bench, &outcomes);
    assert_eq!(document["experiments"].as_array().map(Vec::len), Some(outcomes.len()));
}

#[test]
fn real_data_is_read_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let baseball = folder.path().join("baseball");
    std::fs::create_dir(&baseball).unwrap();
    let adult_head = "age, workclass, fnlwgt, education, education-num, marital-status, occupation, relationship, race, \
                      sex, capital-gain, capital-loss, hours-per-week, native-country, Salary";
    let adult = |row: usize| {
        let (sex, salary) = (["Male", "Female"][row % 2], ["<=50K", ">50K"][row / 2 % 2]);
        let work = ["Private", "State-gov", "?"][row % 3];
        let gain = row % 5 * 2500;
        format!(
            "{}, {work}, 77516, Bachelors, {}, Divorced, Sales, Husband, White, {sex}, {gain}, 0, {}, Cuba, {salary}",
            17 + row % 60,
            1 + row % 16,
            20 + row % 60,
        )
    };
    write_csv(&folder.path().join("adult.csv"), adult_head, 200, adult);
    let person = |row: usize| {
        format!(
            "p{row},19{},{},{},7{},{}",
            50 + row,
            ["D.R.", "USA"][row % 2],
            170 + row,
            row % 9,
            ["L", "R"][row / 2 % 2]
        )
    };
    write_csv(&baseball.join("People.csv"), "playerID,birthYear,birthCountry,weight,height,bats", 40, person);
    let salary = |row: usize| format!("{},T{},NL,p{},{}", 1998 + row % 5, row % 3, row % 40, row * 60_000);
    write_csv(&baseball.join("Salaries.csv"), "yearID,teamID,lgID,playerID,salary", 150, salary);
    let team = |row: usize| format!("{},T{},F{},{},{}", 1998 + row % 5, row / 5, row / 5, 85 + row, 80 - row);
    write_csv(&baseball.join("Teams.csv"), "yearID,teamID,franchID,W,L", 15, team);

    let settings = Settings { data: Some(folder.path().to_path_buf()), ..Settings::of(Mode::Tiny) };
    let experiments = select(&["byteslice.fig22".to_string()]).unwrap();
    let outcomes = run(&experiments, &Bench::new(settings), &()).unwrap_or_else(|error| panic!("{error}"));
    check_levels(&outcomes[0]);
    let selected = |name: &str| {
        let at = [("query", name), ("packing", "byteslice"), ("rows", "as they are")];
        outcomes[0].findings.get(&at).map(|point| point.facts["selectivity"])
    };
    for name in ["A1", "A2", "A4", "B1", "B2"] {
        assert!(selected(name).is_some_and(|part| part > 0.0 && part < 1.0), "{name} selects {:?}", selected(name));
    }
}

fn write_csv(file: &std::path::Path, head: &str, rows: usize, row: impl Fn(usize) -> String) {
    let lines: Vec<String> = std::iter::once(head.to_string()).chain((0..rows).map(row)).collect();
    std::fs::write(file, lines.join("\n") + "\n").unwrap();
}

/// Points and factors name the same levels, and no two points the same ones.
fn check_levels(outcome: &Outcome) {
    let name = outcome.experiment.name;
    let mut seen = BTreeSet::new();
    for point in &outcome.findings.points {
        assert!(seen.insert(point.levels.clone()), "{name}: two results at {:?}", point.levels);
        for (factor, level) in &point.levels {
            let known = outcome.factors.iter().find(|known| known.name == *factor);
            assert!(known.is_some_and(|known| known.levels.contains(level)), "{name}: unknown {factor} {level}");
        }
    }
    for factor in &outcome.factors {
        for level in &factor.levels {
            let found = outcome.findings.points.iter().any(|point| point.level(factor.name) == level);
            // What is computed from other experiments may lack what they lack.
            let optional = outcome.experiment.derive.is_some() || outcome.findings.points.is_empty();
            assert!(found || optional, "{name}: no result at {} {level}", factor.name);
        }
    }
}

#[test]
fn names_and_claims_are_unique_and_complete() {
    let mut ids = BTreeSet::new();
    for experiment in all() {
        assert!(ids.insert(experiment.name), "{}", experiment.name);
        assert!(!experiment.title.is_empty() && !experiment.about.is_empty() && !experiment.place.is_empty());
        for claim in experiment.claims {
            assert!(ids.insert(claim.id), "{}", claim.id);
            let figure = experiment.name.split_once('.').map(|(_, figure)| figure);
            assert_eq!(claim.id.split_once('.').map(|(figure, _)| figure), figure, "{}", claim.id);
            assert!(!claim.text.is_empty() && !claim.place.is_empty(), "{}", claim.id);
        }
        for used in experiment.uses {
            let found = all().find(|other| other.name == *used);
            assert!(found.is_some_and(|other| other.uses.is_empty()), "{} uses {used}", experiment.name);
        }
    }
}
