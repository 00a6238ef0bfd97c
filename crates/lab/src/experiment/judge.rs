//! The verdict on a claim. A claim is a list of expectations, each of which is met, refuted or left open by the samples;
//! what the samples leave open is "can't be told here", not a yes.

use crate::statistics::{CONFIDENCE, Interval, Summary, compare, holm};
use crate::words::number;
use std::cmp::Ordering;

/// Whether a claim is true on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every expectation is met.
    Holds,
    /// At least one is refuted.
    Fails,
    /// None is refuted, and at least one is left open.
    Unknown,
}

impl Verdict {
    /// Its name in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Unknown => "unknown",
        }
    }

    /// What a reader is told.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Unknown => "cannot be told here",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The figures.
    pub evidence: String,
}

impl Judgement {
    /// Nothing can be said, and why.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Unknown, evidence: why.into() }
    }
}

/// Something that a claim expects of one or two results.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// What it is about.
    label: String,
    /// The figures.
    figures: String,
    /// Met, refuted, or `None`: left open.
    met: Option<bool>,
    /// Welch's test where two results are compared, for the correction of many comparisons.
    p: Option<f64>,
}

impl Expectation {
    /// `a` is smaller than `factor` times `b`.
    pub fn less(label: impl Into<String>, a: &Summary, b: &Summary, factor: f64) -> Self {
        let bound = scaled(b, factor);
        let comparison = compare(a, &bound);
        let met = match comparison.order {
            Ordering::Less => Some(true),
            Ordering::Greater => Some(false),
            Ordering::Equal => None,
        };
        let figures = format!("{} against {}", number(a.mean), number(b.mean));
        Self { label: label.into(), figures, met, p: Some(comparison.p) }
    }

    /// `a` lies below a number.
    pub fn below(label: impl Into<String>, a: &Summary, bound: f64) -> Self {
        let met = match a.interval {
            Interval { high, .. } if high < bound => Some(true),
            Interval { low, .. } if low >= bound => Some(false),
            _ => None,
        };
        Self { label: label.into(), figures: interval(a), met, p: None }
    }

    /// `a` lies above a number.
    pub fn above(label: impl Into<String>, a: &Summary, bound: f64) -> Self {
        let met = match a.interval {
            Interval { low, .. } if low > bound => Some(true),
            Interval { high, .. } if high <= bound => Some(false),
            _ => None,
        };
        Self { label: label.into(), figures: interval(a), met, p: None }
    }

    /// `a` lies within `tolerance` of a number.
    pub fn near(label: impl Into<String>, a: &Summary, value: f64, tolerance: f64) -> Self {
        let (low, high) = (value - tolerance, value + tolerance);
        let met = match a.interval {
            found if found.low >= low && found.high <= high => Some(true),
            found if found.high < low || found.low > high => Some(false),
            _ => None,
        };
        let figures = format!("{}, {} expected", interval(a), number(value));
        Self { label: label.into(), figures, met, p: None }
    }

    /// `a` and `b` differ by no more than the factor, either way.
    pub fn alike(label: impl Into<String>, a: &Summary, b: &Summary, factor: f64) -> Self {
        let (up, down) = (Self::less("", a, b, factor), Self::less("", b, a, factor));
        let met = match (up.met, down.met) {
            (Some(true), Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        };
        Self { label: label.into(), figures: up.figures, met, p: None }
    }

    /// The quotient `a.0 / a.1` is smaller than `b.0 / b.1`, judged on logarithms: the relative errors of the four means
    /// add up as squares.
    pub fn smaller_quotient(label: impl Into<String>, a: (&Summary, &Summary), b: (&Summary, &Summary)) -> Self {
        let (difference, error, figures) = quotients(a, b);
        let met = (difference.abs() > error).then_some(difference < 0.0);
        Self { label: label.into(), figures, met, p: None }
    }

    /// The two quotients differ by no more than the factor, either way; judged in the same way.
    pub fn alike_quotients(
        label: impl Into<String>,
        a: (&Summary, &Summary),
        b: (&Summary, &Summary),
        factor: f64,
    ) -> Self {
        let (difference, error, figures) = quotients(a, b);
        let met = match (difference.abs() + error, difference.abs() - error) {
            (most, _) if most <= factor.ln() => Some(true),
            (_, least) if least > factor.ln() => Some(false),
            _ => None,
        };
        Self { label: label.into(), figures, met, p: None }
    }

    /// Something that the caller has judged: met, refuted, or left open.
    pub fn told(label: impl Into<String>, figures: impl Into<String>, met: Option<bool>) -> Self {
        Self { label: label.into(), figures: figures.into(), met, p: None }
    }

    /// Something that needs no statistics.
    pub fn plain(label: impl Into<String>, figures: impl Into<String>, met: bool) -> Self {
        Self { label: label.into(), figures: figures.into(), met: Some(met), p: None }
    }

    /// True when the samples meet it.
    pub fn is_met(&self) -> bool {
        self.met == Some(true)
    }

    /// The verdict on all of them together.
    pub fn judge(all: Vec<Self>) -> Judgement {
        if all.is_empty() {
            return Judgement::unknown("nothing was measured that could tell");
        }
        let of = |met: Option<bool>| all.iter().filter(move |expectation| expectation.met == met);
        let (refuted, open) = (of(Some(false)).count(), of(None).count());
        let verdict = match (refuted, open) {
            (0, 0) => Verdict::Holds,
            (0, _) => Verdict::Unknown,
            _ => Verdict::Fails,
        };
        let mut evidence = format!("{} of {} as expected", all.len() - refuted - open, all.len());
        if let Some(corrected) = corrected(&all) {
            evidence += &format!(" ({corrected} by Welch's test with Holm's correction)");
        }
        evidence += &listed("against it", of(Some(false)));
        evidence += &listed("open", of(None));
        evidence += &listed("for it", of(Some(true)));
        Judgement { verdict, evidence }
    }
}

/// The difference of the logarithms of two quotients, its error, and the quotients.
fn quotients(a: (&Summary, &Summary), b: (&Summary, &Summary)) -> (f64, f64, String) {
    let (qa, qb) = (a.0.mean / a.1.mean, b.0.mean / b.1.mean);
    let parts = [a.0, a.1, b.0, b.1];
    let error = parts.iter().map(|part| (part.relative_margin()).powi(2)).sum::<f64>().sqrt();
    (qa.ln() - qb.ln(), error, format!("{} against {}", number(qa), number(qb)))
}

/// How many expectations are met when the tests of all are corrected together; `None` without tests.
fn corrected(all: &[Expectation]) -> Option<usize> {
    let tested: Vec<_> = all.iter().filter_map(|expectation| Some((expectation.met?, expectation.p?))).collect();
    let adjusted = holm(&all.iter().filter_map(|expectation| expectation.p).collect::<Vec<_>>());
    let with_p = all.iter().filter(|expectation| expectation.p.is_some());
    let met = with_p.zip(&adjusted).filter(|(expectation, p)| expectation.met == Some(true) && **p < 1.0 - CONFIDENCE);
    (!tested.is_empty()).then(|| met.count())
}

/// The first few expectations of a kind; all of them would be a table.
fn listed<'a>(kind: &str, expectations: impl Iterator<Item = &'a Expectation>) -> String {
    const SHOWN: usize = 3;
    let all: Vec<String> =
        expectations.map(|expectation| format!("{} ({})", expectation.label, expectation.figures)).collect();
    match all.len() {
        0 => String::new(),
        n if n <= SHOWN => format!("; {kind}: {}", all.join(", ")),
        n => format!("; {kind}: {}, and {} more", all[..SHOWN].join(", "), n - SHOWN),
    }
}

/// A summary of values `factor` times as large.
fn scaled(summary: &Summary, factor: f64) -> Summary {
    Summary {
        n: summary.n,
        mean: summary.mean * factor,
        median: summary.median * factor,
        deviation: summary.deviation * factor,
        interval: Interval { low: summary.interval.low * factor, high: summary.interval.high * factor },
        dropped: summary.dropped.map(|dropped| dropped * factor),
    }
}

fn interval(summary: &Summary) -> String {
    format!("{} to {}", number(summary.interval.low), number(summary.interval.high))
}

/// The line through points by least squares: slope, intercept, and the part of the variance that it explains.
pub fn linear_fit(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(x - mx, y - my)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let slope = xy / xx;
    (slope, my - slope * mx, xy * xy / (xx * yy))
}
