//! What reports say of designs whose times are known: nothing but what the rounds told.

use super::looks::{Timer, measure};
use super::{Advice, MeasuredDesign, TableAdvice, section};
use crate::random::Random;
use gingham::Database;
use gingham::advisor::Candidate;
use std::convert::Infallible;
use std::time::Duration;

/// Rounds in all.
const ROUNDS: usize = 100;

/// Designs that take this long, by design and round, and a little more or less each time.
struct Known<F: Fn(usize, usize) -> f64> {
    time: F,
    rounds: Vec<usize>,
    random: Random,
}

impl<F: Fn(usize, usize) -> f64> Timer for Known<F> {
    type Failure = Infallible;

    fn time(&mut self, design: usize) -> Result<Vec<f64>, Infallible> {
        let round = self.rounds[design];
        self.rounds[design] += 1;
        Ok(vec![(self.time)(design, round) * (1.0 + 0.01 * self.random.unit())])
    }

    fn spent(&self) -> f64 {
        self.rounds[0] as f64 / ROUNDS as f64
    }
}

/// The advice for a table of designs of so many bytes, by the time of each design in each round.
fn advice(bytes: &[f64], time: impl Fn(usize, usize) -> f64) -> Advice {
    let connection = Database::in_memory().unwrap().connect();
    connection.execute("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 10)").unwrap();
    let definition = connection.table("t").unwrap().definition.clone();
    let mut machine = Known { time, rounds: vec![0; bytes.len()], random: Random::named(1, "noise") };
    let told = match measure(&mut machine, bytes.len(), 1) {
        Ok(told) => told,
        Err(never) => match never {},
    };
    let candidate = Candidate::present(&definition);
    let design = |bytes: &f64| MeasuredDesign { candidate: candidate.clone(), bytes: *bytes, change: Duration::ZERO };
    let proposed = told.proposed(bytes);
    let table = TableAdvice {
        rows: 103_418_902,
        share: 1.0,
        statements: Vec::new(),
        designs: bytes.iter().map(design).collect(),
        rejected: vec![(candidate.clone(), "there was no time".to_owned())],
        told,
        sample: 1.0,
        proposed,
        definition,
    };
    Advice { tables: vec![table], ..Advice::default() }
}

fn why(advice: &Advice, design: usize) -> String {
    advice.tables[0].why(design, |other| format!("design {other}"))
}

#[test]
fn one_design_is_faster_than_all() {
    let advice = advice(&[1e6, 2e6, 1e6], |design, _| [100.0, 50.0, 90.0][design]);
    let table = &advice.tables[0];
    assert_eq!((table.proposed, table.standing(1), table.standing(2)), (1, "proposed", "slower"));
    assert!(table.reason().starts_with("It was told apart from the present design as faster. All others were"));
    assert_eq!(why(&advice, 1), "told apart from the present design as faster");
    for (design, times) in [(0, "0.50"), (2, "0.55")] {
        let why = why(&advice, design);
        assert!(
            why.starts_with(&format!("slower than design 1: {times}")) && why.ends_with("in 20 rounds of both"),
            "{why}"
        );
    }
}

#[test]
fn of_designs_that_are_not_told_apart_the_smallest_is_proposed() {
    let advice = advice(&[3e6, 2.5e6, 1e6, 1e6], |design, _| [100.0, 50.0, 50.0, 50.0][design]);
    let table = &advice.tables[0];
    assert_eq!((table.proposed, table.standing(1)), (2, "not told apart"));
    assert_eq!(why(&advice, 1), "not told apart from the proposed design in speed; it takes 2.5 MB");
    assert_eq!(why(&advice, 3), "not told apart from the proposed design in speed; it is of the same size");
    assert_eq!(
        table.reason(),
        "It was told apart from the present design as faster. 2 other designs were not told apart from it in speed; of the 3 \
         that were told apart from the present design as faster, none has fewer bytes."
    );
}

#[test]
fn nothing_is_faster_where_nothing_is_told_apart() {
    let alike = advice(&[1e6, 1e6], |_, _| 100.0);
    assert_eq!(alike.tables[0].reason(), "No other design was told apart from it as faster.");
    assert_eq!(why(&alike, 0), "no other was told apart from it as faster");
    assert_eq!(why(&alike, 1), "not told apart from the present design in speed");
    let kept = advice(&[1e6, 1e6], |design, _| [100.0, 150.0][design]);
    assert_eq!(kept.tables[0].reason(), "Every other design was told apart as slower.");
    assert!(why(&kept, 1).starts_with("slower than the present design: 0.667 times as fast"), "{}", why(&kept, 1));
    let alone = advice(&[1e6], |_, _| 100.0);
    assert_eq!(alone.tables[0].reason(), "Nothing was compared: no other design was measured.");
    assert!(alone.to_string().contains("1 design measured in"), "{alone}");
}

/// A design that was left out early has its figure of the early rounds: it may be above that of the proposed one. What told them
/// apart are the rounds that both have.
#[test]
fn a_slower_design_with_a_higher_figure_says_why() {
    let time = |design: usize, round: usize| match design {
        // The present design gets faster later on.
        0 => {
            if round < 20 {
                110.0
            } else {
                100.0
            }
        }
        2 => 83.0,
        _ => 80.0,
    };
    let advice = advice(&[1e6, 1e6, 1e6, 2e6], time);
    let table = &advice.tables[0];
    let times = |design| table.told.gain(design).unwrap().times;
    assert!(table.proposed == 1 && times(2) > times(1), "{} and {}", times(2), times(1));
    let why = why(&advice, 2);
    assert!(why.starts_with("slower than design 1: 0.96") && why.contains("times as fast (0.96"), "{why}");
    assert!(why.ends_with("in 20 rounds of both"), "{why}");
    let (page, text) = (section(&advice, &[]), advice.to_string());
    // In the page, designs have the numbers of their places, the highest figure first.
    assert!(page.contains("slower than design 2: 0.96"), "{page}");
    assert!(!page.contains(">slower<") && text.contains("slower: ") && text.contains("slower than column"), "{text}");
}

#[test]
fn pages_and_text_count_and_group() {
    let advice = advice(&[1e6, 250e3], |design, _| [100.0, 50.0][design]);
    let (page, text) = (section(&advice, &[]), advice.to_string());
    assert!(page.contains("103\u{202f}418\u{202f}902") && text.contains("t: 103 418 902 records"), "{text}");
    assert!(page.contains("1 design that was not measured") && !page.contains("1 designs"), "{page}");
    assert!(page.contains("250 kB") && text.contains("(250 kB)"), "{text}");
    assert!(text.contains("2 designs measured in 20 rounds"), "{text}");
    // Each cell of a record says what it is where the table's head is not shown.
    for name in ["design", "what was told of it", "times as fast", "size"] {
        assert!(page.contains(&format!("data-name=\"{name}\"")), "{name}: {page}");
    }
    assert_eq!(page.matches("<div").count(), page.matches("</div>").count());
    // The interval is drawn, and what is faster lies right of the present design.
    assert!(page.contains(r#"<i class="whisker""#) && page.contains(r#"<i class="bar gingham""#), "{page}");
    assert!(!page.contains("width:-") && !page.contains("NaN"), "{page}");
}
