//! Ratios of times that were measured in pairs: two designs in one round, one after the other, so that what disturbs the machine
//! for longer than that disturbs both. On logarithms, so that twice as slow and twice as fast are equally far from equal.
//!
//! Of the differences a fifth at each end is trimmed, and the interval is Yuen's (K. K. Yuen, "The Two-Sample Trimmed t for Unequal
//! Population Variances", Biometrika 61, 1974, for one sample of differences): a burst that hits one of a pair moves neither the
//! mean nor the interval, where the usual t would lose its power.

use super::summary::{Interval, mean, standard_deviation, t_quantile};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The share that is trimmed at each end.
const TRIMMED: f64 = 0.2;

/// How two designs differ, by their paired times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRatio {
    /// Pairs.
    pub pairs: usize,
    /// The logarithm of the ratio, trimmed mean over the pairs.
    pub log_ratio: f64,
    /// Its standard error.
    error: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl PairedRatio {
    /// The ratio of `a` to `b`, pair by pair; `None` for fewer than two pairs. The times are above 0.
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        let mut differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
        let pairs = differences.len();
        if pairs < 2 {
            return None;
        }
        differences.sort_by(f64::total_cmp);
        let cut = (TRIMMED * pairs as f64) as usize;
        let kept = &differences[cut..pairs - cut];
        let log_ratio = mean(kept);
        let (low, high) = (kept[0], kept[kept.len() - 1]);
        let winsorized: Vec<f64> = differences.iter().map(|value| value.clamp(low, high)).collect();
        let share_kept = kept.len() as f64 / pairs as f64;
        let error = standard_deviation(&winsorized) / (share_kept * (pairs as f64).sqrt());
        Some(Self { pairs, log_ratio, error, freedom: (kept.len() - 1) as f64 })
    }

    /// The ratio.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The two-sided probability of so large a difference between equal designs. No less than that of all pairs differing to one
    /// side by chance: times that a coarse clock, or a processor with two speeds, makes equal have no variance and prove nothing.
    pub fn p(&self) -> f64 {
        let least = 2.0_f64.powi(1 - i32::try_from(self.pairs).unwrap_or(i32::MAX));
        let p = match (self.error, StudentsT::new(0.0, 1.0, self.freedom.max(1.0))) {
            (error, _) if error <= 0.0 => f64::from(u8::from(self.log_ratio == 0.0)),
            (error, Ok(student)) => 2.0 * student.cdf(-(self.log_ratio / error).abs()),
            (_, Err(_)) => 1.0,
        };
        p.max(least).min(1.0)
    }

    /// The interval of the ratio that holds the true one with this confidence.
    pub fn interval(&self, confidence: f64) -> Interval {
        let margin = t_quantile(1.0 - (1.0 - confidence) / 2.0, self.freedom.max(1.0)) * self.error;
        Interval { low: (self.log_ratio - margin).exp(), high: (self.log_ratio + margin).exp() }
    }
}
