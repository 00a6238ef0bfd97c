//! What the paper's claims have in common: one layout against another, and one level of a factor against another.

use crate::experiment::{Bench, Context, Expectation, Mode, Point};
use crate::statistics::Summary;
use gingham::storage::model::HeapLayout;
use std::time::Duration;

/// Levels that results are selected by.
pub type AtLevels<'a> = &'a [(&'a str, &'a str)];

/// NSM and PAX, which most experiments compare.
pub const PAIR: [HeapLayout; 2] = [HeapLayout::Nsm, HeapLayout::Pax];

/// Names of layouts, as levels.
pub fn names(layouts: &[HeapLayout]) -> Vec<&'static str> {
    layouts.iter().map(|layout| layout.name()).collect()
}

/// Measuring time that is enough for an experiment in a quick run: all of this paper's together take two minutes at most.
pub fn enough(bench: &Bench) -> Option<Duration> {
    (bench.settings.mode == Mode::Quick).then(|| Duration::from_secs(5))
}

/// The points of a layout at some levels.
pub fn points<'a>(context: &Context<'a>, layout: &str, at: AtLevels<'_>) -> Vec<&'a Point> {
    let chosen = |point: &&Point| at.iter().all(|(factor, level)| point.level(factor) == *level);
    context.findings.points.iter().filter(|point| point.level("layout") == layout).filter(chosen).collect()
}

/// An expectation of a metric of a layout and that of another, at each place.
pub fn against(
    context: &Context<'_>,
    (layout, other): (&str, &str),
    metric: &str,
    at: AtLevels<'_>,
    expectation: impl Fn(String, &Summary, &Summary) -> Expectation,
) -> Vec<Expectation> {
    let each = |point: &&Point| {
        let rival = context.findings.beside(point, "layout", other)?;
        Some(expectation(place(point, at), point.summary(metric)?, rival.summary(metric)?))
    };
    points(context, layout, at).iter().filter_map(each).collect()
}

/// At each place, a layout takes less than `factor` times the time of another.
pub fn faster(context: &Context<'_>, layouts: (&str, &str), factor: f64, at: AtLevels<'_>) -> Vec<Expectation> {
    against(context, layouts, "time", at, |label, a, b| Expectation::less(label, a, b, factor))
}

/// For each place of a layout, a metric at one level of a factor against that at another.
pub fn between(
    context: &Context<'_>,
    layout: &str,
    (factor, level, other): (&'static str, &str, &str),
    metric: &str,
    at: AtLevels<'_>,
    expectation: impl Fn(String, &Summary, &Summary) -> Expectation,
) -> Vec<Expectation> {
    let each = |point: &&Point| {
        let rival = context.findings.beside(point, factor, other)?;
        let label = format!("{layout}, {factor} {level} and {other}");
        Some(expectation(label, point.summary(metric)?, rival.summary(metric)?))
    };
    let points = points(context, layout, at);
    points.iter().filter(|point| point.level(factor) == level).filter_map(each).collect()
}

/// NSM's time comes nearer to PAX's from one level of a factor to another: the quotient of the two gets smaller.
pub fn converges(
    context: &Context<'_>,
    (factor, from, to): (&'static str, &str, &str),
    at: AtLevels<'_>,
) -> Vec<Expectation> {
    let times = |level: &str| {
        let of = |layout| {
            let point = points(context, layout, at).into_iter().find(|point| point.level(factor) == level)?;
            point.time()
        };
        Some((of("nsm")?, of("pax")?))
    };
    let both = times(to).zip(times(from));
    let expectation = |(late, early)| {
        let named = at.iter().map(|(_, level)| format!("{level}, ")).collect::<String>();
        Expectation::smaller_quotient(format!("{named}nsm over pax at {to} and at {from}"), late, early)
    };
    both.map(expectation).into_iter().collect()
}

/// The levels that a claim's own words don't name; all of them when these name all.
fn place(point: &Point, at: AtLevels<'_>) -> String {
    let mut named: Vec<&str> = at.iter().map(|(factor, _)| *factor).collect();
    named.push("layout");
    let place = point.label(&named);
    if place.is_empty() { point.label(&["layout"]) } else { place }
}
