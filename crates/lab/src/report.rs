//! The lab's report: one HTML page that needs no other file, with each figure redrawn, its intervals, and each claim with
//! its verdict and the figures behind it.

use crate::experiment::{Bench, Figure, FigureKind, Judgement, Outcome, Point, metric_name, tally};
use crate::merge::{ClaimText, Merged};
use crate::plot::{
    Bar, Column, LinePlot, Mark, Multiple, PlotLine, Row, SERIES, bar_rows, box_rows, escaped, page, stacked_table,
};
use crate::statistics::{Quartiles, Summary};
use crate::words::{counted, number, readable};
use serde_json::Value;
use std::collections::BTreeSet;

/// Overheads are cut here, as the runtime-fragility paper cuts them.
const MOST_OVERHEAD: f64 = 250.0;

/// The page.
pub fn html(bench: &Bench, outcomes: &[Outcome]) -> String {
    let mut body = format!(
        r#"<h1>Gingham lab</h1>
<p class="faint">Gingham {version}, build profile <b>{profile}</b>, mode <b>{mode}</b></p>
<p class="verdict">{tally}.</p>
{machine}"#,
        tally = escaped(&tally(outcomes)),
        version = bench.machine.version,
        profile = bench.machine.profile,
        mode = bench.settings.mode.name(),
        machine = machine(bench),
    );
    outcomes.iter().for_each(|outcome| body += &experiment(outcome));
    body += METHOD;
    page("Gingham lab", &body)
}

/// The page of several machines' results: each claim with a verdict from each, and figures with a panel for each.
pub fn merged_html(merged: &Merged) -> String {
    let names: Vec<String> = merged.machines.iter().map(|(name, _)| escaped(name)).collect();
    let facts = |(name, machine): &(String, Value)| {
        let text = |field: &str| machine[field].as_str().unwrap_or("unknown").to_owned();
        let about =
            format!("{}, {} build of Gingham {}, {}", text("system"), text("profile"), text("gingham"), text("isa"));
        format!(r#"<tr><td class="text">{}</td><td class="text">{}</td></tr>"#, escaped(name), escaped(&about))
    };
    let machines: String = merged.machines.iter().map(facts).collect();
    let mut body = format!(
        r#"<h1>Gingham lab</h1><p class="faint">Results of {}: {}</p><div class="scroll"><table>{machines}</table></div>"#,
        counted(names.len() as u64, "machine"),
        names.join(", ")
    );
    for experiment in &merged.experiments {
        let claim = |(text, verdicts): &(ClaimText, Vec<(String, Judgement)>)| {
            let of = |(machine, judgement): &(String, Judgement)| {
                format!(
                    r#"<tr><td class="text verdict-cell {class}">{verdict}</td><td class="text">{machine}<small>{evidence}</small></td></tr>"#,
                    class = judgement.verdict.name(),
                    verdict = judgement.verdict.phrase(),
                    machine = escaped(machine),
                    evidence = escaped(&judgement.evidence),
                )
            };
            let rows: String = verdicts.iter().map(of).collect();
            let (text, id, place) = (escaped(&text.text), escaped(&text.id), escaped(&text.place));
            format!(r#"<tr><td class="text" colspan="2"><b>{text}</b><small>{id} · {place}</small></td></tr>{rows}"#)
        };
        let claims: String = experiment.verdicts.iter().map(claim).collect();
        let outcome = &experiment.outcome;
        body += &format!(
            r#"<h2 id="{name}">{title}</h2><p class="faint">{name} · {place}</p><p>{about}</p>
<div class="scroll"><table class="claims stack">{claims}</table></div>{figures}{table}"#,
            name = outcome.experiment.name,
            title = escaped(outcome.experiment.title),
            place = escaped(outcome.experiment.place),
            about = escaped(outcome.experiment.about),
            figures = outcome.experiment.figures.iter().map(|of| figure(outcome, of)).collect::<String>(),
            table = table(outcome),
        );
    }
    body += METHOD;
    page("Gingham lab", &body)
}

const METHOD: &str = r#"<h2>How this was measured</h2>
<p>The variants of a trial (same data) run in rounds, each round in a random order of its own; every answer is compared
with an oracle's, and one wrong answer ends the run. Points are means, whiskers their 95 % intervals by Student's
t-distribution; at most one outlier of a sample is dropped, by Grubbs' test, and only when the interval's radius is at least
2.5 % of the mean. Where runs do different work, as queries drawn at random, all of them count, and whiskers are one standard
deviation. Two results differ when their intervals are disjoint, can't be told apart when one's mean lies in the
other's interval, and otherwise Welch's t-test decides. Classes of the best are given by that rule, and by Welch's test with
Holm's correction for many comparisons. Cycles are those of the time stamp counter, which runs at a constant rate, and not
those of the core.</p>"#;

fn machine(bench: &Bench) -> String {
    let machine = &bench.machine;
    let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
    let caches = machine.caches;
    let binary = |bytes: usize| match bytes {
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 19) => {
            format!("{} MiB", bytes as f64 / f64::from(1 << 20))
        }
        bytes => format!("{} KiB", bytes >> 10),
    };
    let threads = |count: usize| counted(count as u64, "thread");
    let read = bench
        .bandwidth
        .iter()
        .map(|found| format!("{}/s with {}", gigabytes(found.bytes_per_second), threads(found.threads)));
    let rows = [
        ("Processor", format!("{}, {}, {}", machine.processor, threads(machine.threads), machine.isa.name())),
        (
            "Caches",
            format!(
                "{} L1, {} L2, {} last{}",
                binary(caches.l1),
                binary(caches.l2),
                binary(caches.last),
                if caches.known { "" } else { " (guessed: the system does not tell)" }
            ),
        ),
        ("Memory", gigabytes(machine.memory as f64)),
        ("Read bandwidth, measured", read.collect::<Vec<_>>().join(", ")),
        ("Clock", format!("{}, {:.3} GHz, measured", bench.clock.unit(), bench.clock.per_second() / 1e9)),
        ("Load before", machine.load.map_or("unknown".to_string(), |load| format!("{load:.2} processes ready to run"))),
        ("System", machine.system.clone()),
    ];
    let rows: String = rows
        .iter()
        .map(|(name, value)| {
            format!(r#"<tr><td class="text">{name}</td><td class="text">{}</td></tr>"#, escaped(value))
        })
        .collect();
    format!(r#"<div class="scroll"><table>{rows}</table></div>"#)
}

fn experiment(outcome: &Outcome) -> String {
    let experiment = outcome.experiment;
    let notes: String = outcome.notes.iter().map(|note| format!("<p>{}</p>", escaped(note))).collect();
    let pages =
        outcome.huge_pages.map_or(String::new(), |share| format!(", {:.0} % of memory in huge pages", share * 100.0));
    format!(
        r#"<h2 id="{name}">{title}</h2>
<p class="faint">{name} · {place} · {seconds:.0} s{pages}</p><p>{about}</p>{notes}
{claims}{figures}{table}"#,
        name = experiment.name,
        title = escaped(experiment.title),
        place = escaped(experiment.place),
        seconds = outcome.seconds,
        about = escaped(experiment.about),
        claims = claims(outcome),
        figures = experiment.figures.iter().map(|of| figure(outcome, of)).collect::<String>(),
        table = table(outcome),
    )
}

fn claims(outcome: &Outcome) -> String {
    let rows: String = outcome
        .experiment
        .claims
        .iter()
        .zip(&outcome.judgements)
        .map(|(claim, judgement)| {
            let ours = claim.ours.map_or(String::new(), |ours| format!("; ours: {}", escaped(ours)));
            format!(
                r#"<tr><td class="text verdict-cell {class}">{verdict}</td><td class="text">{text}
<small>{id} · {place}{ours}</small><small>{evidence}</small></td></tr>"#,
                class = judgement.verdict.name(),
                verdict = judgement.verdict.phrase(),
                text = escaped(claim.text),
                id = claim.id,
                place = escaped(claim.place),
                evidence = escaped(&judgement.evidence),
            )
        })
        .collect();
    if rows.is_empty() {
        return rows;
    }
    let units = outcome.units();
    let units = if units.is_empty() { units } else { format!(r#"<p class="faint">Figures: {}.</p>"#, escaped(&units)) };
    format!(r#"<div class="scroll"><table class="claims stack">{rows}</table></div>{units}"#)
}

/// A figure with a panel for each combination of its panel factors' levels; nothing when its metric was not measured.
fn figure(outcome: &Outcome, figure: &Figure) -> String {
    let points: Vec<&Point> =
        outcome.findings.select(figure.only).filter(|point| point.summary(figure.metric).is_some()).collect();
    if points.is_empty() {
        return String::new();
    }
    let series = levels(outcome, figure.series);
    let largest = points.iter().filter_map(|point| Some(point.summary(figure.metric)?.mean)).fold(0.0, f64::max);
    let multiple = Multiple::of(largest);
    let keys: String = series
        .iter()
        .zip(SERIES.into_iter().cycle())
        // Boxes are of all series together.
        .filter(|_| figure.kind != FigureKind::Boxes)
        .map(|(level, class)| format!(r#"<span class="key {class}">{}</span>"#, escaped(&readable(level))))
        .collect();
    let mut seen = BTreeSet::new();
    let mut panels = String::new();
    for point in &points {
        let at: Vec<&str> = figure.panels.iter().map(|factor| point.level(factor)).collect();
        if !seen.insert(at.clone()) {
            continue;
        }
        let within: Vec<&Point> = points
            .iter()
            .filter(|point| figure.panels.iter().zip(&at).all(|(factor, level)| point.level(factor) == *level))
            .copied()
            .collect();
        let title: Vec<String> =
            figure.panels.iter().zip(&at).map(|(name, level)| at_level(outcome, name, level)).collect();
        let plot = match figure.kind {
            FigureKind::Bars => bars(figure, &within, &levels(outcome, figure.x), &series, multiple),
            FigureKind::Boxes => boxes(outcome, figure, &within),
            FigureKind::Lines | FigureKind::LogLines | FigureKind::DeviationLines | FigureKind::PowerLines => {
                lines(outcome, figure, &within, &series)
            }
        };
        panels += &format!(r#"<div class="panel"><b>{}</b>{plot}</div>"#, escaped(&title.join(", ")));
    }
    let axis = match figure.kind {
        FigureKind::Bars => format!("{}, by {}", multiple.name(figure.axis), factor_name(outcome, figure.x)),
        FigureKind::Boxes => format!("{}, by {}", figure.axis, factor_name(outcome, figure.x)),
        // Their axes have names.
        _ => String::new(),
    };
    let axis = if axis.is_empty() { axis } else { format!(r#"<span class="axis-name">{}</span>"#, escaped(&axis)) };
    format!(
        r#"<figure><figcaption><b>{}</b>{keys}</figcaption>{axis}<div class="panels">{panels}</div></figure>"#,
        escaped(figure.title)
    )
}

/// A factor in words, with its unit.
fn factor_name(outcome: &Outcome, name: &str) -> String {
    let words = name.replace('_', " ");
    match unit(outcome, name) {
        "" => words,
        unit => format!("{words} ({unit})"),
    }
}

/// A factor's level in words, with its unit.
fn at_level(outcome: &Outcome, name: &str, level: &str) -> String {
    let unit = unit(outcome, name);
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    format!("{} {}{unit}", name.replace('_', " "), readable(level))
}

/// The unit of a factor's levels; none where its name says it.
fn unit(outcome: &Outcome, name: &str) -> &'static str {
    let factor = outcome.factors.iter().find(|factor| factor.name == name);
    factor.map(|factor| factor.unit).filter(|unit| *unit != name).unwrap_or("")
}

fn levels(outcome: &Outcome, factor: &str) -> Vec<String> {
    outcome.factors.iter().find(|known| known.name == factor).map_or(Vec::new(), |known| known.levels.clone())
}

fn hint(point: &Point, summary: &Summary) -> String {
    format!("{}: {}", point.label(&[]), interval(summary))
}

fn interval(summary: &Summary) -> String {
    if summary.n < 2 {
        return number(summary.mean);
    }
    let (low, high) = (number(summary.interval.low), number(summary.interval.high));
    format!("{} ({low} to {high}, {} runs)", number(summary.mean), summary.n)
}

fn bounds(summary: &Summary) -> Option<(f64, f64)> {
    (summary.n >= 2).then_some((summary.interval.low, summary.interval.high))
}

fn deviation(summary: &Summary) -> Option<(f64, f64)> {
    (summary.n >= 2).then_some((summary.mean - summary.deviation, summary.mean + summary.deviation))
}

fn lines(outcome: &Outcome, figure: &Figure, points: &[&Point], series: &[String]) -> String {
    let mark = |point: &&&Point| {
        let summary = point.summary(figure.metric)?;
        let interval = match figure.kind {
            FigureKind::DeviationLines => deviation(summary),
            _ => bounds(summary),
        };
        let x = match figure.kind {
            FigureKind::PowerLines => point.number(figure.x).log2(),
            _ => point.number(figure.x),
        };
        Some(Mark { x, y: summary.mean, interval, hint: hint(point, summary) })
    };
    let line = |(level, class): (&String, &'static str)| {
        let of_level = points.iter().filter(|point| point.level(figure.series) == level);
        let mut marks: Vec<Mark> =
            of_level.filter_map(|point| mark(&point)).filter(|mark| mark.x.is_finite()).collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        PlotLine { class, marks }
    };
    let x_axis = factor_name(outcome, figure.x);
    LinePlot {
        lines: series.iter().zip(SERIES.into_iter().cycle()).map(line).collect(),
        x_axis: if figure.kind == FigureKind::PowerLines { format!("{x_axis}, as powers of 2") } else { x_axis },
        y_axis: figure.axis.to_string(),
        logarithmic: figure.kind == FigureKind::LogLines,
    }
    .svg()
}

fn bars(figure: &Figure, points: &[&Point], levels: &[String], series: &[String], multiple: Multiple) -> String {
    let row = |level: &String| {
        let bars = series.iter().zip(SERIES.into_iter().cycle()).filter_map(|(of, class)| {
            let point =
                points.iter().find(|point| point.level(figure.x) == level && point.level(figure.series) == of)?;
            let summary = point.summary(figure.metric)?;
            let label = number(summary.mean / multiple.size);
            Some(Bar { class, value: summary.mean, interval: bounds(summary), label, hint: hint(point, summary) })
        });
        Row { name: readable(level), bars: bars.collect(), remark: String::new() }
    };
    let rows: Vec<Row> = levels.iter().map(row).filter(|row| !row.bars.is_empty()).collect();
    bar_rows(&rows)
}

/// Boxes of the medians at each level of a factor, over the smallest of the panel.
fn boxes(outcome: &Outcome, figure: &Figure, points: &[&Point]) -> String {
    let median = |point: &&&Point| Some(point.summary(figure.metric)?.median);
    let best = points.iter().filter_map(|point| median(&point)).fold(f64::INFINITY, f64::min);
    let of_level = |level: &String| {
        let within = points.iter().filter(|point| point.level(figure.x) == level);
        let overheads: Vec<f64> = within.filter_map(|point| Some((median(&point)? / best - 1.0) * 100.0)).collect();
        Some((readable(level), Quartiles::of(&overheads)?))
    };
    let all: Vec<_> = levels(outcome, figure.x).iter().filter_map(of_level).collect();
    box_rows(&all, figure.axis, MOST_OVERHEAD)
}

/// All results with their intervals, and the classes of the best.
fn table(outcome: &Outcome) -> String {
    let points = &outcome.findings.points;
    let metrics: BTreeSet<&str> = points.iter().flat_map(|point| point.metrics.keys().copied()).collect();
    let facts: BTreeSet<&str> = points.iter().flat_map(|point| point.facts.keys().copied()).collect();
    let mut head: String = outcome
        .factors
        .iter()
        .map(|factor| format!("<th>{}</th>", escaped(&factor_name(outcome, factor.name))))
        .collect();
    head.extend(metrics.iter().map(|metric| {
        let units: BTreeSet<&str> =
            points.iter().filter_map(|point| Some(point.metrics.get(metric)?.unit.as_str())).collect();
        let units = units.into_iter().collect::<Vec<_>>().join(" or ");
        format!("<th>{}<small>{}</small></th>", metric_name(metric), escaped(&units))
    }));
    head.extend(facts.iter().map(|fact| format!("<th>{}</th>", metric_name(fact))));
    let row = |point: &Point| {
        let mut cells: String = outcome
            .factors
            .iter()
            .map(|factor| format!("<td>{}</td>", escaped(&readable(point.level(factor.name)))))
            .collect();
        cells.extend(metrics.iter().map(|metric| {
            format!("<td>{}</td>", point.summary(metric).map_or(String::new(), |summary| escaped(&interval(summary))))
        }));
        cells.extend(facts.iter().map(|fact| {
            format!("<td>{}</td>", point.facts.get(fact).map_or(String::new(), |fact| escaped(&number(*fact))))
        }));
        format!("<tr>{cells}</tr>")
    };
    let rows: String = points.iter().map(row).collect();
    let classes: Vec<[String; 4]> =
        outcome.experiment.figures.iter().flat_map(|figure| class_rows(outcome, figure)).collect();
    let classes = if classes.is_empty() {
        String::new()
    } else {
        format!(
            "<details><summary>Best at each place, and what can't be told from it</summary>{}</details>",
            stacked_table(&CLASSES, classes)
        )
    };
    if rows.is_empty() {
        return classes;
    }
    format!(
        r#"{classes}<details><summary>Table of results</summary><div class="scroll"><table><tr>{head}</tr>
{rows}</table></div></details>"#
    )
}

const CLASSES: [Column; 4] = [
    Column::text("at"),
    Column::text("best"),
    Column::text("by the paper's rule"),
    Column::text("with Holm's correction"),
];

fn class_rows(outcome: &Outcome, figure: &Figure) -> Vec<[String; 4]> {
    let row = |class: crate::experiment::Class| {
        let at: Vec<String> = class.at.iter().map(|(factor, level)| at_level(outcome, factor, level)).collect();
        [at.join(", "), class.best, class.members.join(", "), class.corrected.join(", ")].map(|cell| escaped(&cell))
    };
    outcome.classes(figure).into_iter().map(row).collect()
}
