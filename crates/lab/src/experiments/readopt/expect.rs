//! Means that the paper's claims share: where two ways to store a table take the same time, what is constant, what gains most.

use super::measured::disk;
use crate::experiment::{Context, Expectation, Judgement, Point};
use crate::statistics::Summary;
use crate::words::{counted, number};

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
fn results<'a>(context: &Context<'a>, at: LineLevels<'_>) -> Vec<(f64, &'a Point)> {
    let chosen = |point: &&Point| {
        point.level("disk") == disk(false) && at.iter().all(|(factor, level)| point.level(factor) == *level)
    };
    let points = context.findings.points.iter().filter(chosen);
    let mut results: Vec<(f64, &Point)> = points.map(|point| (point.number("columns"), point)).collect();
    results.sort_by(|a, b| a.0.total_cmp(&b.0));
    results
}

/// A metric of these results.
pub fn line<'a>(context: &Context<'a>, at: LineLevels<'_>, metric: &str) -> Vec<(f64, &'a Summary)> {
    let results = results(context, at).into_iter();
    results.filter_map(|(columns, point)| Some((columns, point.summary(metric)?))).collect()
}

/// Two results at the same number of columns.
#[derive(Debug)]
pub struct Beside<'a> {
    /// The number of columns.
    pub columns: f64,
    /// One.
    pub a: &'a Summary,
    /// The other.
    pub b: &'a Summary,
    /// One over the other and one less the other, query by query, where both had the same queries: what queries differ in
    /// widens neither.
    paired: Option<(Summary, Summary)>,
}

impl Beside<'_> {
    /// One takes less than a part of the other.
    pub fn less(&self, label: String, part: f64) -> Expectation {
        match &self.paired {
            Some((ratio, _)) => Expectation::below(label, ratio, part),
            None => Expectation::less(label, self.a, self.b, part),
        }
    }

    /// One takes more than a part of the other.
    fn more(&self, label: String, part: f64) -> Expectation {
        match &self.paired {
            Some((ratio, _)) => Expectation::above(label, ratio, part),
            None => Expectation::less(label, self.b, self.a, 1.0 / part),
        }
    }

    /// The two differ by less than a tenth.
    fn alike(&self, label: String) -> Expectation {
        match &self.paired {
            Some((ratio, _)) => Expectation::near(label, ratio, 1.0, ALIKE - 1.0),
            None => Expectation::alike(label, self.a, self.b, ALIKE),
        }
    }

    /// One less the other, and how far that may be off.
    fn difference(&self) -> (f64, f64) {
        let margin = |of: &Summary| (of.interval.high - of.interval.low) / 2.0;
        let margin =
            self.paired.as_ref().map_or_else(|| margin(self.a).hypot(margin(self.b)), |(_, less)| margin(less));
        (self.a.mean - self.b.mean, if margin.is_finite() { margin } else { 0.0 })
    }
}

/// Factors whose levels make queries differ.
const OF_QUERIES: [&str; 3] = ["columns", "predicates", "correlation"];

/// Results at the same numbers of columns, two by two.
pub fn beside<'a>(context: &Context<'a>, a: LineLevels<'_>, b: LineLevels<'_>, metric: &str) -> Vec<Beside<'a>> {
    let others = results(context, b);
    let pair = |(columns, point): (f64, &'a Point)| {
        let (_, other) = others.iter().find(|(other, _)| *other == columns)?;
        let (a, b) = (point.metrics.get(metric)?, other.metrics.get(metric)?);
        let same = OF_QUERIES.iter().all(|factor| point.level(factor) == other.level(factor));
        let by_query = |of: fn(f64, f64) -> f64| {
            let all: Vec<f64> = a.samples.iter().zip(&b.samples).map(|(a, b)| of(*a, *b)).collect();
            Summary::of_all(&all)
        };
        let paired =
            (same && a.samples.len() == b.samples.len()).then(|| (by_query(|a, b| a / b), by_query(|a, b| a - b)));
        Some(Beside { columns, a: &a.summary, b: &b.summary, paired })
    };
    results(context, a).into_iter().filter_map(pair).collect()
}

/// The number of columns up to which one line lies below another, interpolated: at the lines' means, and the range that their
/// intervals allow. 0 where it never does, infinite where it does throughout.
pub fn crossover(points: &[Beside<'_>]) -> Option<(f64, f64, f64)> {
    let at = |side: f64| {
        let difference = |beside: &Beside<'_>| {
            let (difference, margin) = beside.difference();
            (beside.columns, difference + side * margin)
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
    a: LineLevels<'_>,
    b: LineLevels<'_>,
    metric: &str,
    expected: f64,
    tolerance: f64,
) -> Option<Expectation> {
    let (low, middle, high) = crossover(&beside(context, a, b, metric))?;
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
    Some(Expectation::told(named(a), figures, met))
}

/// The levels that a line is known by.
pub fn named(at: LineLevels<'_>) -> String {
    let level = |(factor, level): &(&str, &str)| match *factor {
        "selectivity" => format!("{level} %"),
        _ => (*level).to_owned(),
    };
    at.iter().map(level).collect::<Vec<_>>().join(", ")
}

/// So many columns in words.
pub fn in_columns(count: f64) -> String {
    counted(count as u64, "column")
}

/// A line's results all differ from its first by less than a tenth.
pub fn constant(context: &Context<'_>, at: LineLevels<'_>, metric: &str) -> Vec<Expectation> {
    let line = line(context, at, metric);
    let Some(((_, first), others)) = line.split_first() else { return Vec::new() };
    let alike = |(columns, summary): &(f64, &Summary)| {
        Expectation::alike(format!("{}, {} and the fewest", named(at), in_columns(*columns)), summary, first, ALIKE)
    };
    others.iter().map(alike).collect()
}

/// Two lines differ by less than a tenth at each number of columns.
pub fn alike(context: &Context<'_>, a: LineLevels<'_>, b: LineLevels<'_>, metric: &str) -> Vec<Expectation> {
    let each = |of: Beside<'_>| of.alike(format!("{}, {}", named(a), in_columns(of.columns)));
    beside(context, a, b, metric).into_iter().map(each).collect()
}

/// One line lies below a part of another at each number of columns that `which` takes.
pub fn below(
    context: &Context<'_>,
    a: LineLevels<'_>,
    b: LineLevels<'_>,
    metric: &str,
    part: f64,
    which: impl Fn(f64) -> bool,
) -> Vec<Expectation> {
    let points = beside(context, a, b, metric).into_iter().filter(|of| which(of.columns));
    points.map(|of| of.less(format!("{}, {}", named(a), in_columns(of.columns)), part)).collect()
}

/// The most that one line gains over another, over all of `pairs`, is about `expected`: within a quarter of it.
pub fn most_gain(
    context: &Context<'_>,
    pairs: &[(LineLevels<'_>, LineLevels<'_>)],
    metric: &str,
    expected: f64,
) -> Judgement {
    let all = pairs.iter().flat_map(|(a, b)| beside(context, a, b, metric).into_iter().map(|of| (named(a), of)));
    let gain = |of: &Beside<'_>| of.b.mean / of.a.mean;
    let Some((name, most)) = all.max_by(|a, b| gain(&a.1).total_cmp(&gain(&b.1))) else {
        return Judgement::unknown("nothing was measured that could tell");
    };
    let label = format!("{name}, {}: {:.2} times", in_columns(most.columns), gain(&most));
    let at_least = most.less(label.clone(), 1.0 / (0.75 * expected));
    let at_most = most.more(format!("{label}, no more"), 1.0 / (1.25 * expected));
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
    use crate::experiment::Measured;

    #[test]
    fn crossings_are_interpolated() {
        assert_eq!(crossing(&[(1.0, -2.0), (3.0, -1.0), (5.0, 1.0)]), 4.0);
        assert_eq!(crossing(&[(1.0, 0.5), (3.0, -1.0)]), 0.0);
        assert_eq!(crossing(&[(1.0, -1.0), (10.0, -0.1)]), f64::INFINITY);
        assert_eq!(crossing(&[(1.0, -1.0), (2.0, 0.0), (3.0, 5.0)]), 2.0);
    }

    #[test]
    fn intervals_widen_crossovers() {
        let measured =
            |mean: f64, deviation: f64| Measured::of_all(String::new(), vec![mean - deviation, mean, mean + deviation]);
        let (a, b) = ([measured(1.0, 0.1), measured(2.0, 0.1), measured(4.0, 0.1)], measured(3.0, 0.1));
        let points: Vec<Beside<'_>> = [1.0, 3.0, 5.0]
            .into_iter()
            .zip(&a)
            .map(|(columns, a)| Beside { columns, a: &a.summary, b: &b.summary, paired: None })
            .collect();
        let (low, middle, high) = crossover(&points).unwrap();
        assert!(low < middle && middle < high, "{low} {middle} {high}");
        assert!((middle - 4.0).abs() < 1e-9);
        assert_eq!(crossover(&[]), None);
    }
}
