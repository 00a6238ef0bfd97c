//! Grubbs' test for one outlier (F. E. Grubbs, "Procedures for Detecting Outlying Observations in Samples",
//! Technometrics 11, 1969), with the runtime-fragility paper's second condition (section 3.3): a sample whose interval is
//! narrow keeps all its values, since for few values the test alone finds outliers too often.

use super::summary::{CONFIDENCE, margin, mean, standard_deviation, t_quantile};

/// An outlier is dropped only when the interval's radius is at least this part of the mean (the paper's 2.5 %).
pub const OUTLIER_MARGIN: f64 = 0.025;

/// What the test found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grubbs {
    /// Place of the value that is farthest from the mean.
    pub place: usize,
    /// Its distance from the mean in standard deviations.
    pub statistic: f64,
    /// What the statistic must exceed.
    pub critical: f64,
    /// True when it does, and the interval's radius is at least [`OUTLIER_MARGIN`] of the mean.
    pub is_outlier: bool,
}

/// Tests whether the value farthest from the mean, on either side, is an outlier. `None` for fewer than three values, of
/// which the test says nothing, and for values that are all equal.
pub fn grubbs(values: &[f64]) -> Option<Grubbs> {
    let n = values.len();
    let (mean, deviation) = (mean(values), standard_deviation(values));
    if n < 3 || deviation.is_nan() || deviation <= 0.0 {
        return None;
    }
    let distance = |value: &f64| (value - mean).abs();
    let farthest = values.iter().enumerate().max_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
    let (place, value) = farthest?;
    let statistic = distance(value) / deviation;
    let critical = critical(n);
    let is_outlier = statistic > critical && margin(deviation, n) >= OUTLIER_MARGIN * mean.abs();
    Some(Grubbs { place, statistic, critical, is_outlier })
}

/// The two-sided critical value for `n` values.
fn critical(n: usize) -> f64 {
    let n = n as f64;
    let t = t_quantile(1.0 - (1.0 - CONFIDENCE) / (2.0 * n), n - 2.0);
    (n - 1.0) / n.sqrt() * (t * t / (n - 2.0 + t * t)).sqrt()
}
