//! The lab's report: one HTML page that needs no other file, with each figure redrawn, its intervals, and each claim with
//! its verdict and the figures behind it.

use crate::experiment::{Bench, Figure, FigureKind, Judgement, Outcome, Point, Verdict};
use crate::merge::{ClaimText, Merged};
use crate::plot::{Bar, LinePlot, Mark, PlotLine, SERIES, escaped, page, upright_bars, upright_boxes};
use crate::statistics::{Quartiles, Summary};
use serde_json::Value;
use std::collections::BTreeSet;

/// Overheads are cut here, as the runtime-fragility paper cuts them.
const MOST_OVERHEAD: f64 = 250.0;

/// The page.
pub fn html(bench: &Bench, outcomes: &[Outcome]) -> String {
    let total = |verdict| outcomes.iter().map(|outcome| outcome.count(verdict)).sum::<usize>();
    let mut body = format!(
        r#"<h1>Gingham lab</h1>
<p class="faint">Gingham {version}, build profile <b>{profile}</b>, mode <b>{mode}</b></p>
<p class="verdict">{} claims hold on this machine, {} do not, {} cannot be told here.</p>
{machine}"#,
        total(Verdict::Holds),
        total(Verdict::Fails),
        total(Verdict::Unknown),
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
        r#"<h1>Gingham lab</h1><p class="faint">Results of {} machines: {}</p><div class="scroll"><table>{machines}</table></div>"#,
        names.len(),
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
<div class="scroll"><table class="claims">{claims}</table></div>{figures}{table}"#,
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
    let kilobytes = |bytes: usize| format!("{} KiB", bytes >> 10);
    let read = bench.bandwidth.iter().map(|found| {
        let threads = if found.threads == 1 { "1 thread".to_string() } else { format!("{} threads", found.threads) };
        format!("{}/s with {threads}", gigabytes(found.bytes_per_second))
    });
    let rows = [
        ("Processor", format!("{}, {} threads, {}", machine.processor, machine.threads, machine.isa.name())),
        (
            "Caches",
            format!(
                "{} L1, {} L2, {} last{}",
                kilobytes(caches.l1),
                kilobytes(caches.l2),
                kilobytes(caches.last),
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
    if rows.is_empty() { rows } else { format!(r#"<div class="scroll"><table class="claims">{rows}</table></div>"#) }
}

/// A figure with a panel for each combination of its panel factors' levels; nothing when its metric was not measured.
fn figure(outcome: &Outcome, figure: &Figure) -> String {
    let points: Vec<&Point> =
        outcome.findings.select(figure.only).filter(|point| point.summary(figure.metric).is_some()).collect();
    if points.is_empty() {
        return String::new();
    }
    let series = levels(outcome, figure.series);
    let keys: String = series
        .iter()
        .zip(SERIES.into_iter().cycle())
        // Boxes are of all series together.
        .filter(|_| figure.kind != FigureKind::Boxes)
        .map(|(level, class)| format!(r#"<span class="key {class}">{}</span>"#, escaped(level)))
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
        let title: Vec<String> = figure.panels.iter().zip(&at).map(|(name, level)| format!("{name} {level}")).collect();
        let plot = match figure.kind {
            FigureKind::Bars => bars(outcome, figure, &within, &series),
            FigureKind::Boxes => boxes(outcome, figure, &within),
            FigureKind::Lines | FigureKind::LogLines | FigureKind::DeviationLines | FigureKind::PowerLines => {
                lines(outcome, figure, &within, &series)
            }
        };
        panels += &format!(r#"<div class="panel"><b>{}</b>{plot}</div>"#, escaped(&title.join(", ").replace('_', " ")));
    }
    let layout = if matches!(figure.kind, FigureKind::Bars | FigureKind::Boxes) { "" } else { r#" class="panels""# };
    format!(
        r#"<figure><figcaption><b>{}</b>{keys}</figcaption><div{layout}>{panels}</div></figure>"#,
        escaped(figure.title)
    )
}

fn levels(outcome: &Outcome, factor: &str) -> Vec<String> {
    outcome.factors.iter().find(|known| known.name == factor).map_or(Vec::new(), |known| known.levels.clone())
}

fn hint(point: &Point, summary: &Summary) -> String {
    format!("{}: {}", point.label(&[]), interval(summary))
}

fn interval(summary: &Summary) -> String {
    let number = crate::experiment::number;
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
    let unit = outcome.factors.iter().find(|factor| factor.name == figure.x).map_or("", |factor| factor.unit);
    let unit = match figure.kind {
        FigureKind::PowerLines => format!("{unit}, as powers of 2"),
        _ => unit.to_owned(),
    };
    LinePlot {
        lines: series.iter().zip(SERIES.into_iter().cycle()).map(line).collect(),
        x_axis: if unit.is_empty() {
            figure.x.replace('_', " ")
        } else {
            format!("{} ({unit})", figure.x.replace('_', " "))
        },
        y_axis: figure.axis.to_string(),
        logarithmic: figure.kind == FigureKind::LogLines,
    }
    .svg()
}

fn bars(outcome: &Outcome, figure: &Figure, points: &[&Point], series: &[String]) -> String {
    let group = |level: &String| {
        let bars = series.iter().zip(SERIES.into_iter().cycle()).filter_map(|(of, class)| {
            let point =
                points.iter().find(|point| point.level(figure.x) == level && point.level(figure.series) == of)?;
            let summary = point.summary(figure.metric)?;
            Some(Bar { class, value: summary.mean, interval: bounds(summary), hint: hint(point, summary) })
        });
        (level.clone(), bars.collect::<Vec<_>>())
    };
    let groups: Vec<_> = levels(outcome, figure.x).iter().map(group).filter(|(_, bars)| !bars.is_empty()).collect();
    upright_bars(&groups, figure.axis)
}

/// Boxes of the medians at each level of a factor, over the smallest of the panel.
fn boxes(outcome: &Outcome, figure: &Figure, points: &[&Point]) -> String {
    let median = |point: &&&Point| Some(point.summary(figure.metric)?.median);
    let best = points.iter().filter_map(|point| median(&point)).fold(f64::INFINITY, f64::min);
    let of_level = |level: &String| {
        let within = points.iter().filter(|point| point.level(figure.x) == level);
        let overheads: Vec<f64> = within.filter_map(|point| Some((median(&point)? / best - 1.0) * 100.0)).collect();
        Some((level.clone(), Quartiles::of(&overheads)?))
    };
    let all: Vec<_> = levels(outcome, figure.x).iter().filter_map(of_level).collect();
    upright_boxes(&all, figure.axis, MOST_OVERHEAD)
}

/// All results with their intervals, and the classes of the best.
fn table(outcome: &Outcome) -> String {
    let points = &outcome.findings.points;
    let metrics: BTreeSet<&str> = points.iter().flat_map(|point| point.metrics.keys().copied()).collect();
    let facts: BTreeSet<&str> = points.iter().flat_map(|point| point.facts.keys().copied()).collect();
    let name = |name: &str| name.trim_start_matches("found_").replace('_', " ");
    let mut head: String = outcome.factors.iter().map(|factor| format!("<th>{}</th>", name(factor.name))).collect();
    head.extend(metrics.iter().map(|metric| format!("<th>{}</th>", name(metric))));
    head.extend(facts.iter().map(|fact| format!("<th>{}</th>", name(fact))));
    let row = |point: &Point| {
        let mut cells: String =
            outcome.factors.iter().map(|factor| format!("<td>{}</td>", escaped(point.level(factor.name)))).collect();
        cells.extend(metrics.iter().map(|metric| {
            format!("<td>{}</td>", point.summary(metric).map_or(String::new(), |summary| escaped(&interval(summary))))
        }));
        cells.extend(facts.iter().map(|fact| {
            format!("<td>{}</td>", point.facts.get(fact).map_or(String::new(), |fact| crate::experiment::number(*fact)))
        }));
        format!("<tr>{cells}</tr>")
    };
    let rows: String = points.iter().map(row).collect();
    let classes: String = outcome.experiment.figures.iter().map(|figure| class_rows(outcome, figure)).collect();
    let classes = if classes.is_empty() {
        classes
    } else {
        format!(
            r#"<details><summary>Best at each place, and what can't be told from it</summary><div class="scroll"><table>
<tr><th class="text">at</th><th class="text">best</th><th class="text">by the paper's rule</th><th class="text">with Holm's
correction</th></tr>{classes}</table></div></details>"#
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

fn class_rows(outcome: &Outcome, figure: &Figure) -> String {
    let row = |class: crate::experiment::Class| {
        let at: Vec<String> = class.at.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        let cells = [at.join(", "), class.best, class.members.join(", "), class.corrected.join(", ")];
        let cells: String = cells.iter().map(|cell| format!(r#"<td class="text">{}</td>"#, escaped(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    outcome.classes(figure).into_iter().map(row).collect()
}
