//! Zipf's distribution: rank r of n has a probability proportional to 1 / r^z, z = 0 being even.
//!
//! Numbers are drawn by rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-Inversion to Generate Variates from
//! Monotone Discrete Distributions", 1996): the area below a continuous hat is inverted, and few draws are rejected.
//! Unlike a table of probabilities it takes no memory for domains of many millions.

use crate::random::Random;

/// A Zipf distribution over ranks.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: u64,
    exponent: f64,
    /// Areas below the hat: from the first rank's end, and all of it.
    first: f64,
    all: f64,
    /// Ranks that lie no farther from their drawn point than this are taken without a look at the hat.
    sure: f64,
}

impl Zipf {
    /// Ranks 0 to `n - 1` with the exponent `exponent`.
    ///
    /// # Panics
    /// When `n` is 0, or the exponent is negative or not finite.
    pub fn new(n: u64, exponent: f64) -> Self {
        assert!(n > 0 && exponent >= 0.0 && exponent.is_finite(), "Zipf over {n} ranks with exponent {exponent}");
        let mut zipf = Self { n, exponent, first: 0.0, all: 0.0, sure: 0.0 };
        zipf.first = zipf.area(1.5) - 1.0;
        zipf.all = zipf.area(n as f64 + 0.5);
        zipf.sure = 2.0 - zipf.point(zipf.area(2.5) - zipf.weight(2.0));
        zipf
    }

    /// The next rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        if self.exponent == 0.0 {
            return random.below(self.n);
        }
        loop {
            let area = self.all + random.unit() * (self.first - self.all);
            let point = self.point(area);
            let rank = (point + 0.5).floor().clamp(1.0, self.n as f64);
            if rank - point <= self.sure || area >= self.area(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// The probability of a rank (from 0) before it is divided by the sum of all.
    fn weight(&self, point: f64) -> f64 {
        (-self.exponent * point.ln()).exp()
    }

    /// The integral of the weight, zero at 1: (x^(1-z) - 1) / (1 - z), whose limit for z = 1 is ln x.
    fn area(&self, point: f64) -> f64 {
        let log = point.ln();
        exp_minus_one_over((1.0 - self.exponent) * log) * log
    }

    /// The inverse of [`Self::area`].
    fn point(&self, area: f64) -> f64 {
        // Rounding may leave the domain of the logarithm by a little.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (log_plus_one_over(scaled) * area).exp()
    }
}

/// (e^x - 1) / x, which is 1 at 0.
fn exp_minus_one_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x, which is 1 at 0.
fn log_plus_one_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_their_weights_say() {
        const DRAWS: u32 = 200_000;
        for exponent in [0.0, 0.5, 1.0, 1.5, 2.0] {
            for n in [1_u64, 2, 50] {
                let zipf = Zipf::new(n, exponent);
                let mut random = Random::named(11, &format!("{n} {exponent}"));
                let mut counts = vec![0_u32; n as usize];
                (0..DRAWS).for_each(|_| counts[zipf.draw(&mut random) as usize] += 1);
                let weights: Vec<f64> = (1..=n).map(|rank| (rank as f64).powf(-exponent)).collect();
                let sum: f64 = weights.iter().sum();
                for (rank, (count, weight)) in counts.iter().zip(&weights).enumerate() {
                    let expected = f64::from(DRAWS) * weight / sum;
                    // Five standard deviations.
                    let error = (f64::from(*count) - expected).abs();
                    assert!(
                        error < 5.0 * expected.sqrt() + 1.0,
                        "rank {rank} of {n}, z {exponent}: {count}, not {expected:.0}"
                    );
                }
            }
        }
    }

    #[test]
    fn large_domains_need_no_table_and_are_kept() {
        let zipf = Zipf::new(1 << 40, 1.0);
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..10_000).map(|_| zipf.draw(&mut random)).collect();
        assert!(drawn.iter().all(|rank| *rank < 1 << 40));
        // Half of the weight of 1/r up to 2^40 lies below 2^20.
        let low = drawn.iter().filter(|rank| **rank < 1 << 20).count();
        assert!((4700..5500).contains(&low), "{low}");
    }
}
