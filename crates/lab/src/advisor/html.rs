//! What was found, as a page that needs no other file.

use super::advice::{Advice, Answered, MeasuredDesign, StatementFacts, TableAdvice};
use super::apply::Applied;
use super::looks::{Gain, LOOKS};
use super::text::megabytes;
use crate::machine::Machine;
use crate::plot::{Bar, escaped, page, upright_bars};
use gingham::advisor::Comparison;

/// Characters of a statement that are shown.
const SHOWN: usize = 1000;
/// Statements that are listed for a table, losses first.
const STATEMENTS: usize = 200;

/// The page: the answer for each table, and what became of it where it was applied.
pub fn html(advice: &Advice, applied: &[Applied], machine: &Machine) -> String {
    let body = format!(
        r#"<h1>Designs for {origin}</h1>
<p class="faint">Gingham {version}, build profile <b>{profile}</b>; {processor}, {system}</p>
{section}"#,
        origin = escaped(&advice.origin),
        version = machine.version,
        profile = machine.profile,
        processor = escaped(&machine.processor),
        system = escaped(&machine.system),
        section = section(advice, applied),
    );
    page(&format!("Gingham: designs for {}", advice.origin), &body)
}

/// The page's content below its title.
pub fn section(advice: &Advice, applied: &[Applied]) -> String {
    let mut html = String::new();
    for table in &advice.tables {
        let done = applied.iter().find(|done| done.table == table.definition.name);
        html += &of_table(advice, table, done);
    }
    html += &passed_over(advice);
    html += &statements(advice);
    html += &method(advice);
    html
}

fn of_table(advice: &Advice, table: &TableAdvice, done: Option<&Applied>) -> String {
    let definition = &table.definition;
    let (present, proposed) = (&table.designs[0], &table.designs[table.proposed]);
    let design = |of: &MeasuredDesign| escaped(&of.candidate.text(definition));
    let verdict = match table.answered() {
        Answered::Change => format!("Change to <b>{}</b>: {}.", design(proposed), escaped(&proposed.candidate.reason)),
        Answered::Keep => format!("Keep <b>{}</b>: it is faster than the others.", design(present)),
        Answered::Unknown => format!("Keep <b>{}</b>: no other design can be told from it as faster.", design(present)),
    };
    let mut facts = vec![
        (crate::experiment::number(table.rows as f64), "records".to_owned()),
        (format!("{:.0} %", table.share * 100.0), "of the workload's time, about".to_owned()),
        (format!("{}", table.designs.len()), format!("designs, {} rounds", table.told.designs[0].sums.len())),
    ];
    if table.sample < 1.0 {
        facts.push((format!("{:.1} %", table.sample * 100.0), "of the records were measured".to_owned()));
    }
    if let Some(gain) = table.gain() {
        facts.push((
            format!("{:.2}×", gain.times),
            format!("as fast, {:.2} to {:.2}", gain.interval.low, gain.interval.high),
        ));
        facts.push((megabytes(proposed.bytes), format!("in place of {}", megabytes(present.bytes))));
        facts.push((format!("{:.1} s", proposed.change.as_secs_f64()), "to change it, about".to_owned()));
    }
    let cards: String = facts
        .iter()
        .map(|(value, text)| format!(r#"<div class="fact"><b>{value}</b><span>{}</span></div>"#, escaped(text)))
        .collect();
    format!(
        r#"<h2>{name}</h2><p class="verdict">{verdict}</p>{done}<div class="facts">{cards}</div>{change}{plot}{designs}{gains}{rejected}"#,
        name = escaped(&definition.name.to_string()),
        done = done.map_or(String::new(), applied_text),
        change = change(table),
        plot = plot(table),
        designs = designs(table),
        gains = gains(advice, table),
        rejected = rejected(table),
    )
}

fn applied_text(done: &Applied) -> String {
    let text = match (&done.undone, done.gain) {
        (Some(why), _) => format!("It was applied and undone again: {why}."),
        (None, Some(gain)) => format!("It was applied: {}, {gain}.", done.compared),
        (None, None) => format!("It was applied: {}.", done.compared),
    };
    format!("<p>{}</p>", escaped(&text))
}

/// The statements that change the table, and that undo it.
fn change(table: &TableAdvice) -> String {
    if table.proposed == 0 {
        return String::new();
    }
    let text = |statements: Vec<String>| escaped(&statements.iter().map(|one| format!("{one};\n")).collect::<String>());
    format!(
        r#"<div class="scroll"><pre>{}</pre></div><details><summary>How to undo it</summary><div class="scroll"><pre>{}</pre></div></details>"#,
        text(table.statements_to_change()),
        text(table.statements_to_undo())
    )
}

/// The gain of each design as a bar with its interval, in the order of the table below.
fn plot(table: &TableAdvice) -> String {
    let groups: Vec<(String, Vec<Bar>)> = table
        .by_gain()
        .into_iter()
        .enumerate()
        .filter_map(|(place, (design, gain))| {
            let class = if table.told.class.contains(&design) { "gingham" } else { "other" };
            let text = table.designs[design].candidate.text(&table.definition);
            let interval = (design != 0).then_some((gain?.interval.low, gain?.interval.high));
            Some((
                (place + 1).to_string(),
                vec![Bar { class, value: gain?.times, interval, hint: format!("{text}: {}", gain?) }],
            ))
        })
        .collect();
    if groups.len() < 2 {
        return String::new();
    }
    format!(
        r#"<figure><figcaption>Times as fast as the present design, by number in the table:
<span class="key" style="--colour:var(--gingham)">as fast as the best</span>
<span class="key" style="--colour:var(--other)">told apart as slower</span></figcaption>{}</figure>"#,
        upright_bars(&groups, "times as fast")
    )
}

fn designs(table: &TableAdvice) -> String {
    let rows: String = table.by_gain()
        .into_iter()
        .enumerate()
        .map(|(place, (number, gain))| {
            let design = &table.designs[number];
            let what = match number {
                _ if number == table.proposed && number != 0 => "proposed",
                0 if table.told.class.contains(&0) => "present, as fast as the best",
                0 => "present",
                _ if table.told.class.contains(&number) => "as fast as the best",
                _ => "slower",
            };
            format!(
                r#"<tr><td>{}</td><td class="text">{}<small>{}</small></td><td class="text">{what}</td><td class="range">{}</td><td class="range">{}</td></tr>"#,
                place + 1,
                escaped(&design.candidate.text(&table.definition)),
                escaped(&design.candidate.reason),
                gain.filter(|_| number != 0).map_or("1".to_owned(), |gain| escaped(&range(gain))),
                megabytes(design.bytes),
            )
        })
        .collect();
    format!(
        r#"<div class="scroll"><table><tr><th></th><th class="text">design</th><th class="text"></th><th>times as fast</th><th>bytes</th></tr>{rows}</table></div>"#
    )
}

/// The gain of each statement under the proposed design, those that get slower first.
fn gains(advice: &Advice, table: &TableAdvice) -> String {
    if table.proposed == 0 {
        return String::new();
    }
    let rows: String = table
        .gains_of_statements(table.proposed)
        .into_iter()
        .take(STATEMENTS)
        .map(|(statement, gain)| {
            let class = match gain.interval {
                interval if interval.high < 1.0 => "slower",
                interval if interval.low > 1.0 => "faster",
                _ => "",
            };
            format!(
                r#"<tr><td class="range {class}">{}</td>{}</tr>"#,
                escaped(&range(gain)),
                named(&advice.statements[statement])
            )
        })
        .collect();
    format!(
        r#"<details open><summary>Each statement under the proposed design, losses first</summary><div class="scroll"><table>
<tr><th>times as fast</th><th>line</th><th class="text">statement</th></tr>{rows}</table></div></details>"#
    )
}

fn rejected(table: &TableAdvice) -> String {
    if table.rejected.is_empty() {
        return String::new();
    }
    let row = |(candidate, why): &(gingham::advisor::Candidate, String)| {
        format!(
            r#"<tr><td class="text">{}<small>{}</small></td><td class="text">{}</td></tr>"#,
            escaped(&candidate.text(&table.definition)),
            escaped(&candidate.reason),
            escaped(why)
        )
    };
    let rows: String = table.rejected.iter().map(row).collect();
    format!(
        r#"<details><summary>{} designs that were not measured</summary><div class="scroll"><table>
<tr><th class="text">design</th><th class="text">why not</th></tr>{rows}</table></div></details>"#,
        table.rejected.len()
    )
}

fn passed_over(advice: &Advice) -> String {
    let row = |(table, why): &(gingham::storage::TableName, String)| {
        format!(
            r#"<tr><td class="text">{}</td><td class="text">{}</td></tr>"#,
            escaped(&table.to_string()),
            escaped(why)
        )
    };
    let rows: String = advice.passed_over.iter().map(row).collect();
    if rows.is_empty() {
        rows
    } else {
        format!(r#"<h2>Tables that were passed over</h2><div class="scroll"><table>{rows}</table></div>"#)
    }
}

/// The statements with their times before.
fn statements(advice: &Advice) -> String {
    let row = |facts: &StatementFacts| {
        let remark = match &facts.left_out {
            Some(why) => format!("left out: {why}"),
            None if facts.uses.volatile => "answers not compared".to_owned(),
            None if facts.statement.writes => "only the number of changed records is compared".to_owned(),
            None if facts.uses.comparison == Comparison::Count => "only its number of rows is compared".to_owned(),
            None if facts.uses.comparison != Comparison::Rows { keys: Vec::new() } => {
                "compared with the order of its rows".to_owned()
            }
            None => String::new(),
        };
        let milliseconds = facts.time.as_secs_f64() * 1000.0;
        format!(
            r#"<tr><td>{}</td><td>{}</td>{}<td class="text">{}</td></tr>"#,
            crate::experiment::number(milliseconds),
            crate::experiment::number(facts.statement.weight),
            named(facts),
            escaped(&remark)
        )
    };
    let rows: String = advice.statements.iter().take(STATEMENTS).map(row).collect();
    format!(
        r#"<details><summary>The workload</summary><div class="scroll"><table><tr><th>ms before</th><th>weight</th><th>line</th>
<th class="text">statement</th><th class="text"></th></tr>{rows}</table></div></details>"#
    )
}

fn method(advice: &Advice) -> String {
    format!(
        r#"<h2>How this was measured</h2>
<p>Each design was built in a scratch database beside the others; the statements of the workload ran on all of them in rounds,
each round in a random order of its own, and every answer was compared with that of the present design. A gain is the time
before over the time then, from the trimmed mean of the logarithms of the ratios round by round; its interval holds the true
gain with 99 %. Designs were compared at {LOOKS} looks at most, at fixed shares of the time, with a fifth of the 5 % of error
each and Holm's correction over all pairs: stopping as soon as a difference shows would find one between equal designs too.
Writes were undone again, without the commit. It took {:.1} s of {:.1} s.</p>"#,
        advice.elapsed.as_secs_f64(),
        advice.budget.as_secs_f64()
    )
}

/// Cells with a statement's line and text.
fn named(facts: &StatementFacts) -> String {
    let text = &facts.statement.text;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!(r#"<td>{}</td><td class="text">{}</td>"#, facts.statement.line, escaped(&shown))
}

fn range(gain: Gain) -> String {
    format!("{:.2} ({:.2} to {:.2})", gain.times, gain.interval.low, gain.interval.high)
}
