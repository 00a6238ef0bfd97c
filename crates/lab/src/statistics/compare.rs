//! Two samples: which is smaller, or that they can't be told apart (runtime-fragility paper, section 3.4).

use super::summary::{CONFIDENCE, Summary};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::cmp::Ordering;

/// Which of the paper's three steps decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The intervals have nothing in common.
    DisjointIntervals,
    /// One's mean lies in the other's interval.
    MeanWithin,
    /// Neither: Welch's t-test decided.
    Welch,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// `Less` when the first mean is smaller, `Equal` when the two can't be told apart.
    pub order: Ordering,
    /// What decided.
    pub rule: Rule,
    /// Welch's test of the same two samples, for the correction of many comparisons.
    pub p: f64,
}

/// Compares two summaries as the paper does: disjoint intervals differ; when one mean lies in the other's interval, they
/// can't be told apart; otherwise Welch's t-test decides.
pub fn compare(a: &Summary, b: &Summary) -> Comparison {
    let p = welch(a, b).p;
    let rule = if a.interval.is_disjoint(b.interval) {
        Rule::DisjointIntervals
    } else if a.interval.holds(b.mean) || b.interval.holds(a.mean) {
        Rule::MeanWithin
    } else {
        Rule::Welch
    };
    let differ = match rule {
        Rule::DisjointIntervals => true,
        Rule::MeanWithin => false,
        Rule::Welch => p < 1.0 - CONFIDENCE,
    };
    // A sample without values has no mean, and is like any other.
    let by_mean = a.mean.partial_cmp(&b.mean).unwrap_or(Ordering::Equal);
    Comparison { order: if differ { by_mean } else { Ordering::Equal }, rule, p }
}

/// Welch's t-test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Difference of the means over its standard error.
    pub t: f64,
    /// Degrees of freedom, by Welch and Satterthwaite.
    pub freedom: f64,
    /// Two-sided probability of so large a difference between samples of equal means.
    pub p: f64,
}

/// Tests whether two samples of perhaps unequal variances have different means. Samples that never vary differ when
/// their means do; a sample of fewer than two values tells nothing (p = 1).
pub fn welch(a: &Summary, b: &Summary) -> Welch {
    if a.n < 2 || b.n < 2 {
        return Welch { t: 0.0, freedom: 0.0, p: 1.0 };
    }
    let variance = |of: &Summary| of.deviation.powi(2) / of.n as f64;
    let (va, vb) = (variance(a), variance(b));
    let error = (va + vb).sqrt();
    if error == 0.0 {
        let p = if a.mean == b.mean { 1.0 } else { 0.0 };
        return Welch { t: (a.mean - b.mean) / error, freedom: f64::INFINITY, p };
    }
    let t = (a.mean - b.mean) / error;
    let freedom = (va + vb).powi(2) / (va.powi(2) / (a.n - 1) as f64 + vb.powi(2) / (b.n - 1) as f64);
    let p = StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| 2.0 * student.cdf(-t.abs()));
    Welch { t, freedom, p }
}
