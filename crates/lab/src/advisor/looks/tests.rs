//! Simulated machines: noise of six kinds, designs of known speed. What is told of them must be true as often as is claimed.

use super::*;
use std::convert::Infallible;

/// How the times of a machine vary.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    /// Normal, by a share of the mean.
    Normal,
    /// Log-normal.
    LogNormal,
    /// Normal, and slower with every measurement.
    Drift,
    /// Normal, with bursts of twenty measurements that are half as fast.
    Bursts,
    /// One of two speeds, by chance.
    TwoSpeeds,
    /// Normal, and one of twenty three times as slow.
    Outliers,
}

const KINDS: [Noise; 6] =
    [Noise::Normal, Noise::LogNormal, Noise::Drift, Noise::Bursts, Noise::TwoSpeeds, Noise::Outliers];
/// Seeds of each simulation.
const SEEDS: u64 = 400;

struct Simulated {
    /// True times.
    means: Vec<f64>,
    noise: Noise,
    /// The share of the mean by which times vary.
    spread: f64,
    random: Random,
    measured: usize,
    burst: usize,
    /// Measurements until the time is spent.
    enough: usize,
}

impl Simulated {
    /// A number of the standard normal distribution (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.unit()).cos()
    }

    fn factor(&mut self) -> f64 {
        let normal = self.normal() * self.spread;
        let usual = (1.0 + normal).max(0.1);
        match self.noise {
            Noise::Normal => usual,
            Noise::LogNormal => normal.exp(),
            Noise::Drift => usual * (1.0 + self.measured as f64 / self.enough as f64),
            Noise::Bursts => {
                if self.burst == 0 && self.random.below(200) == 0 {
                    self.burst = 20;
                }
                self.burst = self.burst.saturating_sub(1);
                if self.burst > 0 { 2.0 * usual } else { usual }
            }
            Noise::TwoSpeeds => 1.0 + 2.0 * self.spread * f64::from(u8::from(self.random.below(2) == 0)),
            Noise::Outliers => usual * if self.random.below(20) == 0 { 3.0 } else { 1.0 },
        }
    }
}

impl Timer for Simulated {
    type Failure = Infallible;

    fn time(&mut self, design: usize) -> Result<Vec<f64>, Infallible> {
        let time = self.means[design] * self.factor();
        self.measured += 1;
        Ok(vec![time])
    }

    fn spent(&self) -> f64 {
        self.measured as f64 / self.enough as f64
    }
}

/// Simulates designs with gaps up to `largest` above the best, for so many rounds of all.
fn simulated(noise: Noise, seed: u64, largest: f64, spread: f64, rounds: usize) -> (Simulated, Told) {
    let mut random = Random::named(seed, &format!("{noise:?}"));
    let designs = 2 + random.below(29) as usize;
    let means = (0..designs).map(|_| 1000.0 * (1.0 + largest * random.unit())).collect();
    let mut machine = Simulated { means, noise, spread, random, measured: 0, burst: 0, enough: designs * rounds };
    let Ok(told) = measure(&mut machine, designs, seed);
    (machine, told)
}

/// How many of the seeds fulfil a condition.
fn share(noise: Noise, fulfils: impl Fn(u64) -> bool) -> f64 {
    let count = (0..SEEDS).filter(|seed| fulfils(*seed)).count();
    let share = count as f64 / SEEDS as f64;
    eprintln!("{noise:?}: {share}");
    share
}

#[test]
fn the_best_is_in_the_class() {
    for noise in KINDS {
        for rounds in [10, 40] {
            let holds = share(noise, |seed| {
                let (machine, told) = simulated(noise, seed, 0.5, 0.05, rounds);
                let best = (0..machine.means.len()).min_by(|a, b| machine.means[*a].total_cmp(&machine.means[*b]));
                best.is_some_and(|best| told.class.contains(&best))
            });
            assert!(holds >= 0.93, "{noise:?}, {rounds} rounds: {holds}");
        }
    }
}

#[test]
fn equal_designs_are_not_told_apart() {
    for noise in KINDS {
        for rounds in [10, 40] {
            let claimed = share(noise, |seed| {
                let (machine, told) = simulated(noise, seed, 0.0, 0.05, rounds);
                told.class.len() < machine.means.len()
            });
            assert!(claimed <= 0.07, "{noise:?}, {rounds} rounds: {claimed}");
        }
    }
}

#[test]
fn proposals_are_hardly_slower_than_the_best() {
    for noise in KINDS {
        let good = share(noise, |seed| {
            let (machine, told) = simulated(noise, seed, 0.5, 0.05, 200);
            let mut random = Random::named(seed, "bytes");
            let bytes: Vec<f64> = machine.means.iter().map(|_| random.unit()).collect();
            let best = machine.means.iter().copied().fold(f64::INFINITY, f64::min);
            machine.means[told.proposed(&bytes)] <= 1.03 * best
        });
        assert!(good >= 0.95, "{noise:?}: {good}");
    }
}

#[test]
fn gains_have_intervals_that_hold_the_truth() {
    let (mut held, mut all) = (0, 0);
    for seed in 0..SEEDS {
        let (machine, told) = simulated(Noise::Normal, seed, 0.3, 0.05, 30);
        for design in 1..machine.means.len() {
            let truth = machine.means[0] / machine.means[design];
            let gain = told.gain(design).unwrap();
            all += 1;
            held += u32::from(gain.interval.holds(truth));
        }
    }
    let share = f64::from(held) / f64::from(all);
    assert!(share >= 0.95, "{share}");
}

#[test]
fn what_was_told_is_carried_on() {
    let told = Told { designs: vec![Timed::default(); 4], class: vec![2, 3], looks: 2, faster: vec![(1, 0), (2, 1)] };
    assert!(told.is_faster(2, 0) && !told.is_faster(0, 2) && !told.is_faster(3, 0) && !told.is_faster(2, 2));
    // The third design can't be told from the best, nor from the present one: it is not proposed, though smallest.
    assert_eq!(told.proposed(&[5.0, 5.0, 4.0, 1.0]), 2);
}
