//! Summaries of one sample: mean, median, and the interval in which the true mean lies with 95 % confidence.

use super::outlier;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of all intervals, and one minus the significance of all tests.
pub const CONFIDENCE: f64 = 0.95;

/// The middle of `values`: the mean of the two middle ones when their number is even; NaN when there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Smallest, quartiles and largest of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quartiles {
    /// The smallest.
    pub smallest: f64,
    /// A quarter of them lie below it.
    pub first: f64,
    /// The middle one.
    pub median: f64,
    /// Three quarters lie below it.
    pub third: f64,
    /// The largest.
    pub largest: f64,
}

impl Quartiles {
    /// Finds them, interpolated between neighbours; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |part: f64| {
            let place = part * last as f64;
            let below = place.floor() as usize;
            let above = sorted[(below + 1).min(last)];
            sorted[below] + (above - sorted[below]) * (place - below as f64)
        };
        Some(Self { smallest: at(0.0), first: at(0.25), median: at(0.5), third: at(0.75), largest: at(1.0) })
    }
}

/// The geometric mean of positive `values`, the right mean of ratios; NaN when there are none.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// The arithmetic mean; NaN when there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample (with n - 1); NaN for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// A range that holds the true mean with [`CONFIDENCE`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// `mean ± C * deviation / sqrt(n)`, where C is the quantile of Student's t-distribution with n - 1 degrees of
    /// freedom (runtime-fragility paper, section 3.2). Without bounds for fewer than two values: one run says nothing
    /// of how far the next may be.
    pub fn of_mean(mean: f64, deviation: f64, n: usize) -> Self {
        let margin = margin(deviation, n);
        Self { low: mean - margin, high: mean + margin }
    }

    /// True when `value` lies within.
    pub fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// True when the two have no value in common.
    pub fn is_disjoint(self, other: Self) -> bool {
        self.high < other.low || other.high < self.low
    }
}

/// The radius of the interval round a mean.
pub(super) fn margin(deviation: f64, n: usize) -> f64 {
    if n < 2 {
        return f64::INFINITY;
    }
    t_quantile(1.0 - (1.0 - CONFIDENCE) / 2.0, (n - 1) as f64) * deviation / (n as f64).sqrt()
}

/// The quantile of Student's t-distribution.
pub(super) fn t_quantile(probability: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(probability))
}

/// One sample, summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Values that count: all but a dropped one.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Where the true mean lies with [`CONFIDENCE`].
    pub interval: Interval,
    /// The value that was dropped as an outlier.
    pub dropped: Option<f64>,
}

impl Summary {
    /// Summarises `values`, after dropping at most one outlier.
    pub fn of(values: &[f64]) -> Self {
        match outlier::grubbs(values).filter(|found| found.is_outlier) {
            Some(found) => {
                let mut kept = values.to_vec();
                let dropped = kept.remove(found.place);
                Self { dropped: Some(dropped), ..Self::of_all(&kept) }
            }
            None => Self::of_all(values),
        }
    }

    /// Summarises `values`, all of them.
    pub fn of_all(values: &[f64]) -> Self {
        let (mean, deviation) = (mean(values), standard_deviation(values));
        let interval = Interval::of_mean(mean, deviation, values.len());
        Self { n: values.len(), mean, median: median(values), deviation, interval, dropped: None }
    }

    /// The radius of the interval as a part of the mean: how narrow it is.
    pub fn relative_margin(&self) -> f64 {
        (self.interval.high - self.interval.low) / 2.0 / self.mean.abs()
    }
}
