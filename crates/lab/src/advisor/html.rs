//! What was found, as a page that needs no other file.

use super::advice::{Advice, Answered, MeasuredDesign, StatementFacts, TableAdvice};
use super::apply::Applied;
use super::looks::{Gain, LOOKS};
use crate::machine::Machine;
use crate::plot::{Bar, Column, Row, escaped, page, ratio_rows, stacked_table, verbatim};
use crate::words::{bytes, counted, number, plural, thousands};
use gingham::advisor::Comparison;

/// Characters of a statement that are shown.
const SHOWN: usize = 1000;
/// Characters of a statement that are shown before one opens it.
const BEGINNING: usize = 120;
/// Characters of a design's name in a plot.
const NAME: usize = 60;
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
        Answered::Keep | Answered::Unknown => format!("Keep <b>{}</b>.", design(present)),
    };
    let (measured, rounds) = (table.designs.len() as u64, table.told.designs[0].sums.len() as u64);
    let mut facts = vec![
        (thousands(table.rows), plural(table.rows, "record")),
        (format!("{:.0} %", table.share * 100.0), "of the workload's time, about".to_owned()),
        (measured.to_string(), format!("{} measured in {}", plural(measured, "design"), counted(rounds, "round"))),
    ];
    if table.sample < 1.0 {
        facts.push((format!("{:.1} %", table.sample * 100.0), "of the records were measured".to_owned()));
    }
    if let Some(gain) = table.gain() {
        let [times, low, high] = gain.figures();
        facts.push((format!("{times}×"), format!("as fast, {low} to {high}")));
        facts.push((bytes(proposed.bytes as u64), format!("in place of {}", bytes(present.bytes as u64))));
        facts.push((format!("{:.1} s", proposed.change.as_secs_f64()), "to change it, about".to_owned()));
    }
    let cards: String = facts
        .iter()
        .map(|(value, text)| {
            format!(r#"<div class="fact"><b>{}</b><span>{}</span></div>"#, escaped(value), escaped(text))
        })
        .collect();
    format!(
        r#"<h2>{name}</h2><p class="verdict">{verdict} {reason}</p>{done}<div class="facts">{cards}</div>{change}{plot}{designs}{gains}{rejected}"#,
        name = escaped(&definition.name.to_string()),
        reason = escaped(&table.reason()),
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
    let text =
        |statements: Vec<String>| verbatim(&statements.iter().map(|one| format!("{one};\n")).collect::<String>());
    format!(
        r#"<div class="scroll"><pre>{}</pre></div><details><summary>How to undo it</summary><div class="scroll"><pre>{}</pre></div></details>"#,
        text(table.statements_to_change()),
        text(table.statements_to_undo())
    )
}

/// The gain of each design beside the line of the present one, with its interval, in the order of the table below.
fn plot(table: &TableAdvice) -> String {
    let row = |(place, (design, gain)): (usize, (usize, Option<Gain>))| {
        let gain = gain?;
        let class = if table.told.class.contains(&design) { "gingham" } else { "other" };
        let text = table.designs[design].candidate.text(&table.definition);
        let is_present = design == 0;
        let interval = (!is_present).then_some((gain.interval.low, gain.interval.high));
        let bar = Bar { class, value: gain.times, interval, label: String::new(), hint: format!("{text}: {gain}") };
        let name = format!("{}. {}", place + 1, beginning(&text, NAME));
        Some(Row { name, bars: vec![bar], remark: if is_present { "1".to_owned() } else { range(gain) } })
    };
    let rows: Vec<Row> = table.by_gain().into_iter().enumerate().filter_map(row).collect();
    if rows.len() < 2 {
        return String::new();
    }
    format!(
        r#"<figure><figcaption>Times as fast as the present design, with the interval that holds it:
<span class="key gingham">no other was told apart as faster</span>
<span class="key other">told apart as slower</span></figcaption>{}</figure>"#,
        ratio_rows(&rows)
    )
}

const DESIGNS: [Column; 5] = [
    Column::numbers(""),
    Column::text("design"),
    Column::text("what was told of it"),
    Column::numbers("times as fast"),
    Column::numbers("size"),
];

fn designs(table: &TableAdvice) -> String {
    let sorted = table.by_gain();
    let place = |design: usize| sorted.iter().position(|(other, _)| *other == design).unwrap_or(0) + 1;
    let rows = sorted.iter().map(|(number, gain)| {
        let design = &table.designs[*number];
        let why = table.why(*number, |other| format!("design {}", place(other)));
        let standing = match table.standing(*number) {
            word @ ("present" | "proposed") => format!("<b>{word}</b>: "),
            _ => String::new(),
        };
        [
            place(*number).to_string(),
            with_reason(&design.candidate, table),
            standing + &escaped(&why),
            gain.filter(|_| *number != 0).map_or("1".to_owned(), |gain| escaped(&range(gain))),
            bytes(design.bytes as u64),
        ]
    });
    stacked_table(&DESIGNS, rows)
}

/// A design, and why it was worth a try.
fn with_reason(candidate: &gingham::advisor::Candidate, table: &TableAdvice) -> String {
    format!("{}<small>{}</small>", escaped(&candidate.text(&table.definition)), escaped(&candidate.reason))
}

const GAINS: [Column; 3] = [Column::numbers("times as fast"), Column::numbers("line"), Column::text("")];

/// The gain of each statement under the proposed design, those that get slower first.
fn gains(advice: &Advice, table: &TableAdvice) -> String {
    if table.proposed == 0 {
        return String::new();
    }
    let gains = table.gains_of_statements(table.proposed).into_iter().take(STATEMENTS);
    let rows = gains.map(|(statement, gain)| {
        let class = match gain.interval {
            interval if interval.high < 1.0 => "slower",
            interval if interval.low > 1.0 => "faster",
            _ => "",
        };
        let [line, text] = named(&advice.statements[statement]);
        [format!(r#"<span class="{class}">{}</span>"#, escaped(&range(gain))), line, text]
    });
    format!(
        r#"<details open><summary>Each statement under the proposed design, losses first</summary>{}</details>"#,
        stacked_table(&GAINS, rows)
    )
}

fn rejected(table: &TableAdvice) -> String {
    if table.rejected.is_empty() {
        return String::new();
    }
    let rows = table.rejected.iter().map(|(candidate, why)| [with_reason(candidate, table), escaped(why)]);
    let count = table.rejected.len() as u64;
    format!(
        "<details><summary>{} that {} not measured</summary>{}</details>",
        counted(count, "design"),
        if count == 1 { "was" } else { "were" },
        stacked_table(&[Column::text("design"), Column::text("why not")], rows)
    )
}

fn passed_over(advice: &Advice) -> String {
    if advice.passed_over.is_empty() {
        return String::new();
    }
    let rows = advice.passed_over.iter().map(|(table, why)| [escaped(&table.to_string()), escaped(why)]);
    format!(
        "<h2>Tables that were passed over</h2>{}",
        stacked_table(&[Column::text("table"), Column::text("why")], rows)
    )
}

const STATEMENT: [Column; 5] = [
    Column::numbers("ms before"),
    Column::numbers("weight"),
    Column::numbers("line"),
    Column::text(""),
    Column::text("remark"),
];

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
        let [line, text] = named(facts);
        let figures = [facts.time.as_secs_f64() * 1000.0, facts.statement.weight].map(|value| escaped(&number(value)));
        let [milliseconds, weight] = figures;
        [milliseconds, weight, line, text, escaped(&remark)]
    };
    let rows = advice.statements.iter().take(STATEMENTS).map(row);
    format!("<details><summary>The workload</summary>{}</details>", stacked_table(&STATEMENT, rows))
}

fn method(advice: &Advice) -> String {
    format!(
        r#"<h2>How this was measured</h2>
<p>Each design was built in a scratch database beside the others; the statements of the workload ran on all of them in rounds,
each round in a random order of its own, and every answer was compared with that of the present design. A gain is the time
before over the time then, from the trimmed mean of the logarithms of the ratios round by round; its interval holds the true
gain with 99 %. Designs were compared at {LOOKS} looks at most, at fixed shares of the time, with a fifth of the 5 % of error
each and Holm's correction over all pairs: stopping as soon as a difference shows would find one between equal designs too.
A design that was told apart as slower than another had no more rounds, so that its figure beside the present design is of fewer
rounds than others'. Of the designs that no other was told apart from as faster, and that were told apart from the present one as
faster, the one of fewest bytes is proposed. Writes were undone again, without the commit. It took {:.1} s of {:.1} s.</p>"#,
        advice.elapsed.as_secs_f64(),
        advice.budget.as_secs_f64()
    )
}

/// A statement's line and its text; the rest of a long one is behind its beginning.
fn named(facts: &StatementFacts) -> [String; 2] {
    let text = &facts.statement.text;
    let shown = verbatim(&beginning(text, SHOWN));
    let text = if text.chars().count() > BEGINNING + BEGINNING / 2 {
        format!("<details><summary>{}</summary>{shown}</details>", verbatim(&beginning(text, BEGINNING)))
    } else {
        shown
    };
    [facts.statement.line.to_string(), text]
}

/// So many characters of a text at most.
fn beginning(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn range(gain: Gain) -> String {
    let [times, low, high] = gain.figures();
    format!("{times} ({low} to {high})")
}
