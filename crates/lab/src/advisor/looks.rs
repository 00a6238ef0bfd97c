//! Which designs are faster, told from rounds of measurements with a few looks at them.
//!
//! A round times every design once, in random order. At five shares of the time, and at no other moment, the designs are
//! compared: whoever stopped when a difference shows would find one sooner or later between equal designs. Each look has a fifth
//! of the 5 % that all may err, and Holm's correction keeps that for all pairs of designs together. A design that is told apart
//! as slower than another is not measured further, but for the present one, which is the yardstick of all gains.

use crate::random::Random;
use crate::statistics::{CONFIDENCE, Interval, PairedRatio, holm};
use std::fmt::{self, Display, Formatter};

/// Looks at most.
pub const LOOKS: usize = 5;
/// Rounds at most: more would be no wiser.
const MOST_ROUNDS: usize = 400;

/// What times designs.
pub trait Timer {
    /// Why a measurement can't go on.
    type Failure;

    /// Times the parts of the workload on a design once: nanoseconds each, weighed, above 0.
    fn time(&mut self, design: usize) -> Result<Vec<f64>, Self::Failure>;

    /// The share of the time for measuring that is gone.
    fn spent(&self) -> f64;
}

/// A design with its measurements.
#[derive(Debug, Clone, Default)]
pub struct Timed {
    /// By round, the sum over the parts.
    pub sums: Vec<f64>,
    /// By round, each part.
    pub parts: Vec<Vec<f64>>,
}

/// What the rounds tell.
#[derive(Debug, Clone)]
pub struct Told {
    /// The designs, the present one first.
    pub designs: Vec<Timed>,
    /// Those that no other was told apart from as faster, ascending.
    pub class: Vec<usize>,
    /// Looks that were taken.
    pub looks: usize,
    /// Pairs of designs that were told apart: the first is faster than the second.
    faster: Vec<(usize, usize)>,
}

/// Rounds of `designs` designs, of which the first is the present one, until the machine's time is spent, nothing is left to
/// compare, or there were enough.
pub fn measure<M: Timer>(machine: &mut M, designs: usize, seed: u64) -> Result<Told, M::Failure> {
    let mut random = Random::named(seed, "advisor");
    let mut told =
        Told { designs: vec![Timed::default(); designs], class: (0..designs).collect(), looks: 0, faster: Vec::new() };
    for look in 1..=LOOKS {
        let share = look as f64 / LOOKS as f64;
        let most = (MOST_ROUNDS as f64 * share) as usize;
        while told.designs[0].sums.is_empty() || machine.spent() < share && told.designs[0].sums.len() < most {
            told.round(machine, &mut random)?;
        }
        told.look(look);
        if told.class.len() == 1 {
            break;
        }
    }
    Ok(told)
}

impl Told {
    fn round<M: Timer>(&mut self, machine: &mut M, random: &mut Random) -> Result<(), M::Failure> {
        let mut order: Vec<usize> = (0..self.designs.len()).filter(|design| self.is_measured(*design)).collect();
        random.shuffle(&mut order);
        for design in order {
            let parts = machine.time(design)?;
            let timed = &mut self.designs[design];
            timed.sums.push(parts.iter().sum());
            timed.parts.push(parts);
        }
        Ok(())
    }

    /// Whether rounds still have it.
    fn is_measured(&self, design: usize) -> bool {
        design == 0 || !self.is_slower(design)
    }

    /// Whether it was told apart from another as slower.
    pub fn is_slower(&self, design: usize) -> bool {
        self.faster.iter().any(|(_, slower)| *slower == design)
    }

    /// Compares all pairs that are still measured.
    fn look(&mut self, look: usize) {
        self.looks = look;
        let left: Vec<usize> = (0..self.designs.len()).filter(|design| self.is_measured(*design)).collect();
        let mut pairs = Vec::new();
        for (place, a) in left.iter().enumerate() {
            for b in &left[place + 1..] {
                let ratio = PairedRatio::of(&self.designs[*a].sums, &self.designs[*b].sums);
                pairs.extend(ratio.map(|ratio| (*a, *b, ratio)));
            }
        }
        let adjusted = holm(&pairs.iter().map(|(_, _, ratio)| ratio.p()).collect::<Vec<_>>());
        for ((a, b, ratio), p) in pairs.iter().zip(adjusted) {
            if p < (1.0 - CONFIDENCE) / LOOKS as f64 {
                self.faster.push(if ratio.log_ratio < 0.0 { (*a, *b) } else { (*b, *a) });
            }
        }
        let class = (0..self.designs.len()).filter(|design| !self.is_slower(*design));
        self.class = class.collect();
    }

    /// What told a design apart as slower: by preference `preferred`, or the first that no other is faster than. `None` for one that
    /// nothing was told apart from as faster.
    pub fn slower_than(&self, design: usize, preferred: usize) -> Option<Slower> {
        let faster = || self.faster.iter().filter(|(_, slower)| *slower == design).map(|(faster, _)| *faster);
        let best = || faster().find(|faster| self.class.contains(faster));
        let than = faster().find(|faster| *faster == preferred).or_else(best).or_else(|| faster().next())?;
        let sums = |design: usize| &self.designs[design].sums;
        let gain = Gain::of(sums(than), sums(design))?;
        Some(Slower { than, gain, rounds: sums(than).len().min(sums(design).len()) })
    }

    /// Whether one design was told apart from another as faster, or from one that was.
    pub fn is_faster(&self, design: usize, than: usize) -> bool {
        let (mut known, mut next) = (vec![than], 0);
        while next < known.len() {
            let slower = known[next];
            let more = self.faster.iter().filter(|(_, other)| *other == slower).map(|(faster, _)| *faster);
            let new: Vec<usize> = more.filter(|faster| !known.contains(faster)).collect();
            known.extend(new);
            next += 1;
        }
        design != than && known.contains(&design)
    }

    /// The design to propose: the present one where nothing was told apart from it as faster, else the one of fewest bytes among
    /// those that no other was told apart from, and that were told apart from the present one.
    pub fn proposed(&self, bytes: &[f64]) -> usize {
        if self.class.contains(&0) {
            return 0;
        }
        let sure = self.class.iter().copied().filter(|design| self.is_faster(*design, 0));
        sure.min_by(|a, b| bytes[*a].total_cmp(&bytes[*b])).unwrap_or(0)
    }

    /// How many times as fast as the present design one is, over the rounds that both have.
    pub fn gain(&self, design: usize) -> Option<Gain> {
        Gain::of(&self.designs[0].sums, &self.designs[design].sums)
    }

    /// The gain in one part of the workload.
    pub fn gain_in(&self, design: usize, part: usize) -> Option<Gain> {
        let of = |timed: &Timed| timed.parts.iter().map(|parts| parts[part]).collect::<Vec<f64>>();
        Gain::of(&of(&self.designs[0]), &of(&self.designs[design]))
    }
}

/// That a design is slower than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slower {
    /// The other.
    pub than: usize,
    /// How many times as fast as the other it is: below 1.
    pub gain: Gain,
    /// Rounds that both have.
    pub rounds: usize,
}

/// A gain: the time before over the time then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The gain; below 1 it is a loss.
    pub times: f64,
    /// The interval that holds the true one with the confidence of one look.
    pub interval: Interval,
}

impl Display for Gain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [times, low, high] = self.figures();
        write!(f, "{times} times as fast ({low} to {high})")
    }
}

impl Gain {
    /// The gain of `then` over `before`, round by round as far as both have rounds.
    pub fn of(before: &[f64], then: &[f64]) -> Option<Self> {
        let ratio = PairedRatio::of(before, then)?;
        let confidence = 1.0 - (1.0 - CONFIDENCE) / LOOKS as f64;
        Some(Self { times: ratio.ratio(), interval: ratio.interval(confidence) })
    }

    /// The gain and the ends of its interval, with as many digits as tell them from each other.
    pub fn figures(&self) -> [String; 3] {
        let places = if self.interval.high - self.interval.low < 0.02 { 3 } else { 2 };
        [self.times, self.interval.low, self.interval.high].map(|value| format!("{value:.places$}"))
    }
}

#[cfg(test)]
mod tests;
