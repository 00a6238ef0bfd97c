//! Forced selectivity (section 4.4): a predicate's outcome is decided by how often it was called, whatever the value. Columns of
//! few values would allow only few selectivities otherwise. With several predicates each lets through the p-th root.

/// A predicate's calls so far. The fraction that it lets through is added up call by call, and each whole lets one through.
#[derive(Debug, Clone)]
pub struct Forced {
    /// The fraction, in 2^-64.
    step: u64,
    sum: u64,
}

impl Forced {
    /// One of `predicates` predicates that together let through the fraction `selectivity`, between 0 and 1.
    pub fn new(selectivity: f64, predicates: usize) -> Self {
        let part = selectivity.powf(1.0 / predicates as f64);
        // Casts of floats stop at the ends of the range.
        Self { step: (part * 2f64.powi(64)) as u64, sum: 0 }
    }

    /// The next call, of a value of which the condition is true or not: that was computed, and decides nothing.
    #[inline(always)]
    pub fn call(&mut self, holds: bool) -> bool {
        std::hint::black_box(holds);
        let (sum, passes) = self.sum.overflowing_add(self.step);
        self.sum = sum;
        passes
    }
}

/// The records of `records` that pass `predicates` predicates, of which each is called only for what the ones before let through.
pub fn passing(records: u32, selectivity: f64, predicates: usize) -> Vec<u32> {
    let mut all = vec![Forced::new(selectivity, predicates); predicates];
    (0..records).filter(|_| all.iter_mut().all(|predicate| predicate.call(false))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tenth_call_passes() {
        assert_eq!(passing(45, 0.1, 1).len(), 4);
        // The gaps between those that pass are all alike but for the rounding of 0.1.
        let all = passing(1000, 0.1, 1);
        assert!(all.windows(2).all(|pair| (9..=11).contains(&(pair[1] - pair[0]))), "{all:?}");
        assert_eq!(passing(6, 0.5, 1), [1, 3, 5]);
    }

    #[test]
    fn several_predicates_let_through_the_product() {
        for (selectivity, predicates) in [(0.1, 3), (0.001, 3), (0.25, 2), (0.5, 1)] {
            let found = passing(1_000_000, selectivity, predicates).len() as f64;
            assert!((found / 1e6 - selectivity).abs() < 1e-5, "{found} of a million at {selectivity}");
        }
    }
}
