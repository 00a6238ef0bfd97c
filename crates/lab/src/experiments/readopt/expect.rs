//! Means that the paper's claims share: where two ways to store a table take the same time, what is constant, what gains most.

use super::measured::disk;
use crate::experiment::{Context, Expectation, Judgement, Point, number};
use crate::statistics::Summary;

/// The experiment that others derive from: selectivities on Narrow-E.
pub const SELECTIVITIES: &str = "readopt.fig2";
/// Times at the full rate of this machine's disk.
pub const HERE: &str = "time";
/// Times at the rate of the paper's disk.
pub const PAPER: &str = "slow";
/// Times at the paper's balance between processor and disk, on this processor.
pub const BALANCED: &str = "balanced";
/// Two times are alike, or one is constant, when they differ by less than this factor.
pub const ALIKE: f64 = 1.1;

/// Levels that results are selected by.
pub type LineLevels<'a> = &'a [(&'a str, &'a str)];

/// The results at some levels, at the full rate, by their number of columns.
pub fn line<'a>(context: &Context<'a>, at: LineLevels<'_>, metric: &str) -> Vec<(f64, &'a Summary)> {
    let chosen = |point: &&Point| {
        point.level("disk") == disk(false) && at.iter().all(|(factor, level)| point.level(factor) == *level)
    };
    let points = context.findings.points.iter().filter(chosen);
    let mut line: Vec<(f64, &Summary)> =
        points.filter_map(|point| Some((point.number("columns"), point.summary(metric)?))).collect();
    line.sort_by(|a, b| a.0.total_cmp(&b.0));
    line
}

/// Results at the same numbers of columns, two by two.
pub fn beside<'a>(
    context: &Context<'a>,
    (a, b): (LineLevels<'_>, LineLevels<'_>),
    metric: &str,
) -> Vec<(f64, &'a Summary, &'a Summary)> {
    let others = line(context, b, metric);
    let pair = |(columns, summary): (f64, &'a Summary)| {
        let other = others.iter().find(|(other, _)| *other == columns)?;
        Some((columns, summary, other.1))
    };
    line(context, a, metric).into_iter().filter_map(pair).collect()
}

/// The number of columns up to which one line lies below another, interpolated: at the lines' means, and the range that their
/// intervals allow. 0 where it never does, infinite where it does throughout.
pub fn crossover(points: &[(f64, &Summary, &Summary)]) -> Option<(f64, f64, f64)> {
    let at = |side: f64| {
        let difference = |(columns, a, b): &(f64, &Summary, &Summary)| {
            let margin = |of: &Summary| (of.interval.high - of.interval.low) / 2.0;
            let both = margin(a).hypot(margin(b));
            (*columns, a.mean - b.mean + side * if both.is_finite() { both } else { 0.0 })
        };
        crossing(&points.iter().map(difference).collect::<Vec<_>>())
    };
    (!points.is_empty()).then(|| (at(1.0), at(0.0), at(-1.0)))
}

/// Where differences first rise above 0.
fn crossing(differences: &[(f64, f64)]) -> f64 {
    let Some(above) = differences.iter().position(|(_, difference)| *difference > 0.0) else { return f64::INFINITY };
    let Some(below) = above.checked_sub(1) else { return 0.0 };
    let ((x0, y0), (x1, y1)) = (differences[below], differences[above]);
    x0 + (x1 - x0) * -y0 / (y1 - y0)
}

/// One line lies below another up to `expected` columns, within `tolerance` columns. `expected` is 0 for never: it may do so at a
/// single column, the fewest that there are.
pub fn crosses(
    context: &Context<'_>,
    lines: (LineLevels<'_>, LineLevels<'_>),
    metric: &str,
    (expected, tolerance): (f64, f64),
) -> Option<Expectation> {
    let (low, middle, high) = crossover(&beside(context, lines, metric))?;
    let most = if expected == 0.0 { 1.0 } else { expected };
    let fits = |found: f64| (expected == 0.0 || found >= most - tolerance) && found <= most + tolerance;
    let met = match (fits(low), fits(high)) {
        (true, true) => Some(true),
        _ if (low..=high).contains(&most) || fits(low) || fits(high) => None,
        _ => Some(false),
    };
    let shown = |found: f64| match found {
        0.0 => "never".to_owned(),
        found if found.is_finite() => format!("{found:.1}"),
        _ => "always".to_owned(),
    };
    let wanted = shown(expected);
    let figures = format!("{}, by the intervals {} to {}; {wanted} expected", shown(middle), shown(low), shown(high));
    Some(Expectation::told(named(lines.0), figures, met))
}

/// The levels that a line is known by.
pub fn named(at: LineLevels<'_>) -> String {
    let level = |(factor, level): &(&str, &str)| match *factor {
        "selectivity" => format!("{level} %"),
        _ => (*level).to_owned(),
    };
    at.iter().map(level).collect::<Vec<_>>().join(", ")
}

/// A line's results all differ from its first by less than a tenth.
pub fn constant(context: &Context<'_>, at: LineLevels<'_>, metric: &str) -> Vec<Expectation> {
    let line = line(context, at, metric);
    let Some(((_, first), others)) = line.split_first() else { return Vec::new() };
    let alike = |(columns, summary): &(f64, &Summary)| {
        Expectation::alike(format!("{}, {columns} columns and the fewest", named(at)), summary, first, ALIKE)
    };
    others.iter().map(alike).collect()
}

/// Two lines differ by less than a tenth at each number of columns.
pub fn alike(context: &Context<'_>, lines: (LineLevels<'_>, LineLevels<'_>), metric: &str) -> Vec<Expectation> {
    let each = |(columns, a, b)| Expectation::alike(format!("{}, {columns} columns", named(lines.0)), a, b, ALIKE);
    beside(context, lines, metric).into_iter().map(each).collect()
}

/// One line lies below a part of another at each number of columns that `which` takes.
pub fn below(
    context: &Context<'_>,
    lines: (LineLevels<'_>, LineLevels<'_>),
    (metric, part): (&str, f64),
    which: impl Fn(f64) -> bool,
) -> Vec<Expectation> {
    let points = beside(context, lines, metric).into_iter().filter(|(columns, _, _)| which(*columns));
    let each = |(columns, a, b)| Expectation::less(format!("{}, {columns} columns", named(lines.0)), a, b, part);
    points.map(each).collect()
}

/// The most that one line gains over another, over all of `pairs`, is about `expected`: within a quarter of it.
pub fn most_gain(
    context: &Context<'_>,
    pairs: &[(LineLevels<'_>, LineLevels<'_>)],
    metric: &str,
    expected: f64,
) -> Judgement {
    let gains = pairs.iter().flat_map(|lines| {
        beside(context, *lines, metric)
            .into_iter()
            .map(|(columns, a, b)| (b.mean / a.mean, format!("{}, {columns} columns", named(lines.0)), a, b))
    });
    let Some((gain, label, a, b)) = gains.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Judgement::unknown("nothing was measured that could tell");
    };
    let at_least = Expectation::less(format!("{label}: {gain:.2} times"), a, b, 1.0 / (0.75 * expected));
    let at_most = Expectation::less(format!("{label}: {gain:.2} times, no more"), b, a, 1.25 * expected);
    Expectation::judge(vec![at_least, at_most])
}

/// Runs held to the rate of the paper's disk took what was derived for it, within 5 %.
pub fn derived(context: &Context<'_>) -> Judgement {
    let each = |point: &Point| {
        let ratio = point.summary("found_ratio")?;
        let met = (ratio.mean - 1.0).abs() <= 0.05;
        Some(Expectation::plain(point.label(&["disk"]), format!("{} of what was derived", number(ratio.mean)), met))
    };
    Expectation::judge(context.findings.points.iter().filter_map(each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_interpolated() {
        assert_eq!(crossing(&[(1.0, -2.0), (3.0, -1.0), (5.0, 1.0)]), 4.0);
        assert_eq!(crossing(&[(1.0, 0.5), (3.0, -1.0)]), 0.0);
        assert_eq!(crossing(&[(1.0, -1.0), (10.0, -0.1)]), f64::INFINITY);
        assert_eq!(crossing(&[(1.0, -1.0), (2.0, 0.0), (3.0, 5.0)]), 2.0);
    }

    #[test]
    fn intervals_widen_crossovers() {
        let summary = |mean: f64, deviation: f64| Summary::of_all(&[mean - deviation, mean, mean + deviation]);
        let (a, b) = ([summary(1.0, 0.1), summary(2.0, 0.1), summary(4.0, 0.1)], summary(3.0, 0.1));
        let points: Vec<_> = [1.0, 3.0, 5.0].into_iter().zip(&a).map(|(x, a)| (x, a, &b)).collect();
        let (low, middle, high) = crossover(&points).unwrap();
        assert!(low < middle && middle < high, "{low} {middle} {high}");
        assert!((middle - 4.0).abs() < 1e-9);
        assert_eq!(crossover(&[]), None);
    }
}
