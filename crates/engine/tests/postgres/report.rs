//! Counts of what came of new statements, and the examples that are printed.

use crate::generate::Statement;
use crate::judge::{UNSURE, Verdict, is_fault};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How often each verdict was given.
#[derive(Debug, Default)]
pub struct Report {
    right: usize,
    /// Statements that PostgreSQL answered with rows, or that changed a table.
    with_rows: usize,
    refused: BTreeMap<String, usize>,
    /// Those among the refused that are no refusals but faults: panics and internal errors.
    faults: usize,
    wrong: usize,
    accepted: BTreeMap<String, usize>,
    /// Panics and internal errors where PostgreSQL has an error too.
    broken: BTreeMap<String, usize>,
    /// Views that PostgreSQL makes and Gingham does not.
    views: BTreeMap<String, usize>,
    skipped: BTreeMap<String, usize>,
    /// For each feature, the numbers of statements that PostgreSQL answered, refused ones, wrong ones.
    features: BTreeMap<&'static str, [usize; 3]>,
    /// Kinds of wrong answers by their shrunk statements, with an example.
    shapes: BTreeMap<String, usize>,
}

impl Report {
    /// Counts a statement. The kind of its error is given back when it is the first of that kind.
    pub fn count(&mut self, statement: &Statement, verdict: &Verdict) -> Option<String> {
        let mut first = None;
        let mut add = |counts: &mut BTreeMap<String, usize>, text: &str| {
            let kind = kind(text);
            let count = counts.entry(kind.clone()).or_default();
            *count += 1;
            first = (*count == 1).then_some(kind);
        };
        match verdict {
            Verdict::Right(_) => self.right += 1,
            Verdict::Wrong(..) => self.wrong += 1,
            Verdict::Refused(_, text) => {
                self.faults += usize::from(is_fault(text));
                add(&mut self.refused, text);
            }
            Verdict::Accepted(text, _) => add(&mut self.accepted, text),
            Verdict::Skipped(text) => add(&mut self.skipped, text),
            Verdict::Broken(_, text) => {
                self.faults += 1;
                add(&mut self.broken, text);
            }
        }
        if let Verdict::Right(answer) | Verdict::Wrong(answer, _) | Verdict::Refused(answer, _) = verdict {
            self.with_rows += usize::from(!answer.rows.is_empty() || answer.after.is_some());
            for feature in &statement.features {
                let counts = self.features.entry(feature).or_default();
                counts[0] += 1;
                counts[1] += usize::from(matches!(verdict, Verdict::Refused(..)));
                counts[2] += usize::from(matches!(verdict, Verdict::Wrong(..)));
            }
        }
        first
    }

    /// Counts the shape of a wrong statement that was shrunk; true for the first of its shape.
    pub fn count_shape(&mut self, statement: &Statement) -> bool {
        let count = self.shapes.entry(shape(&statement.tree.to_string())).or_default();
        *count += 1;
        *count == 1
    }

    /// Counts a view that Gingham refuses; true for the first with such an error.
    pub fn count_view(&mut self, error: &str) -> bool {
        let count = self.views.entry(kind(error)).or_default();
        *count += 1;
        *count == 1
    }

    pub fn wrong(&self) -> usize {
        self.wrong
    }

    /// Panics and internal errors.
    pub fn faults(&self) -> usize {
        self.faults
    }

    /// The kinds of errors for which Gingham refused statements, and views.
    pub fn refusals(&self) -> BTreeSet<&str> {
        self.refused.keys().chain(self.views.keys()).map(String::as_str).collect()
    }

    /// All counts as text.
    pub fn text(&self) -> String {
        let mut text = self.rates();
        let tables = [
            ("refused by Gingham", &self.refused),
            ("faults where PostgreSQL has an error too", &self.broken),
            ("views refused by Gingham", &self.views),
            ("accepted though PostgreSQL says", &self.accepted),
            ("PostgreSQL's errors", &self.skipped),
            ("shapes of wrong statements that were shrunk", &self.shapes),
        ];
        for (title, counts) in tables {
            write!(text, "\n{title}:\n").expect("a string takes it");
            let mut all: Vec<_> = counts.iter().collect();
            all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (kind, count) in all.into_iter().take(30) {
                writeln!(text, "  {count:6}  {kind}").expect("a string takes it");
            }
        }
        text.push_str("\nfeature: statements answered by PostgreSQL, refused, wrong\n");
        for (feature, [all, refused, wrong]) in &self.features {
            writeln!(text, "  {feature:32} {all:6} {refused:6} {wrong:6}").expect("a string takes it");
        }
        text
    }

    /// How many statements had which verdict.
    fn rates(&self) -> String {
        let sum = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
        let (refused, accepted) = (sum(&self.refused), sum(&self.accepted));
        let unsure = self.skipped.get(&kind(UNSURE)).copied().unwrap_or(0);
        let errors = sum(&self.skipped) + accepted - unsure;
        let answered = self.right + self.wrong + refused;
        let percent = |part: usize| 100.0 * part as f64 / answered.max(1) as f64;
        let mut text = format!("{} statements; ", answered + errors + unsure);
        let rows = percent(self.with_rows);
        writeln!(text, "PostgreSQL answered {answered}, {rows:.0} % with rows:").expect("a string takes it");
        for (name, count) in [("right", self.right), ("wrong", self.wrong), ("refused", refused)] {
            writeln!(text, "  {name:8} {count:6} {:5.1} %", percent(count)).expect("a string takes it");
        }
        let faults = self.faults;
        writeln!(text, "{faults} faults: panics or internal errors.").expect("a string takes it");
        writeln!(
            text,
            "PostgreSQL gave an error {errors} times, where Gingham accepted {accepted} mistakes in names; \
             {unsure} times it had more than one answer."
        )
        .expect("a string takes it");
        text
    }
}

/// Words of messages behind which a name, a word of the statement or a plan stands.
const BEFORE_NAMES: &[&str] = &[
    "found: ",
    "statement, found ",
    "such as ",
    "does not satisfy ",
    "Failed to coerce ",
    "grouping columns ",
    "value of ",
    "subquery of ",
];

/// An error without the names and numbers of its statement.
pub fn kind(text: &str) -> String {
    let mut kind = text.lines().next().unwrap_or_default().to_owned();
    for quote in ['"', '\''] {
        if let (Some(first), Some(last)) = (kind.find(quote), kind.rfind(quote)) {
            kind.replace_range(first..=last, "…");
        }
    }
    for word in BEFORE_NAMES {
        if let Some(at) = kind.find(word) {
            kind.truncate(at + word.len());
            kind.push('…');
        }
    }
    // Numbers of any type: two that are too large are of one kind.
    if let Some((head, _)) = kind.split_once(": ").filter(|(head, _)| head.len() > 25 || head.ends_with("overflow")) {
        kind = head.to_owned();
    }
    let short: String = numberless(&kind).chars().take(110).collect();
    short.trim_end().to_owned()
}

/// The text with `#` for each number.
fn numberless(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            out.push(letter);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}

/// A statement with `n` for each name and `#` for each number.
fn shape(sql: &str) -> String {
    let mut out = String::new();
    for word in sql.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '.')) {
        let name = word.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '.'));
        let kept = match name.chars().next() {
            Some(first) if first.is_ascii_digit() => "#",
            Some(first) if first.is_ascii_lowercase() && !word.ends_with('(') => "n",
            _ => name,
        };
        out.push_str(kept);
        out.push_str(&word[name.len()..]);
    }
    out
}

/// A statement that is worth looking at, with all that is needed to repeat it.
pub fn example(title: &str, seed: u64, statement: &Statement, world: &World, verdict: &Verdict) -> String {
    let mut text = format!("==== {title} (GINGHAM_SEED={seed})\n");
    for line in world.script() {
        writeln!(text, "{line};").expect("a string takes it");
    }
    writeln!(text, "{};", statement.tree).expect("a string takes it");
    match verdict {
        Verdict::Wrong(expected, found) => write!(text, "PostgreSQL:\n{expected}Gingham:\n{found}"),
        Verdict::Refused(expected, error) => write!(text, "PostgreSQL:\n{expected}Gingham: {error}\n"),
        Verdict::Accepted(error, found) => write!(text, "PostgreSQL: {error}\nGingham:\n{found}"),
        Verdict::Right(answer) => write!(text, "both:\n{answer}"),
        Verdict::Skipped(error) => writeln!(text, "PostgreSQL: {error}"),
        Verdict::Broken(error, own) => writeln!(text, "PostgreSQL: {error}\nGingham: {own}"),
    }
    .expect("a string takes it");
    text
}

#[test]
fn kinds_are_errors_without_what_is_the_statements_own() {
    for (error, expected) in [
        ("Expected: ), found: UNION (line 1, column 20)", "Expected: ), found: …"),
        (
            "column 'k.p' must be in GROUP BY, or in an aggregate function such as min(p)",
            "column … must be in GROUP BY, or in an aggregate function such as …",
        ),
        ("decimal overflow: 1 + 2 has more than 38 digits", "decimal overflow"),
        ("value 'NaN' is out of range for DECIMAL(18,6)\nmore", "value … is out of range for DECIMAL(#,#)"),
    ] {
        assert_eq!(kind(error), expected);
    }
}
