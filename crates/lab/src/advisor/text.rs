//! What was found, as lines of text.

use super::advice::{Advice, Answered, StatementFacts, TableAdvice};
use super::looks::LOOKS;
use crate::words::{bytes, counted, plural, thousands};
use gingham::advisor::Comparison;
use std::fmt::{self, Display, Formatter};

/// Characters of a statement that are shown.
const SHOWN: usize = 60;
/// Statements whose gains are shown, losses first.
const STATEMENTS: usize = 8;
/// Designs that are named of those that were not measured for one reason.
const REJECTED: usize = 3;

impl Display for Advice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for facts in &self.statements {
            if let Some(why) = &facts.left_out {
                writeln!(f, "left out: {}: {why}", named(facts))?;
            } else if facts.uses.volatile {
                writeln!(f, "answers not compared: {}: it asks for the time, or for random numbers", named(facts))?;
            } else if facts.statement.writes {
                writeln!(f, "only changed records counted: {}: it writes", named(facts))?;
            } else if facts.uses.comparison == Comparison::Count {
                writeln!(
                    f,
                    "only rows counted: {}: which it gives depends on an order that it does not fix",
                    named(facts)
                )?;
            } else if matches!(facts.uses.comparison, Comparison::First { .. }) {
                writeln!(
                    f,
                    "compared by ORDER BY: {}: of equal rows, others may be the last that LIMIT gives",
                    named(facts)
                )?;
            }
        }
        for table in &self.tables {
            write_table(f, self, table)?;
        }
        for (table, why) in &self.passed_over {
            writeln!(f, "{table}: passed over, {why}")?;
        }
        let (elapsed, budget) = (self.elapsed.as_secs_f64(), self.budget.as_secs_f64());
        writeln!(
            f,
            "{elapsed:.1} s of {budget:.1} s; intervals hold the true gain with 99 %, at each of {LOOKS} looks at most"
        )
    }
}

fn write_table(f: &mut Formatter<'_>, advice: &Advice, table: &TableAdvice) -> fmt::Result {
    let definition = &table.definition;
    writeln!(
        f,
        "{}: {} {}, about {:.0} % of the workload's time; {} measured in {}{}",
        definition.name,
        thousands(table.rows),
        plural(table.rows, "record"),
        table.share * 100.0,
        counted(table.designs.len() as u64, "design"),
        counted(table.told.designs[0].sums.len() as u64, "round"),
        if table.sample < 1.0 { format!(", on a sample of {:.1} %", table.sample * 100.0) } else { String::new() }
    )?;
    let present = &table.designs[0];
    writeln!(f, "  present:  {} ({})", present.candidate.text(definition), bytes(present.bytes as u64))?;
    match table.answered() {
        Answered::Keep | Answered::Unknown => writeln!(f, "  keep it:  {}", table.reason())?,
        Answered::Change => {
            let proposed = &table.designs[table.proposed];
            writeln!(f, "  proposed: {} ({})", proposed.candidate.text(definition), bytes(proposed.bytes as u64))?;
            if let Some(gain) = table.gain() {
                writeln!(f, "  gain:     {gain}")?;
            }
            writeln!(f, "  why:      {}", proposed.candidate.reason)?;
            writeln!(f, "  told:     {}", table.reason())?;
            writeln!(f, "  change:   about {:.1} s", proposed.change.as_secs_f64())?;
            for (statement, gain) in table.gains_of_statements(table.proposed).into_iter().take(STATEMENTS) {
                writeln!(f, "    {gain}  {}", named(&advice.statements[statement]))?;
            }
            for statement in table.statements_to_change() {
                writeln!(f, "  do:       {statement};")?;
            }
            for statement in table.statements_to_undo() {
                writeln!(f, "  undo:     {statement};")?;
            }
        }
    }
    for (number, gain) in table.by_gain().into_iter().filter(|(number, _)| ![0, table.proposed].contains(number)) {
        let design = &table.designs[number];
        let gain = gain.map_or(String::new(), |gain| format!(", {gain}"));
        let text = design.candidate.text(definition);
        let why = table.why(number, |other| table.designs[other].candidate.text(definition));
        let (label, more) = match table.standing(number) {
            "slower" => ("slower", format!("\n    {why}")),
            _ => (why.as_str(), String::new()),
        };
        writeln!(f, "  {label}: {text} ({}){gain}{more}", bytes(design.bytes as u64))?;
    }
    let mut reasons: Vec<&str> = table.rejected.iter().map(|(_, why)| why.as_str()).collect();
    reasons.dedup();
    for why in reasons {
        let designs = table.rejected.iter().filter(|(_, other)| other == why);
        let names: Vec<String> =
            designs.clone().take(REJECTED).map(|(candidate, _)| candidate.text(definition)).collect();
        let more = designs.count() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(f, "  not measured, {why}: {}{more}", names.join("; "))?;
    }
    Ok(())
}

/// A statement by its line and its beginning.
fn named(facts: &StatementFacts) -> String {
    let text = facts.statement.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("line {}: {shown}", facts.statement.line)
}
