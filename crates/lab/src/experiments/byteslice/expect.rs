//! What the paper's claims have in common: one packing against others at every place of a figure, or one width against
//! another.

use crate::experiment::{Context, Expectation, Judgement, Point};
use crate::statistics::Summary;

/// Levels that results are selected by.
pub type At<'a> = &'a [(&'a str, &'a str)];

/// The points of a packing at some levels.
pub fn points<'a>(context: &Context<'a>, packing: &str, at: At<'_>) -> Vec<&'a Point> {
    let chosen = |point: &&Point| at.iter().all(|(factor, level)| point.level(factor) == *level);
    context.findings.points.iter().filter(|point| point.level("packing") == packing).filter(chosen).collect()
}

/// At every place, the time of `packing` is smaller than `factor` times that of each of `others`.
pub fn faster(context: &Context<'_>, packing: &str, others: &[&str], factor: f64, at: At<'_>) -> Vec<Expectation> {
    against(context, packing, others, "time", at, |label, a, b| Expectation::less(label, a, b, factor))
}

/// An expectation for every place and each of `others`.
pub fn against(
    context: &Context<'_>,
    packing: &str,
    others: &[&str],
    metric: &str,
    at: At<'_>,
    expectation: impl Fn(String, &Summary, &Summary) -> Expectation,
) -> Vec<Expectation> {
    let mut all = Vec::new();
    for point in points(context, packing, at) {
        for other in others {
            let rival = context.findings.beside(point, "packing", other);
            if let (Some(a), Some(b)) = (point.summary(metric), rival.and_then(|rival| rival.summary(metric))) {
                all.push(expectation(format!("{packing} and {other} at {}", place(point, at)), a, b));
            }
        }
    }
    all
}

/// For every place of `packing`, the result at one level of a factor against that at another.
pub fn between(
    context: &Context<'_>,
    packing: &str,
    factor: &'static str,
    (level, other): (&str, &str),
    at: At<'_>,
    expectation: impl Fn(String, &Summary, &Summary) -> Expectation,
) -> Vec<Expectation> {
    let mut all = Vec::new();
    for point in points(context, packing, at).into_iter().filter(|point| point.level(factor) == level) {
        let rival = context.findings.beside(point, factor, other);
        if let (Some(a), Some(b)) = (point.time(), rival.and_then(Point::time)) {
            all.push(expectation(format!("{packing}, {factor} {level} and {other} at {}", place(point, at)), a, b));
        }
    }
    all
}

/// The levels that a claim's own words don't name.
fn place(point: &Point, at: At<'_>) -> String {
    let mut named: Vec<&str> = at.iter().map(|(factor, _)| *factor).collect();
    named.push("packing");
    point.label(&named)
}

/// The points of `packing` at widths of `range`.
pub fn at_widths(points: Vec<&Point>, range: std::ops::RangeInclusive<u32>) -> Vec<&Point> {
    points.into_iter().filter(|point| range.contains(&(point.number("width") as u32))).collect()
}

/// Why a claim about what is counted is left open.
pub const NOT_COUNTED: &str = "this machine grants no counters, and valgrind has counted nothing";

/// A claim about instructions: judged where the processor or valgrind counts them, and left open elsewhere.
pub fn fewest_instructions(context: &Context<'_>, packing: &str, others: &[&str], at: At<'_>) -> Judgement {
    let all = against(context, packing, others, "instructions", at, |label, a, b| Expectation::less(label, a, b, 1.0));
    if all.is_empty() {
        return Judgement::unknown(NOT_COUNTED);
    }
    Expectation::judge(all)
}
