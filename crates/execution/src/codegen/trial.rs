//! Whether a stage's machine code is faster than its interpretation: mode `auto` does the first vectors of a stage by both in
//! turns, and the others by what took less time. Code wins nearly always; where a few records out of many are looked at, the
//! interpreter's gathers can be ahead of its loads.

use crate::Result;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Vectors that are timed, half of them each way.
const TURNS: usize = 6;
/// Vectors of fewer records tell nothing.
const RECORDS: usize = 256;

/// What is known of a stage.
#[derive(Debug)]
pub(crate) struct Trial {
    turns: AtomicUsize,
    /// Picoseconds for a record, of the fastest vector.
    interpreted: AtomicU64,
    compiled: AtomicU64,
}

impl Default for Trial {
    fn default() -> Self {
        let (interpreted, compiled) = (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX));
        Self { turns: AtomicUsize::new(0), interpreted, compiled }
    }
}

impl Trial {
    /// Does the work of a vector of so many records, by code when `work` is given true.
    pub(crate) fn run(&self, records: usize, work: impl FnOnce(bool) -> Result<()>) -> Result<()> {
        if self.turns.load(Ordering::Relaxed) >= TURNS || records < RECORDS {
            return work(self.is_code_ahead());
        }
        let by_code = self.turns.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let begun = Instant::now();
        work(by_code)?;
        let time = begun.elapsed().as_nanos() as u64 * 1000 / records as u64;
        self.note(by_code, time);
        Ok(())
    }

    /// A vector took so many picoseconds a record.
    fn note(&self, by_code: bool, time: u64) {
        let best = if by_code { &self.compiled } else { &self.interpreted };
        best.fetch_min(time, Ordering::Relaxed);
    }

    /// Code is left only for what is clearly faster.
    fn is_code_ahead(&self) -> bool {
        let (compiled, interpreted) = (self.compiled.load(Ordering::Relaxed), self.interpreted.load(Ordering::Relaxed));
        interpreted == u64::MAX || compiled / 10 * 9 <= interpreted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which way vectors go, and how many each way.
    fn ways(trial: &Trial, vectors: usize, records: usize) -> [usize; 2] {
        let mut ways = [0; 2];
        for _ in 0..vectors {
            let work = |by_code| {
                ways[usize::from(by_code)] += 1;
                Ok(())
            };
            trial.run(records, work).unwrap();
        }
        ways
    }

    #[test]
    fn both_ways_are_tried_and_the_faster_one_is_taken() {
        for (interpreted, compiled, expected) in [(2000, 2200, [0, 9]), (2000, 2300, [9, 0]), (5000, 1000, [0, 9])] {
            let trial = Trial::default();
            assert_eq!(ways(&trial, TURNS, RECORDS), [TURNS / 2; 2]);
            for best in [&trial.interpreted, &trial.compiled] {
                assert_ne!(best.swap(u64::MAX, Ordering::Relaxed), u64::MAX);
            }
            // The fastest vector counts.
            trial.note(false, interpreted);
            trial.note(false, interpreted * 10);
            trial.note(true, compiled);
            assert_eq!(ways(&trial, 9, 1), expected);
        }
    }

    #[test]
    fn few_records_go_by_code() {
        assert_eq!(ways(&Trial::default(), 2 * TURNS, RECORDS - 1), [0, 2 * TURNS]);
    }
}
